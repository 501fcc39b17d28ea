package cli

import (
	"fmt"
	"io"

	"github.com/dogear/dogear/sink/folder"
)

// sink is a folder as the reader sees it: by numbers of documents instead of open files.
type sink struct{ *folder.Sink }

func (s sink) Create(doc, keep int64) (io.WriteCloser, io.Reader, error) {
	f, err := s.Sink.Create(doc, keep)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Prefix(), nil
}

func (s sink) Place(doc int64, path string) error { return s.Sink.Place(temp(doc), path) }

func (s sink) Held(doc int64) (int64, error) { return s.Sink.Size(temp(doc)) }

func (s sink) SyncPart(doc int64) error { return s.Sink.Sync(nil) }

func (s sink) Sync(docs []int64) error { return s.Sink.Sync(nil) }

func (s sink) Name(name, id string, n int) string {
	if n == 0 {
		return folder.Name(name, id)
	}
	return folder.Alternative(name, id, n)
}

func (s sink) Fold(path string) string { return folder.Fold(path) }

func temp(doc int64) string { return fmt.Sprintf(".dogear-%d.part", doc) }
