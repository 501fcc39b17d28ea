//go:build !nobuckets

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"

	"github.com/dogear/dogear/internal/buckets"
)

func init() { run = buckets.Run }

// What S3's secret is in the test's buckets.
const s3Secret = buckets.Secret

// A bucket is one of a real server, behind a proxy that a test can break.
type bucket struct {
	*blob.Bucket
	t              *testing.T
	kind, endpoint string
	away           atomic.Bool
	// before is called with each request; false cuts its connection.
	before atomic.Pointer[func(*http.Request) bool]
}

// inBuckets runs a test in a bucket of each service that there is a server of.
func inBuckets(t *testing.T, test func(*testing.T, *bucket)) {
	t.Parallel()
	for _, kind := range buckets.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, bucketOf(t, kind))
		})
	}
}

// newBucket starts an S3 server that ends with the test.
func newBucket(t *testing.T) *bucket { return bucketOf(t, "s3") }

func bucketOf(t *testing.T, kind string) *bucket {
	t.Helper()
	b := &bucket{t: t, kind: kind}
	server := buckets.Start(t, kind)
	b.Bucket = buckets.Open(t, kind, server)
	b.endpoint = buckets.Proxy(t, kind, server, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		before := b.before.Load()
		if b.away.Load() || before != nil && !(*before)(r) {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	return b
}

// out is the address of a prefix, for -o.
func (b *bucket) out(prefix string) string {
	address, _ := buckets.Address(b.kind, b.endpoint, "results", prefix)
	return address
}

// user is one that has the bucket's credentials.
func (b *bucket) user() *user {
	u := newUser(b.t)
	_, u.vars = buckets.Address(b.kind, b.endpoint, "results", "")
	return u
}

// keys are the objects under a prefix, with their sizes.
func (b *bucket) keys(prefix string) map[string]int64 {
	b.t.Helper()
	out := map[string]int64{}
	for all := b.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := all.Next(context.Background())
		if err == io.EOF {
			return out
		}
		if err != nil {
			b.t.Fatal(err)
		}
		out[strings.TrimPrefix(o.Key, prefix)] = o.Size
	}
}

// results are the keys under a prefix that are no files of dogear's own.
func (b *bucket) results(prefix string) map[string]int64 {
	out := b.keys(prefix)
	delete(out, ".dogear-job")
	delete(out, "dogear.jsonl")
	return out
}

// uploads counts the multipart uploads to S3 that nobody ended.
func (b *bucket) uploads() int {
	b.t.Helper()
	var c *s3.Client
	if !b.As(&c) {
		b.t.Fatal("it is not S3")
	}
	out, err := c.ListMultipartUploads(context.Background(), &s3.ListMultipartUploadsInput{Bucket: aws.String("results")})
	if err != nil {
		b.t.Fatal(err)
	}
	return len(out.Uploads)
}

func (b *bucket) put(key, text string) {
	b.t.Helper()
	if err := b.WriteAll(context.Background(), key, []byte(text), nil); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bucket) remove(key string) {
	b.t.Helper()
	if err := b.Delete(context.Background(), key); err != nil {
		b.t.Fatal(err)
	}
}

// objectOf is what a request is about: Google's has the name of a new object beside the path.
func objectOf(r *http.Request) string { return r.URL.Path + r.URL.Query().Get("name") }

// onRequest watches what reaches the bucket, and cuts what it says no to.
func (b *bucket) onRequest(f func(*http.Request) bool) { b.before.Store(&f) }

var errCanary = errors.New("a credential was found")

func canary(text string) bool {
	return slices.ContainsFunc(buckets.Secrets, func(secret string) bool { return strings.Contains(text, secret) })
}

// noCanaries looks for the bucket's credentials in all that dogear wrote.
func (b *bucket) noCanaries(u *user, results ...result) {
	b.t.Helper()
	err := filepath.WalkDir(u.state, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && canary(string(text)) {
			err = fmt.Errorf("%s: %w", path, errCanary)
		}
		return err
	})
	if err != nil {
		b.t.Error(err)
	}
	for _, r := range results {
		if said := r.stdout + r.stderr; canary(said) {
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
