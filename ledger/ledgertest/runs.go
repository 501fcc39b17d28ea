package ledgertest

import (
	"errors"
	"os"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

var runs = []promise{
	{"Runs", testRuns},
	{"RunIsOneHoldersAtATime", testRunIsOneHoldersAtATime},
	{"Cumulative", testCumulative},
	{"CrashIsClosedByTheNextRun", testCrash},
	{"CrashOfAnotherJobsHolder", testCrashElsewhere},
	{"CloseEndsTheHolder", testClose},
	{"EndRunFreesClaims", testEndRunFreesClaims},
	{"GivenUpRequestsAreTriedAgain", testGivenUp},
	{"LeaseLost", testLeaseLost},
	{"LeaseRunsOutUnnoticed", testLeaseUnnoticed},
	{"RenewKeepsTheLease", testRenewKeeps},
}

// Every run ends with one reason (E3), and runs are numbered in their job.
func testRuns(f *fixture) {
	job, other := f.job("policies", 1), f.job("other", 1)
	deadline := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	run, err := f.Begin(f.ctx(), job.ID, deadline)
	f.must(err)
	if run.Number != 1 || run.PID != os.Getpid() || !run.Deadline.Equal(deadline) || run.Reason != "" {
		f.Errorf("Begin: %+v", run)
	}
	if n := f.begin(f, other).Number; n != 1 {
		f.Errorf("the other job's first run is number %d", n)
	}
	f.must(f.EndRun(f.ctx(), run.ID, dogear.WaitPastDeadline))
	if err := f.EndRun(f.ctx(), run.ID, dogear.Completed); err == nil {
		f.Error("a run ended twice")
	}
	f.begin(f, job)
	all := collect(f, f.Runs(f.ctx(), job.ID))
	if len(all) != 2 || all[0].Reason != dogear.WaitPastDeadline || all[0].Ended.IsZero() || all[0].ID != run.ID ||
		!all[0].Deadline.Equal(deadline) || all[1].Number != 2 || !all[1].Ended.IsZero() || !all[1].Deadline.IsZero() {
		f.Errorf("Runs: %+v", all)
	}
}

func testRunIsOneHoldersAtATime(f *fixture) {
	job := f.job("policies", 1)
	run := f.begin(f, job)
	for who, s := range map[string]ledger.Store{"another holder": f.open(), "the same": f} {
		_, err := s.Begin(f.ctx(), job.ID, time.Time{})
		if r, ok := errors.AsType[*ledger.RunningError](err); !ok || r.Job != "policies" || r.PID != os.Getpid() {
			f.Errorf("Begin by %s: %v, want a RunningError", who, err)
		}
	}
	f.must(f.EndRun(f.ctx(), run.ID, dogear.Deadline))
	f.begin(f.open(), job)
}

// E4: nothing of a job's counts starts again with a run.
func testCumulative(f *fixture) {
	job := f.job("policies", 3)
	for i := range 3 {
		run := f.begin(f, job)
		d := f.claim(f, job, 1)[0]
		n := f.grant(f, job, run, d)[0]
		f.end(f, dogear.End{
			Request: n, Status: 429, Outcome: dogear.Throttled, Bytes: 10,
			Fate: &dogear.Fate{Doc: d.Seq, Reason: "throttled", Refund: 1},
		})
		n = f.grant(f, job, run, f.claim(f, job, 1)[0])[0]
		f.end(f, dogear.End{Request: n, Status: 500, Outcome: dogear.Transient, Fate: &dogear.Fate{Doc: d.Seq}})
		f.must(f.EndRun(f.ctx(), run.ID, dogear.Deadline))
		c, err := f.Counts(f.ctx(), job.ID)
		f.must(err)
		m := int64(i + 1)
		want := ledger.Counts{
			Documents: map[dogear.State]int64{dogear.Pending: 3},
			Sent:      2 * m, Throttled: m, ByStatus: map[int]int64{429: m, 500: m},
			Attempts: 2 * m, Most: 1,
		}
		if diff := cmp.Diff(want, c); diff != "" {
			f.Errorf("counts after run %d (-want +got):\n%s", i+1, diff)
		}
	}
	for _, r := range collect(f, f.Runs(f.ctx(), job.ID)) {
		if r.Sent != 2 || r.Throttled != 1 || r.Bytes != 10 || r.Done != 0 {
			f.Errorf("a run's own counts: %+v", r)
		}
	}
}

// K4: after a crash the next run reconciles.
func testCrash(f *fixture) {
	job := f.job("policies", 6)
	dead := f.open()
	run := f.begin(dead, job)
	docs := f.claim(dead, job, 4)
	sent := f.grant(dead, job, run, docs[:3]...)
	f.end(dead, dogear.End{Request: sent[0], Status: 200, Outcome: dogear.OK})
	f.must(f.settle(dead, run, docs[0]))
	f.decide(dead, func(d *dogear.Docket) { d.Scopes[key].Probing, d.Scopes[key].Probe = true, sent[1] })
	f.Kill(dead)

	f.decide(f, func(d *dogear.Docket) {
		if d.Live(sent[1]) {
			d.Scopes[key].SetBy = "somebody who lives"
		}
		if n := d.Scopes[key].InFlight; n != 0 {
			d.Scopes[key].SetBy = "requests of the dead"
		}
	})
	if s := collect(f, f.Scopes(f.ctx()))[0]; s.SetBy != "" {
		f.Errorf("a dead holder's requests count: %s", s.SetBy)
	}

	next := f.begin(f, job)
	if next.Number != 2 {
		f.Errorf("the next run is number %d, want 2", next.Number)
	}
	all := collect(f, f.Runs(f.ctx(), job.ID))
	if all[0].Reason != dogear.Interrupted || all[0].Ended.IsZero() {
		f.Errorf("the dead run: %+v, want it closed as interrupted", all[0])
	}
	want := map[dogear.State]int64{dogear.Done: 1, dogear.Pending: 5}
	if diff := cmp.Diff(want, f.states(job)); diff != "" {
		f.Errorf("states (-want +got):\n%s", diff)
	}
	// K1: no request that left is lost.
	reqs := collect(f, f.Requests(f.ctx(), job.ID))
	for i, want := range []dogear.Outcome{dogear.OK, dogear.Doubtful, dogear.Doubtful} {
		if i >= len(reqs) || reqs[i].Outcome != want || reqs[i].Ended.IsZero() {
			f.Errorf("request %d of %+v, want outcome %v", i, reqs, want)
		}
	}
	// Its answer may have been a throttle.
	if s := collect(f, f.Scopes(f.ctx()))[0]; !s.Probing || s.Probe != 0 {
		f.Errorf("the scope after the crash: %+v, want it probing with the probe free", s)
	}
	// Attempts that were cut are paid for; the claim that was not sent is not.
	got := map[string]int{}
	for _, d := range f.claim(f, job, 10) {
		got[d.ID] = d.Attempts
	}
	paid := map[string]int{doc(1).ID: 1, doc(2).ID: 1, doc(3).ID: 0, doc(4).ID: 0, doc(5).ID: 0}
	if diff := cmp.Diff(paid, got); diff != "" {
		f.Errorf("attempts paid (-want +got):\n%s", diff)
	}
}

// What a dead holder leaves of another job is put in order too; its documents in doubt stay
// so until that job's next run.
func testCrashElsewhere(f *fixture) {
	job, mine := f.job("policies", 3), f.job("mine", 1)
	dead := f.open()
	run := f.begin(dead, job)
	docs := f.claim(dead, job, 2)
	f.grant(dead, job, run, docs[0])
	f.Kill(dead)
	f.begin(f, mine)
	want := map[dogear.State]int64{dogear.InDoubt: 1, dogear.Pending: 2}
	if diff := cmp.Diff(want, f.states(job)); diff != "" {
		f.Errorf("states (-want +got):\n%s", diff)
	}
	if r := collect(f, f.Runs(f.ctx(), job.ID))[0]; r.Reason != dogear.Interrupted {
		f.Errorf("the dead run: %+v", r)
	}
	f.begin(f, job)
	if got := f.states(job)[dogear.Pending]; got != 3 {
		f.Errorf("%d documents are pending, want 3", got)
	}
	if l := f.lane(job); l.Pending != 3 {
		f.Errorf("the lane says %d are pending, want 3", l.Pending)
	}
}

func testClose(f *fixture) {
	job := f.job("policies", 3)
	s := f.open()
	run := f.begin(s, job)
	docs := f.claim(s, job, 2)
	f.grant(s, job, run, docs[0])
	f.must(s.Close())
	want := map[dogear.State]int64{dogear.InDoubt: 1, dogear.Pending: 2}
	if diff := cmp.Diff(want, f.states(job)); diff != "" {
		f.Errorf("states (-want +got):\n%s", diff)
	}
	if r := collect(f, f.Requests(f.ctx(), job.ID)); len(r) != 1 || r[0].Outcome != dogear.Doubtful {
		f.Errorf("requests: %+v, want one in doubt", r)
	}
	if r := collect(f, f.Runs(f.ctx(), job.ID))[0]; r.Reason != dogear.Interrupted {
		f.Errorf("the run: %+v, want it interrupted", r)
	}
	f.begin(f, job)
	if err := s.Renew(f.ctx(), nil); err == nil {
		f.Error("a closed store was written to")
	}
}

func testEndRunFreesClaims(f *fixture) {
	job, other := f.job("policies", 3), f.job("other", 1)
	run := f.begin(f, job)
	f.begin(f, other)
	f.claim(f, other, 1)
	docs := f.claim(f, job, 2)
	f.grant(f, job, run, docs[0])
	f.must(f.EndRun(f.ctx(), run.ID, dogear.Deadline))
	want := map[dogear.State]int64{dogear.InDoubt: 1, dogear.Pending: 2}
	if diff := cmp.Diff(want, f.states(job)); diff != "" {
		f.Errorf("states (-want +got):\n%s", diff)
	}
	if got := f.states(other)[dogear.InFlight]; got != 1 {
		f.Errorf("%d documents of the other job are in flight, want 1", got)
	}
}

// E2: what does not finish in the grace is in doubt, and tried again by the next run.
func testGivenUp(f *fixture) {
	job := f.job("policies", 1)
	run := f.begin(f, job)
	d := f.claim(f, job, 1)[0]
	n := f.grant(f, job, run, d)[0]
	f.end(f, dogear.End{Request: n, Outcome: dogear.Doubtful, Fate: &dogear.Fate{Doc: d.Seq, State: dogear.InDoubt}})
	f.must(f.EndRun(f.ctx(), run.ID, dogear.Deadline))
	if got := f.states(job)[dogear.InDoubt]; got != 1 {
		f.Errorf("%d documents are in doubt, want 1", got)
	}
	f.begin(f, job)
	if docs := f.claim(f, job, 1); len(docs) != 1 || docs[0].Attempts != 1 {
		f.Errorf("claimed %+v, want the document, which has paid", docs)
	}
}

// Who was taken for dead writes nothing more.
func testLeaseLost(f *fixture) {
	job := f.job("policies", 4)
	slow := f.open()
	run := f.begin(slow, job)
	docs := f.claim(slow, job, 2)
	n := f.grant(slow, job, run, docs[0])[0]
	f.pass(31 * time.Second)
	f.begin(f, job)

	lost := func(what string, err error) {
		f.Helper()
		f.fails(what, err, ledger.ErrLeaseLost)
	}
	lost("Renew", slow.Renew(f.ctx(), nil))
	lost("Settle", f.settle(slow, run, docs[1]))
	lost("Return", slow.Return(f.ctx(), []dogear.Fate{{Doc: docs[1].Seq, State: dogear.Failed}}))
	lost("EndRun", slow.EndRun(f.ctx(), run.ID, dogear.Completed))
	lost("Reopen", slow.Reopen(f.ctx(), []int64{docs[0].Seq}, ""))
	lost("SavePartial", slow.SavePartial(f.ctx(), docs[0].Seq, ledger.Partial{Size: 1}))
	_, err := slow.Claim(f.ctx(), f.lane(job).ID, 1, 8)
	lost("Claim", err)
	_, err = slow.Begin(f.ctx(), job.ID, time.Time{})
	lost("Begin", err)
	lost("Decide", slow.Decide(f.ctx(), []string{key}, func(d *dogear.Docket) {
		d.Ends = append(d.Ends, dogear.End{Request: n, Outcome: dogear.OK})
		d.Scopes[key].Generation = 99
	}))
	if s := collect(f, f.Scopes(f.ctx()))[0]; s.Generation != 0 {
		f.Errorf("generation = %d: a decision of the dead was stored", s.Generation)
	}
	if got := f.states(job)[dogear.Pending]; got != 4 {
		f.Errorf("%d documents are pending, want 4", got)
	}
}

// A lease that ran out and that nobody noticed, as on a machine that slept, goes on.
func testLeaseUnnoticed(f *fixture) {
	job := f.job("policies", 2)
	run := f.begin(f, job)
	docs := f.claim(f, job, 1)
	f.pass(time.Hour)
	f.must(f.settle(f, run, docs[0]))
	_, err := f.open().Begin(f.ctx(), job.ID, time.Time{})
	if _, ok := errors.AsType[*ledger.RunningError](err); !ok {
		f.Errorf("Begin by another: %v, want a RunningError", err)
	}
}

func testRenewKeeps(f *fixture) {
	job := f.job("policies", 2)
	run := f.begin(f, job)
	for range 10 {
		f.pass(20 * time.Second)
		f.must(f.Renew(f.ctx(), map[string]int{key: 3}))
	}
	if _, ok := errors.AsType[*ledger.RunningError](beginErr(f, f.open(), job)); !ok {
		f.Error("a holder that renewed its lease was taken for dead")
	}
	f.must(f.EndRun(f.ctx(), run.ID, dogear.Completed))
}

func beginErr(f *fixture, s ledger.Store, job ledger.Job) error {
	_, err := s.Begin(f.ctx(), job.ID, time.Time{})
	return err
}
