package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogear/dogear"
)

// start runs a gate until the bubble ends.
func start(t *testing.T, s Store, change func(*Config)) *Gate {
	t.Helper()
	cfg := Config{Store: s, By: "job test"}
	if change != nil {
		change(&cfg)
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return g
}

func admit1(t *testing.T, g *Gate, keys ...string) *Permit {
	t.Helper()
	p, err := g.Admit(context.Background(), dogear.Request{Scopes: keys})
	if err != nil {
		t.Fatalf("Admit(%v): %v", keys, err)
	}
	return p
}

// throttledBy settles a permit as a throttle and waits until that is in the ledger.
func throttledBy(t *testing.T, p *Permit, wait time.Duration, hinted bool) {
	t.Helper()
	o := &op{permit: p, end: p.end(dogear.Throttled), done: make(chan struct{}), reply: reply{
		kind: throttling, hint: wait, hinted: hinted, received: p.gate.cfg.Store.Now(), by: "job test"}}
	p.gate.settle(o)
	if <-o.done; o.err != nil {
		t.Fatal(o.err)
	}
}

func ok(p *Permit) { (&Exchange{permit: p, Status: 200}).End(dogear.OK, 1, nil) }

func failed(p *Permit) { (&Exchange{permit: p}).End(dogear.Transient, 0, nil) }

// W1: nobody leaves before not_before, in this process or another.
func TestW1NobodyLeavesBeforeTheWaitIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := start(t, m.process(), nil), start(t, m.process(), nil)
		p := admit1(t, a, "host:x")
		other := admit1(t, a, "host:x")
		begin := time.Now()
		throttledBy(t, p, 90*time.Second, true)
		if other.Use() {
			t.Error("a permit of before the throttle may still be used in the process that read it")
		}
		a.settle(other.unsent())
		var wg sync.WaitGroup
		for _, g := range []*Gate{a, b, a, b} {
			wg.Go(func() {
				q := admit1(t, g, "host:x")
				if got := time.Since(begin); got < 90*time.Second {
					t.Errorf("admitted %v after a throttle that asks for 90s", got)
				}
				ok(q)
			})
		}
		wg.Wait()
	})
}

// W1: a permit is good for two seconds.
func TestW1PermitExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newMemory().process(), nil)
		p := admit1(t, g, "host:x")
		time.Sleep(2*time.Second - 1)
		if !p.Use() {
			t.Error("not usable just before two seconds")
		}
		time.Sleep(1 * time.Nanosecond)
		if p.Use() {
			t.Error("usable after two seconds")
		}
		g.settle(p.unsent())
	})
}

// W2, W9: of hints that are in flight together the later wins, and they are one event.
func TestW2LaterHintWins(t *testing.T) {
	for _, hints := range [][]time.Duration{{time.Second, time.Minute}, {time.Minute, time.Second}} {
		t.Run(fmt.Sprint(hints), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				g := start(t, m.process(), nil)
				a, b := admit1(t, g, "s"), admit1(t, g, "s")
				begin := time.Now()
				throttledBy(t, a, hints[0], true)
				throttledBy(t, b, hints[1], true)
				if s := m.scope("s"); s.Generation != 1 || s.Streak != 1 {
					t.Errorf("two throttles of one generation: generation %d, %d in a row; want 1 and 1", s.Generation, s.Streak)
				}
				ok(admit1(t, g, "s"))
				if got := time.Since(begin); got != time.Minute {
					t.Errorf("admitted after %v, want 1m", got)
				}
			})
		})
	}
}

// W4: hints of zero do not loop hot, and each wait without help is longer.
func TestW4ZeroHintsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newMemory().process(), func(c *Config) { c.MaxThrottles = 100 })
		begin := time.Now()
		for range 8 {
			throttledBy(t, admit1(t, g, "s"), 0, true)
		}
		ok(admit1(t, g, "s"))
		// The first hint is taken at its word; then 2, 4, … 128 s, at least half of each.
		if got := time.Since(begin); got < 127*time.Second {
			t.Errorf("eight hints of zero took %v, want at least 127s", got)
		}
	})
}

// W4: without a valid hint a bounded row of events ends it, and the count is the ledger's.
func TestW4BoundedRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		g := start(t, m.process(), func(c *Config) { c.MaxThrottles = 3 })
		for range 3 {
			throttledBy(t, admit1(t, g, "s"), 0, false)
		}
		_, err := g.Admit(context.Background(), dogear.Request{Scopes: []string{"s"}})
		if x, ok := errors.AsType[*ExhaustedError](err); !ok || x.Streak != 3 {
			t.Fatalf("after three throttles of three: %v, want an ExhaustedError", err)
		}
		// A run that starts at the cap may send one probe.
		h := start(t, m.process(), func(c *Config) { c.MaxThrottles = 3 })
		throttledBy(t, admit1(t, h, "s"), 0, false)
		if _, err := h.Admit(context.Background(), dogear.Request{Scopes: []string{"s"}}); err == nil {
			t.Error("admitted after the one probe was refused")
		}
	})
}

// W5: between the end of the wait and the probe's answer exactly one request leaves, over
// all processes.
func TestW5OneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		gates := []*Gate{start(t, m.process(), nil), start(t, m.process(), nil), start(t, m.process(), nil)}
		throttledBy(t, admit1(t, gates[0], "s"), 10*time.Second, true)
		admitted := make(chan *Permit, 9)
		for i := range 9 {
			go func() { admitted <- admit1(t, gates[i%3], "s") }()
		}
		probe := <-admitted
		time.Sleep(time.Minute) // no answer yet
		synctest.Wait()
		if n := len(admitted); n != 0 {
			t.Fatalf("%d requests left beside the probe", n)
		}
		ok(probe)
		for range 8 {
			ok(<-admitted)
		}
	})
}

// W5: a probe without an answer is free again after one step of the back-off.
func TestW5ProbeOfADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		dying := m.process()
		a, b := start(t, dying, nil), start(t, m.process(), nil)
		throttledBy(t, admit1(t, a, "s"), time.Second, true)
		admit1(t, a, "s") // the probe
		begin := time.Now()
		dying.die() // and nobody is told
		ok(admit1(t, b, "s"))
		if got := time.Since(begin); got < 500*time.Millisecond {
			t.Errorf("the next probe left %v after the first one's end, want at least half a second", got)
		}
	})
}

// W5: after the probe at most 1 + rate × t leave in any t, over all processes.
func TestW5ControlledPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		gates := []*Gate{start(t, m.process(), nil), start(t, m.process(), nil)}
		for i := range 20 { // a first cycle: 20 in 2 s
			ok(admit1(t, gates[i%2], "s"))
		}
		throttledBy(t, admit1(t, gates[0], "s"), 2*time.Second, true)
		var mu sync.Mutex
		var at []time.Time
		var wg sync.WaitGroup
		for i := range 18 { // before the law lets the pace grow
			wg.Go(func() {
				p := admit1(t, gates[i%2], "s")
				mu.Lock()
				at = append(at, time.Now())
				mu.Unlock()
				ok(p)
			})
		}
		wg.Wait()
		slices.SortFunc(at, time.Time.Compare)
		rate := 10 * 1.05 // what the cycle got through, and the creep
		for i := range at {
			for j := i + 1; j < len(at); j++ {
				span := at[j].Sub(at[i]) + catchUp
				if n := float64(j - i + 1); n > 1+rate*span.Seconds()+1e-6 {
					t.Fatalf("%v requests in %v, want at most 1 + %.1f/s", n, span, rate)
				}
			}
		}
	})
}

// W6: a scope that nobody confirmed fails its requests at its first throttle.
func TestW6UnconfirmedScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.set("known", func(s *dogear.Scope) { s.Confirmed = dogear.Confirmation{By: "x", At: time.Now()} })
		g := start(t, m.process(), func(c *Config) { c.RequireConfirmed = true })
		for _, key := range []string{"known", "unknown"} {
			throttledBy(t, admit1(t, g, key), time.Second, true)
		}
		ok(admit1(t, g, "known"))
		_, err := g.Admit(context.Background(), dogear.Request{Scopes: []string{"unknown"}})
		if u, ok := errors.AsType[*UnconfirmedError](err); !ok || u.Key != "unknown" {
			t.Errorf("Admit: %v, want an UnconfirmedError", err)
		}
	})
}

// W7: the wait of one scope does not hold another's requests.
func TestW7OtherScopesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newMemory().process(), nil)
		throttledBy(t, admit1(t, g, "a"), time.Hour, true)
		ctx, cancel := context.WithCancel(context.Background())
		for range 50 {
			go g.Admit(ctx, dogear.Request{Scopes: []string{"a"}})
		}
		begin := time.Now()
		for range 1000 {
			ok(admit1(t, g, "b"))
		}
		if got := time.Since(begin); got != 0 {
			t.Errorf("a thousand requests of another scope took %v", got)
		}
		cancel()
	})
}

// W8: a request of several scopes is granted by all or none, and holds nothing while it waits.
func TestW8AllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.set("b", func(s *dogear.Scope) { s.Concurrency = 1 })
		g := start(t, m.process(), nil)
		throttledBy(t, admit1(t, g, "a"), 10*time.Second, true)
		both := make(chan *Permit)
		begin := time.Now()
		go func() { both <- admit1(t, g, "b", "a") }()
		time.Sleep(time.Second)
		ok(admit1(t, g, "b")) // b's only slot is free while the other waits for a
		p := <-both
		if got := time.Since(begin); got < 10*time.Second {
			t.Errorf("granted after %v while a waited for 10s", got)
		}
		if s := m.scope("b"); len(p.stakes) != 2 || s.Key != "b" {
			t.Errorf("stakes %v, want both scopes", p.stakes)
		}
		ok(p)
	})
}

// W9: the answers of one cycle are one event, however many say so; success of an older
// generation ends no probe.
func TestW9OneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		g := start(t, m.process(), nil)
		var ps []*Permit
		for range 10 {
			ps = append(ps, admit1(t, g, "s"))
		}
		for _, p := range ps[:8] {
			throttledBy(t, p, 5*time.Second, false)
		}
		ok(ps[8])
		if err := g.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		s := m.scope("s")
		if s.Generation != 1 || s.Streak != 1 || !s.Probing {
			t.Errorf("generation %d, %d in a row, probing %v; want 1, 1, true", s.Generation, s.Streak, s.Probing)
		}
		ok(ps[9])
	})
}
