package ledgertest

import (
	"math"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

var scopes = []promise{
	{"ScopeComesBack", testScopeComesBack},
	{"ScopesAreMadeWhereMissing", testScopesAreMade},
	{"FarWaits", testFarWaits},
	{"Confirm", testConfirm},
	{"Release", testRelease},
	{"Await", testAwait},
	{"ClockRuns", testClock},
}

// What a decision leaves in a scope, the next one finds, whoever it is.
func testScopeComesBack(f *fixture) {
	at := f.Now().Add(time.Hour)
	want := dogear.Scope{
		Key:       key,
		Confirmed: dogear.Confirmation{By: "profile msgraph", Source: "https://learn.example", At: time.Unix(1_700_000_000, 0).UTC()},
		Rate:      9.6, Burst: 3, Concurrency: 5,
		NotBefore: at, Probing: true, Probe: 17, Generation: 4, Streak: 2, Hinted: true,
		Cause: dogear.ByHint, SetBy: "job policies", Pace: []byte{0, 1, 2, 0xff},
	}
	f.decide(f, func(d *dogear.Docket) {
		if s := d.Scopes[key]; s.Key != key || !s.NotBefore.IsZero() || s.Rebooted {
			f.Errorf("a new scope: %+v", s)
		}
		*d.Scopes[key] = want
	})
	f.decide(f.open(), func(d *dogear.Docket) {
		if diff := cmp.Diff(want, *d.Scopes[key]); diff != "" {
			f.Errorf("the scope (-left +found):\n%s", diff)
		}
		if !d.Now.Before(at) || at.Sub(d.Now) > time.Hour {
			f.Errorf("it is %v, want it to be within the hour before %v", d.Now, at)
		}
	})
	if all := collect(f, f.Scopes(f.ctx())); len(all) != 1 || !cmp.Equal(all[0], want) {
		f.Errorf("Scopes: %+v", all)
	}
	f.decide(f, func(d *dogear.Docket) { *d.Scopes[key] = dogear.Scope{Key: key} })
	if all := collect(f, f.Scopes(f.ctx())); !cmp.Equal(all, []dogear.Scope{{Key: key}}) {
		f.Errorf("Scopes after it was emptied: %+v", all)
	}
}

func testScopesAreMade(f *fixture) {
	f.must(f.Decide(f.ctx(), []string{"b:2", "a:1"}, func(d *dogear.Docket) {
		if len(d.Scopes) != 2 {
			f.Errorf("scopes: %v", d.Scopes)
		}
	}))
	all := collect(f, f.Scopes(f.ctx()))
	if len(all) != 2 || all[0].Key != "a:1" || all[1].Key != "b:2" {
		f.Errorf("Scopes: %+v, want a:1 and b:2", all)
	}
}

// W3: a wait that does not fit the ledger is kept as long as it can be, never shorter than
// any deadline.
func testFarWaits(f *fixture) {
	job := f.job("policies", 1)
	f.begin(f, job)
	d := f.claim(f, job, 1)[0]
	far := time.Date(2318, 5, 1, 0, 0, 0, 0, time.UTC)
	f.decide(f, func(k *dogear.Docket) { k.Scopes[key].NotBefore = far })
	f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: d.Seq, NotBefore: far}}))
	least := time.Unix(0, math.MaxInt64)
	f.decide(f.open(), func(k *dogear.Docket) {
		if got := k.Scopes[key].NotBefore; got.Before(least) {
			f.Errorf("not_before = %v, want at least %v", got, least)
		}
	})
	due, err := f.NextDue(f.ctx(), f.lane(job).ID, 8)
	f.must(err)
	if due.Before(least) {
		f.Errorf("NextDue = %v, want at least %v", due, least)
	}
	if r := f.remaining(job)[0]; r.NotBefore.Before(least.Add(-24 * time.Hour)) {
		f.Errorf("Remaining: %v, want at least about %v", r.NotBefore, least)
	}
}

func testConfirm(f *fixture) {
	c := dogear.Confirmation{By: "alice", Source: "--scope host", At: time.Unix(1_700_000_000, 0).UTC()}
	f.must(f.Confirm(f.ctx(), key, c, 10, 4, 2))
	f.decide(f, func(d *dogear.Docket) { d.Scopes[key].Generation = 3 })
	c.By = "bob"
	f.must(f.Confirm(f.ctx(), key, c, 0, 0, 9)) // what is not said stays
	want := dogear.Scope{Key: key, Confirmed: c, Rate: 10, Burst: 4, Concurrency: 9, Generation: 3}
	if all := collect(f, f.Scopes(f.ctx())); len(all) != 1 || !cmp.Equal(all[0], want) {
		f.Errorf("Scopes: %+v, want %+v", all, want)
	}
}

// W2: only a person ends a wait, and it is recorded. One probe goes first.
func testRelease(f *fixture) {
	f.fails("Release of no scope", f.Release(f.ctx(), key, "alice", "why not"), ledger.ErrNoScope)
	f.decide(f, func(d *dogear.Docket) { d.Scopes[key].Streak = 2 })
	f.fails("Release of an open scope", f.Release(f.ctx(), key, "alice", "why not"), ledger.ErrNoWait)
	until := time.Now().Add(time.Hour)
	f.decide(f, func(d *dogear.Docket) { d.Scopes[key].NotBefore = d.Now.Add(time.Hour) })
	f.must(f.Release(f.ctx(), key, "alice", "the service said so"))
	f.decide(f, func(d *dogear.Docket) {
		if s := d.Scopes[key]; s.NotBefore.After(d.Now) || !s.Probing || s.Streak != 2 {
			f.Errorf("after the release: %+v", s)
		}
	})
	f.fails("a second Release", f.Release(f.ctx(), key, "alice", "again"), ledger.ErrNoWait)
	got := collect(f, f.Releases(f.ctx(), key))
	if len(got) != 1 || got[0].Key != key || got[0].By != "alice" || got[0].Reason != "the service said so" ||
		time.Since(got[0].At).Abs() > time.Minute || got[0].NotBefore.Sub(until).Abs() > time.Minute {
		f.Errorf("Releases: %+v", got)
	}
	if other := collect(f, f.Releases(f.ctx(), "another")); len(other) != 0 {
		f.Errorf("Releases of another scope: %+v", other)
	}
	all := collect(f, f.Scopes(f.ctx()))
	if len(all) != 1 {
		f.Errorf("Scopes: %+v, want one: a failed release makes none", all)
	}
}

// Who waits hears when somebody else has changed a scope.
func testAwait(f *fixture) {
	other := f.open()
	f.decide(f, func(*dogear.Docket) {})
	for i := range 3 {
		heard := make(chan error)
		go func() { heard <- f.Await(f.ctx()) }()
		f.decide(other, func(d *dogear.Docket) { d.Scopes[key].Generation = int64(i + 1) })
		f.must(<-heard)
	}
}

func testClock(f *fixture) {
	before := f.Now()
	if f.Pass != nil {
		f.Pass(time.Minute)
		if d := f.Now().Sub(before); d < time.Minute {
			f.Errorf("a minute passed in %v", d)
		}
	}
	for range 1000 {
		now := f.Now()
		if now.Before(before) {
			f.Fatalf("the clock ran back from %v to %v", before, now)
		}
		before = now
	}
	other := f.open()
	if d := other.Now().Sub(f.Now()); d.Abs() > time.Second {
		f.Errorf("two holders' clocks are %v apart", d)
	}
}
