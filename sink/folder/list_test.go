package folder

import (
	"bytes"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear"
)

func rows(results ...dogear.Result) iter.Seq2[dogear.Result, error] {
	return func(yield func(dogear.Result, error) bool) {
		for _, r := range results {
			if !yield(r, nil) {
				return
			}
		}
	}
}

var errListed = errors.New("the ledger broke")

// failing ends in an error after n results.
func failing(n int) iter.Seq2[dogear.Result, error] {
	return func(yield func(dogear.Result, error) bool) {
		for range n {
			if !yield(dogear.Result{ID: "x"}, nil) {
				return
			}
		}
		yield(dogear.Result{}, errListed)
	}
}

func TestEncode(t *testing.T) {
	at := time.Date(2026, 3, 1, 13, 14, 15, 678_999_000, time.FixedZone("", 3600))
	var b bytes.Buffer
	err := Encode(&b, rows(
		dogear.Result{Doc: 9, ID: "https://docs.example.com/a?b=1&c=<2>", Version: `"v1"`, Path: "a_b.html", Size: 5,
			SHA256: "abcd", ContentType: "text/html", ReadAt: at, Run: 3},
		dogear.Result{ID: "empty"},
	))
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	want := `{"id":"https://docs.example.com/a?b=1&c=<2>","version":"\"v1\"","path":"a_b.html","size":5,"sha256":"abcd",` +
		`"content_type":"text/html","read_at":"2026-03-01T12:14:15.678Z","run":3}
{"id":"empty","size":0}
`
	if got := b.String(); got != want {
		t.Errorf("Encode wrote\n%s, want\n%s", got, want)
	}
	if err := Encode(&b, failing(1)); err != errListed {
		t.Errorf("Encode of a broken sequence = %v, want its error", err)
	}
}

func TestWriteList(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	path := filepath.Join(dir, "dogear.jsonl")
	for _, id := range []string{"one", "two"} {
		if err := s.WriteList(t.Context(), rows(dogear.Result{ID: id})); err != nil {
			t.Fatalf("WriteList: %v", err)
		}
		if got, want := read(t, path), `{"id":"`+id+`","size":0}`+"\n"; got != want {
			t.Errorf("the list is %q, want %q", got, want)
		}
	}
	old := read(t, path)
	for _, n := range []int{0, 1, 10_000} {
		err := s.WriteList(t.Context(), failing(n))
		if !errors.Is(err, errListed) || !strings.Contains(err.Error(), dir) {
			t.Errorf("WriteList of a sequence that breaks after %d = %v", n, err)
		}
		if got := read(t, path); got != old {
			t.Errorf("after a failure the list is %q, want the old %q", got, old)
		}
	}
	if got, want := names(t, dir), ".dogear-job dogear.jsonl"; got != want {
		t.Errorf("the folder holds %s, want %s", got, want)
	}

	// While it is written the old one is there, and what a crash left is no obstacle.
	write(t, filepath.Join(dir, listTemp), "half a li")
	err := s.WriteList(t.Context(), func(yield func(dogear.Result, error) bool) {
		if got := read(t, path); got != old {
			t.Errorf("while the next is written the list is %q, want %q", got, old)
		}
		yield(dogear.Result{ID: "three"}, nil)
	})
	if got, want := read(t, path), `{"id":"three","size":0}`+"\n"; got != want || err != nil {
		t.Errorf("the list is %q, %v, want %q", got, err, want)
	}
}
