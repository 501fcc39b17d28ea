package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/reader"
)

var _ reader.Direct = (*Sink)(nil)

// save writes a document's temporary file, and returns its result.
func save(t *testing.T, s *Sink, doc int64, id, path, text string) dogear.Result {
	t.Helper()
	w, _, err := s.Create(doc, 0)
	if err == nil {
		_, err = io.WriteString(w, text)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	return dogear.Result{Doc: doc, ID: id, Path: path, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
}

// K4: the same result of the same document is taken for its own, anything else is not.
func TestPutAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, b place) {
		s := b.mine(t)
		first := save(t, s, 1, "id", "a.html", "text")
		if err := s.Put(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			id, text string
			taken    bool
		}{
			"the same":            {"id", "text", false},
			"another document":    {"other", "text", true},
			"another version":     {"id", "next", true},
			"another version too": {"id", "a longer text", true},
		} {
			err := s.Put(t.Context(), save(t, s, 2, c.id, "a.html", c.text))
			if errors.Is(err, fs.ErrExist) != c.taken || !c.taken && err != nil {
				t.Errorf("%s: Put = %v, taken should be %v", name, err, c.taken)
			}
		}
		if got, err := b.ReadAll(t.Context(), "a.html"); string(got) != "text" || err != nil {
			t.Errorf("the object holds %q, %v", got, err)
		}
	})
}

// Of many writers of one name one wins, and the others are told.
func TestPutRace(t *testing.T) {
	everywhere(t, func(t *testing.T, b place) {
		var won atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			s := b.mine(t)
			res := save(t, s, 1, fmt.Sprint(i), "same", fmt.Sprint("text ", i))
			all.Go(func() {
				if err := s.Put(t.Context(), res); err == nil {
					won.Add(1)
				} else if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d writers won", won.Load())
		}
	})
}

// A temporary file that has changed on the disk never comes to be an object.
func TestPutChecksBytes(t *testing.T) {
	everywhere(t, func(t *testing.T, b place) {
		s := b.mine(t)
		for name, text := range map[string]string{"other bytes": "tixt", "fewer": "tex", "more": "text!"} {
			res := save(t, s, 1, "id", "a", "text")
			if err := os.WriteFile(s.part(1), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := s.Put(t.Context(), res); err == nil || !strings.Contains(err.Error(), "its temporary file has changed") {
				t.Errorf("%s: Put = %v", name, err)
			}
		}
		if there, err := b.Exists(t.Context(), "a"); there || err != nil {
			t.Errorf("there is an object: %v", err)
		}
	})
}

// A cancelled upload leaves nothing.
func TestPutCancelled(t *testing.T) {
	everywhere(t, func(t *testing.T, b place) {
		s := b.mine(t)
		res := save(t, s, 1, "id", "a", "text")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Put(ctx, res); !errors.Is(err, context.Canceled) {
			t.Errorf("Put = %v", err)
		}
		if there, err := b.Exists(t.Context(), "a"); there || err != nil {
			t.Errorf("there is an object: %v", err)
		}
	})
}

func TestMark(t *testing.T) {
	everywhere(t, func(t *testing.T, b place) {
		b.mine(t)
		var other *OtherJobError
		if _, err := b.open(t, "another in ledger"); !errors.As(err, &other) || other.Owner != "job in ledger" {
			t.Errorf("another job: %v", err)
		}
		b.mine(t) // the same job on another machine
		if err := errors.Join(b.WriteAll(t.Context(), listName, nil, nil), b.Delete(t.Context(), markName)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.open(t, "job in ledger"); !errors.As(err, &other) || other.Owner != "" {
			t.Errorf("a list of nobody's: %v", err)
		}
	})
}

// A job that moved to another ledger takes its prefix with it, there and back.
func TestMarkMoves(t *testing.T) {
	everywhere(t, func(t *testing.T, b place) {
		b.mine(t)
		for _, names := range [][]string{{"there", "job in ledger"}, {"there", "job in ledger"}, {"job in ledger", "job in ledger", "there"}} {
			if _, err := b.open(t, names[0], names[1:]...); err != nil {
				t.Errorf("%q: %v", names, err)
			}
		}
		if _, err := b.open(t, "there", "job in ledger"); err == nil || !strings.Contains(err.Error(), "job in ledger") {
			t.Errorf("where it was before: %v, want an error that names whose it is", err)
		}
	})
}

// K3: the listing tells names and sizes, over its pages, and nothing below the prefix.
func TestInventory(t *testing.T) {
	defer func(was int) { pageSize = was }(pageSize)
	pageSize = 20
	everywhere(t, func(t *testing.T, b place) {
		s := b.mine(t)
		for i := range 2*pageSize + 10 {
			if err := b.WriteAll(t.Context(), fmt.Sprint(i), make([]byte, i%7), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.WriteAll(t.Context(), "below/1", nil, nil); err != nil {
			t.Fatal(err)
		}
		has, err := s.Inventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2*pageSize + 10 {
			if name := fmt.Sprint(i); !has(name, int64(i%7)) || has(name, int64(i%7+1)) {
				t.Errorf("%s: wrong", name)
			}
		}
		if has("below/1", 0) || has("none", 0) {
			t.Error("it has what is not there")
		}
	})
}

// K5: the beginning of a body goes on only where it came under the ledger's validator.
func TestKept(t *testing.T) {
	s := inMemory(t).mine(t)
	save(t, s, 1, "id", "a", "beginning")
	if err := s.Keep(1, `"v1"`); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		size      int64
		validator string
		want      bool
	}{{9, `"v1"`, true}, {5, `"v1"`, true}, {10, `"v1"`, false}, {9, `"v2"`, false}} {
		if got := s.Kept(1, c.size, c.validator); got != c.want {
			t.Errorf("Kept(%d, %s) = %v", c.size, c.validator, got)
		}
	}
	save(t, s, 1, "id", "a", "of another version")
	if s.Kept(1, 9, `"v1"`) {
		t.Error("bytes that came later are taken for the first")
	}
	save(t, s, 2, "id 2", "b", "beginning")
	if err := errors.Join(s.Keep(2, "v"), s.Sweep(func(int64) bool { return false })); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, ".dogear-*.*"))
	if len(left) != 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A sink that nothing was saved in leaves no mark, where it made it.
func TestAbandon(t *testing.T) {
	everywhere(t, func(t *testing.T, b place) {
		first, second := b.mine(t), b.mine(t)
		if !first.made || second.made {
			t.Errorf("made: %v, %v", first.made, second.made)
		}
		if err := first.Abandon(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
