package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/sqlite"
)

func TestClosed(t *testing.T) {
	s := open(t, newPath(t))
	if err := s.Renew(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error)
	go func() { waiting <- s.Await(t.Context()) }()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-waiting; !errors.Is(err, sqlite.ErrClosed) {
		t.Errorf("Await of a closed store: %v", err)
	}
	if err := s.Renew(t.Context(), nil); !errors.Is(err, sqlite.ErrClosed) {
		t.Errorf("Renew of a closed store: %v", err)
	}
	if _, err := s.Job(t.Context(), "j"); !errors.Is(err, sqlite.ErrClosed) {
		t.Errorf("Job of a closed store: %v", err)
	}
}

// Close while others are at work: each of them hears either that its work is durable or
// that it was not done.
func TestCloseUnderWay(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	var all sync.WaitGroup
	var mu sync.Mutex
	durable := int64(0)
	for range 32 {
		all.Go(func() {
			for {
				err := s.Decide(t.Context(), []string{"host:a"}, func(d *dogear.Docket) { d.Scopes["host:a"].Generation++ })
				if errors.Is(err, sqlite.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if durable++; durable == 200 {
					all.Go(func() {
						if err := s.Close(); err != nil {
							t.Error(err)
						}
					})
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for sc, err := range open(t, path).Scopes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if sc.Generation != durable {
			t.Errorf("generation %d after %d decisions that were durable", sc.Generation, durable)
		}
	}
}

// A slow reader holds nothing up, however many there are and whatever they do meanwhile.
func TestSlowReaders(t *testing.T) {
	s := open(t, newPath(t))
	job, _, err := s.Create(t.Context(), "j", ledger.Settings{}, sqlite.Docs(2000))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(t.Context(), job.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	lanes, err := s.Lanes(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	var deep func(n int)
	deep = func(n int) {
		if n == 0 {
			return
		}
		i := 0
		for _, err := range s.Remaining(t.Context(), job.ID) {
			if err != nil {
				t.Fatal(err)
			}
			if i++; i == 1000 {
				if _, err := s.Claim(t.Context(), lanes[0].ID, 10, 8); err != nil {
					t.Fatal(err)
				}
				deep(n - 1)
			}
		}
		if i != 2000 {
			t.Errorf("%d documents, want 2000", i)
		}
	}
	deep(10) // more than there are connections
}

// K7: what a document keeps secret is in none of the ledger's files.
func TestNoSecrets(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	d := dogear.Document{
		ID: "https://docs.example.com/a", Address: "https://docs.example.com/a?sig=canary-4711", Secret: true, Size: -1,
		Scopes: []string{"host:docs.example.com"},
	}
	job, _, err := s.Create(t.Context(), "j", ledger.Settings{}, func(yield func(dogear.Document, error) bool) { yield(d, nil) })
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Compare(t.Context(), job.ID, d); err != nil {
		t.Fatal(err)
	}
	other := d
	other.Address, other.Fingerprint = d.Address+"&more", 1
	_, _, err = s.Create(t.Context(), "k", ledger.Settings{}, func(yield func(dogear.Document, error) bool) {
		_ = yield(d, nil) && yield(other, nil)
	})
	if _, ok := errors.AsType[*ledger.ConflictError](err); !ok || bytes.Contains([]byte(err.Error()), []byte("canary")) {
		t.Errorf("got error %v, want a ConflictError without the secret", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Dir(path), func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if bytes.Contains(b, []byte("canary")) {
			t.Errorf("%s holds the secret", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Many processes may make the ledger at the same moment.
func TestOpenTogether(t *testing.T) {
	path := newPath(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(s.Renew(t.Context(), nil), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
