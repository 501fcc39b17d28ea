//go:build !nobuckets

package cli

import (
	"context"
	"io"
	"log"

	"github.com/dogear/dogear/sink/bucket"
)

// bucketAddress is a bucket's address in the form that the ledger keeps.
func bucketAddress(out string) (string, error) {
	a, err := bucket.Parse(out)
	if err != nil {
		return "", usage("-o: %w", err)
	}
	return a.String(), nil
}

func openBucket(ctx context.Context, kept, scratch, owner string, before []string, join bool) (sink, error) {
	address, err := bucket.Parse(kept)
	if err != nil {
		return nil, usage("-o: %w", err)
	}
	log.SetOutput(io.Discard) // the services' libraries write there what errors tell as well
	return bucket.Open(ctx, bucket.Config{Address: address, Owner: owner, Before: before, Scratch: scratch, Join: join})
}
