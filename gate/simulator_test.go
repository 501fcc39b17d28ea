package gate

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dogear/dogear"
)

// limiter is a service's quota. At is when a request arrives; it says whether it is
// admitted, and else how long it says to wait.
type limiter interface {
	admit(at time.Duration) (ok bool, wait time.Duration)
}

// fixed admits n in every window of w, aligned to the server's clock.
type fixed struct {
	n     int
	w     time.Duration
	start time.Duration
	used  int
}

func (f *fixed) admit(at time.Duration) (bool, time.Duration) {
	if s := at.Truncate(f.w); s != f.start {
		f.start, f.used = s, 0
	}
	if f.used < f.n {
		f.used++
		return true, 0
	}
	return false, f.start + f.w - at
}

// bucket refills at a rate up to a depth.
type bucket struct {
	rate, depth, level float64
	last               time.Duration
}

func (b *bucket) admit(at time.Duration) (bool, time.Duration) {
	b.level = math.Min(b.depth, b.level+(at-b.last).Seconds()*b.rate)
	b.last = at
	if b.level >= 1 {
		b.level--
		return true, 0
	}
	return false, time.Duration((1 - b.level) / b.rate * float64(time.Second))
}

// sim runs the pure functions of one scope against a limiter, in virtual time.
type sim struct {
	limit   limiter
	latency time.Duration
	workers int
	whole   bool                          // hints in whole seconds, rounded up
	tells   func(at time.Duration) []left // what answers tell is left; nil: they tell nothing
	rng     *rand.Rand

	s      dogear.Scope
	pol    policy
	now    time.Duration
	agenda agenda
	flying map[int64]stake
	n      int64
	left   int  // documents to read
	asking bool // a timer is set, for askAt
	askAt  time.Duration

	hints                            time.Duration // the latest moment that a hint that was received names
	sent, refused, early, doubleProb int
	probeOut                         int64
	log                              []time.Duration // of deliveries
}

type item struct {
	at time.Duration
	do func()
}
type agenda []item

func (e agenda) Len() int           { return len(e) }
func (e agenda) Less(i, j int) bool { return e[i].at < e[j].at }
func (e agenda) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *agenda) Push(x any)        { *e = append(*e, x.(item)) }
func (e *agenda) Pop() any          { old := *e; x := old[len(old)-1]; *e = old[:len(old)-1]; return x }

var epoch = time.Unix(1_800_000_000, 0)

func (m *sim) at(d time.Duration, do func()) { heap.Push(&m.agenda, item{d, do}) }

func (m *sim) jittered(share float64) time.Duration {
	return time.Duration(float64(m.latency) * share * (0.7 + 0.6*m.rng.Float64()))
}

// ask sends whatever may go now, and comes back when the next may.
func (m *sim) ask() {
	for len(m.flying) < m.workers && m.left > len(m.flying) {
		m.s.InFlight = len(m.flying)
		p := paceOf(&m.s)
		now := epoch.Add(m.now)
		at, blocked := next(&m.s, p, now)
		if blocked {
			return
		}
		if at.After(now) {
			when := at.Sub(epoch) + time.Duration(m.rng.Int64N(int64(300*time.Microsecond)))
			if !m.asking || when < m.askAt {
				m.asking, m.askAt = true, when
				m.at(when, m.awake)
			}
			return
		}
		m.n++
		m.send(m.n, admit(&m.s, p, now, m.n, 1))
		p.store(&m.s)
	}
}

// awake is the timer that ask has set; one that was set for a later moment than it is now
// needed for does nothing.
func (m *sim) awake() {
	if m.asking && m.now >= m.askAt {
		m.asking = false
		m.ask()
	}
}

func (m *sim) send(n int64, st stake) {
	m.flying[n] = st
	m.sent++
	if m.now < m.hints {
		m.early++
	}
	if st.probe {
		if m.probeOut != 0 {
			m.doubleProb++
		}
		m.probeOut = n
	} else if m.probeOut != 0 {
		m.doubleProb++
	}
	m.at(m.now+m.jittered(0.2), func() {
		ok, wait := m.limit.admit(m.now)
		if m.whole {
			wait = time.Duration(math.Ceil(wait.Seconds())) * time.Second
		}
		var said []left
		if m.tells != nil {
			said = m.tells(m.now)
		}
		took := m.jittered(0.8)
		if !ok {
			took = m.jittered(0.3)
		}
		m.at(m.now+took, func() { m.received(n, ok, wait, said) })
	})
}

func (m *sim) received(n int64, ok bool, wait time.Duration, said []left) {
	st := m.flying[n]
	now := epoch.Add(m.now)
	m.s.InFlight = len(m.flying)
	p := paceOf(&m.s)
	r := reply{kind: answered, received: now}
	if ok {
		m.left--
		m.log = append(m.log, m.now)
	} else {
		m.refused++
		m.hints = max(m.hints, m.now+wait)
		r = reply{kind: throttling, hint: wait, hinted: true, received: now}
	}
	if m.probeOut == n {
		m.probeOut = 0
	}
	settle(&m.s, p, now, st, r, m.pol)
	delete(m.flying, n)
	for _, l := range said {
		p.Steer.hear(now, l.bound(now, concurrency(&m.s)))
	}
	p.store(&m.s)
	m.ask()
}

// run reads k documents and reports goodput against the quota, and the share refused.
func (m *sim) run(k int, quota float64) (good, share float64) {
	m.left = k
	m.ask()
	for len(m.agenda) > 0 && m.left > 0 {
		e := heap.Pop(&m.agenda).(item)
		m.now = max(m.now, e.at)
		e.do()
	}
	return float64(k) / m.now.Seconds() / quota, float64(m.refused) / float64(m.sent)
}

// TestPaceSimulated holds what the part of the law that is built reaches, over seeds, and
// that whatever it learns nothing is sent early and no probe has company. The bounds are the
// worst that these seeds showed, less a little.
func TestPaceSimulated(t *testing.T) {
	cases := []struct {
		name       string
		limit      func() limiter
		quota      float64
		latency    time.Duration
		k, workers int
		whole      bool
		good       float64 // at least
		share      float64 // at most
	}{
		{"fixed 20/s", func() limiter { return &fixed{n: 20, w: time.Second} }, 20, 100 * time.Millisecond, 6000, 16, false, 0.97, 0.013},
		{"fixed 20/s, whole seconds", func() limiter { return &fixed{n: 20, w: time.Second} }, 20, 100 * time.Millisecond, 6000, 16, true, 0.92, 0.006},
		{"bucket 20/s", func() limiter { return &bucket{rate: 20, depth: 20, level: 20} }, 20, 100 * time.Millisecond, 6000, 16, false, 0.965, 0.014},
		{"bucket 200/s", func() limiter { return &bucket{rate: 200, depth: 200, level: 200} }, 200, 5 * time.Millisecond, 30000, 16, false, 0.975, 0.009},
		{"1 per 3 s", func() limiter { return &fixed{n: 1, w: 3 * time.Second} }, 1.0 / 3, 100 * time.Millisecond, 600, 16, false, 0.98, 0.045},
		{"1000 per minute", func() limiter { return &fixed{n: 1000, w: time.Minute} }, 1000.0 / 60, 100 * time.Millisecond, 12000, 16, true, 0.98, 0.003},
		{"no limit met", func() limiter { return &bucket{rate: 100, depth: 100, level: 100} }, 1, 50 * time.Millisecond, 100, 16, false, 1, 0},
	}
	for _, c := range cases {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/seed %d", c.name, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 1))
				m := &sim{limit: c.limit(), latency: c.latency, workers: c.workers, whole: c.whole, rng: rng, flying: map[int64]stake{},
					s: dogear.Scope{Key: "s", Concurrency: 64}, pol: policy{base: time.Second, max: 5 * time.Minute, jitter: rng.Float64}}
				good, share := m.run(c.k, c.quota)
				t.Logf("goodput %.3f, refused %.2f %%", good, 100*share)
				if m.early != 0 || m.doubleProb != 0 {
					t.Errorf("%d early, %d beside a probe; want none", m.early, m.doubleProb)
				}
				if good < c.good || share > c.share {
					t.Errorf("goodput %.3f and %.2f %% refused, want at least %.3f and at most %.1f %%", good, 100*share, c.good, 100*c.share)
				}
			})
		}
	}
}
