package postgres_test

import (
	"path/filepath"
	"testing"

	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/ledgertest"
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
