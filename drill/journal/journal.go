package journal

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// A Journal holds what has happened, and writes it down. The zero value keeps it in memory
// alone. Its methods are safe for concurrent use.
type Journal struct {
	mu     sync.Mutex
	out    io.Writer // nil: memory alone
	failed error
	rows   []*Arrival
	tries  map[try]int
	paths  map[string]int
	waits  map[scope][]Wait // each later than the one before: the others say nothing new
	events []Event
}

// A try is what requests are counted by: signed links apart from what leads to them.
type try struct {
	document int
	link     bool
}

type scope struct{ quota, key string }

// New returns a journal that also writes to out.
func New(out io.Writer) *Journal { return &Journal{out: out} }

// Begin writes the head.
func (j *Journal) Begin(h Head) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h.Drill, h.StartedAt = Version, micro(h.StartedAt)
	j.write(h)
}

// Note writes an event.
func (j *Journal) Note(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.At = micro(e.At)
	j.events = append(j.events, e)
	j.write(e)
}

// Add numbers an arrival, whose At, Quota and Key are set, and says what had been told
// before it. It returns how many requests came for its path before.
func (j *Journal) Add(a *Arrival) (tries int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.paths == nil {
		j.paths, j.waits = map[string]int{}, map[scope][]Wait{}
	}
	a.At = micro(a.At)
	j.rows = append(j.rows, a)
	a.N = len(j.rows)
	if a.Document > 0 {
		a.Try = j.count(try{a.Document, a.Kind == Link})
	}
	waits := j.waits[scope{a.Quota, a.Key}]
	for i := len(waits) - 1; i >= 0; i-- {
		if waits[i].Sent.Before(a.At) {
			a.Told = &waits[i]
			break
		}
	}
	tries = j.paths[a.Path]
	j.paths[a.Path]++
	return tries
}

// Try counts a request for a document that came inside another request, and returns how
// many came before it.
func (j *Journal) Try(document int) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.count(try{document, false})
}

func (j *Journal) count(t try) (before int) {
	if j.tries == nil {
		j.tries = map[try]int{}
	}
	before = j.tries[t]
	j.tries[t]++
	return before
}

// Change alters an arrival.
func (j *Journal) Change(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
}

// Finish writes an arrival whose answer has ended. A wait whose answer was sent whole is
// what later arrivals have been told.
func (j *Journal) Finish(a *Arrival) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a.Ended = micro(time.Now())
	a.Began, a.Sent, a.Until = micro(a.Began), micro(a.Sent), micro(a.Until)
	until := a.Until
	for i := range a.Items {
		a.Items[i].Until = micro(a.Items[i].Until)
		if a.Items[i].Until.After(until) {
			until = a.Items[i].Until
		}
	}
	at := scope{a.Quota, a.Key}
	waits := j.waits[at]
	if !a.Sent.IsZero() && (len(waits) == 0 && !until.IsZero() || len(waits) > 0 && until.After(waits[len(waits)-1].Until)) {
		j.waits[at] = append(waits, Wait{a.N, a.Sent, until})
	}
	j.write(a)
}

// micro is t in UTC and whole microseconds, without a monotonic reading.
func micro(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Microsecond)
}

func (j *Journal) write(line any) {
	if j.out == nil || j.failed != nil {
		return
	}
	j.failed = json.NewEncoder(j.out).Encode(line)
}

// Err is the first error of writing.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
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

// Events are all events in their order.
func (j *Journal) Events() []Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]Event(nil), j.events...)
}

// Between are the arrivals from one moment to before another.
func (j *Journal) Between(from, to time.Time) []Arrival {
	return j.Arrivals(func(a Arrival) bool { return !a.At.Before(from) && a.At.Before(to) })
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
	for p, n := range j.paths {
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
