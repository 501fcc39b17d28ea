package standin

import (
	"sync"
	"time"
)

// A Limiter decides which requests a service serves. It reads no clock.
type Limiter interface {
	// Take asks for one request of a key at a moment.
	Take(key string, now time.Time) Grant
}

// A Grant is what a limiter says to one request.
type Grant struct {
	OK bool
	// Wait, of a refusal, is how long until a request of the key is served if no other comes
	// meanwhile.
	Wait time.Duration
	// Delay, of what is granted, is how long it is held inside the service.
	Delay time.Duration
	// Done is called when the answer has ended. Nil: there is nothing to do.
	Done func()
}

// perKey is a limiter with a state of its own for each key.
type perKey[S any] struct {
	take func(s *S, now time.Time) Grant

	mu     sync.Mutex
	states map[string]*S
}

func limitEach[S any](take func(s *S, now time.Time) Grant) *perKey[S] {
	return &perKey[S]{take: take, states: map[string]*S{}}
}

func (l *perKey[S]) Take(key string, now time.Time) Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.states[key]
	if s == nil {
		s = new(S)
		l.states[key] = s
	}
	return l.take(s, now)
}

// Window serves n requests in each window of a fixed length; the windows of a key begin when
// its first request comes. What is refused costs nothing.
func Window(n int, per time.Duration) Limiter {
	type window struct {
		began time.Time
		used  int
	}
	return limitEach(func(w *window, now time.Time) Grant {
		if w.began.IsZero() {
			w.began = now
		}
		if since := now.Sub(w.began); since >= per {
			w.began, w.used = w.began.Add(since.Truncate(per)), 0
		}
		if w.used >= n {
			return Grant{Wait: w.began.Add(per).Sub(now)}
		}
		w.used++
		return Grant{OK: true}
	})
}

// Sliding serves n requests in any time of a fixed length. Counted says that a request that
// is refused counts as well.
func Sliding(n int, per time.Duration, counted bool) Limiter {
	// The last n requests that count, the oldest first: no other decides anything.
	type log []time.Time
	return limitEach(func(l *log, now time.Time) Grant {
		full := len(*l) == n && now.Before((*l)[0].Add(per))
		if !full || counted {
			at := now
			if len(*l) > 0 && at.Before((*l)[len(*l)-1]) {
				at = (*l)[len(*l)-1]
			}
			*l = append(*l, at)
			*l = (*l)[max(0, len(*l)-n):]
		}
		if full {
			return Grant{Wait: (*l)[0].Add(per).Sub(now)}
		}
		return Grant{OK: true}
	})
}

// Bucket serves rate requests a second, and burst at once. What is refused costs nothing.
func Bucket(rate float64, burst int) Limiter {
	return meter{every: interval(rate), most: burst - 1}.limiter()
}

// CountedBucket is a Bucket in which what is refused takes a token too, down to -burst.
func CountedBucket(rate float64, burst int) Limiter {
	return meter{every: interval(rate), most: burst - 1, fine: burst}.limiter()
}

// Leaky is a bucket that leaks rate requests a second to the service. So many as queue wait
// in it; what comes to a full one is refused and costs nothing.
func Leaky(rate float64, queue int) Limiter {
	return meter{every: interval(rate), most: queue, hold: true}.limiter()
}

func interval(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }

// A meter counts in time: each request takes an interval, and it knows until when all that
// it has granted lasts. So a bucket is exact to the nanosecond.
type meter struct {
	every time.Duration
	most  int  // intervals that may be taken ahead when a request comes
	hold  bool // what is ahead of a request holds it up
	fine  int  // intervals that refusals can take on top of a full bucket's; 0: they take none
}

func (m meter) limiter() Limiter {
	return limitEach(func(until *time.Time, now time.Time) Grant {
		ahead := max(0, until.Sub(now))
		room := time.Duration(m.most) * m.every
		if ahead <= room {
			*until = now.Add(ahead + m.every)
			if m.hold {
				return Grant{OK: true, Delay: ahead}
			}
			return Grant{OK: true}
		}
		if m.fine > 0 {
			most := time.Duration(m.most+1+m.fine) * m.every
			ahead = max(ahead, min(ahead+m.every, most))
			*until = now.Add(ahead)
		}
		return Grant{Wait: ahead - room}
	})
}

// Parallel serves n requests at a time, and asks the others to come again after wait.
func Parallel(n int, wait time.Duration) Limiter {
	var mu sync.Mutex
	busy := map[string]int{}
	return limiter(func(key string, _ time.Time) Grant {
		mu.Lock()
		defer mu.Unlock()
		if busy[key] >= n {
			return Grant{Wait: wait}
		}
		busy[key]++
		return Grant{OK: true, Done: sync.OnceFunc(func() {
			mu.Lock()
			defer mu.Unlock()
			busy[key]--
		})}
	})
}

type limiter func(key string, now time.Time) Grant

func (l limiter) Take(key string, now time.Time) Grant { return l(key, now) }

// Ban closes a key for so long after each refusal of l; a request that comes meanwhile is
// refused as well, and starts that time again.
func Ban(l Limiter, length time.Duration) Limiter {
	type ban struct{ until, room time.Time } // of the ban; of the last refusal's own wait
	var mu sync.Mutex
	bans := map[string]ban{}
	return limiter(func(key string, now time.Time) Grant {
		mu.Lock()
		defer mu.Unlock()
		b := bans[key]
		if !now.Before(b.until) {
			g := l.Take(key, now)
			if g.OK {
				return g
			}
			b.room = now.Add(g.Wait)
		}
		b.until = now.Add(length)
		bans[key] = b
		return Grant{Wait: max(length, b.room.Sub(now))}
	})
}
