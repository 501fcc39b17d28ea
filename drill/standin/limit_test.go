package standin

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestLimiters(t *testing.T) {
	const second = time.Second
	for _, tt := range []struct {
		name string
		l    Limiter
		ms   []int
		want string // s: served, s+D: after a delay, else how long until one may be
	}{
		{"window", Window(2, second), []int{0, 100, 200, 999, 1000, 2500}, "s s 800ms 1ms s s"},
		{"window without requests", Window(1, second), []int{0, 3700, 3800, 4000}, "s s 200ms s"},
		{"sliding", Sliding(2, second, false), []int{0, 600, 700, 999, 1000, 1001, 1600}, "s s 300ms 1ms s 599ms s"},
		{"sliding, counted", Sliding(2, second, true), []int{0, 600, 700, 1500, 1600, 2500}, "s s 900ms 200ms 900ms s"},
		{"bucket", Bucket(10, 2), []int{0, 0, 0, 50, 100, 100}, "s s 100ms 50ms s 100ms"},
		{"bucket fills", Bucket(10, 2), []int{0, 0, 5000, 5000, 5000}, "s s s s 100ms"},
		{"counted bucket", CountedBucket(10, 2), []int{0, 0, 0, 0, 0, 0, 0}, "s s 200ms 300ms 300ms 300ms 300ms"},
		{"counted bucket recovers", CountedBucket(10, 1), []int{0, 50, 200, 300}, "s 150ms s s"},
		{"leaky", Leaky(10, 2), []int{0, 0, 0, 0, 100, 100, 1000}, "s s+100ms s+200ms 100ms s+200ms 100ms s"},
		{"leaky without a queue", Leaky(10, 0), []int{0, 50, 100}, "s 50ms s"},
		{"parallel", Parallel(1, 7*second), []int{0, 0}, "s 7s"},
		{"ban", Ban(Window(1, second), 2*second), []int{0, 10, 1000, 2900, 5000}, "s 2s 2s 2s s"},
		{"ban shorter than the wait", Ban(Window(1, 5*second), second), []int{0, 10, 1500, 2600, 5000}, "s 4.99s 3.5s 2.4s s"},
	} {
		var got []string
		for _, ms := range tt.ms {
			g := tt.l.Take("", time.Unix(1000, 0).Add(time.Duration(ms)*time.Millisecond))
			switch {
			case !g.OK:
				got = append(got, g.Wait.String())
			case g.Delay > 0:
				got = append(got, "s+"+g.Delay.String())
			default:
				got = append(got, "s")
			}
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, g, tt.want)
		}
	}
}

func TestParallelEnds(t *testing.T) {
	l := Parallel(1, time.Second)
	first := l.Take("a", time.Time{})
	if !l.Take("b", time.Time{}).OK {
		t.Error("another key was refused")
	}
	first.Done()
	first.Done() // once is enough
	if !l.Take("a", time.Time{}).OK {
		t.Error("refused though the first is done")
	}
	if l.Take("a", time.Time{}).OK {
		t.Error("served two at a time")
	}
}

// drawLimiter draws a way to make a limiter: each call makes it anew.
func drawLimiter(t *rapid.T) (name string, fresh func() Limiter) {
	n := rapid.IntRange(1, 5).Draw(t, "n")
	per := time.Duration(rapid.Int64Range(1, 5e9).Draw(t, "per"))
	rate := rapid.Float64Range(0.01, 1e4).Draw(t, "rate")
	kinds := map[string]func() Limiter{
		"window":         func() Limiter { return Window(n, per) },
		"sliding":        func() Limiter { return Sliding(n, per, false) },
		"sliding count":  func() Limiter { return Sliding(n, per, true) },
		"bucket":         func() Limiter { return Bucket(rate, n) },
		"counted bucket": func() Limiter { return CountedBucket(rate, n) },
		"leaky":          func() Limiter { return Leaky(rate, n-1) },
	}
	kind := rapid.SampledFrom([]string{"window", "sliding", "sliding count", "bucket", "counted bucket", "leaky"}).Draw(t, "kind")
	if rapid.Bool().Draw(t, "ban") {
		ban := time.Duration(rapid.Int64Range(1, 5e9).Draw(t, "length"))
		return "ban of " + kind, func() Limiter { return Ban(kinds[kind](), ban) }
	}
	return kind, kinds[kind]
}

// A wait is exact: at its end one is served if no other came, and a nanosecond earlier none.
func TestWaitsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, fresh := drawLimiter(t)
		steps := rapid.SliceOfN(rapid.Int64Range(0, 2e9), 1, 30).Draw(t, "steps")
		// after replays the steps, and asks once more so long after the last.
		after := func(steps []int64, d time.Duration) Grant {
			l, now := fresh(), time.Unix(1000, 0)
			for _, s := range steps {
				now = now.Add(time.Duration(s))
				l.Take("a", now)
				l.Take("b", now) // another key changes nothing
			}
			return l.Take("a", now.Add(d))
		}
		l, now := fresh(), time.Unix(1000, 0)
		for i, s := range steps {
			now = now.Add(time.Duration(s))
			g := l.Take("a", now)
			if g.OK {
				continue
			}
			if g.Wait <= 0 {
				t.Fatalf("%s: refused with a wait of %v", name, g.Wait)
			}
			if !after(steps[:i+1], g.Wait).OK {
				t.Fatalf("%s: refused at the end of its wait of %v", name, g.Wait)
			}
			if after(steps[:i+1], g.Wait-1).OK {
				t.Fatalf("%s: served before the end of its wait of %v", name, g.Wait)
			}
		}
	})
}

// What is let through keeps to the limit.
func TestLimitsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n, rate, per = 3, 10, time.Second
		kind := rapid.SampledFrom([]string{"window", "sliding", "bucket", "leaky"}).Draw(t, "kind")
		l := map[string]Limiter{"window": Window(n, per), "sliding": Sliding(n, per, false), "bucket": Bucket(rate, n), "leaky": Leaky(rate, n)}[kind]
		now, out := time.Unix(1000, 0), []time.Time{}
		waiting := func() (k int) {
			for _, at := range out {
				if at.After(now) {
					k++
				}
			}
			return k
		}
		for _, s := range rapid.SliceOfN(rapid.IntRange(0, 400), 1, 100).Draw(t, "ms") {
			now = now.Add(time.Duration(s) * time.Millisecond)
			if g := l.Take("", now); g.OK {
				out = append(out, now.Add(g.Delay))
			}
			if k := waiting(); k > n {
				t.Fatalf("%d wait in a queue of %d", k, n)
			}
		}
		for i, a := range out {
			for k, b := range out[i:] {
				span := b.Sub(a)
				ok := map[string]bool{
					"window":  k < n || b.Sub(out[0])/per > a.Sub(out[0])/per, // the first request begins the windows
					"sliding": k < n || span >= per,
					"bucket":  float64(k+1) <= n+rate*span.Seconds()+1e-6,
					"leaky":   span >= time.Duration(k)*per/rate,
				}[kind]
				if !ok {
					t.Fatalf("%s: %d requests within %v", kind, k+1, span)
				}
			}
		}
	})
}

// What waits in the bucket is answered when its turn comes, and what does not fit is told
// when there is room.
func TestLeakyHolds(t *testing.T) {
	both(t, func() Config { return Config{Limit: Leaky(1, 1)} }, func(t *testing.T, s *Service, c *http.Client) {
		ended := make(chan error, 3)
		for range 3 {
			go func() {
				_, _, err := get(t, c, s.URL("/doc/1"))
				ended <- err
			}()
		}
		for range 3 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		var served, held, refused int
		for _, a := range rows(t, s, 3) {
			switch {
			case a.Refused != "":
				refused++
			case a.Began.Sub(a.At) >= 500*time.Millisecond:
				held++
			default:
				served++
			}
		}
		if got := fmt.Sprint(served, held, refused); got != "1 1 1" {
			t.Errorf("served, held, refused: %s, want one of each", got)
		}
	})
}
