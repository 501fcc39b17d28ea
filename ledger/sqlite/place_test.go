package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dogear/dogear"
)

// A ledger that is deleted or replaced under a process takes nothing more: others wait by
// another one (W1), and nobody would find what was written (K2).
func TestDeletedUnderneath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "ledger.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	confirm := func() error {
		return s.Confirm(t.Context(), "k", dogear.Confirmation{By: "x", At: time.Now()}, 0, 0, 0)
	}
	if err := confirm(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	s.writer.at.seen = time.Time{} // as if a second had passed; nobody writes now
	if err := confirm(); !errors.Is(err, ErrMoved) {
		t.Errorf("written to a ledger that is gone: %v, want ErrMoved", err)
	}
}
