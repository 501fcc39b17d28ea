package list

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// objects are the records of a list with one JSON object a line.
type objects struct{ lines lines }

func (o *objects) next() (record, error) {
	text, line, offset, err := o.lines.next()
	if err != nil {
		return record{line: line}, err
	}
	rec, err := parseObject(text)
	rec.line, rec.offset = line, offset
	return rec, err
}

var errNoObject = errors.New("is no JSON object: a line holds one, whole, such as {\"url\":\"https://…\"}")

// parseObject reads the fields that it knows, each of them once, and skips the others. Its
// errors show no part of a value.
func parseObject(text []byte) (record, error) {
	rec := record{size: -1}
	if !utf8.Valid(text) {
		return rec, errUTF8
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return rec, errNoObject
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return rec, errNoObject
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return rec, errNoObject
		}
		name := columnName(key.(string)) // the decoder sees to it that keys are strings
		if !isColumn(name) {
			continue
		}
		if seen[name] {
			return rec, fmt.Errorf("the field %s is there twice", name)
		}
		seen[name] = true
		if err := rec.setJSON(name, value); err != nil {
			return rec, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return rec, errNoObject
	}
	if _, err := dec.Token(); err != io.EOF {
		return rec, errNoObject
	}
	return rec, nil
}

func (rec *record) setJSON(name string, value json.RawMessage) error {
	if string(value) == "null" {
		return nil
	}
	if name == "size" {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < 0 {
			return errSize
		}
		rec.size = n
		return nil
	}
	var s string
	if !strings.HasPrefix(string(value), `"`) || json.Unmarshal(value, &s) != nil {
		return fmt.Errorf("the field %s is no string", name)
	}
	*rec.field(name) = s
	return nil
}
