package gate

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogear/dogear"
)

// What is left means a pace: nothing while it is plenty, else that it lasts until there is more.
func TestWhatIsLeftMeans(t *testing.T) {
	for _, c := range []struct {
		name        string
		left        left
		abreast     int
		rate        float64
		next, until time.Duration // from the receipt
	}{
		{"half of it", left{500, 1000, 30 * time.Second}, 16, 0, 0, 0},
		{"a fifth of it", left{200, 1000, 20 * time.Second}, 16, 10, 0, 21 * time.Second},
		{"a fifth when those in flight are counted", left{215, 1000, 43 * time.Second}, 16, 5, 0, 44 * time.Second},
		{"a little more", left{217, 1000, 43 * time.Second}, 16, 0, 0, 0},
		{"a quota smaller than what may be in flight", left{9, 10, 60 * time.Second}, 16, 0.15, 0, 61 * time.Second},
		{"limit not said", left{500, -1, 50 * time.Second}, 16, 10, 0, 51 * time.Second},
		{"nothing", left{0, 1000, 40 * time.Second}, 16, 1.0 / 40, 41 * time.Second, 41 * time.Second},
		{"nothing, limit not said", left{0, -1, 40 * time.Second}, 16, 1.0 / 40, 41 * time.Second, 41 * time.Second},
		{"far too much", left{math.MaxInt64, -1, 2 * time.Second}, 16, maxRate, 0, 3 * time.Second},
		{"for ever", left{0, 0, math.MaxInt64}, 16, 1 / time.Duration(math.MaxInt64).Seconds(), never.Sub(epoch), never.Sub(epoch)},
	} {
		got := c.left.bound(epoch, c.abreast)
		want := steer{At: epoch.UnixNano(), Rate: c.rate}
		if c.until > 0 {
			want.Until = epoch.Add(c.until).UnixNano()
		}
		if c.next > 0 {
			want.Next = epoch.Add(c.next).UnixNano()
		}
		if got != want {
			t.Errorf("%s: %+v means %+v, want %+v", c.name, c.left, got, want)
		}
	}
}

// It lowers a pace, whether that is agreed, learnt or unbounded, and raises none.
func TestSteerIsTheLowerPace(t *testing.T) {
	tight := left{100, -1, 50 * time.Second}.bound(epoch, 16) // 2/s
	for _, c := range []struct {
		name         string
		pace         pace
		agreed, want float64
	}{
		{"unbounded", pace{Steer: tight}, 0, 2},
		{"learnt and higher", pace{Lo: 5, Hold: 10, Steer: tight}, 0, 2},
		{"learnt and lower", pace{Lo: 1, Hold: 10, Steer: tight}, 0, 1},
		{"agreed and higher", pace{Steer: tight}, 5, 2},
		{"agreed and lower", pace{Steer: tight}, 1, 1},
	} {
		if got := c.pace.rateAt(epoch.Add(50*time.Second).UnixNano(), c.agreed); got != c.want {
			t.Errorf("%s: %v/s, want %v/s", c.name, got, c.want)
		}
		s, p := dogear.Scope{Key: "s", Rate: c.agreed}, c.pace
		if st := admit(&s, &p, epoch.Add(50*time.Second), 1, 1); st.rate != c.want {
			t.Errorf("%s: a permit notes %v/s, want %v/s", c.name, st.rate, c.want)
		}
		if got, want := c.pace.rateAt(tight.Until, c.agreed), c.pace.rate(c.agreed); got != want {
			t.Errorf("%s: %v/s when the time is over, want %v/s", c.name, got, want)
		}
	}
}

// The latest answer counts, and of several budgets in one the strictest.
func TestLatestAnswerCounts(t *testing.T) {
	said := func(at, remaining int) steer {
		return left{float64(remaining), 1000, 100 * time.Second}.bound(epoch.Add(time.Duration(at)*time.Second), 16)
	}
	for _, c := range []struct {
		name string
		said []steer
		rate float64
	}{
		{"a later one that is tighter", []steer{said(1, 200), said(2, 100)}, 1},
		{"a later one that is looser", []steer{said(1, 100), said(2, 200)}, 2},
		{"a later one with plenty", []steer{said(1, 100), said(2, 900)}, 0},
		{"an earlier one that comes later", []steer{said(2, 100), said(1, 200)}, 1},
		{"an earlier one after plenty", []steer{said(2, 900), said(1, 100)}, 0},
		{"two in one answer", []steer{said(1, 100), said(1, 200), said(1, 900)}, 1},
		{"the other way round", []steer{said(1, 900), said(1, 200), said(1, 100)}, 1},
	} {
		var s steer
		for _, b := range c.said {
			s.hear(epoch.Add(3*time.Second), b)
		}
		if s.Rate != c.rate {
			t.Errorf("%s: %v/s, want %v/s", c.name, s.Rate, c.rate)
		}
	}
}

// What is owed of a gap stays owed when the next answer tells its own.
func TestAnswersMakeNoBurst(t *testing.T) {
	s := dogear.Scope{Key: "s"}
	p := &pace{}
	now, sent := epoch, 0
	for n := 100.0; now.Before(epoch.Add(10 * time.Second)); now = now.Add(10 * time.Millisecond) {
		p.Steer.hear(now, left{n, -1, 10 * time.Second}.bound(now, 16)) // an answer every 10 ms
		if at, _ := next(&s, p, now); !at.After(now) {
			admit(&s, p, now, int64(sent), 1)
			s.InFlight = 0
			sent++
		}
	}
	if sent < 95 || sent > 101 {
		t.Errorf("%d requests in 10 s at a steady 10 a second", sent)
	}
}

// A cycle that was held back teaches nothing, and what follows it is measured anew.
func TestSteeredCycleTeachesNothing(t *testing.T) {
	for _, lo := range []float64{0, 100} {
		s := dogear.Scope{Key: "s", Concurrency: 16}
		p := &pace{Lo: lo, Hold: 50, B: 40}
		pol := policy{base: time.Second, max: time.Minute, jitter: func() float64 { return 0 }}
		now := epoch
		turn := func(kind replyKind) {
			now, _ = next(&s, p, now)
			st := admit(&s, p, now, 1, 1)
			now = now.Add(10 * time.Millisecond)
			settle(&s, p, now, st, reply{kind: kind, hint: time.Second, hinted: true, received: now}, pol)
			s.InFlight, p.Flying = 0, 0
		}
		p.Steer.hear(now, left{20, -1, 100 * time.Second}.bound(now, 16)) // one in 5 s
		for range 15 {
			turn(answered)
		}
		turn(throttling)
		turn(answered)
		if p.Lo != lo || p.Hi != 0 || p.Hold != 50 || p.B != 40 || p.Twice {
			t.Errorf("a pace of %v/s became %+v by 15 requests in 75 s", lo, p)
		}

		now = now.Add(10 * time.Millisecond)
		p.Steer.hear(now, left{5, -1, 5 * time.Second}.bound(now, 16)) // one a second
		for range 3 {
			turn(answered)
		}
		begin := now
		p.Steer.hear(now, left{900, 1000, 5 * time.Second}.bound(now, 16)) // plenty again
		for now.Before(begin.Add(10 * time.Second)) {
			turn(answered)
		}
		turn(throttling)
		turn(answered)
		if p.Lo < 80 || p.Lo > 101 {
			t.Errorf("a pace of %v/s became %.1f/s by a cycle at 100/s after one that was held back", lo, p.Lo)
		}
	}
}

// A pace that is tried has not lasted where a lower one was held to; and a pace that is lower
// than what is told goes on learning.
func TestSteerAndTrial(t *testing.T) {
	for _, c := range []struct {
		told, lo float64
		slowed   bool
	}{
		{13, 10, true},   // 15/s is tried
		{100, 15, false}, // it lasts
	} {
		s, now := dogear.Scope{Key: "s"}, epoch
		p := &pace{Lo: 10, Hi: 20, B: 5, TAT: now.UnixNano()}
		p.Steer.hear(now, left{c.told * 100, -1, 100 * time.Second}.bound(now, 16))
		for range 13 {
			now, _ = next(&s, p, now)
			admit(&s, p, now, 1, 1)
			s.InFlight, p.Flying = 0, 0
		}
		if p.Lo != c.lo || p.Slowed != c.slowed {
			t.Errorf("told %v/s: %v/s lasted and slowed is %v, want %v/s and %v", c.told, p.Lo, p.Slowed, c.lo, c.slowed)
		}
	}
	s, now := dogear.Scope{Key: "s", Rate: 10}, epoch
	p := &pace{TAT: now.UnixNano()}
	p.Steer.hear(now, left{1100, -1, 100 * time.Second}.bound(now, 16)) // 11/s
	for range 13 {
		now, _ = next(&s, p, now)
		admit(&s, p, now, 1, 1)
	}
	if p.Slowed {
		t.Error("an agreed 10/s counts as held back by 11/s")
	}
}

// Three cycles in a row that were refused soon though they were held back are believed more
// than what the service tells; one that lasted, or was not held back, ends the row.
func TestDoubt(t *testing.T) {
	for _, c := range []struct {
		name   string
		cycles []pace // Slowed and N of each
		want   []bool // which show a pace
	}{
		{"not held back", []pace{{N: 3}, {N: 300}}, []bool{true, true}},
		{"held back", []pace{{Slowed: true, N: 3}, {Slowed: true, N: 3}}, []bool{false, false}},
		{"three in a row", []pace{{Slowed: true, N: 3}, {Slowed: true, N: 20}, {Slowed: true, N: 3}, {Slowed: true, N: 3}}, []bool{false, false, true, true}},
		{"each of which lasted", []pace{{Slowed: true, N: 30}, {Slowed: true, N: 30}, {Slowed: true, N: 30}, {Slowed: true, N: 30}}, []bool{false, false, false, false}},
		{"with one that lasted", []pace{{Slowed: true, N: 3}, {Slowed: true, N: 3}, {Slowed: true, N: 30}, {Slowed: true, N: 3}}, []bool{false, false, false, false}},
		{"with one that was not held back", []pace{{Slowed: true, N: 3}, {Slowed: true, N: 3}, {N: 3}, {Slowed: true, N: 3}}, []bool{false, false, true, false}},
	} {
		p := &pace{}
		for i, cycle := range c.cycles {
			p.Slowed = cycle.Slowed
			if got := p.shows(cycle.N); got != c.want[i] {
				t.Errorf("%s: cycle %d shows a pace: %v, want %v", c.name, i+1, got, c.want[i])
			}
		}
	}
}

// The answer to a probe ends what was told before it: something is left after all.
func TestProbeForgetsWhatWasTold(t *testing.T) {
	s := dogear.Scope{Key: "s"}
	p := &pace{}
	pol := policy{base: time.Second, max: time.Minute, jitter: func() float64 { return 0 }}
	st := admit(&s, p, epoch, 1, 1)
	settle(&s, p, epoch, st, reply{kind: throttling, hint: 5 * time.Second, hinted: true, received: epoch}, pol)
	p.Steer.hear(epoch, left{0, 100, time.Hour}.bound(epoch, 16))
	at, _ := next(&s, p, epoch)
	if want := epoch.Add(5 * time.Second); !at.Equal(want) {
		t.Fatalf("the probe goes after %v, want what the hint says", at.Sub(epoch))
	}
	st = admit(&s, p, at, 2, 1)
	settle(&s, p, at.Add(time.Second), st, reply{kind: headOnly, received: at.Add(time.Second)}, pol)
	s.InFlight, p.Flying = 0, 0
	if got := p.rateAt(at.Add(time.Second).UnixNano(), 0); got != 0 {
		t.Errorf("after the probe %v/s, want what is not bounded", got)
	}
}

// What never left gives back what it took (R2), but not what nobody has left.
func TestSteerGivesBack(t *testing.T) {
	p := &pace{}
	p.Steer.hear(epoch, left{10, -1, 100 * time.Second}.bound(epoch, 16))
	now := epoch.Add(time.Second)
	p.admit(now, 0, 1)
	p.giveBack(now, 0, 1)
	if at := p.next(now, 0, 0); at.After(now) {
		t.Errorf("the next one waits %v for a request that never left", at.Sub(now))
	}
	p.Steer.hear(now, left{0, -1, 100 * time.Second}.bound(now, 16))
	p.giveBack(now.Add(time.Second), 0, 1)
	if at := p.next(now, 0, 0); at.Sub(now) != 101*time.Second {
		t.Errorf("the next one waits %v where nothing is left for 100 s", at.Sub(now))
	}
}

// Instants of another boot mean nothing.
func TestSteerEndsWithTheBoot(t *testing.T) {
	s := dogear.Scope{Key: "s"}
	p := &pace{Last: epoch.UnixNano()}
	p.Steer.hear(epoch, left{5, -1, 100 * time.Second}.bound(epoch, 16))
	p.store(&s)
	if got := Rate(s); got != 0.05 {
		t.Errorf("the scope shows %v/s, want the steered 0.05", got)
	}
	s.Rebooted = true
	if got := Rate(s); got != 0 {
		t.Errorf("after a boot %v/s, want none", got)
	}
}

// Steering never lets more leave in any time than the pace without it would, and no more
// than it tells itself.
func TestSteerOnlySlows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.1, 200).Draw(t, "rate")
		burst := rapid.IntRange(0, 5).Draw(t, "burst")
		s := dogear.Scope{Key: "s", Rate: rate, Burst: burst, Concurrency: 1000}
		p := &pace{}
		now := epoch
		var gone []time.Time // when requests left
		var bound steer      // what was told last,
		var from time.Time   // when,
		var since int        // and how many had left before
		for range rapid.IntRange(40, 150).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"pause", "tell", "ask", "ask", "ask"}).Draw(t, "step") {
			case "pause":
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "pause")))
			case "tell":
				p.Steer.hear(now, drawLeft(t).bound(now, 16))
				bound, from, since = p.Steer, now, len(gone)
			case "ask":
				free := *p
				free.Steer = steer{}
				at, _ := next(&s, p, now)
				if f, _ := next(&s, &free, now); at.Before(f) {
					t.Fatalf("steered at %v, without at %v", at, f)
				}
				now = at
				admit(&s, p, now, 1, 1)
				free.admit(now, s.Rate, 1)
				if p.TAT != free.TAT || p.rateAt(now.UnixNano(), rate) > rate {
					t.Fatalf("the pace without it is another: %+v, %+v", p, free)
				}
				gone = append(gone, now)
				for i, first := range gone {
					most := float64(1+burst) + rate*(now.Sub(first)+2*catchUp).Seconds()
					if n := len(gone) - i; float64(n) > most {
						t.Fatalf("%d left in %v at %v/s, burst %d", n, now.Sub(first), rate, burst)
					}
				}
				if n := len(gone) - since; bound.binds(now.UnixNano()) && float64(n) > 1+bound.Rate*(now.Sub(from)+2*catchUp).Seconds() {
					t.Fatalf("%d left in the %v since %+v was told", n, now.Sub(from), bound)
				}
			}
		}
	})
}

func drawLeft(t *rapid.T) left {
	return left{
		remaining: float64(rapid.IntRange(0, 100).Draw(t, "remaining")),
		limit:     float64(rapid.IntRange(-1, 200).Draw(t, "limit")),
		reset:     time.Duration(rapid.Int64Range(int64(rounding)+1, int64(100*time.Second)).Draw(t, "reset")),
	}
}
