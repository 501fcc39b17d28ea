package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger"
)

type statusCmd struct {
	Job  string `arg:"" optional:"" help:"The job's name. Default: all jobs."`
	JSON bool   `name:"json" help:"One JSON object a job."`
	storeFlag
}

// Help is the text behind --help.
func (statusCmd) Help() string { return statusHelp }

// Run prints where jobs stand.
func (r *statusCmd) Run(c *call) error {
	s, err := c.open(r.storeFlag)
	if err != nil {
		return err
	}
	defer s.Close()
	if r.Job != "" {
		job, err := c.job(s, r.Job)
		if err != nil {
			return err
		}
		return r.print(c, s, job)
	}
	for job, err := range s.Jobs(c.ctx) {
		if err != nil {
			return &codedError{code: exitIO, err: err}
		}
		if err := r.print(c, s, job); err != nil {
			return err
		}
	}
	return nil
}

func (r *statusCmd) print(c *call, s ledger.Store, job ledger.Job) error {
	sum, err := summarize(c.ctx, s, job)
	if err != nil {
		return &codedError{code: exitIO, err: err}
	}
	if r.JSON {
		return json.NewEncoder(c.Stdout).Encode(sum)
	}
	_, err = fmt.Fprint(c.Stdout, sum.text())
	return err
}

// summary is the JSON of `status`, `read --json` and `resume --json`: a contract with scripts.
type summary struct {
	Job       string          `json:"job"`
	State     string          `json:"state"`
	Listing   string          `json:"listing,omitempty"` // "incomplete": the total is what is known so far
	Sink      string          `json:"sink"`
	Documents documentCounts  `json:"documents"`
	Requests  requestCounts   `json:"requests"`
	Attempts  attemptCounts   `json:"attempts"`
	LastRun   *runSummary     `json:"last_run,omitempty"`
	Workers   []workerSummary `json:"workers,omitempty"`
	Scopes    []*scopeSummary `json:"scopes"`

	folder string // the sink, absolute: for people, who may be elsewhere
}

type documentCounts struct {
	Total    int64 `json:"total"`
	Done     int64 `json:"done"`
	Pending  int64 `json:"pending"`
	InFlight int64 `json:"in_flight"`
	InDoubt  int64 `json:"in_doubt"`
	Changed  int64 `json:"changed"`
	Denied   int64 `json:"denied"`
	Gone     int64 `json:"gone"`
	Failed   int64 `json:"failed"`
}

// settle tells what is in flight from what is only claimed, and what a dead run has left
// in doubt.
func (d *documentCounts) settle(open int64, live bool) {
	claimed := d.InFlight
	open = min(open, claimed)
	d.Pending += claimed - open
	d.InFlight = open
	if !live {
		d.InFlight, d.InDoubt = 0, d.InDoubt+open
	}
}

type requestCounts struct {
	Sent      int64            `json:"sent"`
	Throttled int64            `json:"throttled"`
	ByStatus  map[string]int64 `json:"by_status,omitempty"`
}

type attemptCounts struct {
	Total int64 `json:"total"`
	Most  int   `json:"most"`
	Cap   int   `json:"cap"`
}

type runSummary struct {
	ID         int64         `json:"id"`
	StopReason string        `json:"stop_reason,omitempty"`
	StartedAt  string        `json:"started_at"`
	EndedAt    string        `json:"ended_at,omitempty"`
	Deadline   string        `json:"deadline,omitempty"`
	Requests   requestCounts `json:"requests"`
	Documents  doneCount     `json:"documents"`
}

type workerSummary struct {
	PID   int    `json:"pid"`
	Host  string `json:"host"`
	Since string `json:"since"`
}

type doneCount struct {
	Done int64 `json:"done"`
}

type scopeSummary struct {
	Key             string  `json:"key"`
	Confirmed       bool    `json:"confirmed"`
	ConfirmedBy     string  `json:"confirmed_by,omitempty"`
	ConfirmedSource string  `json:"confirmed_source,omitempty"`
	ConfirmedAt     string  `json:"confirmed_at,omitempty"`
	NotBefore       string  `json:"not_before,omitempty"`
	WaitFrom        string  `json:"wait_from,omitempty"`
	WaitSetBy       string  `json:"wait_set_by,omitempty"`
	Probing         bool    `json:"probing,omitempty"`
	Throttles       int     `json:"throttles_in_a_row"`
	InFlight        int     `json:"in_flight"`
	Waiting         int     `json:"waiting"`
	RatePerS        float64 `json:"rate_per_s,omitempty"`
	Concurrency     int     `json:"concurrency"`
}

// summarize collects where a job stands from the ledger.
func summarize(ctx context.Context, s ledger.Store, job ledger.Job) (summary, error) {
	counts, err := s.Counts(ctx, job.ID)
	if err != nil {
		return summary{}, err
	}
	d := counts.Documents
	sum := summary{
		Job: job.Name, State: "stopped", Sink: job.Settings.SinkShown,
		Documents: documentCounts{job.Total, d[dogear.Done], d[dogear.Pending], d[dogear.InFlight], d[dogear.InDoubt],
			d[dogear.Changed], d[dogear.Denied], d[dogear.Gone], d[dogear.Failed]},
		Requests: requestCounts{Sent: counts.Sent, Throttled: counts.Throttled, ByStatus: map[string]int64{}},
		Attempts: attemptCounts{counts.Attempts, counts.Most, job.Settings.Attempts},
		Scopes:   []*scopeSummary{}, folder: job.Settings.Sink,
	}
	for status, n := range counts.ByStatus {
		sum.Requests.ByStatus[strconv.Itoa(status)] = n
	}
	var last ledger.Run
	for run, err := range s.Runs(ctx, job.ID) {
		if err != nil {
			return sum, err
		}
		last = run
	}
	if last.ID != 0 {
		sum.LastRun = runSummaryOf(last)
		if last.Live {
			sum.State = "running"
			workers, err := s.Workers(ctx, last.ID)
			if err != nil {
				return sum, err
			}
			for _, w := range workers {
				sum.Workers = append(sum.Workers, workerSummary{w.PID, w.Host, stamp(w.Since)})
			}
		}
	}
	sum.Documents.settle(counts.Open, last.Live)
	if job.Listing {
		sum.Listing = "incomplete"
	}
	if sum.Documents.Done == job.Total && !job.Listing {
		sum.State = "completed"
	}
	lanes, err := s.Lanes(ctx, job.ID)
	if err != nil {
		return sum, err
	}
	mine := map[string]bool{}
	for _, k := range keysOf(lanes) {
		mine[k] = true
	}
	for sc, err := range s.Scopes(ctx) {
		if err != nil {
			return sum, err
		}
		if mine[sc.Key] || sc.Probing && sc.SetBy == "job "+job.Name { // one that a redirect led to
			sum.Scopes = append(sum.Scopes, scopeSummaryOf(s, sc))
		}
	}
	return sum, nil
}

func runSummaryOf(r ledger.Run) *runSummary {
	return &runSummary{ID: r.Number, StopReason: string(r.Reason), StartedAt: stamp(r.Started), EndedAt: stamp(r.Ended),
		Deadline: stamp(r.Deadline), Requests: requestCounts{Sent: r.Sent, Throttled: r.Throttled}, Documents: doneCount{r.Done}}
}

// scopeSummaryOf shows a scope by the wall clock: what is left of the wait, from now.
func scopeSummaryOf(s ledger.Store, sc dogear.Scope) *scopeSummary {
	out := &scopeSummary{
		Key: sc.Key, Confirmed: sc.Confirmed.OK(), ConfirmedBy: sc.Confirmed.By, ConfirmedSource: sc.Confirmed.Source,
		ConfirmedAt: stamp(sc.Confirmed.At), Probing: sc.Probing, Throttles: sc.Streak, InFlight: sc.InFlight,
		Waiting: sc.Waiting, RatePerS: gate.Rate(sc), Concurrency: sc.Concurrency,
	}
	if out.Concurrency == 0 {
		out.Concurrency = dogear.DefaultConcurrency
	}
	if left := sc.NotBefore.Sub(s.Now()); left > 0 {
		out.NotBefore = stamp(time.Now().Add(left))
	}
	if sc.Probing {
		out.WaitFrom, out.WaitSetBy = sc.Cause.String(), sc.SetBy
	}
	return out
}

// text is the summary for people.
func (s summary) text() string {
	var b strings.Builder
	d := s.Documents
	fmt.Fprintf(&b, "%s: %s, %d of %d documents done\n", s.Job, s.State, d.Done, d.Total)
	if s.Listing != "" {
		fmt.Fprintf(&b, "  its listing is not complete: there may be more\n")
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name string
		n    int64
	}{{"pending", d.Pending}, {"in flight", d.InFlight}, {"in doubt", d.InDoubt}, {"changed", d.Changed},
		{"denied", d.Denied}, {"gone", d.Gone}, {"failed", d.Failed}} {
		if row.n > 0 {
			fmt.Fprintf(w, "  %s\t%d\n", row.name, row.n)
		}
	}
	fmt.Fprintf(w, "  requests\t%d sent, %d throttled\n", s.Requests.Sent, s.Requests.Throttled)
	fmt.Fprintf(w, "  attempts\t%d; no document has paid more than %d of %d\n", s.Attempts.Total, s.Attempts.Most, s.Attempts.Cap)
	fmt.Fprintf(w, "  sink\t%s\n", s.folder)
	if r := s.LastRun; r != nil {
		fmt.Fprintf(w, "  last run\t%d: %s\n", r.ID, orElse(r.StopReason, s.State+" since "+r.StartedAt))
	}
	for _, k := range s.Workers {
		fmt.Fprintf(w, "  worker\tprocess %d on %s since %s\n", k.PID, k.Host, k.Since)
	}
	for _, sc := range s.Scopes {
		fmt.Fprintf(w, "  scope\t%s\n", sc.text())
	}
	w.Flush()
	return b.String()
}

// text is one line that says until when a scope waits, why, and how many wait behind it.
func (s *scopeSummary) text() string {
	out := s.Key
	switch {
	case s.NotBefore != "":
		out += fmt.Sprintf(" waits until %s (%s, met by %s)", s.NotBefore, s.WaitFrom, s.WaitSetBy)
	case s.Probing:
		out += " is being probed"
	default:
		out += " is open"
	}
	if s.Waiting > 0 {
		out += fmt.Sprintf(", %d wait", s.Waiting)
	}
	if s.Throttles > 0 {
		out += fmt.Sprintf(", throttled %d times in a row", s.Throttles)
	}
	if s.RatePerS > 0 {
		out += ", " + strconv.FormatFloat(math.Round(s.RatePerS*1000)/1000, 'f', -1, 64) + " requests a second"
	}
	if !s.Confirmed {
		out += ", not confirmed"
	}
	return out
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// confirmation is a line for people: who said that the scope is one quota, when and why.
func (s *scopeSummary) confirmation() string {
	if !s.Confirmed {
		return ""
	}
	return fmt.Sprintf("\n  confirmed by %s at %s: %s", s.ConfirmedBy, s.ConfirmedAt, s.ConfirmedSource)
}
