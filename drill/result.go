package drill

import (
	"fmt"
	"os"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
)

// A Result is what one client did in one scenario.
type Result struct {
	Scenario string          `json:"scenario"`
	About    string          `json:"about"`
	Client   string          `json:"client,omitempty"` // the command's name; empty: the journal does not say
	Pass     bool            `json:"pass"`
	Why      string          `json:"why"` // one line
	Took     time.Duration   `json:"-"`
	TookS    float64         `json:"took_s,omitempty"`
	Figures  judge.Figures   `json:"figures"`
	Checks   []judge.Check   `json:"checks"`
	Cut      int             `json:"cut,omitempty"`     // the number of the journal's last line, if it was cut
	Journal  string          `json:"journal,omitempty"` // the file, if it is kept
	Record   *journal.Record `json:"-"`
	Said     string          `json:"-"` // the last lines that a client printed which did not end well
}

// ReadJournal reads a journal from a file.
func ReadJournal(path string) (*journal.Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rec, err := journal.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rec, nil
}

// Judge judges a journal. Without asserts it is held to what it expects itself; the error
// says what is wrong with that.
func Judge(rec *journal.Record, asserts []judge.Assert, slack time.Duration) (Result, error) {
	r := Result{Scenario: rec.Head.Scenario, About: rec.Head.About, Cut: rec.Cut, Record: rec, Checks: []judge.Check{}}
	if asserts == nil {
		var err error
		if asserts, err = expected(rec.Head.Expect); err != nil {
			return r, fmt.Errorf("what the journal expects: %w", err)
		}
	}
	r.Figures = judge.Judge(rec, slack)
	for _, a := range asserts {
		r.Checks = append(r.Checks, a.Check(r.Figures, rec, slack))
	}
	r.Pass, r.Why = Verdict(r.Figures, r.Checks)
	return r, nil
}

// Verdict is whether a client passes, and why in one line.
func Verdict(f judge.Figures, checks []judge.Check) (pass bool, why string) {
	if f.Requests == 0 {
		return false, "sent nothing"
	}
	for _, c := range checks {
		if !c.Pass {
			return false, c.Why
		}
	}
	early := "none early"
	if f.Early > 0 {
		early = fmt.Sprintf("%d early, under way", f.Early-f.Late)
		if f.Late > 0 {
			early = fmt.Sprintf("%d early, %d of them late", f.Early, f.Late)
		}
	}
	return true, fmt.Sprintf("%d of %d delivered in %d requests, %d throttled, %s",
		f.Delivered, f.Documents, f.Requests, f.Throttled, early)
}
