package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogear/dogear"
)

// E1: nobody waits for what is past the deadline.
func TestE1WaitPastDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		g := start(t, newMemory().process(), func(c *Config) { c.Deadline = begin.Add(time.Minute) })
		throttledBy(t, admit1(t, g, "s"), time.Minute, true)
		_, err := g.Admit(context.Background(), dogear.Request{Scopes: []string{"s"}})
		w, isWait := errors.AsType[*WaitError](err)
		if !isWait || !w.NotBefore.Equal(begin.Add(time.Minute)) || time.Since(begin) != 0 {
			t.Errorf("after %v: %v, want a WaitError at once", time.Since(begin), err)
		}
	})
}

// E4: the cap of requests counts what was sent before.
func TestE4RequestCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.sent[7] = 8
		g := start(t, m.process(), func(c *Config) { c.MaxRequests = 10 })
		r := dogear.Request{Job: 7, Scopes: []string{"s"}}
		for range 2 {
			p, err := g.Admit(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			ok(p)
		}
		if _, err := g.Admit(context.Background(), r); !errors.Is(err, ErrRequests) {
			t.Errorf("the eleventh request of ten: %v, want ErrRequests", err)
		}
	})
}

// E5: an origin that is down is probed alone, and a bounded number of times.
func TestE5Outage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		g := start(t, m.process(), func(c *Config) { c.MaxThrottles = 4 })
		ok(admit1(t, g, "s"))
		if _, err := g.Down(context.Background(), []string{"s"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			failed(admit1(t, g, "s"))
		}
		_, err := g.Admit(context.Background(), dogear.Request{Scopes: []string{"s"}})
		if x, ok := errors.AsType[*ExhaustedError](err); !ok || !x.Down {
			t.Errorf("after four failures: %v, want an ExhaustedError of an outage", err)
		}
	})
}

// A pause in which nobody wanted to send teaches nothing: a job of tomorrow is not slowed to
// what one of today needed, spread over the night.
func TestPauseIsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		g := start(t, m.process(), nil)
		for range 20 {
			ok(admit1(t, g, "s"))
		}
		time.Sleep(24 * time.Hour)
		for range 20 {
			ok(admit1(t, g, "s"))
		}
		throttledBy(t, admit1(t, g, "s"), 2*time.Second, true)
		time.Sleep(24 * time.Hour)
		ok(admit1(t, g, "s"))
		if err := g.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r := Rate(m.scope("s")); r < 10 || r > 25 {
			t.Errorf("40 requests in 2s that somebody wanted to send in made a pace of %v/s", r)
		}
	})
}

// A crash leaves a scope to be probed without any wait before: that teaches nothing.
func TestProbeAfterCrashTeachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.set("s", func(s *dogear.Scope) { s.Probing = true })
		g := start(t, m.process(), nil)
		ok(admit1(t, g, "s"))
		begin := time.Now()
		throttledBy(t, admit1(t, g, "s"), time.Second, true)
		for range 5 {
			ok(admit1(t, g, "s"))
		}
		if got := time.Since(begin); got > 20*time.Second {
			t.Errorf("five requests took %v after a wait of 1s", got)
		}
	})
}

// E5 with several processes: who gets no answer while others do is cut off, and closes nothing
// for them. When nobody gets one the origin is down.
func TestE5OneIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		one, other := start(t, m.process(), nil), start(t, m.process(), nil)
		ok(admit1(t, one, "s"))
		row := time.Now()
		time.Sleep(time.Second)
		ok(admit1(t, other, "s"))
		flush(t, one, other)
		alone, err := one.Down(t.Context(), []string{"s"}, row)
		if err != nil || !alone || m.scope("s").Probing {
			t.Errorf("alone %v, %v, scope %+v: others have had an answer", alone, err, m.scope("s"))
		}
		time.Sleep(time.Second)
		alone, err = one.Down(t.Context(), []string{"s"}, row.Add(90*time.Minute))
		if err != nil || alone || !m.scope("s").Probing || m.scope("s").Cause != dogear.ByOutage {
			t.Errorf("alone %v, %v, scope %+v: nobody has had an answer", alone, err, m.scope("s"))
		}
	})
}

// E5: after an outage the next probe is another process's, where another waits: who got no
// answer may be cut off.
func TestE5OthersProbeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		one, other := start(t, m.process(), nil), start(t, m.process(), nil)
		failed(admit1(t, one, "s"))
		if alone, err := one.Down(t.Context(), []string{"s"}, time.Now()); err != nil || alone {
			t.Fatal(alone, err)
		}
		for range 3 {
			failed(admit1(t, one, "s")) // alone it waits, half a second more, and probes
		}
		asked := make(chan struct{})
		var first, second time.Time
		go func() {
			defer close(asked)
			p := admit1(t, one, "s")
			second = time.Now()
			ok(p)
		}()
		synctest.Wait() // it waits first
		p := admit1(t, other, "s")
		first = time.Now()
		time.Sleep(yield / 2)
		ok(p)
		<-asked
		if !first.Before(second) {
			t.Errorf("the other process was let in %v after the one whose requests had failed", first.Sub(second))
		}
	})
}

func flush(t *testing.T, gates ...*Gate) {
	t.Helper()
	for _, g := range gates {
		if err := g.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A service that is closed from the start, or down, says nothing of its pace.
func TestClosedFromTheStart(t *testing.T) {
	for _, outage := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			g := start(t, m.process(), nil)
			if outage {
				ok(admit1(t, g, "s"))
				if _, err := g.Down(context.Background(), []string{"s"}, time.Now()); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					failed(admit1(t, g, "s"))
				}
			} else {
				throttledBy(t, admit1(t, g, "s"), time.Hour, true)
			}
			ok(admit1(t, g, "s"))
			begin := time.Now()
			for range 20 {
				ok(admit1(t, g, "s"))
			}
			if got := time.Since(begin); got > time.Second {
				t.Errorf("outage %v: the first twenty after it took %v", outage, got)
			}
		})
	}
}

// R2: what was surely not sent gives back what it took.
func TestR2NotSentGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.set("s", func(s *dogear.Scope) { s.Rate = 1 })
		g := start(t, m.process(), nil)
		p := admit1(t, g, "s")
		g.settle(p.unsent())
		begin := time.Now()
		ok(admit1(t, g, "s"))
		if got := time.Since(begin); got > time.Millisecond {
			t.Errorf("waited %v for the place of a request that never left", got)
		}
	})
}

// A release by hand in another process wakes those who wait.
func TestReleaseWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		g := start(t, m.process(), nil)
		throttledBy(t, admit1(t, g, "s"), time.Hour, true)
		go func() {
			time.Sleep(time.Second)
			m.set("s", func(s *dogear.Scope) { s.NotBefore = time.Now() })
		}()
		begin := time.Now()
		ok(admit1(t, g, "s"))
		if got := time.Since(begin); got > 2*time.Second {
			t.Errorf("woken %v after a release at 1s", got)
		}
	})
}

// A failed commit grants nothing and ends the gate with the ledger's error.
func TestLedgerFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.refuse = errors.New("disk full")
		g, err := New(Config{Store: m.process()})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- g.Run(context.Background()) }()
		if _, err := g.Admit(context.Background(), dogear.Request{Scopes: []string{"s"}}); !errors.Is(err, m.refuse) {
			t.Errorf("Admit: %v, want the ledger's error", err)
		}
		if err := <-done; !errors.Is(err, m.refuse) {
			t.Errorf("Run: %v, want the ledger's error", err)
		}
	})
}

// A client that gives up while it waits leaves nothing in flight.
func TestGivingUpLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		g := start(t, m.process(), nil)
		throttledBy(t, admit1(t, g, "s"), time.Minute, true)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := g.Admit(ctx, dogear.Request{Scopes: []string{"s"}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Admit: %v", err)
		}
		ok(admit1(t, g, "s"))
		if err := g.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := len(m.open); n != 0 {
			t.Errorf("%d requests in flight", n)
		}
	})
}
