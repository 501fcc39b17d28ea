package ledgertest

import (
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

var exports = []promise{
	{"ExportImport", testExportImport},
	{"ExportRefusesARunningJob", testExportRunning},
	{"ImportIsAllOrNothing", testImportAllOrNothing},
	{"ImportKeepsTheLaterWait", testImportLaterWait},
	{"ImportRefusesOtherRecords", testImportOther},
}

// portable is the store, to be moved.
func (f *fixture) portable() ledger.Portable { return f.Store.(ledger.Portable) }

// elsewhere is a store of another, empty ledger.
func (f *fixture) elsewhere() ledger.Portable {
	f.Helper()
	s := f.empty(f.T).Open(f.T).(ledger.Portable)
	f.Cleanup(func() { f.must(s.Close()) })
	return s
}

// busy makes a ledger in which much has happened.
func (f *fixture) busy() ledger.Job {
	f.Helper()
	set := ledger.Settings{Source: []string{"list.txt"}, Sink: "/srv/out", SinkShown: "./out", Attempts: 8}
	docs := first(8)
	docs[7].Size, docs[7].Version, docs[7].SHA256 = 12, `"v7"`, strings.Repeat("ab", 32)
	job, _, err := f.Create(f.ctx(), "policies", set, list(docs...))
	f.must(err)
	run := f.begin(f, job)
	claimed := f.claim(f, job, 6)
	ns := f.grant(f, job, run, claimed...)
	f.end(f, dogear.End{Request: ns[0], Status: 200, Outcome: dogear.OK, Bytes: 3})
	f.must(f.settle(f, run, claimed[0]))
	f.end(f, dogear.End{Request: ns[1], Status: 200, Outcome: dogear.OK, Bytes: 3})
	f.must(f.settle(f, run, claimed[1]))
	f.must(f.Settle(f.ctx(), run.ID, nil, []int64{claimed[1].Seq}))
	f.end(f, dogear.End{Request: ns[2], Status: 429, Outcome: dogear.Throttled, Hint: "600",
		Fate: &dogear.Fate{Doc: claimed[2].Seq, Reason: "throttled", Refund: 1}})
	f.end(f, dogear.End{Request: ns[3], Status: 500, Outcome: dogear.Transient,
		Fate: &dogear.Fate{Doc: claimed[3].Seq, Reason: "500", NotBefore: f.Now().Add(time.Hour)}})
	f.end(f, dogear.End{Request: ns[4], Status: 404, Outcome: dogear.Missing, Fate: &dogear.Fate{Doc: claimed[4].Seq, State: dogear.Gone, Reason: "404"}})
	f.end(f, dogear.End{Request: ns[5], Status: 200, Outcome: dogear.OtherVersion,
		Fate: &dogear.Fate{Doc: claimed[5].Seq, State: dogear.Changed, Version: `"other"`, Reason: "changed"}})
	f.must(f.SavePartial(f.ctx(), claimed[3].Seq, ledger.Partial{Size: 9, Total: 10, Validator: `"v"`}))
	f.must(f.Confirm(f.ctx(), key, dogear.Confirmation{By: "anna", Source: "a test", At: time.Unix(1_800_000_000, 0).UTC()}, 5, 2, 3))
	f.decide(f, func(d *dogear.Docket) {
		s := d.Scopes[key]
		s.NotBefore, s.Probing, s.Generation, s.Streak, s.Hinted = d.Now.Add(10*time.Minute), true, 4, 2, true
		s.Cause, s.SetBy, s.Pace = dogear.ByHint, "job policies", []byte(`{"lo":3}`)
	})
	f.must(f.EndRun(f.ctx(), run.ID, dogear.WaitPastDeadline))
	return job
}

// same leaves out what is another ledger's own.
var same = cmp.Options{
	cmpopts.IgnoreFields(ledger.Job{}, "ID", "First"), cmpopts.IgnoreFields(ledger.Run{}, "ID"),
	cmpopts.IgnoreFields(dogear.Request{}, "N", "Job", "Doc"), cmpopts.IgnoreFields(dogear.Result{}, "Doc"),
	cmpopts.IgnoreFields(ledger.Remaining{}, "Seq"), cmpopts.EquateApproxTime(5 * time.Second),
	cmpopts.IgnoreFields(dogear.Scope{}, "NotBefore", "Generation", "Rebooted"),
}

// alike compares what two ledgers say of a job.
func (f *fixture) alike(other ledger.Store, name string) {
	f.Helper()
	was, err := f.Job(f.ctx(), name)
	f.must(err)
	is, err := other.Job(f.ctx(), name)
	f.must(err)
	before, err := f.Counts(f.ctx(), was.ID)
	f.must(err)
	after, err := other.Counts(f.ctx(), is.ID)
	f.must(err)
	for what, pair := range map[string][2]any{
		"job": {was, is}, "counts": {before, after},
		"runs":      {collect(f, f.Runs(f.ctx(), was.ID)), collect(f, other.Runs(f.ctx(), is.ID))},
		"results":   {collect(f, f.Results(f.ctx(), was.ID)), collect(f, other.Results(f.ctx(), is.ID))},
		"remaining": {collect(f, f.Remaining(f.ctx(), was.ID)), collect(f, other.Remaining(f.ctx(), is.ID))},
		"requests":  {collect(f, f.Requests(f.ctx(), was.ID)), collect(f, other.Requests(f.ctx(), is.ID))},
		"scopes":    {collect(f, f.Scopes(f.ctx())), collect(f, other.Scopes(f.ctx()))},
	} {
		if diff := cmp.Diff(pair[0], pair[1], same); diff != "" {
			f.Errorf("%s (-exported +imported):\n%s", what, diff)
		}
	}
}

func fold(path string) string { return path }

func testExportImport(f *fixture) {
	f.busy()
	f.must(f.Release(f.ctx(), key, "anna", "a test"))
	f.decide(f, func(d *dogear.Docket) { d.Scopes[key].NotBefore = d.Now.Add(10 * time.Minute) })
	drive := f.paged("drive")
	f.page(f, drive, dogear.Page{Documents: []dogear.Document{listed(0, "a")}, Folders: []dogear.Folder{{ID: "a", Name: "in"}}, Cursor: "next"}, ledger.Paged{New: 1})
	start := time.Now()
	wait := collect(f, f.Scopes(f.ctx()))[0].NotBefore.Sub(f.Now())

	other := f.elsewhere()
	f.must(other.Import(f.ctx(), f.portable().Export(f.ctx()), fold))
	f.alike(other, "policies")
	f.alike(other, "drive")
	if left := collect(f, other.Scopes(f.ctx()))[0].NotBefore.Sub(other.Now()); left < wait-time.Since(start) {
		f.Errorf("%v are left of a wait of %v, %v later: late is right, early never", left, wait, time.Since(start))
	}
	if unplaced := collect(f, other.Unplaced(f.ctx(), f.jobID(other, "policies"))); len(unplaced) != 1 || unplaced[0].Temp == "" {
		f.Errorf("unplaced: %+v, want the one result that had no name yet", unplaced)
	}
	// It goes on there: the next run, the rest of the listing, what is kept of a body.
	job, err := other.Job(f.ctx(), "policies")
	f.must(err)
	run, err := other.Begin(f.ctx(), job.ID, time.Time{})
	f.must(err)
	if run.Number != 2 {
		f.Errorf("the next run is number %d, want 2", run.Number)
	}
	lanes, err := other.Lanes(f.ctx(), job.ID)
	f.must(err)
	docs, err := other.Claim(f.ctx(), lanes[0].ID, 10, 8)
	f.must(err)
	if len(docs) != 3 { // the throttled one and the two that nobody had tried
		f.Errorf("claimed %v, want three", ids(docs))
	}
	is, err := other.Job(f.ctx(), "drive")
	f.must(err)
	if _, err := other.AddPage(f.ctx(), is.ID, dogear.Page{Cursor: "end", Last: true}); err != nil {
		f.Fatal(err)
	}
	if rest := collect(f, other.Remaining(f.ctx(), is.ID)); len(rest) != 1 {
		f.Errorf("the drive has %+v", rest)
	}
	// And back: the first ledger's names are taken.
	f.fails("Import of what is there", f.portable().Import(f.ctx(), f.portable().Export(f.ctx()), fold), ledger.ErrJobExists)
	// Where they are free it comes back, and what stayed there is there once.
	all := collect(f, f.portable().Export(f.ctx()))
	for _, j := range collect(f, f.Jobs(f.ctx())) {
		f.must(f.Forget(f.ctx(), j.ID))
	}
	f.must(f.portable().Import(f.ctx(), records(all), fold))
	if n := len(collect(f, f.portable().Export(f.ctx()))); n != len(all) {
		f.Errorf("%d records after they came back, want %d", n, len(all))
	}
}

func (f *fixture) jobID(s ledger.Store, name string) int64 {
	f.Helper()
	job, err := s.Job(f.ctx(), name)
	f.must(err)
	return job.ID
}

func testExportRunning(f *fixture) {
	job := f.job("policies", 2)
	f.begin(f.open(), job)
	for _, err := range f.portable().Export(f.ctx()) {
		if r, ok := errors.AsType[*ledger.RunningError](err); !ok || r.Job != "policies" {
			f.Errorf("Export: %v, want a RunningError", err)
		}
		return
	}
	f.Error("a job that is being run was exported")
}

func testImportAllOrNothing(f *fixture) {
	f.busy()
	broken := errors.New("the file is cut")
	n := len(collect(f, f.portable().Export(f.ctx())))
	other := f.elsewhere()
	for cut := range n {
		err := other.Import(f.ctx(), cutAfter(f.portable().Export(f.ctx()), cut, broken), fold)
		f.fails("Import of a file that is cut", err, broken)
		if jobs, scopes := collect(f, other.Jobs(f.ctx())), collect(f, other.Scopes(f.ctx())); len(jobs)+len(scopes) > 0 {
			f.Fatalf("after %d of %d records: %+v, %+v", cut, n, jobs, scopes)
		}
	}
	f.must(other.Import(f.ctx(), f.portable().Export(f.ctx()), fold))
	f.alike(other, "policies")
}

// cutAfter ends a sequence with an error after n records.
func cutAfter(seq iter.Seq2[ledger.Record, error], n int, broken error) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for r, err := range seq {
			if n == 0 {
				yield(ledger.Record{}, broken)
				return
			}
			n--
			if !yield(r, err) {
				return
			}
		}
	}
}

func testImportLaterWait(f *fixture) {
	f.busy()
	for _, wait := range []time.Duration{time.Minute, time.Hour} {
		other := f.elsewhere()
		f.must(other.Decide(f.ctx(), []string{key}, func(d *dogear.Docket) {
			d.Scopes[key].NotBefore, d.Scopes[key].Probing = d.Now.Add(wait), true
		}))
		f.must(other.Import(f.ctx(), f.portable().Export(f.ctx()), fold))
		sc := collect(f, other.Scopes(f.ctx()))[0]
		if left, want := sc.NotBefore.Sub(other.Now()), max(wait, 10*time.Minute); left < want-5*time.Second || left > want+5*time.Second {
			f.Errorf("%v left, want the later of %v and 10 min", left, wait)
		}
		if !sc.Confirmed.OK() || sc.Streak != 2 {
			f.Errorf("%+v: want what is known of both", sc)
		}
	}
}

// What no ledger exports is refused, wherever it is in the file, and nothing of it stays.
func testImportOther(f *fixture) {
	f.busy()
	other := f.elsewhere()
	for name, broken := range map[string]func(*ledger.Record){
		"no job":                   func(r *ledger.Record) { r.Job.Name = "" },
		"a lane twice":             func(r *ledger.Record) { r.Job.Lanes = append(r.Job.Lanes, r.Job.Lanes...) },
		"a run that goes on":       func(r *ledger.Record) { r.Run.Ended = time.Time{} },
		"a place before another":   func(r *ledger.Record) { r.Document.Place = -1 },
		"a place too far":          func(r *ledger.Record) { r.Document.Place = 1 << 40 },
		"no lane":                  func(r *ledger.Record) { r.Document.Lane = 1 },
		"done without a result":    func(r *ledger.Record) { r.Document.State, r.Document.Result = dogear.Done, nil },
		"in flight":                func(r *ledger.Record) { r.Document.State, r.Document.Result = dogear.InFlight, nil },
		"a result of no run":       func(r *ledger.Record) { r.Document.Result.Run = 7 },
		"a size below zero":        func(r *ledger.Record) { r.Document.Result.Size = -1 },
		"a path outside":           func(r *ledger.Record) { r.Document.Result.Path = "../x" },
		"a path of another system": func(r *ledger.Record) { r.Document.Result.Path = `a\b` },
		"no path":                  func(r *ledger.Record) { r.Document.Result.Path = "" },
		"a part outside":           func(r *ledger.Record) { r.Document.Result.Temp = "/etc/x" },
		"a request of no run":      func(r *ledger.Record) { r.Request.Run = 7 },
		"no status":                func(r *ledger.Record) { r.Request.Status = 1 << 40 },
		"no key":                   func(r *ledger.Record) { r.Scope.Key = "a\nb" },
	} {
		bad := collect(f, f.portable().Export(f.ctx()))
		if !breakFirst(bad, broken) {
			f.Fatalf("%s: there is nothing to break", name)
		}
		f.fails(name, other.Import(f.ctx(), records(bad), fold), ledger.ErrRecords)
		if jobs, scopes := collect(f, other.Jobs(f.ctx())), collect(f, other.Scopes(f.ctx())); len(jobs)+len(scopes) > 0 {
			f.Fatalf("%s: %+v, %+v are there", name, jobs, scopes)
		}
	}
}

// breakFirst breaks the first record that has what is to be broken.
func breakFirst(all []ledger.Record, broken func(*ledger.Record)) bool {
	for i := range all {
		if try(&all[i], broken) {
			return true
		}
	}
	return false
}

// try reports whether a record has what is to be broken.
func try(r *ledger.Record, broken func(*ledger.Record)) (ok bool) {
	defer func() { ok = recover() == nil }()
	broken(r)
	return true
}
