package sqlite

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrMoved says that the ledger's file was deleted or replaced while it was open. What is
// written to it now nobody would ever find, and other processes wait by another.
var ErrMoved = errors.New("its file was deleted or replaced while it was in use")

// lookForFile is how often a writer looks whether its file is still where others find it.
const lookForFile = time.Second

// place is where the ledger's file was when it was opened.
type place struct {
	path string
	file os.FileInfo
	seen time.Time
}

func newPlace(path string) (place, error) {
	info, err := os.Stat(path)
	return place{path: path, file: info, seen: time.Now()}, err
}

// check reports [ErrMoved] when the path leads to another file, or to none.
func (p *place) check() error {
	if p.file == nil || time.Since(p.seen) < lookForFile {
		return nil
	}
	p.seen = time.Now()
	info, err := os.Stat(p.path)
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(p.file, info) {
		return fmt.Errorf("ledger %s: %w", p.path, ErrMoved)
	}
	return nil
}
