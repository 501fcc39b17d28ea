package reader

import (
	"context"
	"errors"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// lookEvery is how often a run looks at what its other processes do.
const lookEvery = time.Second

// help joins the run of a job and reads with it until the run ends, ctx is done, or nothing
// more can be sent here. What the run's own process does, a helper does not: it lists
// nothing, moves nothing that it has not read itself, and does not end the run.
func (r *run) help(ctx context.Context) (Ending, error) {
	rec, err := r.Store.Join(ctx, r.Job.ID)
	if err != nil {
		return Ending{}, err
	}
	r.id, r.Deadline = rec.ID, ledger.Here(r.Store, rec.Deadline)
	defer r.begin(ctx)()
	end := Ending{Run: rec}
	if end.Err = r.awaitListing(ctx); end.Err == nil {
		end.Err = r.confirmed(ctx)
	}
	if end.Err == nil {
		end.Err = r.round(ctx, true)
	}
	if end.Err != nil {
		end.Reason = reasonOf(end.Err, dogear.LedgerFailed)
	} else {
		r.judgeEnd(&end)
	}
	leave, cancel := r.finishing()
	defer cancel()
	if err := r.Store.Leave(leave, r.Job.ID); err != nil && end.Reason != dogear.LedgerFailed {
		end.Reason, end.Err = dogear.LedgerFailed, err
	}
	return end, nil
}

// awaitListing waits until the run's own process has listed the job.
func (r *run) awaitListing(ctx context.Context) error {
	for r.Job.Listing {
		if err := r.pause(ctx, lookEvery); err != nil {
			return err
		}
		job, err := r.Store.Job(ctx, r.Job.Name)
		if err != nil {
			return err
		}
		run, err := r.runNow(ctx)
		if err != nil {
			return err
		}
		if !run.Ended.IsZero() || !run.Live {
			return &Stop{Reason: reasonOfRun(run), Err: errRunEnded}
		}
		r.Job = job
	}
	return nil
}

// watchRun ends a helper's dispatch when the run that it helps with has ended.
func (r *run) watchRun(ctx context.Context) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		run, err := r.runNow(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.stop(&Stop{Reason: dogear.LedgerFailed, Err: err})
			return
		case !run.Ended.IsZero() || !run.Live:
			r.stop(&Stop{Reason: reasonOfRun(run), Err: errRunEnded})
			return
		}
	}
}

// reasonOfRun is why a run has ended; one whose process died is interrupted, though nobody has
// closed it yet.
func reasonOfRun(run ledger.Run) dogear.StopReason {
	if run.Reason == "" {
		return dogear.Interrupted
	}
	return run.Reason
}

var errRunEnded = errors.New("the run that this process helped with has ended")

// runNow is the run as the ledger has it now.
func (r *run) runNow(ctx context.Context) (ledger.Run, error) {
	for run, err := range r.Store.Runs(ctx, r.Job.ID) {
		if err != nil || run.ID == r.id {
			return run, err
		}
	}
	return ledger.Run{}, ledger.ErrNotRunning
}

// waitsForOthers reports whether other processes have documents of the job in flight, that
// may come back; a helper waits as long as its run goes on.
func (r *run) waitsForOthers() (bool, error) {
	n, err := r.Store.Others(r.dispatch, r.Job.ID)
	return n > 0 || r.Help, err
}
