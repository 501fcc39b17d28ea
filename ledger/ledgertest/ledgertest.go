// Package ledgertest is what every ledger promises, as tests.
//
// A store's own test is one line: it says how an empty ledger is made and opened, and
// ledgertest does the rest.
//
//	ledgertest.Test(t, func(t *testing.T) ledgertest.Ledger { … })
package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// A Ledger is an empty ledger, made for one test.
type Ledger struct {
	// Open opens it, each time as another holder. Who opens it closes it.
	Open func(t *testing.T) ledger.Store
	// Kill ends a store's holder as a crash does: nothing of it is written down or tidied
	// up. The store is not used again.
	Kill func(ledger.Store)
	// Pass lets time pass on the ledger's clock. Where nobody can, it is nil, and what
	// needs it is skipped.
	Pass func(time.Duration)
}

// Test holds a kind of ledger to its promises. Empty makes an empty one.
func Test(t *testing.T, empty func(t *testing.T) Ledger) {
	for _, p := range slices.Concat(jobs, pages, workers, exports, documents, runs, requests, results, scopes) {
		t.Run(p.name, func(t *testing.T) {
			l := empty(t)
			f := &fixture{T: t, Ledger: l, empty: empty}
			f.Store = f.open()
			p.test(f)
		})
	}
}

// A promise is one test.
type promise struct {
	name string
	test func(*fixture)
}

// A fixture is a test with its ledger and a first store on it.
type fixture struct {
	*testing.T
	Ledger
	ledger.Store
	empty func(*testing.T) Ledger
}

// open opens the ledger once more.
func (f *fixture) open() ledger.Store {
	f.Helper()
	s := f.Ledger.Open(f.T)
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Errorf("close: %v", err)
		}
	})
	return s
}

func (f *fixture) ctx() context.Context { return f.Context() }

// must ends the test at an error that nothing was done to provoke.
func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// pass lets time pass, or skips the test.
func (f *fixture) pass(d time.Duration) {
	f.Helper()
	if f.Pass == nil {
		f.Skip("nobody can move this ledger's clock")
	}
	f.Pass(d)
}

const key = "host:docs.example.com"

// doc is the ith document of a list, counted from 0.
func doc(i int) dogear.Document {
	id := fmt.Sprintf("https://docs.example.com/%d.html", i)
	return dogear.Document{
		ID: id, Address: id, Name: fmt.Sprintf("%d.html", i), Size: -1,
		Line: int64(i + 1), Offset: int64(i * 40), Fingerprint: uint64(1000 + i), Scopes: []string{key},
	}
}

// list is a listing of documents.
func list(docs ...dogear.Document) iter.Seq2[dogear.Document, error] {
	return func(yield func(dogear.Document, error) bool) {
		for _, d := range docs {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// first are the first n documents.
func first(n int) []dogear.Document {
	docs := make([]dogear.Document, n)
	for i := range docs {
		docs[i] = doc(i)
	}
	return docs
}

// job makes a job of n documents.
func (f *fixture) job(name string, n int) ledger.Job {
	f.Helper()
	job, _, err := f.Create(f.ctx(), name, ledger.Settings{}, list(first(n)...))
	f.must(err)
	return job
}

// begin begins a run of a store's.
func (f *fixture) begin(s ledger.Store, job ledger.Job) ledger.Run {
	f.Helper()
	run, err := s.Begin(f.ctx(), job.ID, time.Time{})
	f.must(err)
	return run
}

// lane is the job's only lane.
func (f *fixture) lane(job ledger.Job) ledger.Lane {
	f.Helper()
	lanes, err := f.Lanes(f.ctx(), job.ID)
	f.must(err)
	if len(lanes) != 1 {
		f.Fatalf("the job has %d lanes, want 1", len(lanes))
	}
	return lanes[0]
}

// claim claims up to n documents for a store.
func (f *fixture) claim(s ledger.Store, job ledger.Job, n int) []dogear.Document {
	f.Helper()
	docs, err := s.Claim(f.ctx(), f.lane(job).ID, n, 8)
	f.must(err)
	return docs
}

// decide is Decide on the one scope.
func (f *fixture) decide(s ledger.Store, decide func(*dogear.Docket)) {
	f.Helper()
	f.must(s.Decide(f.ctx(), []string{key}, decide))
}

// grant has one request granted for each document and returns their numbers.
func (f *fixture) grant(s ledger.Store, job ledger.Job, run ledger.Run, docs ...dogear.Document) (ns []int64) {
	f.Helper()
	f.decide(s, func(d *dogear.Docket) {
		ns = ns[:0]
		for i, doc := range docs {
			n := d.Next + int64(i)
			ns = append(ns, n)
			d.Grants = append(d.Grants, dogear.Request{
				N: n, Job: job.ID, Run: run.ID, Doc: doc.Seq, Scopes: []string{key}, Granted: d.Wall,
			})
		}
	})
	return ns
}

// end ends one request.
func (f *fixture) end(s ledger.Store, e dogear.End) {
	f.Helper()
	f.decide(s, func(d *dogear.Docket) {
		e.Sent, e.Ended = d.Wall, d.Wall
		d.Ends = append(d.Ends, e)
	})
}

// settle saves documents that are in flight.
func (f *fixture) settle(s ledger.Store, run ledger.Run, docs ...dogear.Document) error {
	done := make([]ledger.Settlement, len(docs))
	for i, d := range docs {
		done[i] = settlement(d)
	}
	return s.Settle(f.ctx(), run.ID, done, nil)
}

func settlement(d dogear.Document) ledger.Settlement {
	return ledger.Settlement{
		Result: dogear.Result{
			Doc: d.Seq, ID: d.ID, Version: `"v1"`, Path: d.Name, Size: 3,
			SHA256:      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
			ContentType: "text/html", ReadAt: time.Unix(1_800_000_000, 123_000_000).UTC(),
		},
		Temp: fmt.Sprintf("%d.part", d.Seq), Folded: d.Name,
	}
}

// collect reads a sequence to its end.
func collect[T any](f *fixture, seq iter.Seq2[T, error]) []T {
	f.Helper()
	var all []T
	for v, err := range seq {
		f.must(err)
		all = append(all, v)
	}
	return all
}

// states are the states of the job's documents, as the counts have them.
func (f *fixture) states(job ledger.Job) map[dogear.State]int64 {
	f.Helper()
	c, err := f.Counts(f.ctx(), job.ID)
	f.must(err)
	return c.Documents
}

// remaining are the ids of what is not done.
func (f *fixture) remaining(job ledger.Job) []ledger.Remaining {
	f.Helper()
	return collect(f, f.Remaining(f.ctx(), job.ID))
}

// fails checks that an error matches.
func (f *fixture) fails(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("%s: got error %v, want one that matches %q", what, err, want)
	}
}

func ids(docs []dogear.Document) []string {
	var ids []string
	for _, d := range docs {
		ids = append(ids, d.ID)
	}
	return ids
}
