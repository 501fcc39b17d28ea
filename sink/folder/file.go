package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// ErrNotKept says that the first bytes of a body, which the caller wants to continue, are
// not there: start again with none.
var ErrNotKept = errors.New("the kept beginning is not there")

const (
	tempPrefix = ".dogear-"
	tempSuffix = ".part"
)

// tempName is the name of a document's temporary file.
func tempName(doc int64) string {
	return tempPrefix + strconv.FormatInt(doc, 10) + tempSuffix
}

// tempDoc is the document that a temporary file is for. It knows only the names that
// tempName makes.
func tempDoc(name string) (doc int64, ok bool) {
	number, ok := strings.CutPrefix(name, tempPrefix)
	if !ok {
		return 0, false
	}
	number, ok = strings.CutSuffix(number, tempSuffix)
	if !ok {
		return 0, false
	}
	doc, err := strconv.ParseInt(number, 10, 64)
	return doc, err == nil && tempName(doc) == name
}

// A File is a document's temporary file. One goroutine at a time uses it.
type File struct {
	file *os.File
	name string
	keep int64
}

// create opens the document's temporary file for writing behind its first keep bytes; with
// zero it is a new, empty one. Where the kept bytes are gone the error matches [ErrNotKept].
func (s *Sink) create(doc, keep int64) (*File, error) {
	name := tempName(doc)
	open := s.fresh
	if keep != 0 {
		open = func(name string) (*os.File, error) { return s.kept(name, keep) }
	}
	f, err := open(name)
	if err != nil {
		return nil, fmt.Errorf("make a file for document %d in %s: %w", doc, s.shown, err)
	}
	return &File{file: f, name: name, keep: keep}, nil
}

// kept opens a temporary file, cuts it behind its first keep bytes and stands there.
func (s *Sink) kept(name string, keep int64) (*os.File, error) {
	if keep < 0 {
		return nil, fmt.Errorf("keep %d bytes: %w", keep, fs.ErrInvalid)
	}
	f, info, err := s.regular(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case info.Size() < keep:
		err = fmt.Errorf("%w: %s has %d bytes of %d", ErrNotKept, name, info.Size(), keep)
	case info.Size() > keep:
		err = f.Truncate(keep)
	}
	if err == nil {
		_, err = f.Seek(keep, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Name is the temporary file's name in the folder.
func (f *File) Name() string { return f.name }

// Prefix reads the bytes that were kept, from the first on. It does not move where Write
// goes on.
func (f *File) Prefix() io.Reader { return io.NewSectionReader(f.file, 0, f.keep) }

// Write writes behind what is there. The chain of an error ends in what the system said,
// such as that the disk is full.
func (f *File) Write(b []byte) (int, error) { return f.file.Write(b) }

// Close ends the writing. The bytes are durable after [Sink.Sync] or [Sink.SyncPart], which
// take a closed file as well as an open one.
func (f *File) Close() error { return f.file.Close() }

// Remove drops the document's temporary file, which must be closed. That there is none is
// no error.
func (s *Sink) Remove(doc int64) error {
	if err := s.drop(tempName(doc)); err != nil {
		return fmt.Errorf("remove the file of document %d in %s: %w", doc, s.shown, err)
	}
	return nil
}

// Size is how many bytes a result has. The error matches [fs.ErrNotExist] where no regular
// file has the name.
func (s *Sink) Size(_ context.Context, name string) (int64, error) { return s.size(name) }

func (s *Sink) size(name string) (int64, error) {
	if err := checkElement(name); err != nil {
		return 0, err
	}
	info, err := s.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(name)
	}
	if err != nil {
		return 0, fmt.Errorf("look for a result in %s: %w", s.shown, err)
	}
	return info.Size(), nil
}

// Open opens a result for reading. Errors are as those of [Sink.Size].
func (s *Sink) Open(name string) (io.ReadCloser, error) {
	if err := checkElement(name); err != nil {
		return nil, err
	}
	f, _, err := s.regular(name, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("open a result in %s: %w", s.shown, err)
	}
	return f, nil
}

// Sweep drops the temporary files of the documents that keep does not want, and what else a
// crash left. It is for the start of a run, while nobody writes.
func (s *Sink) Sweep(keep func(doc int64) bool) error {
	stale, err := s.stale(keep)
	for _, name := range stale {
		err = errors.Join(err, s.drop(name))
	}
	if err != nil {
		return fmt.Errorf("clear %s of temporary files: %w", s.shown, err)
	}
	return nil
}

// stale are the names that Sweep drops. They are all read before the first is dropped: some
// file systems skip names in a listing that changes under them.
func (s *Sink) stale(keep func(doc int64) bool) (names []string, err error) {
	d, err := s.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(1024)
		for _, e := range entries {
			name := e.Name()
			doc, ok := tempDoc(name)
			switch {
			case e.IsDir():
			case ok && !keep(doc),
				name == listTemp,
				strings.HasPrefix(name, markName+"-") && strings.HasSuffix(name, tempSuffix):
				names = append(names, name)
			}
		}
		if err == io.EOF {
			return names, nil
		}
		if err != nil {
			return names, err
		}
	}
}
