package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"
)

// A store is an open bucket, with what its drivers do not tell of themselves.
type store struct {
	*blob.Bucket
	s3        *s3.Client // nil: it is another service
	checksums aws.RequestChecksumCalculation
}

// open opens the bucket. It sends nothing to it, but may ask for credentials.
func open(ctx context.Context, a Address) (*store, error) {
	switch a.scheme {
	case "s3":
		o := &s3blob.URLOpener{}
		b, err := o.OpenBucketURL(ctx, a.base())
		if err != nil {
			return nil, err
		}
		s := &store{Bucket: b, checksums: o.Options.RequestChecksumCalculation}
		b.As(&s.s3)
		return s, nil
	case "azblob":
		o := &azureblob.URLOpener{MakeClient: azureClient(a.params.Get("storage_account")), ServiceURLOptions: *azureblob.NewDefaultServiceURLOptions()}
		b, err := o.OpenBucketURL(ctx, a.base())
		return &store{Bucket: b}, err
	case "gs":
		b, err := openGCS(ctx, a)
		return &store{Bucket: b}, err
	}
	return nil, fmt.Errorf("no such service: %s", a.scheme)
}

// azureClient is gocloud's own, but for a key in the environment: that belongs to the account that
// the address names. gocloud passes over it where AZURE_STORAGE_ACCOUNT is not set as well.
func azureClient(account string) func(azureblob.ServiceURL, azureblob.ContainerName) (*container.Client, error) {
	secret := os.Getenv("AZURE_STORAGE_KEY")
	if account == "" || secret == "" {
		return azureblob.NewDefaultClient
	}
	return func(service azureblob.ServiceURL, name azureblob.ContainerName) (*container.Client, error) {
		key, err := container.NewSharedKeyCredential(account, secret)
		if err != nil {
			return nil, errBadKey
		}
		where, err := url.JoinPath(string(service), string(name))
		if err != nil {
			return nil, err
		}
		return container.NewClientWithSharedKeyCredential(where, key, nil)
	}
}

// openGCS is not left to gcsblob's own opener, which prints to standard output. It speaks
// HTTP and JSON.
func openGCS(ctx context.Context, a Address) (*blob.Bucket, error) {
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return gcsblob.OpenBucket(ctx, gcp.NewAnonymousHTTPClient(gcp.DefaultTransport()), a.bucket, nil)
	}
	domain := a.params.Get("universe_domain")
	creds, err := gcp.DefaultCredentialsWithParams(ctx, google.CredentialsParams{UniverseDomain: domain})
	if err != nil {
		return nil, errNoCredentials
	}
	client, err := gcp.NewHTTPClient(gcp.DefaultTransport(), creds.TokenSource)
	if err != nil {
		return nil, err
	}
	opts := &gcsblob.Options{}
	if domain != "" {
		opts.ClientOptions = append(opts.ClientOptions, option.WithUniverseDomain(domain))
	}
	return gcsblob.OpenBucket(ctx, client, a.bucket, opts)
}

var (
	errNoCredentials = errors.New("no credentials were found")
	errBadKey        = errors.New("AZURE_STORAGE_KEY is no key")
)
