package ledgertest

import (
	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

var results = []promise{
	{"Settle", testSettle},
	{"SettleRefusesWhatIsNotHeld", testSettleRefuses},
	{"Reopen", testReopen},
	{"Placed", testPlaced},
	{"Names", testNames},
}

// K2: a document is done when the ledger says so, with all that is known of its result.
func testSettle(f *fixture) {
	job := f.job("policies", 4)
	run := f.begin(f, job)
	docs := f.claim(f, job, 4)
	f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: docs[3].Seq}}))
	f.must(f.settle(f, run, docs[2], docs[0])) // in any order
	var want []dogear.Result
	for _, d := range []dogear.Document{docs[0], docs[2]} {
		r := settlement(d).Result
		r.Run = run.ID
		want = append(want, r)
	}
	if diff := cmp.Diff(want, collect(f, f.Results(f.ctx(), job.ID))); diff != "" {
		f.Errorf("Results (-want +got):\n%s", diff)
	}
	states := map[dogear.State]int64{dogear.Done: 2, dogear.InFlight: 1, dogear.Pending: 1}
	if diff := cmp.Diff(states, f.states(job)); diff != "" {
		f.Errorf("states (-want +got):\n%s", diff)
	}
	if r := collect(f, f.Runs(f.ctx(), job.ID))[0]; r.Done != 2 {
		f.Errorf("the run has done %d, want 2", r.Done)
	}
	// K3: what is done is not read again.
	for _, d := range f.claim(f, job, 10) {
		if d.Seq == docs[0].Seq || d.Seq == docs[2].Seq {
			f.Errorf("%s is done and was claimed", d.ID)
		}
	}
}

// Nothing is settled that this holder does not hold, and then nothing of the call is.
func testSettleRefuses(f *fixture) {
	job := f.job("policies", 4)
	run := f.begin(f, job)
	docs := f.claim(f, job, 3)
	f.must(f.settle(f, run, docs[0]))
	never := dogear.Document{Seq: job.First + 3, Name: "3.html"}
	for what, d := range map[string]dogear.Document{"one that is done": docs[0], "one that is pending": never} {
		f.fails("Settle of "+what, f.settle(f, run, docs[1], d), ledger.ErrLeaseLost)
	}
	f.fails("Settle by another holder", f.settle(f.open(), run, docs[2]), ledger.ErrLeaseLost)
	if n := len(collect(f, f.Results(f.ctx(), job.ID))); n != 1 {
		f.Errorf("%d results, want 1", n)
	}
	want := map[dogear.State]int64{dogear.Done: 1, dogear.InFlight: 2, dogear.Pending: 1}
	if diff := cmp.Diff(want, f.states(job)); diff != "" {
		f.Errorf("states (-want +got):\n%s", diff)
	}
}

// K3: a result that is missing makes its document pending again.
func testReopen(f *fixture) {
	job := f.job("policies", 3)
	run := f.begin(f, job)
	docs := f.claim(f, job, 2)
	f.must(f.settle(f, run, docs[0]))
	f.must(f.Reopen(f.ctx(), []int64{docs[0].Seq, docs[1].Seq, job.First + 2}, "its result is missing"))
	if n := len(collect(f, f.Results(f.ctx(), job.ID))) + len(collect(f, f.Unplaced(f.ctx(), job.ID))); n != 0 {
		f.Errorf("%d results are left", n)
	}
	want := map[dogear.State]int64{dogear.InFlight: 1, dogear.Pending: 2}
	if diff := cmp.Diff(want, f.states(job)); diff != "" {
		f.Errorf("states (-want +got):\n%s", diff)
	}
	taken, err := f.Taken(f.ctx(), job.ID, []string{docs[0].Name})
	f.must(err)
	if taken[docs[0].Name] {
		f.Error("the name of a result that was forgotten is still taken")
	}
	again := f.claim(f, job, 1)
	if len(again) != 1 || again[0].Seq != docs[0].Seq {
		f.Fatalf("claimed %+v, want the reopened document", again)
	}
	f.must(f.settle(f, run, again[0]))
}

// A start looks only at what is not placed yet.
func testPlaced(f *fixture) {
	job := f.job("policies", 3)
	run := f.begin(f, job)
	docs := f.claim(f, job, 3)
	f.must(f.settle(f, run, docs[0], docs[1]))
	want := []ledger.Settlement{settlement(docs[0]), settlement(docs[1])}
	want[0].Run, want[1].Run = run.ID, run.ID
	if diff := cmp.Diff(want, collect(f, f.Unplaced(f.ctx(), job.ID))); diff != "" {
		f.Errorf("Unplaced (-want +got):\n%s", diff)
	}
	// The next group's commit says that the last one is placed.
	f.must(f.Settle(f.ctx(), run.ID, []ledger.Settlement{settlement(docs[2])}, []int64{docs[0].Seq, docs[1].Seq}))
	if got := collect(f, f.Unplaced(f.ctx(), job.ID)); len(got) != 1 || got[0].Doc != docs[2].Seq {
		f.Errorf("Unplaced: %+v, want the last one", got)
	}
	f.must(f.Settle(f.ctx(), run.ID, nil, []int64{docs[2].Seq}))
	if got := collect(f, f.Unplaced(f.ctx(), job.ID)); len(got) != 0 {
		f.Errorf("Unplaced: %+v, want none", got)
	}
	if n := len(collect(f, f.Results(f.ctx(), job.ID))); n != 3 {
		f.Errorf("%d results, want 3", n)
	}
}

// Names must differ as the strictest file system compares them, within the job.
func testNames(f *fixture) {
	job, other := f.job("policies", 2), f.job("other", 1)
	run := f.begin(f, job)
	docs := f.claim(f, job, 2)
	f.must(f.settle(f, run, docs...))
	taken := func(job ledger.Job, names ...string) map[string]bool {
		f.Helper()
		got, err := f.Taken(f.ctx(), job.ID, names)
		f.must(err)
		return got
	}
	if got := taken(job, "0.html", "0-2.html", "1.html"); !got["0.html"] || got["0-2.html"] || !got["1.html"] {
		f.Errorf("Taken: %v, want 0.html and 1.html", got)
	}
	if got := taken(other, "0.html"); got["0.html"] {
		f.Error("a name of one job is taken in another")
	}
	f.must(f.Rename(f.ctx(), docs[0].Seq, "0-2.HTML", "0-2.html"))
	if got := taken(job, "0.html", "0-2.html"); got["0.html"] || !got["0-2.html"] {
		f.Errorf("Taken after Rename: %v, want 0-2.html", got)
	}
	u := collect(f, f.Unplaced(f.ctx(), job.ID))[0]
	if u.Path != "0-2.HTML" || u.Folded != "0-2.html" || collect(f, f.Results(f.ctx(), job.ID))[0].Path != "0-2.HTML" {
		f.Errorf("after Rename: %+v", u)
	}
	f.must(f.Settle(f.ctx(), run.ID, nil, []int64{docs[0].Seq}))
	if err := f.Rename(f.ctx(), docs[0].Seq, "x", "x"); err == nil {
		f.Error("a result was renamed that has its final name")
	}
}
