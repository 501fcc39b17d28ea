package cli

import (
	"bytes"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/dogear/dogear/ledger"
)

// Whatever a file holds, reading it ends: with the records that it counts, or an error that
// says that nothing was imported. What was read can be written, and is read the same.
func FuzzReadRecords(f *testing.F) {
	head, tail := `{"dogear_ledger":1,"by":"dogear"}`, `{"end":true,"records":2}`
	job := `{"job":{"name":"x","settings":{"source":["l"],"sink":"/x","sink_shown":"x"},"created":"2026-11-30T00:00:00Z","lanes":[{"listed":["a"],"scopes":["a"]}],"attempts":0}}`
	for _, text := range []string{
		"", "{}", head, head + job, head + job + `{"scope":{"key":"a","wait":5}}` + tail, head + `{"end":true,"records":2}`,
		head + job + `{"document":{"place":1,"lane":9,"id":"d","name":"d","state":0}}` + tail, `{"dogear_ledger":2,"by":"dogear 9"}`,
		head + `{"request":{"n":1,"run":1,"scopes":["a"],"kind":0,"granted":"2026-11-30T00:00:00Z"}}`, head + `{"run":null,"new":1}` + tail,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var n int64
		records, err := gather(ledger.Checked(readRecords(strings.NewReader(text), &n)))
		if wrong, is := errors.AsType[*exportError](err); err != nil && !is && !errors.Is(err, ledger.ErrRecords) || is && wrong.try == "" {
			t.Fatalf("error %v", err)
		}
		if err != nil {
			return
		}
		var again bytes.Buffer
		if _, err := writeRecords(&again, told(records)); err != nil {
			t.Fatal(err)
		}
		first := again.String()
		if records, err = gather(readRecords(strings.NewReader(first), new(int64))); err != nil {
			t.Fatalf("what was written: %v\n%s", err, first)
		}
		again.Reset()
		if _, err := writeRecords(&again, told(records)); err != nil || again.String() != first {
			t.Fatalf("written again (%v):\n%s\nwant\n%s", err, again.String(), first)
		}
	})
}

func gather(records iter.Seq2[ledger.Record, error]) (all []ledger.Record, err error) {
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func told(all []ledger.Record) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}
