package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const head = `{"drill":1,"scenario":"s","started_at":"2026-01-01T00:00:00Z","documents":3,"quotas":[]}`

// written is a journal as the service writes it: a head, arrivals that ended in another
// order than they came, an event.
func written(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	j := New(&out)
	at := time.Date(2026, 1, 1, 0, 0, 0, 123456789, time.UTC)
	j.Begin(Head{Scenario: "größer", About: "two\nlines", StartedAt: at, Documents: 3, Expect: []string{"late == 0"},
		Quotas: []Quota{{Name: "docs", Origin: "http://127.0.0.1:1", First: 1, Last: 3, Limit: &Limit{Kind: "window", Requests: 2, Per: 0.5}}}})
	first := &Arrival{At: at, Quota: "docs", Kind: Read, Method: "GET", Path: "/doc/1\u2028", Document: 1, Header: http.Header{"Range": {"bytes=5-"}}}
	second := &Arrival{At: at.Add(time.Second), Quota: "docs", Kind: Batch, Method: "POST", Path: "/v1.0/$batch",
		Items: []Item{{ID: "1", Document: 2, Status: 429, Refused: ByLimit, Until: at.Add(9 * time.Second)}}}
	j.Add(first)
	j.Add(second)
	second.Sent = at.Add(2 * time.Second)
	j.Finish(second)
	third := &Arrival{At: at.Add(3 * time.Second), Quota: "docs", Kind: Read, Method: "GET", Path: "/doc/3", Document: 3}
	j.Add(third)
	j.Finish(third)
	j.Finish(first)
	j.Note(Event{Event: "ended", At: at, Client: 1, Code: 3})
	if err := j.Err(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func parse(t *testing.T, data []byte) *Record {
	t.Helper()
	rec, err := Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return rec
}

func numbers(rec *Record) (n []int) {
	for _, a := range rec.Arrivals {
		n = append(n, a.N)
	}
	return n
}

func TestParse(t *testing.T) {
	rec := parse(t, written(t))
	if diff := cmp.Diff([]int{1, 2, 3}, numbers(rec)); diff != "" {
		t.Errorf("arrivals: -want +got:\n%s", diff)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 123456000, time.UTC)
	if rec.Head.Scenario != "größer" || rec.Head.Drill != Version || !rec.Head.StartedAt.Equal(at) || rec.Head.Quotas[0].Limit.Per != 0.5 {
		t.Errorf("head: %+v", rec.Head)
	}
	if rec.Cut != 0 || len(rec.Events) != 1 || rec.Events[0].Code != 3 {
		t.Errorf("cut %d, events %+v", rec.Cut, rec.Events)
	}
	want := &Wait{N: 2, Sent: at.Add(2 * time.Second), Until: at.Add(9 * time.Second)}
	if diff := cmp.Diff(want, rec.Arrivals[2].Told); diff != "" {
		t.Errorf("told: -want +got:\n%s", diff)
	}
	if a := rec.Arrivals[0]; a.Path != "/doc/1\u2028" || a.Told != nil || a.Header.Get("Range") != "bytes=5-" {
		t.Errorf("arrival 1: %+v", a)
	}
}

// A journal may be cut at any byte: what came before the cut line is there.
func TestParseCut(t *testing.T) {
	data := written(t)
	inOrder := [][]int{nil, {2}, {2, 3}, {1, 2, 3}, {1, 2, 3}} // after so many lines behind the head
	for end := range len(data) + 1 {
		rec, err := Parse(bytes.NewReader(data[:end]))
		lines := bytes.Count(data[:end], []byte("\n"))
		rest := data[bytes.LastIndexByte(data[:end], '\n')+1 : end]
		whole := json.Valid(rest) // all but the newline
		switch {
		case lines == 0 && !whole:
			if err == nil {
				t.Errorf("cut at byte %d: a head that is cut was accepted", end)
			}
			continue
		case err != nil:
			t.Errorf("cut at byte %d: %v", end, err)
			continue
		}
		cut := 0
		if whole {
			lines++
		} else if len(rest) > 0 {
			cut = lines + 1
		}
		if rec.Cut != cut {
			t.Errorf("cut at byte %d: the cut line is %d, want %d", end, rec.Cut, cut)
		}
		if diff := cmp.Diff(inOrder[lines-1], numbers(rec)); diff != "" {
			t.Errorf("cut at byte %d: -want +got:\n%s", end, diff)
		}
	}
}

// A line in the middle that is not understood is named.
func TestParseCorrupted(t *testing.T) {
	lines := bytes.SplitAfter(bytes.TrimSpace(written(t)), []byte("\n"))
	for i := range lines[:len(lines)-1] {
		for _, bad := range []string{"x", "{", "[]", "null", "17", "{}", `{"n":"1"}`, `{"n":-1}`, "\x00", "\xef\xbb\xbf" + head} {
			broken := append([][]byte{}, lines...)
			broken[i] = []byte(bad + "\n")
			_, err := Parse(bytes.NewReader(bytes.Join(broken, nil)))
			if want := fmt.Sprintf("line %d: ", i+1); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%q in the place of line %d: the error is %v, want %s…", bad, i+1, err, want)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	arrival := `{"n":1,"at":"2026-01-01T00:00:00Z","method":"GET","path":"/","bytes":0}`
	for _, test := range []struct{ data, want string }{
		{"", `the journal is empty: its first line is its head: {"drill":1,…}`},
		{"\n \r\n", `the journal is empty: its first line is its head: {"drill":1,…}`},
		{`{"drill":1,"scen`, "line 1: the head of the journal is cut: there is nothing to judge"},
		{"\nrubbish", "line 2: the head of the journal is cut: there is nothing to judge"},
		{"rubbish\n", "line 1: not a JSON object of a journal: "},
		{arrival + "\n", `line 1: the first line of a journal is its head: {"drill":1,…}`},
		{arrival, `line 1: the first line of a journal is its head: {"drill":1,…}`},
		{head + "\n" + head + "\n", "line 2: a second head: these are two journals"},
		{head + "\n" + head, "line 2: a second head: these are two journals"},
		{`{"drill":2,"later":true}` + "\n", "line 1: a journal of version 2: this dogear reads up to 1"},
		{`{"drill":2,"later":true}`, "line 1: a journal of version 2: this dogear reads up to 1"},
		{`{"drill":1,"documents":-3}`, "line 1: the head says that there are -3 documents"},
		{`{"drill":1,"documents":"three"}`, "line 1: json: cannot unmarshal string into"},
		{head + "\n" + `{"n":1,"at":"yesterday"}` + "\n", "line 2: parsing time "},
		{head + "\n" + `{"n":4,"method":"GET"}` + "\n", "line 2: arrival 4 does not say when it came (at)"},
		{head + "\n\n" + `{"m":4}` + "\n", "line 3: neither a head (drill) nor an arrival (n) nor an event"},
		{head + "\n" + `{"event":"ended","client":"one"}` + "\n", "line 2: json: cannot unmarshal string into"},
		{head + "\n" + strings.Repeat("x", maxLine+1) + "\n" + arrival, "line 2: longer than 16777216 bytes"},
		{head + "\n" + strings.Repeat("x", maxLine+1), "line 2: longer than 16777216 bytes"},
	} {
		_, err := Parse(strings.NewReader(test.data))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%.100q: the error is\n\t%v\nwant\n\t%s", test.data, err, test.want)
		}
	}
}

// A line may be as long as the bound.
func TestParseLongLine(t *testing.T) {
	line := `{"n":1,"at":"2026-01-01T00:00:00Z","method":"GET","path":"/","bytes":0}`
	rec := parse(t, []byte(head+"\n"+line+strings.Repeat(" ", maxLine-len(line)-1)+"\n"))
	if len(rec.Arrivals) != 1 {
		t.Errorf("%d arrivals", len(rec.Arrivals))
	}
}

func TestParseCRLF(t *testing.T) {
	data := written(t)
	got := parse(t, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	if diff := cmp.Diff(parse(t, data), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := parse(t, append(bytes.TrimSpace(data), '\r')); got.Cut != 0 || len(got.Events) != 1 {
		t.Errorf("without the last newline: %+v", got)
	}
}

// A journal that cannot be read is not one that was cut.
func TestParseReadError(t *testing.T) {
	broken := errors.New("broken")
	_, err := Parse(io.MultiReader(strings.NewReader(head+"\n{"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("the error is %v", err)
	}
}

// Whatever is accepted can be written again, and is then the same.
func FuzzParse(f *testing.F) {
	f.Add(written(f))
	f.Add([]byte(head + "\n" + `{"n":3,"at":"2026-01-01T00:00:00+23:59","told":{},"items":[{}]}` + "\n" + `{"event":"x"}` + "\n" + `{"n":`))
	f.Add([]byte(`{"drill":1,"DRILL":1,"quotas":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := Parse(bytes.NewReader(data))
		if err != nil {
			return
		}
		first := encoded(t, rec)
		again, err := Parse(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("written again: %v\n%s", err, first)
		}
		if second := encoded(t, again); again.Cut != 0 || !bytes.Equal(first, second) {
			t.Errorf("written again:\n%s\n%s", first, second)
		}
	})
}

func encoded(t *testing.T, rec *Record) []byte {
	lines := []any{rec.Head}
	for _, a := range rec.Arrivals {
		lines = append(lines, a)
	}
	for _, e := range rec.Events {
		lines = append(lines, e)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	for _, line := range lines {
		if err := e.Encode(line); err != nil {
			t.Fatalf("%+v: %v", line, err)
		}
	}
	return out.Bytes()
}
