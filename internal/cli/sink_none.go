//go:build nobuckets

package cli

import (
	"context"

	"github.com/dogear/dogear"
)

func bucketAddress(out string) (string, error) {
	return "", usage("-o %s: this dogear was built without buckets: give a folder", dogear.StripText(out))
}

func openBucket(_ context.Context, kept, _, _ string, _ []string, _ bool) (sink, error) {
	_, err := bucketAddress(kept)
	return nil, err
}
