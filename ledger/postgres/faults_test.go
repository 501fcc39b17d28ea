package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// A load works on a ledger from all sides and keeps a tally of what it was told.
type load struct {
	store  *postgres.Store
	job    ledger.Job
	run    ledger.Run
	lane   int64
	stop   atomic.Bool
	all    sync.WaitGroup
	grants atomic.Int64
	done   atomic.Int64
	failed func(what string, err error)
}

const loadDocs = 20_000

func startLoad(t *testing.T, s *postgres.Store) *load {
	t.Helper()
	ctx := t.Context()
	l := &load{store: s, failed: func(what string, err error) { t.Errorf("%s: %v", what, err) }}
	var err error
	if l.job, _, err = s.Create(ctx, "load", ledger.Settings{}, postgres.Docs(loadDocs)); err != nil {
		t.Fatal(err)
	}
	if l.run, err = s.Begin(ctx, l.job.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	lanes, err := s.Lanes(ctx, l.job.ID)
	if err != nil {
		t.Fatal(err)
	}
	l.lane = lanes[0].ID
	for range 8 {
		l.all.Go(func() { l.admit(ctx) })
	}
	for range 4 {
		l.all.Go(func() { l.work(ctx) })
	}
	l.all.Go(func() { l.renew(ctx) })
	return l
}

// admit has requests granted and ended. The scope's streak counts the grants.
func (l *load) admit(ctx context.Context) {
	for !l.stop.Load() {
		var n int64
		err := l.store.Decide(ctx, []string{benchKey}, func(d *dogear.Docket) {
			n = d.Next
			d.Scopes[benchKey].Streak++
			d.Grants = append(d.Grants, dogear.Request{N: n, Job: l.job.ID, Run: l.run.ID, Scopes: []string{benchKey}})
		})
		if err != nil {
			l.failed("grant", err)
			return
		}
		l.grants.Add(1)
		err = l.store.Decide(ctx, []string{benchKey}, func(d *dogear.Docket) {
			d.Ends = append(d.Ends, dogear.End{Request: n, Status: 200, Outcome: dogear.OK})
		})
		if err != nil {
			l.failed("end", err)
			return
		}
	}
}

// work claims documents, settles most of them and returns the others.
func (l *load) work(ctx context.Context) {
	for !l.stop.Load() {
		docs, err := l.store.Claim(ctx, l.lane, 3, 100)
		if err != nil {
			l.failed("claim", err)
			return
		}
		for i, d := range docs {
			if i == 2 {
				err = l.store.Return(ctx, []dogear.Fate{{Doc: d.Seq, Reason: "again"}})
			} else if err = l.store.Settle(ctx, l.run.ID, []ledger.Settlement{settlementOf(d)}, nil); err == nil {
				l.done.Add(1)
			}
			if err != nil {
				l.failed("settle", err)
				return
			}
		}
	}
}

func settlementOf(d dogear.Document) ledger.Settlement {
	return ledger.Settlement{Result: dogear.Result{Doc: d.Seq, ID: d.ID, Path: savedAs(d), Size: 3}, Temp: "t", Folded: savedAs(d)}
}

func (l *load) renew(ctx context.Context) {
	for !l.stop.Load() {
		if err := l.store.Renew(ctx, nil); err != nil {
			l.failed("renew", err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// check ends the load and compares what the ledger has with what was told.
func (l *load) check(t *testing.T) {
	t.Helper()
	l.stop.Store(true)
	l.all.Wait()
	ctx := t.Context()
	c, err := l.store.Counts(ctx, l.job.ID)
	if err != nil {
		t.Fatal(err)
	}
	grants, done := l.grants.Load(), l.done.Load()
	if c.Sent != grants || c.ByStatus[200] != grants || c.Documents[dogear.Done] != done || c.Documents[dogear.InFlight] != 0 ||
		c.Documents[dogear.Pending] != loadDocs-done {
		t.Errorf("told of %d grants and %d documents, the ledger has %+v", grants, done, c)
	}
	for sc, err := range l.store.Scopes(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if int64(sc.Streak) != grants || sc.InFlight != 0 {
			t.Errorf("streak %d, in flight %d; want %d, 0", sc.Streak, sc.InFlight, grants)
		}
	}
	if err := l.store.EndRun(ctx, l.run.ID, dogear.Deadline); err != nil {
		t.Error(err)
	}
	t.Logf("%d grants, %d documents", grants, done)
}

// Connections break in the middle of everything, commits too: nothing is done twice, nothing
// is lost, and nobody hears of it.
func TestTerminatedConnections(t *testing.T) {
	dsn := newDatabase(t)
	s := openStore(t, dsn)
	defer s.Close()
	l := startLoad(t, s)
	for range 60 {
		do(t, dsn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = 'dogear' AND datname = current_database() AND random() < 0.7`)
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
	}
	l.check(t)
}

// The server dies and comes back in the middle of everything.
func TestServerCrashes(t *testing.T) {
	cluster := pgtest.Start(t)
	s := openStore(t, cluster.DSN("postgres"))
	l := startLoad(t, s)
	for range 3 {
		time.Sleep(time.Duration(200+rand.IntN(300)) * time.Millisecond)
		cluster.Crash()
		time.Sleep(50 * time.Millisecond)
		if err := cluster.Launch(); err != nil {
			t.Fatal(err)
		}
	}
	l.check(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	consistent(t, cluster.DSN("postgres"))
}

// A list is listed over broken connections.
func TestListOverTerminatedConnections(t *testing.T) {
	dsn := newDatabase(t)
	s := openStore(t, dsn)
	defer s.Close()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		for range 40 {
			do(t, dsn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name = 'dogear' AND datname = current_database() AND random() < 0.5`)
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		}
	})
	const n = 100_000
	job, repeats, err := s.Create(t.Context(), "j", ledger.Settings{}, func(yield func(dogear.Document, error) bool) {
		for range 2 { // each twice
			for d, err := range postgres.Docs(n) {
				if !yield(d, err) {
					return
				}
			}
		}
	})
	if err != nil || job.Total != n || repeats != n {
		t.Errorf("total %d, repeats %d, %v; want %d of both", job.Total, repeats, err, n)
	}
}

// A server that does not come back is waited for as long as was said, and no longer.
func TestServerGone(t *testing.T) {
	cluster := pgtest.Start(t)
	s, err := postgres.Open(t.Context(), cluster.DSN("postgres"), postgres.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	job, _, err := s.Create(t.Context(), "j", ledger.Settings{}, postgres.Docs(10))
	if err != nil {
		t.Fatal(err)
	}
	cluster.Crash()
	for what, call := range map[string]func() error{
		"Decide": func() error { return s.Decide(t.Context(), []string{benchKey}, func(*dogear.Docket) {}) },
		"Renew":  func() error { return s.Renew(t.Context(), nil) },
		"Begin":  func() error { _, err := s.Begin(t.Context(), job.ID, time.Time{}); return err },
		"Job":    func() error { _, err := s.Job(t.Context(), "j"); return err },
	} {
		start := time.Now()
		err := call()
		if took := time.Since(start); !errors.Is(err, postgres.ErrUnreachable) || took < time.Second/2 || took > 5*time.Second {
			t.Errorf("%s: %v after %v, want ErrUnreachable after a second", what, err, took)
		}
	}
	heard := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	go func() { heard <- s.Await(ctx) }()
	if err := <-heard; err != nil {
		t.Errorf("Await: %v, want it to go on", err)
	}
	if err := cluster.Launch(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(t.Context(), job.ID, time.Time{}); err != nil {
		t.Errorf("when it is back: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// What the server has forgotten, a throttle may be among it: every scope proves itself.
func TestForgetfulServer(t *testing.T) {
	for what, sql := range map[string]string{
		"another timeline":   `UPDATE dogear.server SET timeline = '00000000'`,
		"a tick that is old": `UPDATE dogear.pens SET tick = tick - 1`,
	} {
		dsn := newDatabase(t)
		s := openStore(t, dsn)
		decide := func() (probing bool, next int64) {
			err := s.Decide(t.Context(), []string{benchKey, "other"}, func(d *dogear.Docket) {
				probing, next = d.Scopes[benchKey].Probing && d.Scopes["other"].Probing, d.Next
				d.Grants = append(d.Grants, dogear.Request{N: d.Next})
			})
			if err != nil {
				t.Fatal(err)
			}
			return probing, next
		}
		terminate := func() {
			do(t, dsn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name = 'dogear' AND datname = current_database()`)
		}
		decide()
		terminate()
		probing, before := decide()
		if probing {
			t.Errorf("%s: a broken connection makes scopes prove themselves", what)
		}
		do(t, dsn, sql)
		terminate()
		probing, after := decide()
		if !probing {
			t.Errorf("%s: scopes do not prove themselves", what)
		}
		if what == "a tick that is old" && after < before+1000 {
			t.Errorf("%s: request %d follows %d: it may have been given out", what, after, before)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Two stores work on one job at once: each document is settled once.
func TestTwoStores(t *testing.T) {
	dsn := newDatabase(t)
	a, b := openStore(t, dsn), openStore(t, dsn)
	ctx := t.Context()
	const n = 2000
	job, _, err := a.Create(ctx, "j", ledger.Settings{}, postgres.Docs(n))
	if err != nil {
		t.Fatal(err)
	}
	run, err := a.Begin(ctx, job.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	lanes, err := a.Lanes(ctx, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var settled atomic.Int64
	for i := range 8 {
		s := []*postgres.Store{a, b}[i%2]
		all.Go(func() {
			for {
				docs, err := s.Claim(ctx, lanes[0].ID, 16, 8)
				if err != nil || len(docs) == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				readPart(t, s, job, run, docs)
				settleAll(t, s, run, docs)
				settled.Add(int64(len(docs)))
			}
		})
	}
	all.Wait()
	c, err := b.Counts(ctx, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if settled.Load() != n || c.Documents[dogear.Done] != n || c.Sent != n || c.Attempts != n {
		t.Errorf("%d settled, counts %+v; want %d of each", settled.Load(), c, n)
	}
	for _, s := range []*postgres.Store{a, b} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Whoever waits hears within a moment, though it may not be told more than 20 times a second.
func TestAwait(t *testing.T) {
	dsn := newDatabase(t)
	a, b := openStore(t, dsn), openStore(t, dsn)
	defer a.Close()
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := a.Await(ctx); err != nil { // it listens now
		t.Fatal(err)
	}
	var last time.Time
	for i := range 10 {
		heard := make(chan time.Time, 1)
		go func() {
			if err := a.Await(t.Context()); err != nil {
				t.Error(err)
			}
			heard <- time.Now()
		}()
		err := b.Decide(t.Context(), []string{benchKey}, func(d *dogear.Docket) { d.Scopes[benchKey].Generation++ })
		if err != nil {
			t.Fatal(err)
		}
		said := time.Now()
		at := <-heard
		if took := at.Sub(said); took > 500*time.Millisecond {
			t.Errorf("round %d: heard after %v", i, took)
		}
		if between := at.Sub(last); between < 45*time.Millisecond {
			t.Errorf("round %d: told again after %v", i, between)
		}
		last = at
	}
	// What does not matter to others is not said.
	start := time.Now()
	for range 3 {
		err := b.Decide(t.Context(), []string{benchKey}, func(d *dogear.Docket) { d.Scopes[benchKey].Pace = fmt.Append(nil, d.Next) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Await(t.Context()); err != nil || time.Since(start) < 900*time.Millisecond {
		t.Errorf("told after %v of what does not matter, %v", time.Since(start), err)
	}
}

// What services send may be no text at all.
func TestBytes(t *testing.T) {
	dsn := newDatabase(t)
	s := openStore(t, dsn)
	defer s.Close()
	ctx := t.Context()
	const odd = "caf\xe9\x00\xff"
	d := dogear.Document{ID: "id" + odd, Address: odd, Name: odd, Version: odd, SHA256: odd, Digest: odd, Size: -1, Scopes: []string{benchKey}}
	job, _, err := s.Create(ctx, "odd\x00", ledger.Settings{Sink: odd}, func(yield func(dogear.Document, error) bool) { yield(d, nil) })
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Begin(ctx, job.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	lanes, _ := s.Lanes(ctx, job.ID)
	docs, err := s.Claim(ctx, lanes[0].ID, 1, 8)
	if err != nil || len(docs) != 1 || docs[0].ID != d.ID || docs[0].Name != odd || docs[0].SHA256 != odd || docs[0].Digest != odd || docs[0].Address != odd {
		t.Fatalf("claimed %+v, %v", docs, err)
	}
	var n int64
	err = s.Decide(ctx, []string{benchKey}, func(k *dogear.Docket) {
		n = k.Next
		k.Scopes[benchKey].SetBy = odd
		k.Grants = append(k.Grants, dogear.Request{N: n, Job: job.ID, Run: run.ID, Doc: docs[0].Seq, Scopes: []string{benchKey}})
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Decide(ctx, []string{benchKey}, func(k *dogear.Docket) {
		k.Ends = append(k.Ends, dogear.End{Request: n, Outcome: dogear.Throttled, Hint: odd, Fate: &dogear.Fate{Doc: docs[0].Seq, Reason: odd}})
	})
	if err != nil {
		t.Fatal(err)
	}
	for q, err := range s.Requests(ctx, job.ID) {
		if err != nil || q.Hint != odd || q.DocID != d.ID {
			t.Errorf("%+v, %v", q, err)
		}
	}
	for r, err := range s.Remaining(ctx, job.ID) {
		if err != nil || r.Reason != odd || r.ID != d.ID {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if name, err := s.SinkJob(ctx, odd); name != "odd\x00" || err != nil {
		t.Errorf("SinkJob: %q, %v", name, err)
	}
}

// What one caller does not hold is no failure of those who settle at the same moment.
func TestOneSettleFails(t *testing.T) {
	dsn := newDatabase(t)
	s := openStore(t, dsn)
	ctx := t.Context()
	const n = 200
	job, _, err := s.Create(ctx, "j", ledger.Settings{}, postgres.Docs(2*n))
	must(t, err)
	run, err := s.Begin(ctx, job.ID, time.Time{})
	must(t, err)
	lanes, err := s.Lanes(ctx, job.ID)
	must(t, err)
	docs, err := s.Claim(ctx, lanes[0].ID, n, 8)
	must(t, err)
	var all sync.WaitGroup
	for i, d := range docs {
		all.Go(func() {
			if err := s.Settle(ctx, run.ID, []ledger.Settlement{settlementOf(d)}, nil); err != nil {
				t.Error(err)
			}
		})
		if i%10 == 0 {
			all.Go(func() {
				never := dogear.Document{Seq: job.First + n + int64(i)}
				if err := s.Settle(ctx, run.ID, []ledger.Settlement{settlementOf(never)}, nil); !errors.Is(err, ledger.ErrLeaseLost) {
					t.Errorf("a document that is not held: %v", err)
				}
			})
		}
	}
	all.Wait()
	c, err := s.Counts(ctx, job.ID)
	must(t, err)
	if c.Documents[dogear.Done] != n {
		t.Errorf("counts: %+v, want %d done", c, n)
	}
	must(t, s.Close())
}

// Errors show no values of rows.
func TestErrorsHoldNoRows(t *testing.T) {
	s := openStore(t, newDatabase(t))
	defer s.Close()
	var n int64
	grant := func(extra string) error {
		return s.Decide(t.Context(), []string{benchKey}, func(d *dogear.Docket) {
			n = d.Next
			d.Grants = append(d.Grants, dogear.Request{N: n, Scopes: []string{extra}})
		})
	}
	if err := grant("canary\ncanary"); err == nil || !strings.Contains(err.Error(), "line feed") {
		t.Errorf("%v", err)
	}
}
