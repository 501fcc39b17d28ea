package cli

import (
	"context"
	"iter"
	"testing"

	"github.com/dogear/dogear/ledger"
)

// appearing is a ledger whose job another process makes between two looks.
type appearing struct {
	ledger.Store
	looks int
}

func (a *appearing) Job(context.Context, string) (ledger.Job, error) {
	if a.looks++; a.looks == 1 {
		return ledger.Job{}, ledger.ErrNoJob
	}
	return ledger.Job{ID: 7, Name: "l"}, nil
}

func (a *appearing) Runs(context.Context, int64) iter.Seq2[ledger.Run, error] {
	return func(yield func(ledger.Run, error) bool) { yield(ledger.Run{ID: 3, Live: true}, nil) }
}

// A job that begins while a worker finds out that there is none is a job to help with.
func TestJobAppears(t *testing.T) {
	worker := &workerCmd{Job: "l"}
	job, run, err := worker.await(&call{ctx: t.Context()}, &appearing{})
	if err != nil || job.ID != 7 || run.ID != 3 {
		t.Errorf("job %+v, run %+v, %v: want those that are there", job, run, err)
	}
}
