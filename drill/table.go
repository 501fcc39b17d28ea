package drill

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Table shows results to people, a row each as it comes.
type Table struct {
	w            io.Writer
	width        int // of the widest name
	rows, passed int
}

// NewTable returns a table of scenarios with these names.
func NewTable(w io.Writer, names []string) *Table {
	t := &Table{w: w, width: len("scenario")}
	for _, n := range names {
		t.width = max(t.width, utf8.RuneCountInString(n))
	}
	return t
}

const columns = "%-4s  %-*s  %7s  %8s  %9s  %5s  %5s  %5s  %9s  %s\n"

// Row writes the row of a result, and before the first the names of the columns.
func (t *Table) Row(r Result) error {
	if t.rows == 0 {
		if _, err := fmt.Fprintf(t.w, columns, "", t.width, "scenario", "took", "requests", "throttled", "early", "late", "burst",
			"delivered", "why"); err != nil {
			return err
		}
	}
	t.rows++
	verdict := "FAIL"
	if r.Pass {
		verdict = "pass"
		t.passed++
	}
	f, burst := r.Figures, "-"
	if f.Burst != nil {
		burst = strconv.Itoa(*f.Burst)
	}
	_, err := fmt.Fprintf(t.w, columns, verdict, t.width, oneLine(r.Scenario), fmt.Sprintf("%.1fs", r.Took.Round(100*time.Millisecond).Seconds()),
		strconv.Itoa(f.Requests), strconv.Itoa(f.Throttled), strconv.Itoa(f.Early), strconv.Itoa(f.Late), burst,
		fmt.Sprintf("%d/%d", f.Delivered, f.Documents), oneLine(r.Why))
	return err
}

// End writes the last line: how many passed.
func (t *Table) End() error {
	_, err := fmt.Fprintf(t.w, "%d of %d passed\n", t.passed, t.rows)
	return err
}

// oneLine makes text from outside safe to print in a row: a terminal must not obey it.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return utf8.RuneError
		}
		return r
	}, s)
}
