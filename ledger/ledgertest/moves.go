package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// Moves holds two kinds of ledgers to what is promised of one that moves from the first kind
// to the second, and back.
func Moves(t *testing.T, from, to func(t *testing.T) Ledger) {
	for _, p := range append(exports, promise{"ThereAndBack", func(f *fixture) { testThereAndBack(f, from) }}) {
		t.Run(p.name, func(t *testing.T) {
			f := &fixture{T: t, Ledger: from(t), empty: to}
			f.Store = f.open()
			p.test(f)
		})
	}
}

// A ledger that moved there and back has what it had, whatever has happened in it, and no
// wait became shorter.
func testThereAndBack(f *fixture, from func(*testing.T) Ledger) {
	for seed := range uint64(4) {
		f.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &history{fixture: &fixture{T: t, Ledger: from(t), empty: f.empty}, rnd: rand.New(rand.NewPCG(seed, 0))}
			h.Store = h.open()
			h.live()
			start := time.Now()
			before := collect(h.fixture, h.portable().Export(h.ctx()))
			there := h.elsewhere()
			h.must(there.Import(h.ctx(), records(before), fold))
			middle := collect(h.fixture, there.Export(h.ctx()))
			back := from(t).Open(t).(ledger.Portable)
			defer func() { h.must(back.Close()) }()
			h.must(back.Import(h.ctx(), records(middle), fold))
			after := collect(h.fixture, back.Export(h.ctx()))
			waited := time.Since(start)
			h.sameRecords("there", before, middle, waited)
			h.sameRecords("and back", before, after, waited)
		})
	}
}

// sameRecords compares all but what moves on with the time, and numbers that are a ledger's
// own.
func (f *fixture) sameRecords(what string, before, after []ledger.Record, waited time.Duration) {
	f.Helper()
	if len(before) != len(after) {
		f.Fatalf("%s: %d records, want %d", what, len(after), len(before))
	}
	was, is := numbered(before), numbered(after)
	for i := range was {
		if left, leaves := waitOf(&was[i]), waitOf(&is[i]); left != nil && leaves != nil {
			if *leaves < *left-waited || *leaves > *left {
				f.Errorf("%s: record %d: %v are left of a wait of %v, %v later", what, i, *leaves, *left, waited)
			}
			*left, *leaves = 0, 0
		}
		if diff := cmp.Diff(was[i], is[i]); diff != "" {
			f.Errorf("%s: record %d (-was +is):\n%s", what, i, diff)
		}
	}
}

// waitOf is what a record says is left of a wait; nil if it says nothing of any.
func waitOf(r *ledger.Record) *time.Duration {
	switch {
	case r.Document != nil:
		return &r.Document.Delay
	case r.Scope != nil:
		return &r.Scope.Wait
	}
	return nil
}

// numbered are copies of records, with requests numbered from 1.
func numbered(records []ledger.Record) []ledger.Record {
	numbers := map[int64]int64{}
	var out []ledger.Record
	for _, r := range records {
		switch {
		case r.Document != nil:
			d := *r.Document
			r.Document = &d
		case r.Scope != nil:
			s := *r.Scope
			r.Scope = &s
		case r.Request != nil:
			q := *r.Request
			numbers[q.N] = int64(len(numbers) + 1)
			q.N, q.Parent = numbers[q.N], numbers[q.Parent]
			r.Request = &q
		}
		out = append(out, r)
	}
	return out
}

// records are a sequence of records.
func records(all []ledger.Record) func(func(ledger.Record, error) bool) {
	return func(yield func(ledger.Record, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// A history is a ledger in which anything may happen.
type history struct {
	*fixture
	rnd *rand.Rand
}

// scopes that documents of a history are listed with.
var manyScopes = [][]string{{key}, {"tenant=7", key}, {"site=a", "tenant=7"}, nil}

// oddTexts are what services send.
var oddTexts = []string{"", `"v"`, "W/\"weak\"", "\x00", "\x01hex:zz", "a\nb\\", "文档", "<&>", strings.Repeat("long ", 300)}

func (h *history) text() string { return oddTexts[h.rnd.IntN(len(oddTexts))] }

func (h *history) chance(percent int) bool { return h.rnd.IntN(100) < percent }

// live makes jobs, reads in them, and ends with nothing running.
func (h *history) live() {
	for i := range 3 {
		set := ledger.Settings{Source: []string{h.text()}, Sink: fmt.Sprintf("/out/%d", i), Rate: 0.1, Attempts: 8}
		job, _, err := h.Create(h.ctx(), fmt.Sprintf("job %d %s", i, h.text()), set, list(h.documents(h.rnd.IntN(40))...))
		h.must(err)
		for range h.rnd.IntN(3) {
			h.round(job)
		}
	}
	h.drives()
	for _, keys := range manyScopes[:3] {
		h.must(h.Decide(h.ctx(), keys, func(d *dogear.Docket) {
			for _, k := range keys {
				s := d.Scopes[k]
				s.NotBefore, s.Cause, s.SetBy = d.Now.Add(time.Duration(h.rnd.Int64N(int64(time.Hour)))), dogear.ByBackoff, h.text()
				s.Probing, s.Streak, s.Hinted = h.chance(50), h.rnd.IntN(5), h.chance(50)
				s.Pace = []byte(`{"lo":` + fmt.Sprint(h.rnd.IntN(9)) + `}`)
			}
		}))
	}
	h.must(h.Confirm(h.ctx(), key, dogear.Confirmation{By: "anna", Source: "文档", At: time.Unix(1_800_000_000, 5).UTC()}, 0.3, 2, 3))
	h.must(h.Release(h.ctx(), "tenant=7", "me", h.text()))
	h.must(h.Decide(h.ctx(), []string{"far"}, func(d *dogear.Docket) { d.Scopes["far"].NotBefore = d.Now.AddDate(1000, 0, 0) }))
}

func (h *history) documents(n int) []dogear.Document {
	docs := first(n)
	for i := range docs {
		d := &docs[i]
		d.Scopes, d.Version, d.Digest = manyScopes[h.rnd.IntN(len(manyScopes))], h.text(), h.text()
		d.List, d.Size = h.rnd.IntN(3), h.rnd.Int64N(100)-1
		if d.Secret = h.chance(20); d.Secret || h.chance(50) {
			d.Address += "?x"
		}
		if h.chance(50) {
			d.SHA256 = strings.Repeat("0f", 32)
		}
	}
	return docs
}

// drives makes listings in pages, one that is complete and one that is not.
func (h *history) drives() {
	for _, last := range []bool{false, true} {
		job, err := h.CreatePaged(h.ctx(), fmt.Sprintf("drive %v", last), ledger.Settings{})
		h.must(err)
		docs := h.documents(20)
		for i := range docs {
			docs[i].Parent = []string{"", "in", "out"}[h.rnd.IntN(3)]
		}
		_, err = h.AddPage(h.ctx(), job.ID, dogear.Page{Documents: docs, Folders: []dogear.Folder{
			{ID: "in", Name: h.text()}, {ID: "out", Outside: true}, {ID: "\x00", Parent: "in", Name: "sub"},
		}, Cursor: h.text() + "next", Gone: []string{docs[3].ID}})
		h.must(err)
		if last {
			_, err = h.AddPage(h.ctx(), job.ID, dogear.Page{Cursor: "end", Last: true})
			h.must(err)
		}
	}
}

// round is one run: some end it, some are killed in it, and the next process finds that.
func (h *history) round(job ledger.Job) {
	s := h.Ledger.Open(h.T)
	run := h.begin(s, job)
	lanes, err := s.Lanes(h.ctx(), job.ID)
	h.must(err)
	for _, lane := range lanes {
		docs, err := s.Claim(h.ctx(), lane.ID, 8, 8)
		h.must(err)
		if len(docs) > 0 {
			h.read(s, job, run, lane, docs)
		}
	}
	if !h.chance(30) {
		h.must(s.EndRun(h.ctx(), run.ID, dogear.Deadline))
		h.must(s.Close())
		return
	}
	if h.Kill != nil {
		h.Kill(s)
	} else {
		h.must(s.Close())
	}
	other := h.open() // a run closes what it left
	h.must(other.EndRun(h.ctx(), h.begin(other, job).ID, dogear.Cancelled))
}

// read sends a batch for documents, or a request for each, and has all kinds of ends.
func (h *history) read(s ledger.Store, job ledger.Job, run ledger.Run, lane ledger.Lane, docs []dogear.Document) {
	var ns []int64
	batch := h.chance(50)
	h.must(s.Decide(h.ctx(), lane.Scopes, func(d *dogear.Docket) {
		ns, d.Grants = nil, nil
		n, parent := d.Next, int64(0)
		grant := func(q dogear.Request) {
			q.N, q.Job, q.Run, q.Scopes, q.Granted, q.Parent = n, job.ID, run.ID, lane.Scopes, d.Wall, parent
			d.Grants = append(d.Grants, q)
			ns = append(ns, n)
			n++
		}
		if batch {
			grant(dogear.Request{Kind: dogear.Batch})
			parent = ns[0]
		}
		for _, doc := range docs {
			q := dogear.Request{Doc: doc.Seq}
			if batch {
				q.Kind = dogear.Item
			}
			grant(q)
		}
	}))
	if batch {
		h.finish(s, lane, dogear.End{Request: ns[0], Status: 200, Outcome: dogear.OK, Bytes: 50})
		ns = ns[1:]
	}
	for i, doc := range docs {
		e := dogear.End{Request: ns[i], Hint: h.text(), Bytes: h.rnd.Int64N(1000)}
		switch h.rnd.IntN(7) {
		case 0: // it stays open
			continue
		case 1:
			e.Status, e.Outcome, e.Until = 429, dogear.Throttled, time.Unix(1_900_000_000, 0).UTC()
			e.Fate = &dogear.Fate{Doc: doc.Seq, Reason: "throttled", Refund: 1}
		case 2:
			at := s.Now().Add(time.Duration(1 + h.rnd.Int64N(int64(time.Hour))))
			if h.chance(30) {
				at = at.AddDate(1000, 0, 0) // beyond what a ledger can keep
			}
			e.Status, e.Outcome, e.Fate = 500, dogear.Transient, &dogear.Fate{Doc: doc.Seq, Reason: h.text(), NotBefore: at}
		case 3:
			e.Outcome, e.Fate = dogear.NotSent, &dogear.Fate{Doc: doc.Seq}
		case 4:
			e.Status, e.Outcome = 200, dogear.OtherVersion
			e.Fate = &dogear.Fate{Doc: doc.Seq, State: dogear.Changed, Version: h.text(), Reason: "changed"}
		default:
			e.Status, e.Outcome = 200, dogear.OK
			h.finish(s, lane, e)
			h.must(h.settle(s, run, doc))
			if h.chance(70) {
				h.must(s.Settle(h.ctx(), run.ID, nil, []int64{doc.Seq}))
			}
			continue
		}
		h.finish(s, lane, e)
		if h.chance(20) {
			h.must(s.SavePartial(h.ctx(), doc.Seq, ledger.Partial{Size: 7, Total: -1, Validator: h.text()}))
		}
	}
}

func (h *history) finish(s ledger.Store, lane ledger.Lane, e dogear.End) {
	h.must(s.Decide(h.ctx(), lane.Scopes, func(d *dogear.Docket) {
		e.Sent, e.Ended = d.Wall, d.Wall
		d.Ends = []dogear.End{e}
	}))
}
