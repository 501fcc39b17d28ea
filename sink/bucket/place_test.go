package bucket

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
	"golang.org/x/sync/semaphore"

	"github.com/dogear/dogear/internal/buckets"
)

func TestMain(m *testing.M) { os.Exit(buckets.Run(m)) }

// A place is what is under a prefix of a bucket, and how a job opens it on a machine of its own.
type place struct {
	*blob.Bucket
	open func(t *testing.T, owner string, before ...string) (*Sink, error)
}

// mine is the place, opened for one and the same job.
func (p place) mine(t *testing.T) *Sink {
	t.Helper()
	s, err := p.open(t, "job in ledger")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everywhere runs a test in memory, and on a server of each service that there is one of.
func everywhere(t *testing.T, test func(t *testing.T, b place)) {
	t.Run("memory", func(t *testing.T) { test(t, inMemory(t)) })
	for _, kind := range buckets.Kinds {
		t.Run(kind, func(t *testing.T) { test(t, onServer(t, kind)) })
	}
}

func inMemory(t *testing.T) place {
	b := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	return place{b, func(t *testing.T, owner string, before ...string) (*Sink, error) {
		a, err := Parse("s3://results/p")
		if err != nil {
			t.Fatal(err)
		}
		s := &Sink{address: a, owner: owner, before: before, store: &store{Bucket: b}, results: b, memory: semaphore.NewWeighted(memory)}
		if err := s.claim(t.Context(), false); err != nil {
			return nil, err
		}
		if s.parts, err = openParts(filepath.Join(t.TempDir(), "scratch"), owner); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.parts.Sink.Close() })
		return s, nil
	}}
}

func onServer(t *testing.T, kind string) place {
	endpoint := buckets.Start(t, kind)
	return place{blob.PrefixedBucket(buckets.Open(t, kind, endpoint), "p/"), opens(t, kind, endpoint, "results")}
}

// opens is how a job opens a bucket that a server has at an address.
func opens(t *testing.T, kind, endpoint, bucket string) func(t *testing.T, owner string, before ...string) (*Sink, error) {
	raw, env := buckets.Address(kind, endpoint, bucket, "p")
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	return func(t *testing.T, owner string, before ...string) (*Sink, error) {
		a, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Config{Address: a, Owner: owner, Before: before, Scratch: filepath.Join(t.TempDir(), "scratch")})
		if err == nil {
			t.Cleanup(func() { _ = s.Close() })
		}
		return s, err
	}
}
