package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

var requests = []promise{
	{"RequestIsThereBeforeItLeaves", testRequestFirst},
	{"RequestComesBack", testRequestComesBack},
	{"EndOnce", testEndOnce},
	{"EndsOfEveryKind", testEndsOfEveryKind},
	{"NoAttempt", testNoAttempt},
	{"NoAttemptOfARedirect", testNoAttemptOfARedirect},
	{"Items", testItems},
	{"FateOfAnOpenBody", testFateless},
	{"DoneStaysDone", testDoneStaysDone},
	{"NumbersAreNeverReused", testNumbers},
	{"JobSent", testJobSent},
	{"InFlight", testInFlight},
	{"Waiting", testWaiting},
	{"NoJob", testNoJob},
	{"OneFailsOthersDoNot", testOneFails},
	{"ManyDecideAtOnce", testManyDecide},
	{"GivenUpCall", testGivenUpCall},
}

// K1: the row is durable when Decide returns, and everybody sees it.
func testRequestFirst(f *fixture) {
	job := f.job("policies", 1)
	run := f.begin(f, job)
	d := f.claim(f, job, 1)[0]
	n := f.grant(f, job, run, d)[0]
	other := f.open()
	reqs := collect(f, other.Requests(f.ctx(), job.ID))
	if len(reqs) != 1 || reqs[0].N != n || reqs[0].Outcome != dogear.Unsettled || !reqs[0].Ended.IsZero() || reqs[0].Granted.IsZero() {
		f.Errorf("another holder sees %+v, want the open request %d", reqs, n)
	}
	c, err := other.Counts(f.ctx(), job.ID)
	f.must(err)
	if c.Sent != 1 || c.Attempts != 1 || c.Most != 1 {
		f.Errorf("counts: %+v, want one sent, one attempt", c)
	}
}

func testRequestComesBack(f *fixture) {
	job := f.job("policies", 1)
	run := f.begin(f, job)
	d := f.claim(f, job, 1)[0]
	at := time.Unix(1_800_000_000, 123_456_789).UTC()
	var want []dogear.Request
	f.decide(f, func(k *dogear.Docket) {
		read := dogear.Request{
			N: k.Next, Job: job.ID, Run: run.ID, Doc: d.Seq, Scopes: []string{"a:1", key}, Granted: at,
		}
		hop := read
		hop.N, hop.Parent, hop.Kind, hop.Scopes = read.N+1, read.N, dogear.Redirect, []string{"host:cdn.example"}
		page := dogear.Request{N: read.N + 2, Job: job.ID, Run: run.ID, Kind: dogear.List, Scopes: []string{key}, Granted: at}
		k.Grants = append(k.Grants, read, hop, page)
		want = []dogear.Request{read, hop, page}
	})
	e := dogear.End{
		Request: want[1].N, Sent: at.Add(1), Ended: at.Add(2), Status: 429, Outcome: dogear.Throttled,
		Hint: "Retry-After: 120", Until: at.Add(2 * time.Minute), Bytes: 512,
	}
	f.decide(f, func(k *dogear.Docket) { k.Ends = append(k.Ends, e) })
	want[0].DocID, want[1].DocID = d.ID, d.ID
	w := &want[1]
	w.Sent, w.Ended, w.Status, w.Outcome, w.Hint, w.Until, w.Bytes = e.Sent, e.Ended, e.Status, e.Outcome, e.Hint, e.Until, e.Bytes
	if diff := cmp.Diff(want, collect(f, f.Requests(f.ctx(), job.ID))); diff != "" {
		f.Errorf("Requests (-want +got):\n%s", diff)
	}
	// A redirect is a request and no attempt (R2).
	c, err := f.Counts(f.ctx(), job.ID)
	f.must(err)
	if c.Sent != 3 || c.Attempts != 1 {
		f.Errorf("sent %d, attempts %d; want 3, 1", c.Sent, c.Attempts)
	}
}

// An end that is said twice is one end.
func testEndOnce(f *fixture) {
	job := f.job("policies", 1)
	run := f.begin(f, job)
	d := f.claim(f, job, 1)[0]
	n := f.grant(f, job, run, d)[0]
	for range 2 {
		f.end(f, dogear.End{Request: n, Status: 503, Outcome: dogear.Transient, Fate: &dogear.Fate{Doc: d.Seq, Reason: "503"}})
		f.claim(f, job, 1) // in flight again when the second end comes
	}
	f.end(f, dogear.End{Request: n + 1000, Outcome: dogear.OK}) // nobody knows it
	c, err := f.Counts(f.ctx(), job.ID)
	f.must(err)
	want := ledger.Counts{
		Documents: map[dogear.State]int64{dogear.InFlight: 1}, Sent: 1, ByStatus: map[int]int64{503: 1}, Attempts: 1, Most: 1,
	}
	if diff := cmp.Diff(want, c); diff != "" {
		f.Errorf("counts (-want +got):\n%s", diff)
	}
}

// R2: what surely never left is neither a request nor an attempt; what left and was surely
// not acted on is a request and no attempt; a throttled one is both, and its document is
// not charged.
func testEndsOfEveryKind(f *fixture) {
	for _, tt := range []struct {
		outcome        dogear.Outcome
		refund         int
		sent, attempts int64
		paid           int
	}{
		{dogear.NotSent, 1, 0, 0, 0},
		{dogear.Unprocessed, 1, 1, 0, 0},
		{dogear.Throttled, 1, 1, 1, 0},
		{dogear.Transient, 0, 1, 1, 1},
		{dogear.Doubtful, 0, 1, 1, 1},
		{dogear.Transient, 3, 1, 1, 0}, // never below zero
	} {
		job := f.job(fmt.Sprintf("%v-%d", tt.outcome, tt.refund), 1)
		run := f.begin(f, job)
		d := f.claim(f, job, 1)[0]
		n := f.grant(f, job, run, d)[0]
		f.end(f, dogear.End{Request: n, Outcome: tt.outcome, Fate: &dogear.Fate{Doc: d.Seq, Refund: tt.refund}})
		c, err := f.Counts(f.ctx(), job.ID)
		f.must(err)
		if c.Sent != tt.sent || c.Attempts != tt.attempts || c.Most != tt.paid {
			f.Errorf("%v: sent %d, attempts %d, most %d; want %d, %d, %d", tt.outcome, c.Sent, c.Attempts, c.Most, tt.sent, tt.attempts, tt.paid)
		}
		if r := f.remaining(job)[0]; r.Attempts != tt.paid || r.State != dogear.Pending {
			f.Errorf("%v: %+v, want pending with %d paid", tt.outcome, r, tt.paid)
		}
		if r := collect(f, f.Runs(f.ctx(), job.ID))[0]; r.Sent != tt.sent {
			f.Errorf("%v: the run sent %d, want %d", tt.outcome, r.Sent, tt.sent)
		}
	}
}

// R2: what was no attempt is taken back from the job's attempts and from the document's,
// whatever the end says of the document, and wherever that is when the ledger hears of it.
func testNoAttempt(f *fixture) {
	other := f.open()
	pending := func(d dogear.Document) *dogear.Fate { return &dogear.Fate{Doc: d.Seq} }
	paths := []struct {
		name   string
		before func(job ledger.Job, run ledger.Run, d dogear.Document) // the end comes
		fate   func(dogear.Document) *dogear.Fate
		want   dogear.State
	}{
		{"no fate", nil, func(dogear.Document) *dogear.Fate { return nil }, dogear.InFlight},
		{"in flight", nil, func(d dogear.Document) *dogear.Fate {
			return &dogear.Fate{Doc: d.Seq, State: dogear.InFlight, Refund: 1}
		}, dogear.InFlight},
		{"pending", nil, func(d dogear.Document) *dogear.Fate { return &dogear.Fate{Doc: d.Seq, Refund: 1} }, dogear.Pending},
		{"pending, no refund", nil, pending, dogear.Pending},
		{"returned", func(_ ledger.Job, _ ledger.Run, d dogear.Document) {
			f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: d.Seq, State: dogear.Denied}}))
		}, pending, dogear.Denied},
		{"another's", func(job ledger.Job, _ ledger.Run, d dogear.Document) {
			f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: d.Seq}}))
			f.claim(other, job, 1)
		}, pending, dogear.InFlight},
		{"the run is over", func(_ ledger.Job, run ledger.Run, _ dogear.Document) {
			f.must(f.EndRun(f.ctx(), run.ID, dogear.Deadline))
		}, pending, dogear.InDoubt},
		{"refunded", func(_ ledger.Job, _ ledger.Run, d dogear.Document) {
			f.must(f.Refund(f.ctx(), []int64{d.Seq}))
		}, pending, dogear.Pending},
		{"done", func(_ ledger.Job, run ledger.Run, d dogear.Document) { f.must(f.settle(f, run, d)) }, pending, dogear.Done},
	}
	for _, outcome := range []dogear.Outcome{dogear.NotSent, dogear.Unprocessed} {
		for _, p := range paths {
			name := fmt.Sprintf("%v, %s", outcome, p.name)
			job := f.job(name, 1)
			run := f.begin(f, job)
			d := f.claim(f, job, 1)[0]
			n := f.grant(f, job, run, d)[0]
			if p.before != nil {
				p.before(job, run, d)
			}
			for range 2 { // an end that is said twice is one end
				f.end(f, dogear.End{Request: n, Outcome: outcome, Fate: p.fate(d)})
			}
			c, err := f.Counts(f.ctx(), job.ID)
			f.must(err)
			if c.Attempts != 0 || c.Most != 0 || c.Documents[p.want] != 1 {
				f.Errorf("%s: attempts %d, most %d, documents %v; want 0, 0, one %v", name, c.Attempts, c.Most, c.Documents, p.want)
			}
			for _, r := range f.remaining(job) {
				if r.Attempts != 0 {
					f.Errorf("%s: the document has paid %d, want 0", name, r.Attempts)
				}
			}
		}
	}
}

// R2: a redirect that did not leave takes nothing from the read that it follows, though the
// document may be spared.
func testNoAttemptOfARedirect(f *fixture) {
	job := f.job("policies", 1)
	run := f.begin(f, job)
	d := f.claim(f, job, 1)[0]
	read := f.grant(f, job, run, d)[0]
	var hop int64
	f.decide(f, func(k *dogear.Docket) {
		hop = k.Next
		k.Grants = append(k.Grants, dogear.Request{
			N: hop, Parent: read, Job: job.ID, Run: run.ID, Doc: d.Seq, Kind: dogear.Redirect, Scopes: []string{key},
		})
	})
	f.end(f, dogear.End{Request: read, Status: 302, Outcome: dogear.Redirected})
	f.end(f, dogear.End{Request: hop, Outcome: dogear.NotSent})
	f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: d.Seq, Refund: 1}}))
	c, err := f.Counts(f.ctx(), job.ID)
	f.must(err)
	if c.Sent != 1 || c.Attempts != 1 || c.Most != 0 {
		f.Errorf("sent %d, attempts %d, most %d; want 1, 1, 0", c.Sent, c.Attempts, c.Most)
	}
}

// R2: a batch of three is one request and three attempts.
func testItems(f *fixture) {
	job := f.job("policies", 3)
	run := f.begin(f, job)
	docs := f.claim(f, job, 3)
	var batch int64
	f.decide(f, func(k *dogear.Docket) {
		batch = k.Next
		k.Grants = append(k.Grants, dogear.Request{N: batch, Job: job.ID, Run: run.ID, Kind: dogear.Batch, Scopes: []string{key}})
		for i, d := range docs {
			k.Grants = append(k.Grants, dogear.Request{
				N: batch + 1 + int64(i), Parent: batch, Job: job.ID, Run: run.ID, Doc: d.Seq, Kind: dogear.Item, Scopes: []string{key},
			})
		}
	})
	inFlight := func(want int) {
		f.Helper()
		if s := collect(f, f.Scopes(f.ctx()))[0]; s.InFlight != want {
			f.Errorf("%d in flight, want %d: items fly with their batch", s.InFlight, want)
		}
	}
	inFlight(1)
	f.decide(f, func(k *dogear.Docket) {
		for i, d := range docs {
			k.Ends = append(k.Ends, dogear.End{
				Request: batch + 1 + int64(i), Status: 429, Outcome: dogear.Throttled, Fate: &dogear.Fate{Doc: d.Seq, Refund: 1},
			})
		}
		k.Ends = append(k.Ends, dogear.End{Request: batch, Status: 200, Outcome: dogear.OK, Bytes: 100})
	})
	inFlight(0)
	c, err := f.Counts(f.ctx(), job.ID)
	f.must(err)
	want := ledger.Counts{
		Documents: map[dogear.State]int64{dogear.Pending: 3}, Sent: 1, ByStatus: map[int]int64{200: 1}, Attempts: 3,
	}
	if diff := cmp.Diff(want, c); diff != "" {
		f.Errorf("counts (-want +got):\n%s", diff)
	}
}

// An end without a fate leaves the document in flight: its body waits to be saved.
func testFateless(f *fixture) {
	job := f.job("policies", 1)
	run := f.begin(f, job)
	d := f.claim(f, job, 1)[0]
	f.end(f, dogear.End{Request: f.grant(f, job, run, d)[0], Status: 200, Outcome: dogear.OK})
	if got := f.states(job)[dogear.InFlight]; got != 1 {
		f.Errorf("%d documents are in flight, want 1", got)
	}
	f.must(f.settle(f, run, d))
}

// K3: no end that comes late undoes a result.
func testDoneStaysDone(f *fixture) {
	job := f.job("policies", 1)
	run := f.begin(f, job)
	d := f.claim(f, job, 1)[0]
	ns := f.grant(f, job, run, d, d)
	f.must(f.settle(f, run, d))
	f.end(f, dogear.End{Request: ns[1], Outcome: dogear.Transient, Fate: &dogear.Fate{Doc: d.Seq, Refund: 1}})
	f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: d.Seq, State: dogear.Failed}}))
	if got := f.states(job); got[dogear.Done] != 1 {
		f.Errorf("states: %v, want the document done", got)
	}
}

func testNumbers(f *fixture) {
	job := f.job("policies", 2)
	run := f.begin(f, job)
	ns := f.grant(f, job, run, f.claim(f, job, 2)...)
	f.must(f.EndRun(f.ctx(), run.ID, dogear.Deadline))
	f.must(f.Forget(f.ctx(), job.ID))
	f.must(f.Close())
	s := f.open()
	f.decide(s, func(d *dogear.Docket) {
		if d.Next <= ns[1] {
			f.Errorf("the next number is %d, though %d was given out", d.Next, ns[1])
		}
	})
}

func testJobSent(f *fixture) {
	job, other := f.job("policies", 2), f.job("other", 1)
	run := f.begin(f, job)
	ns := f.grant(f, job, run, f.claim(f, job, 2)...)
	f.end(f, dogear.End{Request: ns[0], Outcome: dogear.NotSent})
	f.decide(f, func(d *dogear.Docket) {
		if a, b := d.JobSent(job.ID), d.JobSent(other.ID); a != 1 || b != 0 {
			f.Errorf("JobSent = %d and %d, want 1 and 0", a, b)
		}
		if d.Live(ns[0]) || !d.Live(ns[1]) || d.Live(ns[1]+50) {
			f.Error("Live: want it of the open request only")
		}
	})
}

// What is in flight is counted over all holders that live.
func testInFlight(f *fixture) {
	job := f.job("policies", 4)
	run := f.begin(f, job)
	docs := f.claim(f, job, 4)
	other := f.open()
	f.decide(other, func(d *dogear.Docket) {
		for i := range 3 {
			d.Grants = append(d.Grants, dogear.Request{N: d.Next + int64(i), Scopes: []string{key, "tenant:7"}})
		}
	})
	ns := f.grant(f, job, run, docs[:2]...)
	f.end(f, dogear.End{Request: ns[0], Outcome: dogear.OK})
	see := func(s ledger.Store, wantHost, wantTenant int) {
		f.Helper()
		err := s.Decide(f.ctx(), []string{key, "tenant:7"}, func(d *dogear.Docket) {
			if h, t := d.Scopes[key].InFlight, d.Scopes["tenant:7"].InFlight; h != wantHost || t != wantTenant {
				f.Errorf("in flight: %d and %d, want %d and %d", h, t, wantHost, wantTenant)
			}
		})
		f.must(err)
		all := collect(f, s.Scopes(f.ctx()))
		if len(all) != 2 || all[0].InFlight != wantHost || all[1].InFlight != wantTenant {
			f.Errorf("Scopes: %+v, want %d and %d in flight", all, wantHost, wantTenant)
		}
	}
	see(f, 4, 3)
	see(other, 4, 3)
	f.Kill(other)
	if f.Pass != nil { // longer than anybody may believe what he knew of the other
		f.Pass(5 * time.Second)
		f.begin(f, f.job("mine", 0))
		see(f, 1, 0)
	}
}

// Each holder says how many wait with it; a decision hears of the others'.
func testWaiting(f *fixture) {
	other := f.open()
	f.must(f.Renew(f.ctx(), map[string]int{key: 3}))
	f.must(other.Renew(f.ctx(), map[string]int{key: 4, "tenant:7": 1}))
	f.decide(f, func(d *dogear.Docket) {
		if got := d.Scopes[key].Waiting; got != 4 {
			f.Errorf("the first hears of %d that wait, want the other's 4", got)
		}
	})
	f.decide(other, func(d *dogear.Docket) {
		if got := d.Scopes[key].Waiting; got != 3 {
			f.Errorf("the other hears of %d that wait, want the first's 3", got)
		}
	})
	if all := collect(f, f.Scopes(f.ctx())); len(all) != 1 || all[0].Waiting != 7 {
		f.Errorf("Scopes: %+v, want 7 waiting", all)
	}
	f.must(other.Close())
	if all := collect(f, f.Scopes(f.ctx())); all[0].Waiting != 3 {
		f.Errorf("Scopes: %+v, want 3 waiting", all)
	}
}

// A request of no job, as the gateway's, is a request of its scopes all the same.
func testNoJob(f *fixture) {
	var n int64
	f.decide(f, func(d *dogear.Docket) {
		n = d.Next
		d.Grants = append(d.Grants, dogear.Request{N: n, Scopes: []string{key}, Kind: dogear.Token})
	})
	f.decide(f, func(d *dogear.Docket) {
		if d.Scopes[key].InFlight != 1 {
			f.Errorf("in flight: %d, want 1", d.Scopes[key].InFlight)
		}
	})
	f.end(f, dogear.End{Request: n, Status: 429, Outcome: dogear.Throttled})
}

// Calls that share a commit do not share a failure, and what is done is done once.
func testOneFails(f *fixture) {
	job := f.job("policies", 100)
	run := f.begin(f, job)
	docs := f.claim(f, job, 100)
	taken := f.grant(f, job, run, docs[0])[0]
	var all sync.WaitGroup
	for i, d := range docs[1:] {
		all.Go(func() {
			err := f.Decide(f.ctx(), []string{key}, func(k *dogear.Docket) {
				k.Scopes[key].Generation++
				k.Grants = append(k.Grants, dogear.Request{
					N: k.Next, Job: job.ID, Run: run.ID, Doc: d.Seq, Scopes: []string{key},
				})
			})
			if err != nil {
				f.Error(err)
			}
		})
		if i%5 != 0 {
			continue
		}
		all.Go(func() {
			err := f.Decide(f.ctx(), []string{key}, func(k *dogear.Docket) {
				k.Scopes[key].Generation += 1000
				k.Grants = append(k.Grants, dogear.Request{N: k.Next}, dogear.Request{N: taken})
			})
			if err == nil {
				f.Error("a request's number was given out twice")
			}
		})
	}
	all.Wait()
	if s := collect(f, f.Scopes(f.ctx()))[0]; s.Generation != 99 || s.InFlight != 100 {
		f.Errorf("generation %d, in flight %d; want 99, 100", s.Generation, s.InFlight)
	}
	if n := len(collect(f, f.Requests(f.ctx(), job.ID))); n != 100 {
		f.Errorf("%d requests, want 100", n)
	}
}

// Decisions of one moment see each other, within a process and over processes.
func testManyDecide(f *fixture) {
	stores := []ledger.Store{f, f.open(), f.open()}
	var all sync.WaitGroup
	var mu sync.Mutex
	given := map[int64]bool{}
	for i := range 120 {
		s := stores[i%3]
		all.Go(func() {
			var n int64
			err := s.Decide(f.ctx(), []string{key}, func(k *dogear.Docket) {
				k.Scopes[key].Streak++
				n = k.Next
				k.Grants = append(k.Grants, dogear.Request{N: n, Scopes: []string{key}})
			})
			if err != nil {
				f.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			given[n] = true
		})
	}
	all.Wait()
	f.decide(f, func(k *dogear.Docket) {
		if sc := k.Scopes[key]; sc.Streak != 120 || sc.InFlight != 120 || len(given) != 120 || given[k.Next] {
			f.Errorf("streak %d, in flight %d, numbers %d, the next is free: %v; want 120, 120, 120, true",
				sc.Streak, sc.InFlight, len(given), !given[k.Next])
		}
	})
}

// Who gives up before the work began has nothing stored; else he hears how it went.
func testGivenUpCall(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx())
	cancel()
	err := f.Decide(ctx, []string{key}, func(k *dogear.Docket) { k.Scopes[key].Generation = 7 })
	stored := false
	for _, s := range collect(f, f.Scopes(f.ctx())) {
		stored = stored || s.Generation == 7
	}
	if stored != (err == nil) || err != nil && !errors.Is(err, context.Canceled) {
		f.Errorf("Decide with a cancelled context: error %v, stored %v", err, stored)
	}
}
