package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The credentials of the test's bucket, which must be found nowhere.
const (
	s3Access = "CANARYACCESSKEY"
	s3Secret = "canary-secret-key-0123456789"
)

// buildS3 builds the S3 server of clients/s3, once.
var buildS3 = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(binary), "s3")
	out, err := exec.Command("go", "build", "-C", "../../clients/s3", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the S3 server: %w\n%s", err, out)
	}
	return path, nil
})

// A bucket is one of a real S3 server, behind a proxy that a test can break.
type bucket struct {
	*s3.Client
	t        *testing.T
	endpoint string
	away     atomic.Bool
	// before is called with each request; false cuts its connection.
	before atomic.Pointer[func(*http.Request) bool]
}

// newBucket starts an S3 server that ends with the test.
func newBucket(t *testing.T) *bucket {
	t.Helper()
	server, err := buildS3()
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("DOGEAR_REQUIRE"), ","), "s3") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(server, address, t.TempDir())
	cmd.Env = append(environment(), "AWS_ACCESS_KEY_ID="+s3Access, "AWS_SECRET_ACCESS_KEY="+s3Secret)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	b := &bucket{t: t}
	b.endpoint = b.proxy("http://" + address)
	b.Client = s3.New(s3.Options{BaseEndpoint: aws.String(b.endpoint), UsePathStyle: true, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider(s3Access, s3Secret, "")})
	until(t, "the S3 server takes a bucket", func() bool {
		_, err := b.CreateBucket(context.Background(), &s3.CreateBucketInput{Bucket: aws.String("results")})
		return err == nil
	})
	return b
}

// proxy passes requests on as they are signed.
func (b *bucket) proxy(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		b.t.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(u); r.Out.Host = r.In.Host },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before := b.before.Load()
		if b.away.Load() || before != nil && !(*before)(r) {
			panic(http.ErrAbortHandler)
		}
		p.ServeHTTP(w, r)
	})}
	go srv.Serve(l)
	b.t.Cleanup(func() { _ = srv.Close() })
	return "http://" + l.Addr().String()
}

// out is the address of a prefix, for -o.
func (b *bucket) out(prefix string) string {
	return "s3://results/" + prefix + "?region=us-east-1&use_path_style=true&endpoint=" + b.endpoint
}

// user is one that has the bucket's credentials.
func (b *bucket) user() *user {
	u := newUser(b.t)
	u.vars = []string{"AWS_ACCESS_KEY_ID=" + s3Access, "AWS_SECRET_ACCESS_KEY=" + s3Secret, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null"}
	return u
}

// keys are the objects under a prefix, with their sizes.
func (b *bucket) keys(prefix string) map[string]int64 {
	b.t.Helper()
	out := map[string]int64{}
	for p := s3.NewListObjectsV2Paginator(b.Client, &s3.ListObjectsV2Input{Bucket: aws.String("results"), Prefix: aws.String(prefix)}); p.HasMorePages(); {
		page, err := p.NextPage(context.Background())
		if err != nil {
			b.t.Fatal(err)
		}
		for _, o := range page.Contents {
			out[strings.TrimPrefix(*o.Key, prefix)] = *o.Size
		}
	}
	return out
}

// results are the keys under a prefix that are no files of dogear's own.
func (b *bucket) results(prefix string) map[string]int64 {
	out := b.keys(prefix)
	delete(out, ".dogear-job")
	delete(out, "dogear.jsonl")
	return out
}

// uploads counts the multipart uploads that nobody ended.
func (b *bucket) uploads() int {
	b.t.Helper()
	out, err := b.ListMultipartUploads(context.Background(), &s3.ListMultipartUploadsInput{Bucket: aws.String("results")})
	if err != nil {
		b.t.Fatal(err)
	}
	return len(out.Uploads)
}

func (b *bucket) put(key, text string) {
	b.t.Helper()
	_, err := b.PutObject(context.Background(), &s3.PutObjectInput{Bucket: aws.String("results"), Key: aws.String(key), Body: strings.NewReader(text)})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bucket) remove(key string) {
	b.t.Helper()
	_, err := b.DeleteObject(context.Background(), &s3.DeleteObjectInput{Bucket: aws.String("results"), Key: aws.String(key)})
	if err != nil {
		b.t.Fatal(err)
	}
}

// onRequest watches what reaches the bucket, and cuts what it says no to.
func (b *bucket) onRequest(f func(*http.Request) bool) { b.before.Store(&f) }

var errCanary = errors.New("a credential was found")

// noCanaries looks for the bucket's credentials in all that dogear wrote.
func (b *bucket) noCanaries(u *user, results ...result) {
	b.t.Helper()
	err := filepath.WalkDir(u.state, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && (strings.Contains(string(text), s3Access) || strings.Contains(string(text), s3Secret)) {
			err = fmt.Errorf("%s: %w", path, errCanary)
		}
		return err
	})
	if err != nil {
		b.t.Error(err)
	}
	for _, r := range results {
		if said := r.stdout + r.stderr; strings.Contains(said, s3Access) || strings.Contains(said, s3Secret) || strings.Contains(said, "X-Amz-") {
			b.t.Errorf("dogear %s: %v:\n%s", strings.Join(r.args, " "), errCanary, said)
		}
	}
}

// during waits while a process goes on, and fails the test if it ends.
func (b *bucket) during(p *process, what string, c <-chan struct{}) {
	b.t.Helper()
	select {
	case <-c:
	case <-p.ended:
		b.t.Fatalf("it ended before %s:\n%s", what, p.stderr.String())
	case <-time.After(patience):
		b.t.Fatalf("there was never %s:\n%s", what, p.stderr.String())
	}
}

func body(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
