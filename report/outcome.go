package report

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
)

// An outcome is what became of a request, as its mark shows it. Those that matter more come
// later, and are drawn above the others.
type outcome int

const (
	answered outcome = iota
	failed
	refused
	early // inside a wait, whatever its answer; but it may have been under way when that was told
	late  // inside a wait that had been told long before
	outcomes
)

// String is a word for people and a CSS class.
func (o outcome) String() string {
	return [...]string{"answered", "failed", "refused", "early", "late"}[o]
}

// answerOf is the outcome of a request by its answer alone.
func answerOf(a *journal.Arrival) outcome {
	switch {
	case a.Refused != "":
		return refused
	case a.Status == 0, a.Status >= 400, a.End == journal.Cut, a.End == journal.Gone, a.Fault != "" && !a.Whole:
		return failed
	}
	return answered
}

// A request is an arrival and what its mark shows.
type request struct {
	*journal.Arrival
	outcome outcome
}

// requests are the arrivals of one limit, in the order of their time. What is early and what
// is late is as the judge counts it.
func requests(arrivals []*journal.Arrival) []request {
	waits := told(arrivals)
	var longest time.Time // the end of those that were told more than the slack ago
	out := make([]request, len(arrivals))
	for i, a := range arrivals {
		for len(waits) > 0 && a.At.After(waits[0].from.Add(judge.DefaultSlack)) {
			if waits[0].to.After(longest) {
				longest = waits[0].to
			}
			waits = waits[1:]
		}
		out[i] = request{a, answerOf(a)}
		switch {
		case earlyBy(a) == 0:
		case a.At.After(a.Told.Sent.Add(judge.DefaultSlack)), a.At.Before(longest):
			out[i].outcome = late
		default:
			out[i].outcome = early
		}
	}
	return out
}

// earlyBy is how long before the end of a wait that had been told a request came; zero: it
// did not.
func earlyBy(a *journal.Arrival) time.Duration {
	if a.Told == nil || !a.At.After(a.Told.Sent) {
		return 0
	}
	return max(a.Told.Until.Sub(a.At), 0)
}

// A wait is a stretch of time in which clients had been told to wait.
type wait struct {
	from, to time.Time
	n        int // how many there are in it, with gaps that nobody could see
}

// told are the waits that arrivals were told and that were sent whole, in the order of their
// beginnings.
func told(arrivals []*journal.Arrival) []wait {
	var out []wait
	for _, a := range arrivals {
		if to := until(a); to.After(a.Sent) {
			out = append(out, wait{a.Sent, to, 1})
		}
	}
	slices.SortStableFunc(out, func(a, b wait) int { return a.from.Compare(b.from) })
	return out
}

// until is the end of the wait that an answer told, as a journal counts it; zero: none that
// was sent whole.
func until(a *journal.Arrival) time.Time {
	if a.Sent.IsZero() {
		return time.Time{}
	}
	t := a.Until
	for _, item := range a.Items {
		if item.Until.After(t) {
			t = item.Until
		}
	}
	return t
}

// ended is the last that is known of a request.
func ended(a *journal.Arrival) time.Time {
	last := a.At
	for _, t := range []time.Time{a.Sent, a.Ended} {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// tip tells of one request what its mark cannot. What came from outside has lines of its
// own, so that text that runs from right to left turns nothing else around.
func tip(a *journal.Arrival, first time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "request %s at %s", number(a.N), seconds(a.At.Sub(first)))
	if d := ended(a).Sub(a.At); d > 0 {
		fmt.Fprintf(&b, ", took %s", span(d))
	}
	fmt.Fprintf(&b, "\n%s", shown(a.Method+" "+a.Path, 100))
	if a.Worker != "" {
		fmt.Fprintf(&b, "\nworker %s", shown(a.Worker, 30))
	}
	fmt.Fprintf(&b, "\n%s", answerWords(a))
	if hint := hintWords(a.Hint); hint != "" {
		fmt.Fprintf(&b, "\n%s", hint)
	}
	if t := until(a); !t.IsZero() {
		fmt.Fprintf(&b, "\nthis told: wait until %s", seconds(t.Sub(first)))
	}
	if d := earlyBy(a); d > 0 {
		fmt.Fprintf(&b, "\nearly by %s; told %s before, with request %s",
			seconds(d), seconds(a.At.Sub(a.Told.Sent)), number(a.Told.N))
	}
	if len(a.Leaked) > 0 {
		fmt.Fprintf(&b, "\nleaked: %s", shown(strings.Join(a.Leaked, ", "), 100))
	}
	return b.String()
}

func answerWords(a *journal.Arrival) string {
	s := "no status"
	if a.Status > 0 {
		s = fmt.Sprintf("status %d", a.Status)
	}
	switch a.Refused {
	case "":
	case journal.ByLimit:
		s += ", refused by the limit"
	default:
		s += ", refused by a rule"
	}
	if n := len(a.Items); n > 0 {
		bad := 0
		for _, item := range a.Items {
			if item.Refused != "" {
				bad++
			}
		}
		s += fmt.Sprintf(", %s, %s refused", counted(n, "item", "items"), number(bad))
	}
	if a.Fault != "" {
		s += ", fault: " + shown(a.Fault, 60)
	}
	switch a.End {
	case journal.Cut:
		s += ", cut off"
	case journal.Gone:
		s += ", the client went away"
	}
	return s
}

func hintWords(h http.Header) string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			fields = append(fields, name+": "+v)
		}
	}
	return shown(strings.Join(fields, "; "), 120)
}
