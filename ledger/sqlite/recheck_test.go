package sqlite

import (
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// Recheck goes through parts, and finds in each what the part has, whatever stands between.
func TestRecheckInParts(t *testing.T) {
	s := openTest(t, machine{boot: "b", since: func() time.Duration { return 0 }, wall: time.Now})
	const n = 3*recheckRows + 10
	job, _, err := s.Create(t.Context(), "j", ledger.Settings{}, docs(n))
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Begin(t.Context(), job.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	lanes, err := s.Lanes(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), lanes[0].ID, n, 8)
	if err != nil {
		t.Fatal(err)
	}
	var want int64
	var fates []dogear.Fate
	var charged []dogear.Request
	for i, d := range claimed {
		f := dogear.Fate{Doc: d.Seq, State: dogear.Gone}
		switch {
		case i%5 == 0:
			f.State = dogear.Failed
		case i%2 == 0: // has paid what there is to pay
			charged = append(charged, dogear.Request{Job: job.ID, Run: run.ID, Doc: d.Seq, Scopes: d.Scopes})
		case i%7 == 0:
			f.State = dogear.Denied
			want++
		default:
			want++
		}
		fates = append(fates, f)
	}
	err = s.Decide(t.Context(), nil, func(d *dogear.Docket) {
		d.Grants = charged
		for i := range d.Grants {
			d.Grants[i].N = d.Next + int64(i)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Return(t.Context(), fates); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{want, 0} {
		if got, err := s.Recheck(t.Context(), job.ID, 1, dogear.Changed, dogear.Denied, dogear.Gone); got != want || err != nil {
			t.Errorf("Recheck = %d, %v; want %d", got, err, want)
		}
	}
	c, err := s.Counts(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c.Documents[dogear.Pending] != want || c.Documents[dogear.Gone] != int64(len(charged)) {
		t.Errorf("documents: %v, want %d pending and %d gone", c.Documents, want, len(charged))
	}
}
