package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dogear/dogear"
)

// teller is a quota whose answers tell what is left of it, in whole seconds until there is
// more, once a share of it is used.
type teller struct {
	fixed
	from     float64
	limit    bool // it says how much the quota is
	down     bool // seconds are rounded down
	counts   bool // it counts what it refuses
	stranger int  // how much of every other window somebody else takes at its beginning
}

func (q *teller) admit(at time.Duration) (bool, time.Duration) {
	if s := at.Truncate(q.w); s != q.start {
		q.start, q.used = s, 0
		if s/q.w%2 == 1 {
			q.used = q.stranger
		}
	}
	ok, wait := q.fixed.admit(at)
	if !ok && q.counts {
		q.used++
	}
	return ok, wait
}

func (q *teller) left(at time.Duration) []left {
	if float64(q.used) < q.from*float64(q.n) {
		return nil
	}
	reset := math.Ceil((q.start + q.w - at).Seconds())
	if q.down {
		reset = math.Floor((q.start + q.w - at).Seconds())
	}
	l := left{remaining: float64(max(0, q.n-q.used)), limit: -1, reset: time.Duration(reset) * time.Second}
	if q.limit {
		l.limit = float64(q.n)
	}
	if l.reset <= rounding { // says nothing: see Permit.told
		return nil
	}
	return []left{l}
}

// TestSteerSimulated compares a gate that heeds what a service tells with one that does not,
// over the same limiters and seeds. The bounds are the worst that these seeds showed, less a
// little.
func TestSteerSimulated(t *testing.T) {
	sharePoint := teller{fixed: fixed{n: 1250, w: time.Minute}, from: 0.8, limit: true, counts: true}
	sharePointDown := sharePoint
	sharePointDown.down = true
	crowded := sharePoint
	crowded.stranger = 1100
	ietf := teller{fixed: fixed{n: 100, w: 10 * time.Second}, limit: true}
	ietfDown, ietfUnsaid := ietf, ietf
	ietfDown.down, ietfUnsaid.limit = true, false
	for _, c := range []struct {
		name       string
		quota      teller
		latency    time.Duration
		k, workers int
		good       float64 // at least
		refused    int     // at most
		same       bool    // nothing it tells matters: both do the same
	}{
		{"SharePoint, 1250 a minute", sharePoint, 100 * time.Millisecond, 3750, 16, 0.98, 0, false},
		{"SharePoint, seconds rounded down", sharePointDown, 100 * time.Millisecond, 3750, 16, 0.98, 0, false},
		{"SharePoint, 2 s of latency", sharePoint, 2 * time.Second, 3750, 64, 0.97, 0, false},
		{"SharePoint, others take most of every other minute", crowded, 100 * time.Millisecond, 4200, 16, 0.5, 0, false},
		{"IETF, 100 in 10 s", ietf, 100 * time.Millisecond, 1500, 16, 0.97, 0, false},
		{"IETF, seconds rounded down", ietfDown, 100 * time.Millisecond, 1500, 16, 0.98, 1, false},
		{"IETF, without its policy", ietfUnsaid, 100 * time.Millisecond, 1500, 16, 0.91, 0, false},
		{"a job of two fifths of the quota", teller{fixed: fixed{n: 5000, w: time.Hour}, limit: true}, 100 * time.Millisecond, 2000, 16, 1, 0, true},
		{"a quota a second", teller{fixed: fixed{n: 20, w: time.Second}, limit: true}, 100 * time.Millisecond, 1500, 16, 0.9, 40, true},
	} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s/seed %d", c.name, seed), func(t *testing.T) {
				run := func(heeds bool) (m *sim, good float64) {
					quota := c.quota
					rng := rand.New(rand.NewPCG(seed, 1))
					m = &sim{limit: &quota, latency: c.latency, workers: c.workers, whole: true, rng: rng, flying: map[int64]stake{},
						s: dogear.Scope{Key: "s", Concurrency: c.workers}, pol: policy{base: time.Second, max: 5 * time.Minute, jitter: rng.Float64}}
					if heeds {
						m.tells = quota.left
					}
					good, _ = m.run(c.k, float64(quota.n)/quota.w.Seconds())
					return m, good
				}
				deaf, deafGood := run(false)
				heeds, good := run(true)
				t.Logf("goodput %.3f, refused %d of %d; without %.3f, %d of %d", good, heeds.refused, heeds.sent, deafGood, deaf.refused, deaf.sent)
				if heeds.early != 0 || heeds.doubleProb != 0 {
					t.Errorf("%d early, %d beside a probe; want none", heeds.early, heeds.doubleProb)
				}
				if good < c.good || heeds.refused > c.refused {
					t.Errorf("goodput %.3f and %d refused, want at least %.3f and at most %d", good, heeds.refused, c.good, c.refused)
				}
				if c.same && (good != deafGood || heeds.refused != deaf.refused) || !c.same && heeds.refused >= deaf.refused {
					t.Errorf("goodput %.3f and %d refused, without steering %.3f and %d", good, heeds.refused, deafGood, deaf.refused)
				}
				if p := paceOf(&heeds.s); heeds.refused == 0 && (p.Lo != 0 || p.Hi != 0) {
					t.Errorf("steering alone taught a pace: %+v", p)
				}
			})
		}
	}
}

// falling is a quota of which nobody tells, and that falls at some moment.
type falling struct {
	before, after fixed
	at            time.Duration
}

func (f *falling) admit(at time.Duration) (bool, time.Duration) {
	if at < f.at {
		return f.before.admit(at)
	}
	return f.after.admit(at)
}

// A service that always tells a little more than it gives is not believed for long: the pace
// is learnt as without its word.
func TestUntoldQuotaIsLearnt(t *testing.T) {
	for _, told := range []float64{0, 3.2, 5} {
		for seed := range uint64(2) {
			rng := rand.New(rand.NewPCG(seed, 1))
			m := &sim{limit: &falling{fixed{n: 6, w: time.Second}, fixed{n: 3, w: time.Second}, 200 * time.Second},
				latency: 100 * time.Millisecond, workers: 16, whole: true, rng: rng, flying: map[int64]stake{},
				s: dogear.Scope{Key: "s", Concurrency: 16}, pol: policy{base: time.Second, max: 5 * time.Minute, jitter: rng.Float64}}
			if told > 0 {
				m.tells = func(time.Duration) []left { return []left{{told * 25, -1, 25 * time.Second}} }
			}
			good, share := m.run(2000, 3)
			t.Logf("told %v/s, seed %d: goodput %.3f, refused %.2f %%", told, seed, good, 100*share)
			if good < 0.95 || share > 0.015 {
				t.Errorf("told %v/s of 3/s, seed %d: goodput %.3f and %.2f %% refused, want at least 0.95 and at most 1.5 %%", told, seed, good, 100*share)
			}
		}
	}
}
