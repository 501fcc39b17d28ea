package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
)

// A drillPage is the data of drill.html.
type drillPage struct {
	Clients   string
	Verdict   string // in words
	Pass      bool
	When      string // empty: no result says
	Took      string
	Scenarios []scenario
	Pictures  bool // there is one at least
}

// A scenario is one result on the page of a drill.
type scenario struct {
	ID      string // of its section
	Name    string
	Client  string // empty: the page has one client
	Pass    bool
	Why     string
	About   string
	Figures []figure // the columns of the table after the verdict
	Checks  []check
	Reasons bool     // a check says why
	Said    []string // the client's last lines
	Journal string
	Picture *picture // nil: nothing arrived
	Nothing string   // what is there in place of a picture
}

// A figure is a cell of the table.
type figure struct {
	Label, Value string
	Bad          bool
}

type check struct {
	Assert, Value, Why string
	Pass               bool
}

// columns are the figures of the table: their labels, and their names in a check.
var columns = []struct{ label, name string }{
	{"requests", "requests"}, {"throttled", "throttled"}, {"early", "early"}, {"late", "late"}, {"burst", "burst"},
	{"attempts, most", "attempts_most"}, {"delivered", "delivered"}, {"lost", "lost"}, {"goodput", "goodput"}, {"took", ""},
}

// Columns are the labels of the table's figures.
func (drillPage) Columns() []string {
	var labels []string
	for _, c := range columns {
		labels = append(labels, c.label)
	}
	return labels
}

// Width is how many columns the table has.
func (drillPage) Width() int { return 2 + len(columns) }

// Slack is how long after a wait was told a request may have been under way.
func (drillPage) Slack() string { return span(judge.DefaultSlack) }

func newDrillPage(results []drill.Result) drillPage {
	p := drillPage{Pass: true}
	var clients []string
	var first time.Time
	var took time.Duration
	failed := 0
	for _, r := range results {
		if c := prose(r.Client); c != "" && !slices.Contains(clients, c) {
			clients = append(clients, c)
		}
		if !r.Pass {
			failed++
		}
		took += lasted(r)
		if r.Record != nil && !r.Record.Head.StartedAt.IsZero() && (first.IsZero() || r.Record.Head.StartedAt.Before(first)) {
			first = r.Record.Head.StartedAt
		}
	}
	for i, r := range results {
		s := newScenario(fmt.Sprintf("s%d", i+1), r)
		if len(clients) > 1 {
			s.Client = prose(r.Client)
		}
		p.Pictures = p.Pictures || s.Picture != nil
		p.Scenarios = append(p.Scenarios, s)
	}
	if p.Clients = listed(clients, 4); len(clients) == 0 {
		p.Clients = "a client"
	}
	p.Pass = failed == 0 && len(results) > 0
	p.Verdict = verdict(len(results), failed)
	if !first.IsZero() {
		p.When = first.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	p.Took = span(took)
	return p
}

func verdict(all, failed int) string {
	switch {
	case all == 0:
		return "No scenario was run"
	case all == 1 && failed == 0:
		return "The scenario passed"
	case all == 1:
		return "The scenario failed"
	case failed == 0:
		return fmt.Sprintf("%s of %s scenarios passed", number(all), number(all))
	}
	return fmt.Sprintf("%s of %s scenarios failed", number(failed), number(all))
}

func newScenario(id string, r drill.Result) scenario {
	s := scenario{
		ID: id, Name: prose(r.Scenario), Pass: r.Pass, Why: prose(r.Why), About: prose(r.About),
		Journal: shown(r.Journal, 300), Figures: figures(r),
	}
	if s.Name == "" {
		s.Name = "a scenario without a name"
	}
	for _, c := range r.Checks {
		s.Checks = append(s.Checks, check{prose(c.Assert), prose(c.Value), prose(c.Why), c.Pass})
		s.Reasons = s.Reasons || c.Why != ""
	}
	for line := range strings.Lines(r.Said) {
		s.Said = append(s.Said, shown(strings.TrimRight(line, "\r\n"), 400))
	}
	switch {
	case r.Record == nil:
		s.Nothing = "There is no journal to draw."
	case len(r.Record.Arrivals) == 0:
		s.Nothing = "No request arrived, so there is nothing to draw."
		if said := strings.Join(eventWords(r.Record, beginning(r.Record)), "; "); said != "" {
			s.Nothing += " What happened: " + said + "."
		}
	default:
		s.Picture = newPicture(id, s.Name, r.Record)
	}
	return s
}

// beginning is when a record without arrivals begins.
func beginning(rec *journal.Record) time.Time {
	if rec.Head.StartedAt.IsZero() && len(rec.Events) > 0 {
		return rec.Events[0].At
	}
	return rec.Head.StartedAt
}

func lasted(r drill.Result) time.Duration {
	if r.Took != 0 {
		return r.Took
	}
	return time.Duration(r.TookS * float64(time.Second))
}

// figures are the cells of a scenario, in the order of columns. Those are bad that a check
// did not pass for.
func figures(r drill.Result) []figure {
	f := r.Figures
	throttled := number(f.Throttled)
	if f.Throttled > 0 && f.Requests > 0 {
		throttled += " (" + percentage(float64(f.Throttled)/float64(f.Requests)) + ")"
	}
	burst, goodput := unknown, unknown
	if f.Burst != nil {
		burst = number(*f.Burst)
	}
	if f.Goodput != nil {
		goodput = percentage(*f.Goodput)
	}
	values := []string{
		number(f.Requests), throttled, number(f.Early), number(f.Late), burst, number(f.AttemptsMost),
		number(f.Delivered) + "\u2009/\u2009" + number(f.Documents), number(f.Lost), goodput, span(lasted(r)),
	}
	var out []figure
	for i, c := range columns {
		bad := slices.ContainsFunc(r.Checks, func(k judge.Check) bool { return !k.Pass && subject(k.Assert) == c.name })
		out = append(out, figure{c.label, values[i], bad})
	}
	return out
}

// subject is the figure that an assertion is about.
func subject(assert string) string {
	if i := strings.IndexAny(assert, " =!<>"); i >= 0 {
		return assert[:i]
	}
	return assert
}
