package reader

import (
	"math/rand/v2"
	"net/url"
	"sync"
	"time"
)

// An origin is down when this many requests in a row, of this many documents or all that
// are left, brought no HTTP answer or a 5xx (E5).
const (
	enoughFailures  = 10
	enoughDocuments = 3
	unwell          = 3 // failures in a row that people are told of
)

// outages counts, for each origin, the failures since its last sign of life.
type outages struct {
	mu   sync.Mutex
	rows map[string][]failure
}

// failure is one request that failed, and whether its document was charged for it.
type failure struct {
	doc     int64
	charged bool
	at      time.Time // ledger's clock
}

// failed adds a failure and returns the row so far.
func (o *outages) failed(u *url.URL, f failure) []failure {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := u.Scheme + "://" + u.Host
	o.rows[key] = append(o.rows[key], f)
	return o.rows[key]
}

// answered ends the row: the origin lives, or its scopes have just been closed.
func (o *outages) answered(u *url.URL) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.rows, u.Scheme+"://"+u.Host)
}

func distinct(row []failure) int {
	seen := map[int64]bool{}
	for _, f := range row {
		seen[f.doc] = true
	}
	return len(seen)
}

// charged are the documents to refund, one mention for each attempt that they paid.
func charged(row []failure) []int64 {
	var docs []int64
	for _, f := range row {
		if f.charged {
			docs = append(docs, f.doc)
		}
	}
	return docs
}

// longestRest bounds how long a lane that is cut off rests: looking again costs the service
// nothing, and what it rests from may be over.
const longestRest = 10 * time.Second

// A rest is for a lane whose origin answers other processes and not this one: it claims
// nothing, for longer each time, and then tries one document.
type rest struct {
	mu    sync.Mutex
	times int // in a row
	until time.Time
}

// take begins a rest.
func (r *rest) take(base time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := min(base<<min(r.times, 10), longestRest)
	r.times++
	r.until = time.Now().Add(d/2 + jitter(d/2))
}

// over ends the row of rests: there was an answer.
func (r *rest) over() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times, r.until = 0, time.Time{}
}

// left is what is left of the rest, and whether there was no answer since it began.
func (r *rest) left() (d time.Duration, cutOff bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Until(r.until), r.times > 0
}

// jitter is a random duration in [0, d).
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}
