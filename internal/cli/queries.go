package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/sink/folder"
)

// jobQuery is a command that prints rows of one job.
type jobQuery struct {
	Job  string `arg:"" help:"The job's name."`
	JSON bool   `name:"json" help:"One JSON object a line."`
	storeFlag
}

// rows streams a sequence to standard output: as JSON, or as lines for people.
func rows[T any](c *call, asJSON bool, seq iter.Seq2[T, error], row func(T) any, line func(T) string) error {
	out := bufio.NewWriter(c.Stdout)
	enc := json.NewEncoder(out)
	for v, err := range seq {
		if err != nil {
			return errors.Join(&codedError{code: exitIO, err: err}, out.Flush())
		}
		if asJSON {
			err = enc.Encode(row(v))
		} else {
			_, err = fmt.Fprintln(out, shown(line(v)))
		}
		if err != nil {
			return written(err)
		}
	}
	return written(out.Flush())
}

// written is an error of standard output; that the reader of a pipe has gone is none.
func written(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return &codedError{code: exitIO, err: fmt.Errorf("write to standard output: %w", err)}
}

type remainingCmd struct{ jobQuery }

// Help is the text behind --help.
func (remainingCmd) Help() string { return remainingHelp }

type remainingRow struct {
	ID        string `json:"id"`
	Version   string `json:"version,omitempty"`
	State     string `json:"state"`
	Attempts  int    `json:"attempts"`
	NotBefore string `json:"not_before,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Name      string `json:"name,omitempty"` // where the id does not tell it
}

// Run prints what is not done.
func (r *remainingCmd) Run(c *call) error {
	return c.withJob(r.storeFlag, r.Job, func(s ledger.Store, job ledger.Job) error {
		reason := func(d ledger.Remaining) string {
			if d.State == dogear.Pending && d.Attempts >= job.Settings.Attempts {
				return "attempts: " + orElse(d.Reason, "its cap is used up")
			}
			return d.Reason
		}
		return rows(c, r.JSON, s.Remaining(c.ctx, job.ID), func(d ledger.Remaining) any {
			d.NotBefore = when(job, d)
			return remainingRow{d.ID, d.Version, d.State.String(), d.Attempts, stamp(d.NotBefore), reason(d), named(d)}
		}, func(d ledger.Remaining) string {
			d.NotBefore = when(job, d)
			line := fmt.Sprintf("%-9s %d  %s", d.State, d.Attempts, strings.TrimSpace(d.ID+"  "+shown(named(d))))
			if !d.NotBefore.IsZero() {
				line += "  not before " + stamp(d.NotBefore)
			}
			if why := reason(d); why != "" {
				line += "  (" + why + ")"
			}
			return line
		})
	})
}

// named is what a document is called, where its id does not tell.
func named(d ledger.Remaining) string {
	if strings.Contains(d.ID, "://") {
		return ""
	}
	return d.Name
}

// when is the moment at which a document may go on: none, where only a decision helps.
func when(job ledger.Job, d ledger.Remaining) time.Time {
	if d.State != dogear.Pending || d.Attempts >= job.Settings.Attempts {
		return time.Time{}
	}
	return d.NotBefore
}

type resultsCmd struct{ jobQuery }

// Run prints what is done.
func (r *resultsCmd) Run(c *call) error {
	return c.withJob(r.storeFlag, r.Job, func(s ledger.Store, job ledger.Job) error {
		return rows(c, r.JSON, s.Results(c.ctx, job.ID), func(d dogear.Result) any { return folder.RowOf(d) },
			func(d dogear.Result) string { return fmt.Sprintf("%s  %d  %s", d.Path, d.Size, d.ID) })
	})
}

type changedCmd struct{ jobQuery }

// changedRow is one document whose version is no longer the job's.
type changedRow struct {
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
	Found   string `json:"found,omitempty"`
	Name    string `json:"name,omitempty"` // where the id does not tell it
}

// Run prints documents whose version is no longer the job's.
func (r *changedCmd) Run(c *call) error {
	return c.withJob(r.storeFlag, r.Job, func(s ledger.Store, job ledger.Job) error {
		return rows(c, r.JSON, onlyChanged(s.Remaining(c.ctx, job.ID)),
			func(d ledger.Remaining) any { return changedRow{d.ID, d.Version, d.Found, named(d)} },
			func(d ledger.Remaining) string {
				return fmt.Sprintf("%s  %s → %s", strings.TrimSpace(d.ID+"  "+shown(named(d))), d.Version, d.Found)
			})
	})
}

func onlyChanged(seq iter.Seq2[ledger.Remaining, error]) iter.Seq2[ledger.Remaining, error] {
	return func(yield func(ledger.Remaining, error) bool) {
		for d, err := range seq {
			if err != nil || d.State == dogear.Changed {
				if !yield(d, err) {
					return
				}
			}
		}
	}
}

type runsCmd struct{ jobQuery }

// Run prints the runs of a job.
func (r *runsCmd) Run(c *call) error {
	return c.withJob(r.storeFlag, r.Job, func(s ledger.Store, job ledger.Job) error {
		return rows(c, r.JSON, s.Runs(c.ctx, job.ID), func(d ledger.Run) any { return runSummaryOf(d) },
			func(d ledger.Run) string {
				return fmt.Sprintf("%d  %s  %s  %s: %d done, %d requests, %d throttled", d.Number, stamp(d.Started),
					orElse(stamp(d.Ended), "-"), orElse(string(d.Reason), map[bool]string{true: "running", false: "its process is gone"}[d.Live]), d.Done, d.Sent, d.Throttled)
			})
	})
}

type requestsCmd struct{ jobQuery }

// requestRow is one request as scripts read it.
type requestRow struct {
	N         int64    `json:"n"`
	Parent    int64    `json:"parent,omitempty"`
	Run       int64    `json:"run"`
	ID        string   `json:"id,omitempty"`
	Scopes    []string `json:"scopes"`
	Kind      string   `json:"kind"`
	GrantedAt string   `json:"granted_at"`
	SentAt    string   `json:"sent_at,omitempty"`
	EndedAt   string   `json:"ended_at,omitempty"`
	Status    int      `json:"status,omitempty"`
	Outcome   string   `json:"outcome,omitempty"`
	Hint      string   `json:"hint,omitempty"`
	WaitUntil string   `json:"wait_until,omitempty"`
	Bytes     int64    `json:"bytes"`
}

// Run prints every request of a job.
func (r *requestsCmd) Run(c *call) error {
	return c.withJob(r.storeFlag, r.Job, func(s ledger.Store, job ledger.Job) error {
		return rows(c, r.JSON, s.Requests(c.ctx, job.ID), func(d dogear.Request) any {
			return requestRow{d.N, d.Parent, d.Run, d.DocID, d.Scopes, d.Kind.String(), stamp(d.Granted), stamp(d.Sent), stamp(d.Ended),
				d.Status, d.Outcome.String(), d.Hint, stamp(d.Until), d.Bytes}
		}, func(d dogear.Request) string {
			line := fmt.Sprintf("%d  %s  %-8s %3s %-10s  %s", d.N, stamp(d.Granted), d.Kind, orElse(strings.TrimPrefix(strconv.Itoa(d.Status), "0"), "-"),
				orElse(d.Outcome.String(), "in flight"), d.DocID)
			if d.Hint != "" {
				line += "  hint " + d.Hint
			}
			if !d.Until.IsZero() {
				line += "  waits until " + stamp(d.Until)
			}
			return line
		})
	})
}

type forgetCmd struct {
	Job string `arg:"" help:"The job's name."`
	storeFlag
}

// Run drops a job from the ledger.
func (r *forgetCmd) Run(c *call) error {
	return c.withJob(r.storeFlag, r.Job, func(s ledger.Store, job ledger.Job) error {
		if err := s.Forget(c.ctx, job.ID); err != nil {
			return err
		}
		if err := removeScratch(s, job); err != nil {
			return &codedError{code: exitIO, err: err}
		}
		fmt.Fprintf(c.Stderr, "%s: forgotten; its results stay in %s\n", job.Name, job.Settings.SinkShown)
		return nil
	})
}
