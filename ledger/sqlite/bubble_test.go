package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/sqlite"
)

func bubbleOpen(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// The ledger lives in a bubble's time: its clock, its leases and its waiting.
func TestBubble(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dogear", "ledger.db")
	synctest.Test(t, func(t *testing.T) {
		s := bubbleOpen(t, path)
		job, _, err := s.Create(t.Context(), "j", ledger.Settings{}, func(yield func(dogear.Document, error) bool) {
			yield(dogear.Document{ID: "a", Size: -1, Scopes: []string{"host:a"}}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Begin(t.Context(), job.ID, time.Time{}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		until := start.Add(90 * time.Second)
		err = s.Decide(t.Context(), []string{"host:a"}, func(d *dogear.Docket) { d.Scopes["host:a"].NotBefore = until })
		if err != nil {
			t.Fatal(err)
		}
		for open := false; !open; {
			<-time.After(5 * time.Second)
			if err := s.Renew(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			err := s.Decide(t.Context(), []string{"host:a"}, func(d *dogear.Docket) {
				open = !d.Now.Before(d.Scopes["host:a"].NotBefore)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := time.Since(start); got != 90*time.Second {
			t.Errorf("the scope opened after %v, want 90 s", got)
		}
	})
}

// Own commits wake nobody; another's do within a look, and looks are 50 ms apart.
func TestAwaitHearsOthersOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dogear", "ledger.db")
	synctest.Test(t, func(t *testing.T) {
		s := bubbleOpen(t, path)
		decide := func(s *sqlite.Store, n int64) {
			err := s.Decide(t.Context(), []string{"host:a"}, func(d *dogear.Docket) { d.Scopes["host:a"].Generation = n })
			if err != nil {
				t.Error(err)
			}
		}
		decide(s, 1)
		var own sync.WaitGroup
		own.Go(func() {
			for n := range int64(20) {
				<-time.After(70 * time.Millisecond)
				decide(s, n)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		if err := s.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Await after %v: %v; nobody else has done anything", time.Since(start), err)
		}
		own.Wait()

		other := bubbleOpen(t, path)
		decide(other, 100)
		for n := range int64(5) { // however busy the other is, a look is due every 50 ms
			before := time.Now()
			if err := s.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(before); got != 50*time.Millisecond {
				t.Errorf("Await took %v, want 50 ms", got)
			}
			decide(other, 200+n)
		}
	})
}
