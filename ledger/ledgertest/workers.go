package ledgertest

import (
	"os"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

var workers = []promise{
	{"Workers", testWorkers},
	{"WorkersNeedARun", testWorkersNeedARun},
	{"WorkerDies", testWorkerDies},
	{"WorkersEndWithTheRun", testWorkersEnd},
}

func testWorkers(f *fixture) {
	job := f.job("policies", 6)
	deadline := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	run, err := f.Begin(f.ctx(), job.ID, deadline)
	f.must(err)
	helper := f.open()
	joined, err := helper.Join(f.ctx(), job.ID)
	f.must(err)
	if joined.ID != run.ID || joined.Number != run.Number || !joined.Deadline.Equal(deadline) {
		f.Errorf("Join: %+v, want the run %+v", joined, run)
	}
	all, err := f.Workers(f.ctx(), run.ID)
	f.must(err)
	if len(all) != 1 || all[0].PID != os.Getpid() || all[0].Since.IsZero() {
		f.Errorf("Workers: %+v, want this process", all)
	}
	mine, theirs := f.claim(f, job, 3), f.claim(helper, job, 3)
	if len(mine) != 3 || len(theirs) != 3 {
		f.Fatalf("%d and %d claimed, want 3 each", len(mine), len(theirs))
	}
	f.grant(helper, job, joined, theirs[:2]...)
	for who, s := range map[string]ledger.Store{"the run's": f, "the helper's": helper} {
		if n, err := s.Others(f.ctx(), job.ID); n != 3 || err != nil {
			f.Errorf("%s Others: %d, %v; want 3", who, n, err)
		}
	}
	f.must(f.settle(helper, joined, theirs[0]))
	if err := f.settle(f, run, theirs[1]); err == nil {
		f.Error("a document that another has in flight was settled")
	}
	f.must(helper.Leave(f.ctx(), job.ID))
	if n, err := f.Others(f.ctx(), job.ID); n != 0 || err != nil {
		f.Errorf("Others after the helper left: %d, %v", n, err)
	}
	if all, err := f.Workers(f.ctx(), run.ID); len(all) != 0 || err != nil {
		f.Errorf("Workers after the helper left: %+v, %v", all, err)
	}
	if got := f.states(job); got[dogear.Done] != 1 || got[dogear.InFlight] != 3 || got[dogear.Pending] != 2 {
		f.Errorf("states %v, want 1 done, 3 in flight, 2 pending again", got)
	}
	if runs := collect(f, f.Runs(f.ctx(), job.ID)); runs[0].Sent != 2 || runs[0].Done != 1 {
		f.Errorf("the run has %+v: what a helper does is the run's", runs[0])
	}
}

func testWorkersNeedARun(f *fixture) {
	job := f.job("policies", 1)
	_, err := f.Join(f.ctx(), job.ID)
	f.fails("Join of a job that nobody runs", err, ledger.ErrNotRunning)
	_, err = f.Join(f.ctx(), 77)
	f.fails("Join of no job", err, ledger.ErrNoJob)
	run := f.begin(f, job)
	f.must(f.EndRun(f.ctx(), run.ID, dogear.Completed))
	_, err = f.open().Join(f.ctx(), job.ID)
	f.fails("Join of a run that has ended", err, ledger.ErrNotRunning)
}

// A worker's death costs one lease and nothing else: its documents are pending again within
// the run.
func testWorkerDies(f *fixture) {
	job := f.job("policies", 4)
	run := f.begin(f, job)
	dead := f.open()
	joined, err := dead.Join(f.ctx(), job.ID)
	f.must(err)
	docs := f.claim(dead, job, 3)
	f.grant(dead, job, joined, docs[:2]...)
	f.Kill(dead)
	if n, err := f.Others(f.ctx(), job.ID); n != 0 || err != nil {
		f.Errorf("Others: %d, %v; want none in flight with the dead", n, err)
	}
	if got := f.states(job); got[dogear.Pending] != 4 {
		f.Errorf("states %v, want all pending", got)
	}
	if runs := collect(f, f.Runs(f.ctx(), job.ID)); len(runs) != 1 || !runs[0].Ended.IsZero() {
		f.Errorf("the run has ended with its worker: %+v", runs)
	}
	paid := 0
	for _, d := range f.claim(f, job, 10) {
		paid += d.Attempts
	}
	if paid != 2 {
		f.Errorf("%d attempts paid, want those that were cut", paid)
	}
	f.must(f.EndRun(f.ctx(), run.ID, dogear.Completed))
}

func testWorkersEnd(f *fixture) {
	job := f.job("policies", 2)
	leader := f.open()
	run := f.begin(leader, job)
	if _, err := f.Join(f.ctx(), job.ID); err != nil {
		f.Fatal(err)
	}
	docs := f.claim(f, job, 1)
	f.grant(f, job, run, docs...)
	f.must(leader.EndRun(f.ctx(), run.ID, dogear.Deadline))
	// What a worker had paid for is kept, though the run has ended.
	f.must(f.settle(f, run, docs[0]))
	if got := f.states(job); got[dogear.Done] != 1 {
		f.Errorf("states %v, want what the worker had read done", got)
	}
	f.must(f.Leave(f.ctx(), job.ID))
}
