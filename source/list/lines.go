package list

import (
	"bufio"
	"bytes"
	"io"
)

// lines are the lines of a text, without the blanks around them.
type lines struct {
	r            *bufio.Reader
	line, offset int64 // of the line after the last one
	long         []byte
}

// next is the next line that is not blank. It is good until the call after.
func (l *lines) next() (text []byte, line, offset int64, err error) {
	for {
		offset = l.offset
		text, err = l.read()
		l.line++
		l.offset += int64(len(text))
		if err != nil && (err != io.EOF || len(text) == 0) {
			return nil, l.line, offset, err
		}
		if text = bytes.Trim(text, " \t\r\n\v\f"); len(text) > 0 {
			return text, l.line, offset, nil
		}
	}
}

// read is the next line as it is, with its end.
func (l *lines) read() ([]byte, error) {
	text, err := l.r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return text, err
	}
	l.long = append(l.long[:0], text...)
	for err == bufio.ErrBufferFull {
		if len(l.long) > maxRecord {
			return nil, errLong
		}
		text, err = l.r.ReadSlice('\n')
		l.long = append(l.long, text...)
	}
	return l.long, err
}

// addresses are the records of a list with one address a line.
type addresses struct{ lines lines }

func (a *addresses) next() (record, error) {
	for {
		text, line, offset, err := a.lines.next()
		if err != nil {
			return record{line: line}, err
		}
		if text[0] != '#' {
			return record{url: string(text), size: -1, line: line, offset: offset}, nil
		}
	}
}
