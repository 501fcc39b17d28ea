package list

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// columnNames are the fields of .csv and .jsonl. Others are skipped.
var columnNames = []string{"url", "id", "version", "name", "size", "sha256"}

var (
	errSize = errors.New("the size is no number of bytes")
	errUTF8 = errors.New("is not valid UTF-8: save the list as UTF-8")
)

// columnName is a name as it is compared: a Version that was skipped for its capital would
// be a version that nobody compares.
func columnName(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

func isColumn(name string) bool { return slices.Contains(columnNames, name) }

// field is where the record keeps a column's text.
func (rec *record) field(name string) *string {
	switch name {
	case "url":
		return &rec.url
	case "id":
		return &rec.id
	case "version":
		return &rec.version
	case "name":
		return &rec.name
	default:
		return &rec.sha256
	}
}

// columns are the names in the header of a .csv list.
type columns []string

// parseHeader checks a header line.
func parseHeader(fields []string) (columns, error) {
	var names columns
	for _, f := range fields {
		name := columnName(f)
		if name != "" && slices.Contains(names, name) {
			if !isColumn(name) {
				return nil, errors.New("the header names one column twice")
			}
			return nil, fmt.Errorf("the header names the column %s twice", name)
		}
		names = append(names, name)
	}
	if !slices.Contains(names, "url") {
		return nil, errors.New("the header has no column url: the first line names the columns, with commas between them")
	}
	return names, nil
}

// A table is the records of a .csv list after its header.
type table struct {
	columns columns
	csv     *csv.Reader
	meter   *meter
	base    int64 // the offset at which the reader began
	line    int64 // the one after the last record
}

// newTable reads the header.
func newTable(r *bufio.Reader, meter *meter, offset int64) (*table, error) {
	t := columns(nil).table(r, meter, offset)
	header, _, err := t.read()
	if err == io.EOF {
		return nil, errors.New("is empty: the first line names the columns, url among them")
	}
	if err != nil {
		return nil, err
	}
	t.columns, err = parseHeader(header)
	return t, err
}

// table reads records that begin at an offset.
func (c columns) table(r *bufio.Reader, meter *meter, offset int64) *table {
	t := &table{columns: c, csv: csv.NewReader(r), meter: meter, base: offset, line: 1}
	t.csv.FieldsPerRecord = -1
	t.csv.ReuseRecord = true
	t.csv.TrimLeadingSpace = true
	return t
}

// readHeader reads the header of the list's file once more, for a record in its middle.
func (l *List) readHeader() (columns, error) {
	r, err := l.records(l.input())
	if err != nil {
		return nil, err
	}
	return r.(*table).columns, nil
}

func (t *table) next() (record, error) {
	rec := record{size: -1, offset: t.base + t.csv.InputOffset()}
	fields, line, err := t.read()
	rec.line = line
	if err != nil {
		return rec, err
	}
	if len(fields) != len(t.columns) {
		return rec, fmt.Errorf("has %d fields, and the header has %d", len(fields), len(t.columns))
	}
	for i, name := range t.columns {
		switch value := strings.TrimSpace(fields[i]); {
		case !isColumn(name), value == "":
		case !utf8.ValidString(value):
			return rec, errUTF8
		case name == "size":
			if rec.size, err = strconv.ParseInt(value, 10, 64); err != nil || rec.size < 0 {
				return rec, errSize
			}
		default:
			*rec.field(name) = value
		}
	}
	return rec, nil
}

// read is the next row and the line on which it begins.
func (t *table) read() (fields []string, line int64, err error) {
	t.meter.left = maxRecord + bufferSize // the buffer is filled ahead
	fields, err = t.csv.Read()
	if failed, ok := errors.AsType[*csv.ParseError](err); ok {
		if errors.Is(failed.Err, csv.ErrBareQuote) {
			return nil, int64(failed.StartLine), errors.New("has a quote in a field that does not begin with one: quote the field, and write the quote twice")
		}
		return nil, int64(failed.StartLine), errors.New("has a quote that is not closed, or that is not written twice inside a quoted field")
	}
	if err != nil {
		return nil, t.line, err
	}
	first, _ := t.csv.FieldPos(0)
	last, _ := t.csv.FieldPos(len(fields) - 1)
	t.line = int64(last+strings.Count(fields[len(fields)-1], "\n")) + 1
	return fields, int64(first), nil
}
