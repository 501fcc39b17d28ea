// Package buckets starts servers of buckets for tests: a real S3 server, and the emulators of
// Google Cloud Storage and Azure Blob Storage that are made for tests. They differ from the real
// services: fake-gcs-server looks at no credentials, and Azurite at no checksums.
package buckets

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcp"
	"google.golang.org/api/option"
)

// Kinds are the services that there is a server of, as DOGEAR_REQUIRE names them.
var Kinds = []string{"s3", "gcs", "azure"}

// The credentials, which must be found nowhere.
const (
	access  = "CANARYACCESSKEY"
	account = "canaryaccount"
	// Secret is what a user of S3 has.
	Secret = "canary-secret-key-0123456789"
)

var azureKey = base64.StdEncoding.EncodeToString([]byte(Secret))

// Secrets are what must be found nowhere.
var Secrets = []string{access, Secret, azureKey, "X-Amz-"}

const (
	clients = "../../clients" // of each package that has tests with buckets
	clouds  = clients + "/clouds"
	azurite = clouds + "/node_modules/azurite/dist/src/blob/main.js"
	ready   = 20 * time.Second // a machine may be slow
)

// Run runs a package's tests, and takes away what was built for them.
func Run(m *testing.M) int {
	defer func() { _ = os.RemoveAll(built) }()
	return m.Run()
}

var built string

// buildS3 builds the S3 server of clients/s3, once.
var buildS3 = sync.OnceValues(func() (string, error) {
	var err error
	if built, err = os.MkdirTemp("", "dogear-s3-"); err != nil {
		return "", err
	}
	path := filepath.Join(built, "s3")
	out, err := exec.Command("go", "build", "-C", clients+"/s3", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the S3 server: %w\n%s", err, out)
	}
	return path, nil
})

// command is what runs a server.
func command(kind, port, dir string) (*exec.Cmd, error) {
	switch kind {
	case "s3":
		path, err := buildS3()
		cmd := exec.Command(path, "127.0.0.1:"+port, dir)
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+access, "AWS_SECRET_ACCESS_KEY="+Secret)
		return cmd, err
	case "gcs":
		path, err := filepath.Abs(clouds + "/fake-gcs-server")
		if err == nil {
			_, err = os.Stat(path)
		}
		return exec.Command(path, "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", port, "-public-host", "127.0.0.1:"+port, "-log-level", "error"), err
	}
	_, err := os.Stat(azurite)
	// It refuses checksums and versions that Azure knows, but where it is told to pass over them.
	cmd := exec.Command("node", azurite, "--inMemoryPersistence", "--loose", "--skipApiVersionCheck", "--disableTelemetry", "--silent", "--blobPort", port)
	cmd.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+account+":"+azureKey)
	return cmd, err
}

// Start starts a server that ends with the test, and makes a bucket named results on it. It
// returns its address. Where the server is not installed the test is skipped, unless
// DOGEAR_REQUIRE names its kind.
func Start(t testing.TB, kind string) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint = "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(endpoint, "http://"), ":")
	cmd, err := command(kind, port, t.TempDir())
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("DOGEAR_REQUIRE"), ","), kind) {
			t.Fatalf("DOGEAR_REQUIRE names %s: %v", kind, err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	ctx, cancel := context.WithTimeout(context.Background(), ready)
	defer cancel()
	for {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil { // the services' libraries wait long before they try again
			err = errors.Join(c.Close(), create(ctx, kind, endpoint))
		}
		if err == nil {
			return endpoint
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the %s server takes no bucket: %v", kind, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// create makes the bucket.
func create(ctx context.Context, kind, endpoint string) error {
	switch kind {
	case "s3":
		_, err := client(endpoint).CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("results")})
		return err
	case "gcs":
		res, err := http.Post(endpoint+"/storage/v1/b?project=p", "application/json", bytes.NewBufferString(`{"name":"results"}`))
		if err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			err = errors.New(res.Status)
		}
		return errors.Join(err, res.Body.Close())
	}
	c, err := azure(endpoint)
	if err == nil {
		_, err = c.Create(ctx, nil)
	}
	return err
}

func client(endpoint string) *s3.Client {
	return s3.New(s3.Options{BaseEndpoint: aws.String(endpoint), UsePathStyle: true, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider(access, Secret, "")})
}

func azure(endpoint string) (*container.Client, error) {
	key, err := container.NewSharedKeyCredential(account, azureKey)
	if err != nil {
		return nil, err
	}
	return container.NewClientWithSharedKeyCredential(endpoint+"/"+account+"/results", key, nil)
}

// Open opens the bucket as a test does that looks into it.
func Open(t testing.TB, kind, endpoint string) *blob.Bucket {
	t.Helper()
	var b *blob.Bucket
	var err error
	switch kind {
	case "s3":
		b, err = s3blob.OpenBucket(t.Context(), client(endpoint), "results", nil)
	case "gcs":
		b, err = gcsblob.OpenBucket(t.Context(), gcp.NewAnonymousHTTPClient(gcp.DefaultTransport()), "results",
			&gcsblob.Options{ClientOptions: []option.ClientOption{option.WithEndpoint(endpoint + "/storage/v1/")}})
	default:
		var c *container.Client
		if c, err = azure(endpoint); err == nil {
			b, err = azureblob.OpenBucket(t.Context(), c, nil)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// Address is the address of a prefix, as dogear takes it, and what a user has in the environment.
func Address(kind, endpoint, bucket, prefix string) (string, []string) {
	switch kind {
	case "s3":
		return "s3://" + bucket + "/" + prefix + "?region=us-east-1&use_path_style=true&endpoint=" + endpoint,
			[]string{"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + Secret, "AWS_EC2_METADATA_DISABLED=true",
				"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null"}
	case "gcs":
		return "gs://" + bucket + "/" + prefix, []string{"STORAGE_EMULATOR_HOST=" + strings.TrimPrefix(endpoint, "http://")}
	}
	return "azblob://" + bucket + "/" + prefix + "?localemu=true&protocol=http&storage_account=" + account + "&domain=" + strings.TrimPrefix(endpoint, "http://"),
		[]string{"AZURE_STORAGE_KEY=" + azureKey}
}
