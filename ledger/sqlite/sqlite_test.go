package sqlite_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/ledgertest"
	"github.com/dogear/dogear/ledger/sqlite"
)

func TestPromises(t *testing.T) { ledgertest.Test(t, newLedger) }

func TestMoves(t *testing.T) { ledgertest.Moves(t, newLedger, newLedger) }

// newLedger is an empty ledger whose clock can be moved.
func newLedger(t *testing.T) ledgertest.Ledger {
	path := newPath(t)
	t.Cleanup(func() { consistent(t, path) })
	var passed atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	return ledgertest.Ledger{
		Open: func(t *testing.T) ledger.Store {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Kill: func(s ledger.Store) { s.(*sqlite.Store).Kill() },
		Pass: func(d time.Duration) { passed.Add(int64(d)) },
	}
}

// newPath is where a test's ledger will be.
func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "dogear", "ledger.db") }

// consistent checks a ledger that nobody has open any more.
func consistent(t *testing.T, path string) {
	t.Helper()
	found, err := sqlite.Contradictions(path)
	if err != nil {
		t.Errorf("check the ledger: %v", err)
	}
	for _, f := range found {
		t.Errorf("the ledger contradicts itself: %s", f)
	}
}
