package ledgertest

import (
	"errors"
	"iter"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

var jobs = []promise{
	{"Job", testJob},
	{"JobNames", testJobNames},
	{"DocumentsComeBack", testDocumentsComeBack},
	{"CreateSkipsRepeats", testCreateSkipsRepeats},
	{"CreateRefusesConflicts", testCreateRefusesConflicts},
	{"CreateNamesTheFirstConflict", testCreateNamesTheFirstConflict},
	{"CreateIsAllOrNothing", testCreateIsAllOrNothing},
	{"CreateShowsNothingEarly", testCreateShowsNothingEarly},
	{"CreateTwiceAtOnce", testCreateTwiceAtOnce},
	{"CrashWhileListing", testCrashWhileListing},
	{"Compare", testCompare},
	{"Forget", testForget},
}

func testJob(f *fixture) {
	set := ledger.Settings{Source: []string{"list.txt"}, Sink: "/srv/out", SinkShown: "./out", Attempts: 8, BackoffMax: time.Minute}
	before := time.Now().Add(-time.Second)
	job, repeats, err := f.Create(f.ctx(), "policies", set, list(first(3)...))
	f.must(err)
	if repeats != 0 {
		f.Errorf("repeats = %d, want 0", repeats)
	}
	if job.Name != "policies" || job.Total != 3 || job.First == 0 || job.Created.Before(before) {
		f.Errorf("Create: %+v", job)
	}
	got, err := f.Job(f.ctx(), "policies")
	f.must(err)
	if diff := cmp.Diff(job, got); diff != "" {
		f.Errorf("Job differs from what Create said (-Create +Job):\n%s", diff)
	}
	f.job("other", 0)
	if all := collect(f, f.Jobs(f.ctx())); len(all) != 2 || all[0].Name != "policies" || all[1].Total != 0 {
		f.Errorf("Jobs: %+v", all)
	}
	set.Sink, set.Rate = "/srv/elsewhere", 2.5
	f.must(f.SetSettings(f.ctx(), job.ID, set))
	got, err = f.Job(f.ctx(), "policies")
	f.must(err)
	if diff := cmp.Diff(set, got.Settings); diff != "" {
		f.Errorf("settings (-want +got):\n%s", diff)
	}
	for sink, want := range map[string]string{"/srv/elsewhere": "policies", "/srv/out": ""} {
		if name, err := f.SinkJob(f.ctx(), sink); name != want || err != nil {
			f.Errorf("SinkJob(%q) = %q, %v; want %q", sink, name, err, want)
		}
	}
	// Numbers follow the list without a gap, from the job's first on.
	f.begin(f, job)
	for i, d := range f.claim(f, job, 10) {
		if want := job.First + int64(i); d.Seq != want {
			f.Errorf("document %d of the list has number %d, want %d", i, d.Seq, want)
		}
	}
}

func testJobNames(f *fixture) {
	_, err := f.Job(f.ctx(), "nobody")
	f.fails("Job", err, ledger.ErrNoJob)
	f.fails("SetSettings", f.SetSettings(f.ctx(), 77, ledger.Settings{}), ledger.ErrNoJob)
	f.fails("Forget", f.Forget(f.ctx(), 77), ledger.ErrNoJob)
	_, err = f.Begin(f.ctx(), 77, time.Time{})
	f.fails("Begin", err, ledger.ErrNoJob)

	f.job("policies", 1)
	_, _, err = f.Create(f.ctx(), "policies", ledger.Settings{}, func(func(dogear.Document, error) bool) {
		f.Error("the list was read though the name is taken")
	})
	f.fails("Create", err, ledger.ErrJobExists)
}

func testDocumentsComeBack(f *fixture) {
	plain := doc(0)
	plain.Address = "https://docs.example.com/other/0.html"
	plain.Version, plain.Size, plain.List, plain.Offset = `"abc"`, 0, 2, 1<<40
	plain.SHA256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	secret := doc(1)
	secret.Secret, secret.Address, secret.Size = true, "https://docs.example.com/1.html?sig=canary", 77
	secret.Scopes = []string{"host:docs.example.com", "msgraph:app=A"}
	job, _, err := f.Create(f.ctx(), "policies", ledger.Settings{}, list(plain, secret))
	f.must(err)
	lanes, err := f.Lanes(f.ctx(), job.ID)
	f.must(err)
	var got []dogear.Document
	f.begin(f, job)
	for _, l := range lanes {
		docs, err := f.Claim(f.ctx(), l.ID, 10, 8)
		f.must(err)
		got = append(got, docs...)
	}
	want := []dogear.Document{plain, secret}
	want[1].Address = "" // K7
	for i := range want {
		want[i].Seq, want[i].Fingerprint = job.First+int64(i), 0
		if i < len(got) {
			got[i].Fingerprint = 0 // means nothing to any other process
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("documents (-listed +claimed):\n%s", diff)
	}
}

func testCreateSkipsRepeats(f *fixture) {
	docs := first(3)
	docs = append(docs, docs[1], docs[0], doc(3))
	docs[4].Line = 5
	job, repeats, err := f.Create(f.ctx(), "policies", ledger.Settings{}, list(docs...))
	f.must(err)
	if job.Total != 4 || repeats != 2 {
		f.Errorf("total %d, repeats %d; want 4, 2", job.Total, repeats)
	}
	if got := f.states(job)[dogear.Pending]; got != 4 || f.lane(job).Pending != 4 {
		f.Errorf("%d documents are pending, %d in the lane; want 4", got, f.lane(job).Pending)
	}
	stored, found, err := f.Compare(f.ctx(), job.ID, docs[0])
	f.must(err)
	if !found || stored.Seq != job.First {
		f.Errorf("Compare of a repeated document: %v, %+v; want the first", found, stored)
	}
	f.begin(f, job)
	got := f.claim(f, job, 10)
	if diff := cmp.Diff(ids(first(4)), ids(got)); diff != "" {
		f.Errorf("claimed (-want +got):\n%s", diff)
	}
}

// Of several conflicts the one is named that the list comes to first.
func testCreateNamesTheFirstConflict(f *fixture) {
	docs := first(40)
	for _, i := range []int{20, 3, 31, 7} {
		d := doc(i)
		d.Line, d.Fingerprint = int64(len(docs)+1), 99
		docs = append(docs, d)
	}
	_, _, err := f.Create(f.ctx(), "policies", ledger.Settings{}, list(docs...))
	if c, ok := errors.AsType[*ledger.ConflictError](err); !ok || c.ID != doc(20).ID || c.Lines != [2]int64{21, 41} {
		f.Errorf("got error %v, want the conflict of lines 21 and 41", err)
	}
}

func testCreateRefusesConflicts(f *fixture) {
	for _, tt := range []struct {
		name          string
		first, second bool
		secret        bool
	}{{"open", false, false, false}, {"first-secret", true, false, true}, {"second-secret", false, true, true}} {
		docs := first(5)
		docs[1].Secret = tt.first
		again := docs[1]
		again.Line, again.Secret, again.Fingerprint = 6, tt.second, 99
		again.Address = "https://docs.example.com/elsewhere"
		_, _, err := f.Create(f.ctx(), tt.name, ledger.Settings{}, list(append(docs, again)...))
		c, ok := errors.AsType[*ledger.ConflictError](err)
		if !ok {
			f.Errorf("%s: got error %v, want a ConflictError", tt.name, err)
			continue
		}
		if c.ID != docs[1].ID || c.Lines != [2]int64{2, 6} || c.Secret != tt.secret {
			f.Errorf("%s: %+v", tt.name, c)
		}
		_, err = f.Job(f.ctx(), tt.name)
		f.fails(tt.name+": Job", err, ledger.ErrNoJob)
	}
}

// failing lists n documents and fails.
func failing(n int, err error) iter.Seq2[dogear.Document, error] {
	return func(yield func(dogear.Document, error) bool) {
		for _, d := range first(n) {
			if !yield(d, nil) {
				return
			}
		}
		yield(dogear.Document{}, err)
	}
}

func testCreateIsAllOrNothing(f *fixture) {
	broken := errors.New("page 3 did not come")
	_, _, err := f.Create(f.ctx(), "policies", ledger.Settings{Sink: "/srv/out"}, failing(20_000, broken))
	f.fails("Create", err, broken)
	_, err = f.Job(f.ctx(), "policies")
	f.fails("Job", err, ledger.ErrNoJob)
	if name, err := f.SinkJob(f.ctx(), "/srv/out"); name != "" || err != nil {
		f.Errorf("SinkJob = %q, %v; want none", name, err)
	}
	if all := collect(f, f.Jobs(f.ctx())); len(all) != 0 {
		f.Errorf("Jobs: %+v, want none", all)
	}
	if job := f.job("policies", 2); f.states(job)[dogear.Pending] != 2 {
		f.Errorf("the job under the same name has %v", f.states(job))
	}
}

func testCreateShowsNothingEarly(f *fixture) {
	other := f.open()
	n := 0
	seq := func(yield func(dogear.Document, error) bool) {
		for _, d := range first(20_000) {
			if n++; n%5_000 == 0 {
				// Others find no job, and can write meanwhile.
				_, err := other.Job(f.ctx(), "policies")
				f.fails("Job while it is listed", err, ledger.ErrNoJob)
				f.must(other.Confirm(f.ctx(), key, dogear.Confirmation{By: "me", At: time.Now()}, 0, 0, 0))
				f.decide(f, func(*dogear.Docket) {}) // and so can this process
			}
			if !yield(d, nil) {
				return
			}
		}
	}
	_, _, err := f.Create(f.ctx(), "policies", ledger.Settings{}, seq)
	f.must(err)
	job, err := other.Job(f.ctx(), "policies")
	f.must(err)
	if job.Total != 20_000 {
		f.Errorf("total = %d, want 20000", job.Total)
	}
	if rest := f.remaining(job); len(rest) != 20_000 || rest[0].ID != doc(0).ID || rest[19_999].ID != doc(19_999).ID {
		f.Errorf("%d documents remain, want 20000 in the order of the list", len(rest))
	}
}

func testCreateTwiceAtOnce(f *fixture) {
	other := f.open()
	var inner error
	_, _, err := f.Create(f.ctx(), "policies", ledger.Settings{}, func(yield func(dogear.Document, error) bool) {
		_, _, inner = other.Create(f.ctx(), "policies", ledger.Settings{}, list(first(2)...))
		yield(doc(0), nil)
	})
	f.must(inner)
	f.fails("the slower Create", err, ledger.ErrJobExists)
	job, err := f.Job(f.ctx(), "policies")
	f.must(err)
	if job.Total != 2 {
		f.Errorf("total = %d, want the faster one's 2", job.Total)
	}
}

func testCrashWhileListing(f *fixture) {
	doomed := f.open()
	gone := errors.New("gone")
	_, _, err := doomed.Create(f.ctx(), "policies", ledger.Settings{}, func(yield func(dogear.Document, error) bool) {
		for i, d := range first(20_000) {
			if i == 19_999 {
				f.Kill(doomed)
			}
			if !yield(d, nil) {
				return
			}
		}
		yield(dogear.Document{}, gone)
	})
	if err == nil {
		f.Error("a dead holder listed a job")
	}
	job := f.job("policies", 2)
	f.begin(f, job)
	if got := ids(f.claim(f, job, 10)); len(got) != 2 {
		f.Errorf("claimed %v, want 2 documents", got)
	}
}

func testCompare(f *fixture) {
	secret := doc(1)
	secret.Secret = true
	job, _, err := f.Create(f.ctx(), "policies", ledger.Settings{}, list(doc(0), secret, doc(2)))
	f.must(err)
	for _, i := range []int{0, 1, 2, 2, 0} { // in order, and not
		d := doc(i)
		d.Line, d.Offset, d.List = d.Line+7, d.Offset+300, 1
		stored, found, err := f.Compare(f.ctx(), job.ID, d)
		f.must(err)
		if !found || stored.Seq != job.First+int64(i) || stored.Line != d.Line || stored.Offset != d.Offset || stored.List != 1 ||
			stored.Secret != (i == 1) || !cmp.Equal(stored.Scopes, []string{key}) {
			f.Errorf("Compare(%s): %v, %+v", d.ID, found, stored)
		}
	}
	if _, found, err := f.Compare(f.ctx(), job.ID, doc(3)); found || err != nil {
		f.Errorf("Compare of a new line: found %v, error %v", found, err)
	}
	// What was moved is moved for those who claim it.
	f.begin(f, job)
	for i, d := range f.claim(f, job, 10) {
		if want := doc(i).Offset + 300; d.Offset != want || d.List != 1 {
			f.Errorf("document %d is at %d of list %d, want at %d of 1", i, d.Offset, d.List, want)
		}
	}
}

func testForget(f *fixture) {
	job := f.job("policies", 30)
	run := f.begin(f, job)
	docs := f.claim(f, job, 20)
	f.grant(f, job, run, docs...)
	f.must(f.settle(f, run, docs[:10]...))
	other := f.open()
	for who, s := range map[string]ledger.Store{"another holder": other, "the holder itself": f} {
		err := s.Forget(f.ctx(), job.ID)
		if r, ok := errors.AsType[*ledger.RunningError](err); !ok || r.Job != "policies" || r.PID == 0 {
			f.Errorf("Forget of a running job by %s: %v, want a RunningError", who, err)
		}
	}
	f.must(f.EndRun(f.ctx(), run.ID, dogear.Deadline))
	f.must(other.Forget(f.ctx(), job.ID))
	_, err := f.Job(f.ctx(), "policies")
	f.fails("Job", err, ledger.ErrNoJob)
	if n := len(collect(f, f.Requests(f.ctx(), job.ID))); n != 0 {
		f.Errorf("%d requests are left", n)
	}
	if all := collect(f, f.Scopes(f.ctx())); len(all) != 1 {
		f.Errorf("%d scopes are left, want 1: they outlive the job", len(all))
	}
	// The same name is a new job, with numbers of its own.
	again := f.job("policies", 3)
	if again.ID == job.ID || again.First <= job.First {
		f.Errorf("the new job is %+v, the old was %+v", again, job)
	}
	if got := f.states(again); got[dogear.Pending] != 3 || len(got) != 1 {
		f.Errorf("the new job has %v", got)
	}
}
