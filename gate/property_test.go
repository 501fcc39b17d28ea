package gate

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogear/dogear"
)

// world is a scope shared by several processes, driven without clocks or goroutines: what
// the gate's transaction does, one step at a time.
type world struct {
	t       *rapid.T
	s       dogear.Scope
	now     time.Time
	pol     policy
	n       int64
	flying  map[int64]held
	promise time.Time // the latest moment that any counted hint has named
	events  int64
}

type held struct {
	st      stake
	process int
}

// TestScopeProperties drives a scope through any sequence of grants, answers, throttles,
// crashes and pauses, and checks W1, W2, W3, W5, W9 at each step.
func TestScopeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: time.Unix(1_800_000_000, 0), flying: map[int64]held{},
			pol: policy{base: time.Second, max: 5 * time.Minute, jitter: func() float64 { return rapid.Float64Range(0, 0.999).Draw(t, "jitter") }}}
		w.s = dogear.Scope{Key: "s", Concurrency: rapid.IntRange(1, 20).Draw(t, "concurrency")}
		if rapid.Bool().Draw(t, "agreed") {
			w.s.Rate = rapid.Float64Range(0.1, 1000).Draw(t, "rate")
			w.s.Burst = rapid.IntRange(0, 50).Draw(t, "burst")
		}
		t.Repeat(map[string]func(*rapid.T){
			"":        w.check,
			"pause":   w.pause,
			"ask":     w.ask,
			"answer":  w.answer,
			"refuse":  w.refuse,
			"lose":    w.lose,
			"crash":   w.crash,
			"unsent":  w.unsent,
			"tell":    w.tell,
			"believe": w.roundTrip,
		})
	})
}

func (w *world) live(n int64) bool { _, ok := w.flying[n]; return ok }

// step is one transaction of the gate.
func (w *world) step(f func(p *pace)) {
	before := w.s.NotBefore
	w.s.InFlight = len(w.flying)
	p := paceOf(&w.s)
	freeProbe(&w.s, w.now, w.pol, w.live)
	f(p)
	p.store(&w.s)
	if w.s.NotBefore.Before(before) {
		w.t.Fatalf("W2: not_before moved back by %v", before.Sub(w.s.NotBefore))
	}
}

func (w *world) check(t *rapid.T) {
	p := paceOf(&w.s)
	if r := p.rate(w.s.Rate); r < 0 || math.IsInf(r, 0) || math.IsNaN(r) {
		t.Fatalf("the pace is %v", r)
	}
	a, b := next(&w.s, p, w.now)
	if c, d := next(&w.s, p, w.now); a != c || b != d {
		t.Fatal("next is not pure")
	}
	if w.s.Generation != w.events {
		t.Fatalf("W9: generation %d after %d events", w.s.Generation, w.events)
	}
}

func (w *world) pause(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "pause")))
}

func (w *world) ask(t *rapid.T) {
	w.step(func(p *pace) {
		at, blocked := next(&w.s, p, w.now)
		if blocked || at.After(w.now) {
			return
		}
		if w.now.Before(w.promise) {
			t.Fatalf("W1, W3: granted %v before a hint allows it", w.promise.Sub(w.now))
		}
		if w.s.Probing && w.probing() {
			t.Fatal("W5: a second request beside the probe")
		}
		if len(w.flying) >= w.s.Concurrency && !w.s.Probing {
			t.Fatalf("%d in flight of %d", len(w.flying), w.s.Concurrency)
		}
		w.n++
		w.flying[w.n] = held{admit(&w.s, p, w.now, w.n, 1), rapid.IntRange(0, 2).Draw(t, "process")}
	})
}

// probing reports whether a request of the current generation is out while it is probed.
func (w *world) probing() bool {
	for _, h := range w.flying {
		if h.st.probe && h.st.generation == w.s.Generation {
			return true
		}
	}
	return false
}

// take draws one request in flight.
func (w *world) take(t *rapid.T) (int64, held) {
	if len(w.flying) == 0 {
		t.Skip("nothing in flight")
	}
	var ns []int64
	for n := range w.flying {
		ns = append(ns, n)
	}
	slices.Sort(ns)
	n := rapid.SampledFrom(ns).Draw(t, "request")
	return n, w.flying[n]
}

func (w *world) answer(t *rapid.T) {
	n, h := w.take(t)
	w.step(func(p *pace) {
		streak, probing := w.s.Streak, w.s.Probing
		settle(&w.s, p, w.now, h.st, reply{kind: answered, received: w.now}, w.pol)
		if h.st.generation < w.s.Generation && (w.s.Streak != streak || w.s.Probing != probing) {
			t.Fatal("W9: an answer of an older generation changed the scope")
		}
		delete(w.flying, n)
	})
}

func (w *world) refuse(t *rapid.T) {
	n, h := w.take(t)
	hinted := rapid.Bool().Draw(t, "hinted")
	hint := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "hint"))
	if rapid.IntRange(0, 50).Draw(t, "huge") == 0 {
		hint = math.MaxInt64
	}
	w.step(func(p *pace) {
		current := h.st.generation == w.s.Generation
		streak := w.s.Streak
		settle(&w.s, p, w.now, h.st, reply{kind: throttling, hint: hint, hinted: hinted, received: w.now}, w.pol)
		if current {
			w.events++
			if hint == 0 && streak > 0 && w.s.NotBefore.Sub(w.now) < 500*time.Millisecond {
				t.Fatal("W4: a hint of zero in a row leads to a hot loop")
			}
		}
		if until := w.now.Add(hint); hinted && until.After(w.promise) && hint != math.MaxInt64 {
			w.promise = until
		}
		delete(w.flying, n)
	})
}

func (w *world) lose(t *rapid.T) {
	n, h := w.take(t)
	w.step(func(p *pace) {
		settle(&w.s, p, w.now, h.st, reply{kind: silent, received: w.now}, w.pol)
		delete(w.flying, n)
	})
}

func (w *world) unsent(t *rapid.T) {
	n, h := w.take(t)
	w.step(func(p *pace) {
		settle(&w.s, p, w.now, h.st, reply{kind: unsent, received: w.now}, w.pol)
		delete(w.flying, n)
	})
}

func (w *world) crash(t *rapid.T) {
	process := rapid.IntRange(0, 2).Draw(t, "process")
	for n, h := range w.flying {
		if h.process == process {
			delete(w.flying, n)
		}
	}
}

// tell is an answer that tells what is left, of now or of a while ago.
func (w *world) tell(t *rapid.T) {
	received := w.now.Add(-time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "ago")))
	said := drawLeft(t)
	w.step(func(p *pace) {
		before := w.s
		p.Steer.hear(w.now, said.bound(received, w.s.Concurrency))
		if !reflect.DeepEqual(before, w.s) {
			t.Fatalf("W10: what is left changed the scope: %+v, was %+v", w.s, before)
		}
	})
}

// roundTrip is what a row goes through between two transactions.
func (w *world) roundTrip(t *rapid.T) {
	p := paceOf(&w.s)
	blob, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var q pace
	if err := json.Unmarshal(blob, &q); err != nil {
		t.Fatal(err)
	}
	q.Flying = p.Flying
	if q != *p {
		t.Fatalf("the row changed on its way: %+v, was %+v", q, *p)
	}
}

// W3: for every hint the wait is at least as long, whatever the policy.
func TestW3NeverShortened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "now"), 0)
		hint := time.Duration(rapid.Int64Range(0, int64(100*365*24*time.Hour)).Draw(t, "hint"))
		pol := policy{base: time.Millisecond, max: time.Duration(rapid.Int64Range(1e6, 1e12).Draw(t, "max")), jitter: func() float64 { return 0.3 }}
		s := dogear.Scope{Streak: rapid.IntRange(0, 100).Draw(t, "streak")}
		settle(&s, &pace{}, now, stake{}, reply{kind: throttling, hint: hint, hinted: true, received: now}, pol)
		if s.NotBefore.Before(now.Add(hint)) {
			t.Fatalf("waits until %v, the hint says %v", s.NotBefore, now.Add(hint))
		}
	})
}

// W4: a step is never less than half of its size nor more than the largest.
func TestW4Step(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.Float64Range(0, 0.9999).Draw(t, "u")
		pol := policy{base: time.Second, max: 5 * time.Minute, jitter: func() float64 { return u }}
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		full := min(5*time.Minute, time.Duration(float64(time.Second)*math.Exp2(float64(min(n-1, 30)))))
		if got := pol.step(n); got < full/2 || got > full {
			t.Fatalf("step %d waits %v, want between %v and %v", n, got, full/2, full)
		}
	})
}
