package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
)

// A Record is a journal that was read.
type Record struct {
	Head     Head
	Arrivals []Arrival // in the order of arrival
	Events   []Event
	// Cut is the number of a last line that is not whole: the journal was judged up to
	// there. Zero: all lines are whole.
	Cut int
}

// maxLine bounds a line of a journal.
const maxLine = 16 << 20

// Parse reads a journal. A last line that was cut is left out and its number kept in Cut;
// any other line that is not understood is an error with its number.
func Parse(r io.Reader) (*Record, error) {
	rec := &Record{}
	b := bufio.NewReaderSize(r, 1<<16)
	for n, last := 1, false; !last; n++ {
		line, err := readLine(b)
		if last = err == io.EOF; err != nil && !last {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case last && !json.Valid(line):
			rec.Cut = n
		default:
			if err := rec.add(line); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	switch {
	case rec.Head.Drill == 0 && rec.Cut > 0:
		return nil, fmt.Errorf("line %d: the head of the journal is cut: there is nothing to judge", rec.Cut)
	case rec.Head.Drill == 0:
		return nil, fmt.Errorf("the journal is empty: its first line is its head: {\"drill\":%d,…}", Version)
	}
	sort.SliceStable(rec.Arrivals, func(i, k int) bool { return rec.Arrivals[i].N < rec.Arrivals[k].N })
	return rec, nil
}

func readLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// add adds a line to what it is: a head, an arrival or an event.
func (rec *Record) add(line []byte) error {
	var what struct {
		Drill, N int
		Event    string
	}
	if err := json.Unmarshal(line, &what); err != nil {
		return fmt.Errorf("not a JSON object of a journal: %w", err)
	}
	switch {
	case what.Drill > Version:
		return fmt.Errorf("a journal of version %d: this dogear reads up to %d", what.Drill, Version)
	case what.Drill > 0 && rec.Head.Drill > 0:
		return errors.New("a second head: these are two journals")
	case what.Drill > 0:
		if err := json.Unmarshal(line, &rec.Head); err != nil {
			return err
		}
		if rec.Head.Documents < 0 {
			return fmt.Errorf("the head says that there are %d documents", rec.Head.Documents)
		}
		return nil
	case rec.Head.Drill == 0:
		return fmt.Errorf("the first line of a journal is its head: {\"drill\":%d,…}", Version)
	case what.N > 0:
		var a Arrival
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		if a.At.IsZero() {
			return fmt.Errorf("arrival %d does not say when it came (at)", a.N)
		}
		rec.Arrivals = append(rec.Arrivals, a)
		return nil
	case what.Event != "":
		var e Event
		err := json.Unmarshal(line, &e)
		rec.Events = append(rec.Events, e)
		return err
	}
	return errors.New("neither a head (drill) nor an arrival (n) nor an event")
}
