package bucket

import (
	"context"
	"hash/maphash"
	"slices"

	"gocloud.dev/blob"
)

// A key is what is compared of an object.
type key struct {
	path string
	size int64
}

// pageSize is how many objects one page of a listing has. Tests have smaller ones.
var pageSize = 1000

// Inventory lists the prefix once and tells whether it has a result of that path and size. It
// holds eight bytes an object: a keyed hash of both, so that a wrong yes is not to be expected
// among millions, and nobody can make one.
func (s *Sink) Inventory(ctx context.Context) (has func(path string, size int64) bool, err error) {
	seed := maphash.MakeSeed()
	hash := func(path string, size int64) uint64 {
		return maphash.Comparable(seed, key{path, size})
	}
	var all []uint64
	for token := blob.FirstPageToken; token != nil; {
		objects, next, err := s.page(ctx, token)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			all = append(all, hash(o.Key, o.Size))
		}
		token = next
	}
	slices.Sort(all)
	return func(path string, size int64) bool {
		_, found := slices.BinarySearch(all, hash(path, size))
		return found
	}, nil
}

// page is one page of the listing. Results have no slash in their names, so that what others
// have below the prefix is passed over.
func (s *Sink) page(ctx context.Context, token []byte) ([]*blob.ListObject, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	objects, next, err := s.results.ListPage(ctx, token, pageSize, &blob.ListOptions{Delimiter: "/"})
	if err != nil {
		return nil, nil, s.address.fail(ctx, "list", "", err)
	}
	return slices.DeleteFunc(objects, func(o *blob.ListObject) bool { return o.IsDir }), next, nil
}
