package journal

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

// tell adds an arrival whose answer, sent at a moment, tells a wait.
func tell(j *Journal, quota, key string, sent, until time.Time) int {
	a := &Arrival{At: start, Quota: quota, Key: key}
	j.Add(a)
	a.Sent, a.Until = sent, until
	j.Finish(a)
	return a.N
}

// An arrival knows the latest wait of its quota and key that had been sent before it.
func TestTold(t *testing.T) {
	var j Journal
	first := tell(&j, "docs", "x", after(time.Second), after(10*time.Second))
	tell(&j, "docs", "x", after(2*time.Second), after(9*time.Second)) // ends sooner: says nothing new
	third := tell(&j, "docs", "x", after(3*time.Second), after(11*time.Second))
	tell(&j, "docs", "x", time.Time{}, after(20*time.Second)) // was not sent whole
	tell(&j, "docs", "y", after(time.Second), after(30*time.Second))
	tell(&j, "other", "x", after(time.Second), after(30*time.Second))
	batch := &Arrival{At: start, Quota: "docs", Key: "x"}
	j.Add(batch)
	batch.Sent, batch.Items = after(4*time.Second), []Item{{Until: after(12 * time.Second)}, {Until: after(5 * time.Second)}}
	j.Finish(batch)

	for _, test := range []struct {
		at   time.Duration
		want int // 0: none
	}{
		{0, 0}, {time.Second, 0}, {time.Second + time.Microsecond, first}, {2500 * time.Millisecond, first}, {3 * time.Second, first},
		{3500 * time.Millisecond, third}, {4500 * time.Millisecond, batch.N}, {time.Minute, batch.N},
	} {
		a := &Arrival{At: after(test.at), Quota: "docs", Key: "x"}
		j.Add(a)
		got := 0
		if a.Told != nil {
			got = a.Told.N
		}
		if got != test.want {
			t.Errorf("after %v: told by arrival %d, want %d", test.at, got, test.want)
		}
	}
	a := &Arrival{At: after(time.Minute), Quota: "docs", Key: "z"}
	if j.Add(a); a.Told != nil {
		t.Errorf("another key was told %+v", a.Told)
	}
}

// A document's tries count requests and items of batches; a path's, requests alone.
func TestTries(t *testing.T) {
	var j Journal
	if got := j.Try(7); got != 0 {
		t.Errorf("Try: %d came before, want 0", got)
	}
	a := &Arrival{Document: 7, Path: "/doc/7"}
	if got := j.Add(a); got != 0 || a.Try != 1 || a.N != 1 {
		t.Errorf("Add: %d for the path and %d for the document came before; N %d", got, a.Try, a.N)
	}
	b := &Arrival{Document: 7, Path: "/doc/7"}
	if got := j.Add(b); got != 1 || b.Try != 2 || b.N != 2 {
		t.Errorf("Add: %d for the path and %d for the document came before; N %d", got, b.Try, b.N)
	}
	if got := j.Try(7); got != 3 {
		t.Errorf("Try: %d came before, want 3", got)
	}
}

// Many requests at once make one journal, whose lines are whole.
func TestConcurrent(t *testing.T) {
	var out bytes.Buffer
	j := New(&out)
	j.Begin(Head{Documents: 8})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				a := &Arrival{At: time.Now(), Quota: "docs", Path: fmt.Sprintf("/doc/%d", i+1), Document: i + 1}
				j.Add(a)
				j.Change(func() { a.Sent, a.Until = time.Now(), time.Now().Add(time.Second) })
				j.Finish(a)
				j.Arrivals(nil)
			}
		})
	}
	all.Wait()
	rec := parse(t, out.Bytes())
	if len(rec.Arrivals) != 400 || j.Len() != 400 || rec.Cut != 0 {
		t.Errorf("%d arrivals were written, %d are kept; cut: %d", len(rec.Arrivals), j.Len(), rec.Cut)
	}
	for i, a := range rec.Arrivals {
		if a.N != i+1 {
			t.Fatalf("arrival %d has the number %d", i+1, a.N)
		}
	}
}

type full struct{}

var errFull = errors.New("the disk is full")

func (full) Write([]byte) (int, error) { return 0, errFull }

// A journal that cannot be written says so.
func TestErr(t *testing.T) {
	j := New(full{})
	if j.Err() != nil {
		t.Errorf("before anything was written: %v", j.Err())
	}
	j.Begin(Head{})
	j.Note(Event{Event: "ended"})
	if !errors.Is(j.Err(), errFull) {
		t.Errorf("the error is %v, want %v", j.Err(), errFull)
	}
}
