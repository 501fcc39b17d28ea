package ledgertest

import (
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

var documents = []promise{
	{"ClaimOrder", testClaimOrder},
	{"ClaimOnce", testClaimOnce},
	{"NotBefore", testNotBefore},
	{"NotBeforePasses", testNotBeforePasses},
	{"Return", testReturn},
	{"Recheck", testRecheck},
	{"Refund", testRefund},
	{"Partial", testPartial},
	{"Lanes", testLanes},
	{"Rescope", testRescope},
	{"Remaining", testRemaining},
	{"ChangedDocuments", testChangedDocuments},
}

// Fewest attempts first, then the order of the list; who has paid the cap is left out.
func testClaimOrder(f *fixture) {
	job := f.job("policies", 6)
	run := f.begin(f, job)
	docs := f.claim(f, job, 3)
	if diff := cmp.Diff(ids(first(3)), ids(docs)); diff != "" {
		f.Errorf("the first claim (-want +got):\n%s", diff)
	}
	// The first pays two attempts, the second one, the third none.
	for _, d := range []dogear.Document{docs[0], docs[0], docs[1]} {
		n := f.grant(f, job, run, d)[0]
		f.end(f, dogear.End{Request: n, Outcome: dogear.Transient})
	}
	f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: docs[0].Seq}, {Doc: docs[1].Seq}, {Doc: docs[2].Seq}}))
	lane := f.lane(job).ID
	all, err := f.Claim(f.ctx(), lane, 10, 2)
	f.must(err)
	want := []string{doc(2).ID, doc(3).ID, doc(4).ID, doc(5).ID, doc(1).ID}
	if diff := cmp.Diff(want, ids(all)); diff != "" {
		f.Errorf("the claim with a cap of 2 (-want +got):\n%s", diff)
	}
	if all[4].Attempts != 1 {
		f.Errorf("%s has paid %d attempts, want 1", all[4].ID, all[4].Attempts)
	}
	// Raising the cap is enough to go on.
	all, err = f.Claim(f.ctx(), lane, 10, 3)
	f.must(err)
	if len(all) != 1 || all[0].Attempts != 2 {
		f.Errorf("the claim with a cap of 3: %+v", all)
	}
}

// No document is claimed twice, whoever asks at the same moment.
func testClaimOnce(f *fixture) {
	job := f.job("policies", 300)
	f.begin(f, job)
	lane := f.lane(job).ID
	var mu sync.Mutex
	seen := map[int64]int{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				docs, err := f.Claim(f.ctx(), lane, 7, 8)
				if err != nil {
					f.Error(err)
				}
				if len(docs) == 0 {
					return
				}
				mu.Lock()
				for _, d := range docs {
					seen[d.Seq]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(seen) != 300 {
		f.Errorf("%d documents were claimed, want 300", len(seen))
	}
	for seq, n := range seen {
		if n != 1 {
			f.Errorf("document %d was claimed %d times", seq, n)
		}
	}
}

// A document that was told to wait is not claimed, and NextDue knows of it.
func testNotBefore(f *fixture) {
	job := f.job("policies", 4)
	f.begin(f, job)
	lane := f.lane(job).ID
	due := func(want time.Time) {
		f.Helper()
		got, err := f.NextDue(f.ctx(), lane, 8)
		f.must(err)
		if !got.Equal(want) {
			f.Errorf("NextDue = %v, want %v", got, want)
		}
	}
	due(time.Time{})
	docs := f.claim(f, job, 4)
	soon, late := f.Now().Add(time.Hour), f.Now().Add(2*time.Hour)
	f.must(f.Return(f.ctx(), []dogear.Fate{
		{Doc: docs[0].Seq, NotBefore: late}, {Doc: docs[1].Seq, NotBefore: soon}, {Doc: docs[2].Seq},
	}))
	due(soon)
	if got := ids(f.claim(f, job, 10)); !cmp.Equal(got, []string{doc(2).ID}) {
		f.Errorf("claimed %v, want the one without a delay", got)
	}
	if l := f.lane(job); l.Pending != 2 {
		f.Errorf("%d documents of the lane are pending, want 2", l.Pending)
	}
	// One that has paid its cap is waited for by nobody.
	got, err := f.NextDue(f.ctx(), lane, 0)
	f.must(err)
	if !got.IsZero() {
		f.Errorf("NextDue with a cap of 0 = %v, want none", got)
	}
}

func testNotBeforePasses(f *fixture) {
	job := f.job("policies", 2)
	f.begin(f, job)
	docs := f.claim(f, job, 2)
	at := f.Now().Add(20 * time.Second)
	f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: docs[0].Seq, NotBefore: at}, {Doc: docs[1].Seq, NotBefore: at.Add(time.Hour)}}))
	f.pass(21 * time.Second)
	if got := ids(f.claim(f, job, 10)); !cmp.Equal(got, []string{doc(0).ID}) {
		f.Errorf("claimed %v, want the one whose time has come", got)
	}
}

func testReturn(f *fixture) {
	job := f.job("policies", 3)
	run := f.begin(f, job)
	docs := f.claim(f, job, 2)
	f.grant(f, job, run, docs[0])
	f.must(f.Return(f.ctx(), []dogear.Fate{
		{Doc: docs[0].Seq, State: dogear.InFlight, Refund: 5}, // stays, and has paid nothing
		{Doc: docs[1].Seq, State: dogear.Failed, Reason: "too large"},
		{Doc: job.First + 2, State: dogear.Failed}, // nobody claimed it
	}))
	want := map[dogear.State]int64{dogear.InFlight: 1, dogear.Failed: 1, dogear.Pending: 1}
	if diff := cmp.Diff(want, f.states(job)); diff != "" {
		f.Errorf("states (-want +got):\n%s", diff)
	}
	for _, r := range f.remaining(job) {
		if r.Attempts != 0 {
			f.Errorf("%s has paid %d attempts, want 0", r.ID, r.Attempts)
		}
	}
	// Another holder cannot move what is not its own.
	other := f.open()
	f.must(other.Return(f.ctx(), []dogear.Fate{{Doc: docs[0].Seq}}))
	if got := f.states(job)[dogear.InFlight]; got != 1 {
		f.Errorf("%d documents are in flight, want 1", got)
	}
	f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: docs[0].Seq, Reason: "first"}}))
	f.claim(f, job, 1)
	f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: docs[0].Seq}}))
	if r := f.remaining(job)[0]; r.Reason != "first" {
		f.Errorf("reason = %q, want the last one that was given", r.Reason)
	}
	f.claim(f, job, 1)
	if err := f.Return(f.ctx(), []dogear.Fate{{Doc: docs[0].Seq, State: dogear.Done}}); err == nil {
		f.Error("a document was returned as done, without a result")
	}
}

func testRecheck(f *fixture) {
	job := f.job("policies", 6)
	run := f.begin(f, job)
	docs := f.claim(f, job, 5)
	f.grant(f, job, run, docs[0])
	f.must(f.Return(f.ctx(), []dogear.Fate{
		{Doc: docs[0].Seq, State: dogear.Denied}, // has paid one
		{Doc: docs[1].Seq, State: dogear.Gone},
		{Doc: docs[2].Seq, State: dogear.Changed, Version: `"b"`},
		{Doc: docs[3].Seq, State: dogear.Failed},
		{Doc: docs[4].Seq, State: dogear.InDoubt},
	}))
	n, err := f.Recheck(f.ctx(), job.ID, 1, dogear.Changed, dogear.Denied, dogear.Gone)
	f.must(err)
	if n != 2 {
		f.Errorf("Recheck = %d, want 2", n)
	}
	want := map[dogear.State]int64{dogear.Denied: 1, dogear.Pending: 3, dogear.Failed: 1, dogear.InDoubt: 1}
	if diff := cmp.Diff(want, f.states(job)); diff != "" {
		f.Errorf("states (-want +got):\n%s", diff)
	}
	for _, r := range f.remaining(job) {
		if r.State == dogear.Pending && r.Found != "" {
			f.Errorf("%s is pending and was found at %s", r.ID, r.Found)
		}
	}
}

func testRefund(f *fixture) {
	job := f.job("policies", 2)
	run := f.begin(f, job)
	docs := f.claim(f, job, 2)
	f.grant(f, job, run, docs[0], docs[0], docs[1])
	f.must(f.Refund(f.ctx(), []int64{docs[0].Seq, docs[1].Seq}))
	f.must(f.Refund(f.ctx(), []int64{docs[1].Seq}))
	c, err := f.Counts(f.ctx(), job.ID)
	f.must(err)
	if c.Attempts != 3 || c.Most != 1 {
		f.Errorf("attempts %d, most %d; want 3, 1: what was tried was tried", c.Attempts, c.Most)
	}
	for i, r := range f.remaining(job) {
		if want := 1 - i; r.Attempts != want {
			f.Errorf("%s has paid %d, want %d", r.ID, r.Attempts, want)
		}
	}
}

func testPartial(f *fixture) {
	job := f.job("policies", 2)
	run := f.begin(f, job)
	docs := f.claim(f, job, 2)
	want := ledger.Partial{Size: 4096, Total: -1, Validator: `"abc"`}
	for _, d := range docs {
		f.must(f.SavePartial(f.ctx(), d.Seq, want))
	}
	got, err := f.Partial(f.ctx(), docs[0].Seq)
	f.must(err)
	if got != want {
		f.Errorf("Partial = %+v, want %+v", got, want)
	}
	f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: docs[1].Seq}}))
	if again := f.claim(f, job, 1); len(again) != 1 || !again[0].Partial {
		f.Errorf("claimed %+v, want one that knows of its partial body", again)
	}
	// Settling forgets it, and so does a size of zero.
	f.must(f.settle(f, run, docs[0]))
	f.must(f.SavePartial(f.ctx(), docs[1].Seq, ledger.Partial{}))
	for _, d := range docs {
		if got, err := f.Partial(f.ctx(), d.Seq); got != (ledger.Partial{}) || err != nil {
			f.Errorf("Partial = %+v, %v; want none", got, err)
		}
	}
}

func testLanes(f *fixture) {
	docs := first(5)
	docs[1].Scopes = []string{"host:a.example"}
	docs[3].Scopes = []string{"host:a.example"}
	docs[4].Scopes = []string{"host:a.example", key}
	job, _, err := f.Create(f.ctx(), "policies", ledger.Settings{}, list(docs...))
	f.must(err)
	f.begin(f, job)
	lanes, err := f.Lanes(f.ctx(), job.ID)
	f.must(err)
	got := map[string][]string{}
	for _, l := range lanes {
		claimed, err := f.Claim(f.ctx(), l.ID, 10, 8)
		f.must(err)
		if int64(len(claimed)) != l.Pending {
			f.Errorf("lane %v says %d are pending and has %d", l.Scopes, l.Pending, len(claimed))
		}
		for _, d := range claimed {
			if !cmp.Equal(d.Scopes, l.Scopes) {
				f.Errorf("%s has scopes %v in lane %v", d.ID, d.Scopes, l.Scopes)
			}
			got[l.Scopes[0]+"+"+l.Scopes[len(l.Scopes)-1]] = append(got[l.Scopes[0]+"+"+l.Scopes[len(l.Scopes)-1]], d.ID)
		}
	}
	want := map[string][]string{
		key + "+" + key:                 {doc(0).ID, doc(2).ID},
		"host:a.example+host:a.example": {doc(1).ID, doc(3).ID},
		"host:a.example+" + key:         {doc(4).ID},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("lanes (-want +got):\n%s", diff)
	}
}

func testRescope(f *fixture) {
	job := f.job("policies", 2)
	for range 2 { // what it is made of is what was listed, not what was made of that
		f.must(f.Rescope(f.ctx(), job.ID, func(listed []string) []string {
			return append([]string{"z:" + listed[0]}, "job:policies")
		}))
	}
	want := []string{"job:policies", "z:" + key}
	if got := f.lane(job).Scopes; !cmp.Equal(got, want) {
		f.Errorf("scopes = %v, want %v", got, want)
	}
	f.begin(f, job)
	if got := f.claim(f, job, 1)[0].Scopes; !cmp.Equal(got, want) {
		f.Errorf("a claimed document has scopes %v, want %v", got, want)
	}
}

// What is not done is shown in the order of the list, with the later of its own wait and
// its scope's.
func testRemaining(f *fixture) {
	docs := first(7)
	docs[1].Scopes = []string{"host:a.example"}
	docs[1].Version = `"a"`
	job, _, err := f.Create(f.ctx(), "policies", ledger.Settings{}, list(docs...))
	f.must(err)
	run := f.begin(f, job)
	lanes, err := f.Lanes(f.ctx(), job.ID)
	f.must(err)
	var claimed []dogear.Document
	for _, l := range lanes {
		got, err := f.Claim(f.ctx(), l.ID, 10, 8)
		f.must(err)
		claimed = append(claimed, got...)
	}
	bySeq := map[int64]dogear.Document{}
	for _, d := range claimed {
		bySeq[d.Seq-job.First] = d
	}
	f.must(f.settle(f, run, bySeq[3]))
	now := f.Now()
	f.must(f.Return(f.ctx(), []dogear.Fate{
		{Doc: bySeq[0].Seq, NotBefore: now.Add(time.Hour), Reason: "503"},
		{Doc: bySeq[1].Seq, NotBefore: now.Add(time.Hour), Reason: "202"},
		{Doc: bySeq[2].Seq, State: dogear.Denied, Reason: "403"},
		{Doc: bySeq[4].Seq, State: dogear.Changed, Version: `"b"`},
		{Doc: bySeq[5].Seq, NotBefore: now.Add(3 * time.Hour)},
	}))
	f.decide(f, func(d *dogear.Docket) { d.Scopes[key].NotBefore = now.Add(2 * time.Hour) })
	wall := time.Now().Add(-f.Now().Sub(now))
	want := []ledger.Remaining{
		{Seq: job.First, ID: doc(0).ID, Name: doc(0).Name, NotBefore: wall.Add(2 * time.Hour), Reason: "503"},
		{Seq: job.First + 1, ID: doc(1).ID, Name: doc(1).Name, Version: `"a"`, NotBefore: wall.Add(time.Hour), Reason: "202"},
		{Seq: job.First + 2, ID: doc(2).ID, Name: doc(2).Name, State: dogear.Denied, Reason: "403"},
		{Seq: job.First + 4, ID: doc(4).ID, Name: doc(4).Name, State: dogear.Changed, Found: `"b"`},
		{Seq: job.First + 5, ID: doc(5).ID, Name: doc(5).Name, NotBefore: wall.Add(3 * time.Hour)},
		{Seq: job.First + 6, ID: doc(6).ID, Name: doc(6).Name, State: dogear.InFlight},
	}
	near := cmp.Comparer(func(a, b time.Time) bool { return a.IsZero() == b.IsZero() && a.Sub(b).Abs() < time.Minute })
	if diff := cmp.Diff(want, f.remaining(job), near); diff != "" {
		f.Errorf("Remaining (-want +got):\n%s", diff)
	}
}

func testChangedDocuments(f *fixture) {
	job := f.job("policies", 3)
	f.begin(f, job)
	docs := f.claim(f, job, 3)
	f.must(f.Return(f.ctx(), []dogear.Fate{{Doc: docs[1].Seq, State: dogear.Changed, Version: `"b"`}}))
	got := collect(f, f.ChangedDocuments(f.ctx(), job.ID))
	if len(got) != 1 || got[0].ID != doc(1).ID || got[0].Address != doc(1).Address || got[0].Found != `"b"` {
		f.Errorf("ChangedDocuments: %+v", got)
	}
}
