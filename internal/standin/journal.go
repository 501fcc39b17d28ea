package standin

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// An Arrival is one request that reached the service.
type Arrival struct {
	N       int           `json:"n"`
	At      time.Time     `json:"at"` // when its head had been read
	Method  string        `json:"method"`
	Path    string        `json:"path"`
	Key     string        `json:"key,omitempty"` // of the limit that it counts against
	Proto   string        `json:"proto"`
	Conn    int64         `json:"conn"`
	Worker  string        `json:"worker,omitempty"` // what it says in X-Worker
	Header  http.Header   `json:"header,omitempty"` // credentials by name alone
	Status  int           `json:"status,omitempty"`
	Began   time.Time     `json:"began,omitzero"` // before the first byte of the answer
	Sent    time.Time     `json:"sent,omitzero"`  // when the kernel had taken all of it
	Bytes   int64         `json:"bytes"`
	Whole   bool          `json:"whole"`          // the document, from the first byte to the last
	Hint    []string      `json:"hint,omitempty"` // as it was sent
	Wait    time.Duration `json:"wait,omitempty"` // what the hint asks for, from Began
	Refused bool          `json:"refused,omitempty"`
}

// Ends is when the wait that the answer asked for is over; zero if it asked for none.
func (a Arrival) Ends() time.Time {
	if a.Wait == 0 {
		return time.Time{}
	}
	return a.Began.Add(a.Wait)
}

// A Journal holds every arrival. Its methods are safe for concurrent use.
type Journal struct {
	mu     sync.Mutex
	rows   []*Arrival
	tries  map[string]int
	out    io.Writer // nil: memory alone
	failed error
}

// add stamps an arrival and returns how many came for its path before.
func (j *Journal) add(a *Arrival) (tries int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a.At, a.N = time.Now(), len(j.rows)+1
	j.rows = append(j.rows, a)
	if j.tries == nil {
		j.tries = map[string]int{}
	}
	tries = j.tries[a.Path]
	j.tries[a.Path]++
	return tries
}

// change alters an arrival's row.
func (j *Journal) change(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
}

// end writes a finished row to the journal's file, if it has one.
func (j *Journal) end(a *Arrival) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.out == nil || j.failed != nil {
		return
	}
	j.failed = json.NewEncoder(j.out).Encode(a)
}

// Arrivals are all arrivals in their order, or those that keep wants.
func (j *Journal) Arrivals(keep func(Arrival) bool) []Arrival {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []Arrival
	for _, a := range j.rows {
		if keep == nil || keep(*a) {
			out = append(out, *a)
		}
	}
	return out
}

// Len is how many requests have arrived.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.rows)
}

// ByPath counts arrivals by their path.
func (j *Journal) ByPath() map[string]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := map[string]int{}
	for p, n := range j.tries {
		out[p] = n
	}
	return out
}

// Whole counts, by path, how often a whole document was sent.
func (j *Journal) Whole() map[string]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := map[string]int{}
	for _, a := range j.rows {
		if a.Whole {
			out[a.Path]++
		}
	}
	return out
}

// An Early arrival came while a wait of its key was known and not over.
type Early struct {
	Arrival, Wait Arrival
	Before        time.Duration // the end of the wait
}

// Early are the arrivals that came after the answer with a wait of their key was sent, and
// before that wait was over. What arrives within slack after the answer may have been on its
// way already.
func (j *Journal) Early(slack time.Duration) []Early {
	rows := j.Arrivals(nil)
	var out []Early
	for i, w := range rows {
		if w.Wait == 0 || w.Sent.IsZero() {
			continue
		}
		for _, a := range rows[i+1:] {
			if a.Key == w.Key && a.At.After(w.Sent.Add(slack)) && a.At.Before(w.Ends()) {
				out = append(out, Early{a, w, w.Ends().Sub(a.At)})
			}
		}
	}
	return out
}

// Between are the arrivals from one moment to before another.
func (j *Journal) Between(from, to time.Time) []Arrival {
	return j.Arrivals(func(a Arrival) bool { return !a.At.Before(from) && a.At.Before(to) })
}

// secret are header fields of which only the name is kept.
var secret = []string{"Authorization", "Cookie", "Proxy-Authorization"}

// dull are header fields that say nothing about a client.
var dull = []string{"User-Agent", "Accept", "Content-Length"}

// headerOf is what a journal keeps of a request's header.
func headerOf(h http.Header, credentials []string) http.Header {
	out := http.Header{}
	for name, values := range h {
		switch {
		case slices.Contains(dull, name):
		case slices.Contains(secret, name) || slices.Contains(credentials, name):
			out[name] = []string{"(a credential)"}
		default:
			out[name] = slices.Clone(values)
		}
	}
	return out
}
