package bucket

import (
	"context"
	"errors"
	"fmt"
	"os"

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
		o := &azureblob.URLOpener{MakeClient: azureblob.NewDefaultClient, ServiceURLOptions: *azureblob.NewDefaultServiceURLOptions()}
		b, err := o.OpenBucketURL(ctx, a.base())
		return &store{Bucket: b}, err
	case "gs":
		b, err := openGCS(ctx, a)
		return &store{Bucket: b}, err
	}
	return nil, fmt.Errorf("no such service: %s", a.scheme)
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

var errNoCredentials = errors.New("no credentials were found")
