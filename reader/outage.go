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
}

// failed adds a failure and returns the row so far.
func (o *outages) failed(u *url.URL, doc int64, charged bool) []failure {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := u.Scheme + "://" + u.Host
	o.rows[key] = append(o.rows[key], failure{doc, charged})
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

// jitter is a random duration in [0, d).
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}
