package bucket

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dogear/dogear/sink/folder"
)

// parts are the temporary files of a job on this machine: a folder's, with the validator under
// which the bytes came beside each one that is kept. A worker on another machine may have kept
// more of the same document since, or of another version of it.
type parts struct {
	*folder.Sink
	dir string
}

func openParts(dir, owner string) (parts, error) {
	s, err := folder.Open(dir, owner)
	if err != nil {
		return parts{}, fmt.Errorf("open the folder for temporary files: %w", err)
	}
	return parts{s, dir}, nil
}

const (
	partPrefix = ".dogear-"
	partSuffix = ".part"
	keptSuffix = ".validator"
)

func (p parts) part(doc int64) string {
	return filepath.Join(p.dir, partPrefix+strconv.FormatInt(doc, 10)+partSuffix)
}

func (p parts) validator(doc int64) string {
	return filepath.Join(p.dir, partPrefix+strconv.FormatInt(doc, 10)+keptSuffix)
}

// Create opens a document's temporary file for writing behind its first keep bytes, which
// prefix reads. See [folder.Sink.Create].
func (p parts) Create(doc, keep int64) (w io.WriteCloser, prefix io.Reader, err error) {
	if keep == 0 { // bytes of another version may come
		if err := gone(p.validator(doc)); err != nil {
			return nil, nil, fmt.Errorf("forget what is kept of document %d: %w", doc, err)
		}
	}
	return p.Sink.Create(doc, keep)
}

// Keep makes what a closed temporary file holds durable, and remembers under which validator
// it came.
func (p parts) Keep(doc int64, validator string) error {
	if err := p.Sink.SyncPart(doc); err != nil {
		return err
	}
	return os.WriteFile(p.validator(doc), []byte(validator), 0o600)
}

// Kept reports whether so many bytes that came under the validator are here.
func (p parts) Kept(doc, size int64, validator string) bool {
	came, err := os.ReadFile(p.validator(doc))
	if err != nil || string(came) != validator {
		return false
	}
	held, err := p.Held(doc)
	return err == nil && held >= size
}

// Remove removes what is here of a document.
func (p parts) Remove(doc int64) error {
	return errors.Join(p.Sink.Remove(doc), gone(p.validator(doc)))
}

// Sweep removes what is here of all documents but those that keep names.
func (p parts) Sweep(keep func(doc int64) bool) error {
	if err := p.Sink.Sweep(keep); err != nil {
		return err
	}
	all, err := os.ReadDir(p.dir)
	for _, e := range all {
		number, is := strings.CutSuffix(strings.TrimPrefix(e.Name(), partPrefix), keptSuffix)
		if doc, e := strconv.ParseInt(number, 10, 64); is && e == nil && !keep(doc) {
			err = errors.Join(err, gone(p.validator(doc)))
		}
	}
	return err
}

func gone(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
