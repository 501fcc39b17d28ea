package folder

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/dogear/dogear"
)

// listTemp is the list while it is written.
const listTemp = tempPrefix + "list" + tempSuffix

// timeFormat is RFC 3339 with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// A Row is one result as the outside reads it: in the folder's list and in `results --json`.
// What is absent is unknown.
type Row struct {
	ID          string `json:"id"`
	Version     string `json:"version,omitempty"`
	Path        string `json:"path,omitempty"` // relative to the sink
	Size        int64  `json:"size"`           // bytes
	SHA256      string `json:"sha256,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	ReadAt      string `json:"read_at,omitempty"` // RFC 3339 in UTC with milliseconds
	Run         int64  `json:"run,omitempty"`
}

// RowOf is the row of a result.
func RowOf(r dogear.Result) Row {
	row := Row{ID: r.ID, Version: r.Version, Path: r.Path, Size: r.Size, SHA256: r.SHA256,
		ContentType: r.ContentType, Run: r.Run}
	if !r.ReadAt.IsZero() {
		row.ReadAt = r.ReadAt.UTC().Truncate(time.Millisecond).Format(timeFormat)
	}
	return row
}

// Encode writes the results as JSON, one object a line, and holds one of them at a time. It
// ends at the sequence's error, which it returns as it is.
func Encode(w io.Writer, results iter.Seq2[dogear.Result, error]) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for r, err := range results {
		if err != nil {
			return err
		}
		if err := enc.Encode(RowOf(r)); err != nil {
			return err
		}
	}
	return nil
}

// WriteList replaces the folder's list of results. Whoever reads it sees the old list or the
// whole new one, after a crash too; when it returns, the new one is durable. After an error
// the old one is there still.
func (s *Sink) WriteList(_ context.Context, results iter.Seq2[dogear.Result, error]) error {
	if err := s.writeList(results); err != nil {
		return fmt.Errorf("write the list %s in %s: %w", listName, s.shown, errors.Join(err, s.drop(listTemp)))
	}
	return nil
}

func (s *Sink) writeList(results iter.Seq2[dogear.Result, error]) error {
	f, err := s.fresh(listTemp)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = Encode(w, results)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := s.root.Rename(listTemp, listName); err != nil {
		return err
	}
	return syncDir(s.dir)
}
