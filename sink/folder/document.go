package folder

import "io"

// Create opens a document's temporary file for writing behind its first keep bytes, which
// prefix reads; with zero it is a new, empty one. Where the kept bytes are gone the error
// matches [ErrNotKept].
func (s *Sink) Create(doc, keep int64) (w io.WriteCloser, prefix io.Reader, err error) {
	f, err := s.create(doc, keep)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Prefix(), nil
}

// SyncPart makes the contents of a document's closed temporary file durable, for the
// beginning of a body that is kept.
func (s *Sink) SyncPart(doc int64) error { return s.syncFile(&File{name: tempName(doc)}) }

// Sync makes the closed temporary files of these documents durable, with their names, and
// every [Sink.Place] that had returned before. With no documents it is for the renames alone.
// Once it has failed it always fails, with the same error.
func (s *Sink) Sync(docs []int64) error {
	files := make([]*File, len(docs))
	for i, d := range docs {
		files[i] = &File{name: tempName(d)}
	}
	return s.settle(files)
}

// Place gives a document's temporary file its final path. It replaces nothing: the error
// matches [io/fs.ErrExist] when the path is taken, be it by one that this file system takes
// for the same. Durable after the next [Sink.Sync].
func (s *Sink) Place(doc int64, path string) error { return s.place(tempName(doc), path) }

// Held is the size of a document's temporary file; the error matches [io/fs.ErrNotExist].
func (s *Sink) Held(doc int64) (int64, error) { return s.size(tempName(doc)) }

// Name is a path for a document: its name, made safe, or the nth alternative to it.
func (s *Sink) Name(name, id string, n int) string {
	if n == 0 {
		return Name(name, id)
	}
	return Alternative(name, id, n)
}

// Fold is the form in which no two paths may be equal.
func (s *Sink) Fold(path string) string { return Fold(path) }
