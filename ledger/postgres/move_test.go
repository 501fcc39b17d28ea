package postgres_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/ledgertest"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/ledger/sqlite"
)

func newFile(t *testing.T) ledgertest.Ledger {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dogear", "ledger.db")
	return ledgertest.Ledger{
		Open: func(t *testing.T) ledger.Store {
			t.Helper()
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			must(t, err)
			return s
		},
	}
}

// A ledger moves from one machine to several.
func TestMovesHere(t *testing.T) {
	ledgertest.Moves(t, newFile, func(t *testing.T) ledgertest.Ledger { return newLedger(t, "") })
}

// And back to one machine.
func TestMovesAway(t *testing.T) {
	ledgertest.Moves(t, func(t *testing.T) ledgertest.Ledger { return newLedger(t, "") }, newFile)
}

// all are the records of a sequence.
func all(t testing.TB, s ledger.Portable) (records []ledger.Record) {
	t.Helper()
	for r, err := range s.Export(t.Context()) {
		must(t, err)
		records = append(records, r)
	}
	return records
}

func sequence(records []ledger.Record, before func(i int)) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for i, r := range records {
			if before(i); !yield(r, nil) {
				return
			}
		}
	}
}

func same(path string) string { return path }

// Of two that import one ledger at once one wins, and the other leaves nothing.
func TestImportsAtOnce(t *testing.T) {
	from := openStore(t, newDatabase(t))
	defer from.Close()
	work(t, from)
	records := all(t, from)
	dsn := newDatabase(t)
	ready, errs := make(chan bool, 2), make(chan error)
	for range 2 {
		s := openStore(t, dsn)
		defer s.Close()
		go func() {
			errs <- s.Import(t.Context(), sequence(records, func(i int) {
				if i == len(records)-1 { // all but the last is there of both
					ready <- true
					for len(ready) < 2 {
						runtime.Gosched()
					}
				}
			}), same)
		}()
	}
	lost := errors.Join(<-errs, <-errs)
	if !errors.Is(lost, ledger.ErrJobExists) || !strings.Contains(lost.Error(), "job j") || strings.Contains(lost.Error(), "\n") {
		t.Errorf("got %v, want one error that names the job", lost)
	}
	s := openStore(t, dsn)
	defer s.Close()
	if got := all(t, s); len(got) != len(records) {
		t.Errorf("%d records, want %d", len(got), len(records))
	}
	if n := ask[int](t, dsn, `SELECT count(*) FROM dogear.jobs`); n != 1 {
		t.Errorf("%d jobs are left, want 1", n)
	}
}

// terminate breaks the connections of all processes.
func terminate(t testing.TB, dsn string) {
	t.Helper()
	do(t, dsn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
}

// An export that breaks in the middle says so: two halves of two moments are no ledger. An
// import goes on over connections that break.
func TestMoveOverTerminatedConnections(t *testing.T) {
	dsn, other := newDatabase(t), newDatabase(t)
	s, to := openStore(t, dsn), openStore(t, other)
	defer s.Close()
	defer to.Close()
	const n = 20_000
	_, _, err := s.Create(t.Context(), "j", ledger.Settings{}, postgres.Docs(n))
	must(t, err)
	rows := 0
	for _, err = range s.Export(t.Context()) {
		if rows++; rows == 5000 {
			terminate(t, dsn)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "try: again") || rows > n {
		t.Errorf("after %d rows: %v, want an error that says to try again", rows, err)
	}
	records := all(t, s)
	must(t, to.Import(t.Context(), sequence(records, func(i int) {
		if i%3000 == 0 {
			terminate(t, other)
		}
	}), same))
	if got := all(t, to); len(got) != len(records) {
		t.Errorf("%d records, want %d", len(got), len(records))
	}
}

// Who stops reading an export early has enough, and the store goes on.
func TestExportEnough(t *testing.T) {
	s := openStore(t, newDatabase(t))
	defer s.Close()
	_, _, err := s.Create(t.Context(), "j", ledger.Settings{}, postgres.Docs(10))
	must(t, err)
	for range readersAndMore {
		for _, err := range s.Export(t.Context()) {
			must(t, err)
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err = range s.Export(ctx) {
		cancel()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	_, err = s.Job(t.Context(), "j")
	must(t, err)
}

// readersAndMore is more than the store has connections that read.
const readersAndMore = 9
