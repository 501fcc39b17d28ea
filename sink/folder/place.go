package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// place gives a temporary file its final name. It replaces nothing: the error matches
// [fs.ErrExist] when the name is taken, be it by a name that this file system takes for the
// same. It may be repeated after a crash, and matches [fs.ErrNotExist] when the temporary
// file is gone: then the rename may have been done before. Durable after the next [Sink.Sync].
func (s *Sink) place(temp, name string) error {
	if err := errors.Join(checkElement(temp), checkElement(name)); err != nil {
		return err
	}
	err := s.rename(s, temp, name)
	if errors.Is(err, errors.ErrUnsupported) {
		err = s.linkOver(temp, name)
	}
	if errors.Is(err, fs.ErrExist) && s.same(temp, name) {
		err = s.drop(temp) // a crash came between linkOver's two steps
	}
	if err != nil {
		return fmt.Errorf("place %s as %s in %s: %w", temp, name, s.shown, err)
	}
	return nil
}

// linkOver is for file systems that cannot rename without replacing.
func (s *Sink) linkOver(temp, name string) error {
	err := s.root.Link(temp, name)
	switch {
	case err == nil:
		return s.drop(temp)
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return err
	default:
		return s.reserve(temp, name)
	}
}

// reserve is for file systems that have no links either: it takes the name with an empty
// file, and replaces that one. A crash between the two leaves an empty file of nobody's, and
// the document gets another name.
func (s *Sink) reserve(temp, name string) error {
	if _, err := s.root.Lstat(temp); err != nil {
		return err
	}
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := s.root.Rename(temp, name); err != nil {
		return errors.Join(err, s.drop(name))
	}
	return nil
}

// same reports whether two names are of one regular file.
func (s *Sink) same(a, b string) bool {
	x, errX := s.root.Lstat(a)
	y, errY := s.root.Lstat(b)
	return errX == nil && errY == nil && x.Mode().IsRegular() && os.SameFile(x, y)
}
