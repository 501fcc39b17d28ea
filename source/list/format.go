package list

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// A Format says how a list is written.
type Format uint8

// The formats.
const (
	// Guess takes the format from the first line that is not blank: a JSON object, a header
	// with a column url, else one address a line.
	Guess Format = iota
	// Text has one address a line; blank lines and those that begin with # are skipped.
	Text
	// CSV is RFC 4180 with a header line.
	CSV
	// JSONL has one JSON object a line.
	JSONL
)

// maxRecord bounds the bytes of one line, or of one record of several.
const maxRecord = 1 << 20

const bufferSize = 64 << 10

var (
	errLong  = errors.New("is longer than 1 MiB: is this a list, and are its quotes closed?")
	errUTF16 = errors.New("is UTF-16 or UTF-32: save it as UTF-8")
)

// A readError is a failure to read, which is no fault of a line.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }

func (e *readError) Unwrap() error { return e.err }

// A record is what a list says of one document. The zero size is a size; none is negative.
type record struct {
	url, id, version, name, sha256 string
	size                           int64
	line, offset                   int64
}

// records come one by one; io.EOF ends them. Beside an error stands the record's line.
type records interface {
	next() (record, error)
}

func formatOf(path string) (Format, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".txt":
		return Text, nil
	case ".csv":
		return CSV, nil
	case ".jsonl":
		return JSONL, nil
	}
	return 0, errors.New("is no list: the name of one ends in .txt, .csv or .jsonl")
}

// records reads the list from its beginning.
func (l *List) records(in io.Reader) (records, error) {
	meter := &meter{r: in, left: math.MaxInt}
	r := bufio.NewReaderSize(meter, bufferSize)
	offset, err := start(r)
	if err != nil {
		return nil, err
	}
	format := l.format
	if format == Guess {
		format = guess(r)
	}
	switch format {
	case CSV:
		return newTable(r, meter, offset)
	case JSONL:
		return &objects{lines{r: r, offset: offset}}, nil
	default:
		return &addresses{lines{r: r, offset: offset}}, nil
	}
}

// recordsAt reads the list's file from the beginning of a record.
func (l *List) recordsAt(offset int64) (records, error) {
	meter := &meter{r: io.NewSectionReader(l.file, offset, math.MaxInt64-offset), left: math.MaxInt}
	r := bufio.NewReader(meter)
	switch l.format {
	case CSV:
		columns, err := l.header()
		if err != nil {
			return nil, err
		}
		return columns.table(r, meter, offset), nil
	case JSONL:
		return &objects{lines{r: r, offset: offset}}, nil
	default:
		return &addresses{lines{r: r, offset: offset}}, nil
	}
}

// start skips a byte order mark, and tells where the text begins.
func start(r *bufio.Reader) (offset int64, err error) {
	mark, err := r.Peek(3)
	switch {
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return 0, errUTF16
	case string(mark) == "\uFEFF":
		_, err = r.Discard(len(mark))
		return int64(len(mark)), err
	case err != nil && err != io.EOF:
		return 0, err
	}
	return 0, nil
}

// guess looks at the first line that is not blank. It takes no more of the stream than it
// needs: somebody may be typing it.
func guess(r *bufio.Reader) Format {
	for n := 1; ; {
		seen, err := r.Peek(n)
		seen, _ = r.Peek(max(len(seen), r.Buffered()))
		line, _, whole := bytes.Cut(bytes.TrimLeft(seen, " \t\r\n"), []byte("\n"))
		if whole || err != nil || len(seen) == bufferSize {
			return guessLine(string(line))
		}
		n = len(seen) + 1
	}
}

func guessLine(line string) Format {
	if strings.HasPrefix(line, "{") {
		return JSONL
	}
	isURL := func(field string) bool { return columnName(strings.Trim(field, ` "`)) == "url" }
	if slices.ContainsFunc(strings.Split(line, ","), isURL) {
		return CSV
	}
	return Text
}

// A meter is a reader that stops with errLong when more was read than is left.
type meter struct {
	r    io.Reader
	left int
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errLong
	}
	n, err := m.r.Read(p[:min(len(p), m.left)])
	m.left -= n
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return n, err
}
