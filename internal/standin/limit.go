package standin

import (
	"math"
	"sync"
	"time"
)

// A Limiter decides which requests a service serves.
type Limiter interface {
	// Take asks for one request of a key. Where it is refused, wait is how long until one
	// may be served; where it is served, done is called at the end of the answer.
	Take(key string, now time.Time) (done func(), wait time.Duration, ok bool)
}

type limiter func(key string, now time.Time) (func(), time.Duration, bool)

func (l limiter) Take(key string, now time.Time) (func(), time.Duration, bool) { return l(key, now) }

func nothing() {}

// Window serves n requests in each window of a fixed length; windows begin when the first
// request of a key comes.
func Window(n int, length time.Duration) Limiter {
	type window struct {
		began time.Time
		used  int
	}
	var mu sync.Mutex
	windows := map[string]*window{}
	return limiter(func(key string, now time.Time) (func(), time.Duration, bool) {
		mu.Lock()
		defer mu.Unlock()
		w := windows[key]
		if w == nil {
			w = &window{began: now}
			windows[key] = w
		}
		if since := now.Sub(w.began); since >= length {
			w.began, w.used = w.began.Add(since.Truncate(length)), 0
		}
		if w.used >= n {
			return nil, w.began.Add(length).Sub(now), false
		}
		w.used++
		return nothing, 0, true
	})
}

// Bucket serves rate requests a second, and burst at once. What it refuses costs nothing.
func Bucket(rate float64, burst int) Limiter {
	type bucket struct {
		tokens float64
		at     time.Time
	}
	var mu sync.Mutex
	buckets := map[string]*bucket{}
	return limiter(func(key string, now time.Time) (func(), time.Duration, bool) {
		mu.Lock()
		defer mu.Unlock()
		b := buckets[key]
		if b == nil {
			b = &bucket{tokens: float64(burst), at: now}
			buckets[key] = b
		}
		b.tokens = math.Min(float64(burst), b.tokens+now.Sub(b.at).Seconds()*rate)
		b.at = now
		if b.tokens < 1 {
			return nil, time.Duration((1 - b.tokens) / rate * float64(time.Second)), false
		}
		b.tokens--
		return nothing, 0, true
	})
}

// Parallel serves n requests at a time, and asks the others to come again after wait.
func Parallel(n int, wait time.Duration) Limiter {
	var mu sync.Mutex
	busy := map[string]int{}
	return limiter(func(key string, _ time.Time) (func(), time.Duration, bool) {
		mu.Lock()
		defer mu.Unlock()
		if busy[key] >= n {
			return nil, wait, false
		}
		busy[key]++
		return sync.OnceFunc(func() {
			mu.Lock()
			defer mu.Unlock()
			busy[key]--
		}), 0, true
	})
}
