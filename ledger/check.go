package ledger

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dogear/dogear"
)

// ErrRecords says that records are not a ledger's.
var ErrRecords = errors.New("its records are not a ledger's")

// Checked are records up to the first that no ledger can have: one out of order, or one that
// names what is not there. A store that takes the others can rely on what their types say.
// The error matches [ErrRecords].
func Checked(records iter.Seq2[Record, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		c := checking{}
		n := 0
		for r, err := range records {
			n++
			if err == nil {
				if wrong := c.record(r); wrong != "" {
					err = fmt.Errorf("%w: record %d: %s", ErrRecords, n, wrong)
				}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// A checking is what was met so far.
type checking struct {
	part  int // of a ledger, in the order of the cases in record
	lanes int // of the present job, and so on
	place int64
	run   int64
	runs  map[int64]bool
}

// The parts of a ledger, in their order. A job begins again from the first.
const (
	noJob = iota
	runPart
	documentPart
	folderPart
	requestPart
	scopePart
)

// record says what is wrong with the next record, or "".
func (c *checking) record(r Record) string {
	part := noJob
	switch {
	case r.Job != nil:
		if c.part == scopePart {
			return "a job behind the scopes"
		}
		*c = checking{part: runPart, lanes: len(r.Job.Lanes), place: -1, runs: map[int64]bool{0: true}}
		return wrongJob(r.Job)
	case r.Run != nil:
		part = runPart
	case r.Document != nil:
		part = documentPart
	case r.Folder != nil:
		part = folderPart
	case r.Request != nil:
		part = requestPart
	case r.Scope != nil, r.Release != nil:
		part = scopePart
	default:
		return "" // of a newer dogear: it can be done without
	}
	if part < c.part || c.part == noJob && part < scopePart {
		return "it is not in its order"
	}
	c.part = part
	switch part {
	case runPart:
		return c.wrongRun(r.Run)
	case documentPart:
		return c.wrongDocument(r.Document)
	case requestPart:
		return c.wrongRequest(r.Request)
	case scopePart:
		if r.Scope != nil {
			return wrongScope(r.Scope)
		}
	}
	return ""
}

func wrongJob(j *JobRecord) string {
	listed := map[string]bool{}
	for _, l := range j.Lanes {
		if wrong := wrongKeys(l.Listed) + wrongKeys(l.Scopes); wrong != "" {
			return wrong
		}
		keys := slices.Clone(l.Listed)
		slices.Sort(keys)
		if set := strings.Join(keys, "\n"); listed[set] {
			return "two lanes are one"
		} else {
			listed[set] = true
		}
	}
	if j.Name == "" || j.Attempts < 0 {
		return "it is no job"
	}
	return ""
}

func (c *checking) wrongRun(r *RunRecord) string {
	if r.Number <= c.run || r.Ended.IsZero() || !small(r.PID) {
		return fmt.Sprintf("run %d is no run", r.Number)
	}
	c.run = r.Number
	c.runs[r.Number] = true
	return ""
}

// places is how many documents a job may have.
const places = math.MaxUint32

func (c *checking) wrongDocument(d *DocumentRecord) string {
	switch {
	case d.Place <= c.place || d.Place >= places:
		return fmt.Sprintf("document %d is not in its place", d.Place)
	case d.Lane < 0 || d.Lane >= c.lanes:
		return fmt.Sprintf("document %d is in no lane", d.Place)
	case d.State > dogear.InDoubt || d.State == dogear.InFlight || (d.State == dogear.Done) != (d.Result != nil):
		return fmt.Sprintf("document %d is in no state that can be", d.Place)
	case !small(d.Attempts) || !small(d.List):
		return fmt.Sprintf("document %d has a number that is none", d.Place)
	case d.Size != nil && *d.Size < 0 || d.Result != nil && d.Result.Size < 0:
		return fmt.Sprintf("document %d has a size below zero", d.Place)
	case d.Result != nil && !c.runs[d.Result.Run]:
		return fmt.Sprintf("document %d is of a run that is not there", d.Place)
	case d.Result != nil && !(element(d.Result.Path) && (d.Result.Temp == "" || element(d.Result.Temp))):
		return fmt.Sprintf("document %d was saved as what is not the name of a file", d.Place)
	}
	c.place = d.Place
	return ""
}

// element reports whether a name is that of one thing in a folder, on any system.
func element(name string) bool {
	return name != "." && len(name) <= 255 && !strings.ContainsAny(name, "/\\:\x00") && filepath.IsLocal(name)
}

func (c *checking) wrongRequest(q *RequestRecord) string {
	switch {
	case !c.runs[q.Run]:
		return fmt.Sprintf("request %d is of a run that is not there", q.N)
	case q.Place != nil && (*q.Place < 0 || *q.Place >= places):
		return fmt.Sprintf("request %d is for no document", q.N)
	case q.Kind > dogear.Token || q.Outcome > dogear.Doubtful || !small(q.Status):
		return fmt.Sprintf("request %d has a number that is none", q.N)
	}
	return wrongKeys(q.Scopes)
}

func wrongScope(s *ScopeRecord) string {
	if !small(s.Burst) || !small(s.Concurrency) || !small(s.Streak) || s.Cause > dogear.ByOutage {
		return "scope " + s.Key + " has a number that is none"
	}
	return wrongKeys([]string{s.Key})
}

// wrongKeys says what is wrong with keys of scopes.
func wrongKeys(keys []string) string {
	for _, k := range keys {
		if k == "" || !utf8.ValidString(k) || strings.ContainsAny(k, "\n\x00") {
			return fmt.Sprintf("%q is no key of a scope", k)
		}
	}
	return ""
}

// small reports whether every store can keep a number that counts something.
func small(n int) bool { return n >= 0 && n <= math.MaxInt32 }
