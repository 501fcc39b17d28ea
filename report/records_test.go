package report

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
)

var epoch = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// moment is a moment of a record, in seconds after its first.
func moment(s float64) time.Time { return epoch.Add(time.Duration(s * float64(time.Second))) }

// A crowd is workers that read from one quota, made up but as they are: each takes the next
// document as soon as it has its answer.
type crowd struct {
	quota   string
	workers int
	obeys   bool          // all of them wait when one was told to, then one goes first
	start   time.Duration // after the epoch
	rest    time.Duration // of a worker between two requests
	long    time.Duration // of an answer
	docs    int
	first   int // before the number of its first document
	burst   int // the limit
	rate    float64
	wait    time.Duration   // told with a refusal; it lasts no longer for those that come early
	stops   []time.Duration // when the client is killed; it starts again a second later
	nameOf  func(worker int) string
	status  func(n int) int // of an answer that is not refused; nil: 200
}

type turn struct {
	at     time.Time
	worker int
}

type turns []turn

func (t turns) Len() int           { return len(t) }
func (t turns) Less(i, k int) bool { return t[i].at.Before(t[k].at) }
func (t turns) Swap(i, k int)      { t[i], t[k] = t[k], t[i] }
func (t *turns) Push(x any)        { *t = append(*t, x.(turn)) }
func (t *turns) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

// arrivals plays it through.
func (c crowd) arrivals(seed uint64) []journal.Arrival {
	random := rand.New(rand.NewPCG(seed, 1))
	jitter := func(d time.Duration) time.Duration { return d/2 + time.Duration(random.Int64N(int64(d)+1)) }
	begin := epoch.Add(c.start)
	var queue turns
	for w := range c.workers {
		heap.Push(&queue, turn{begin.Add(jitter(8 * time.Millisecond)), w})
	}
	var todo []int
	for d := range c.docs {
		todo = append(todo, c.first+d+1)
	}
	var out []journal.Arrival
	var waits []journal.Wait
	tokens, filled := float64(c.burst), begin
	var closed time.Time // the end of the wait
	tries := map[int]int{}
	for len(queue) > 0 && len(todo) > 0 && len(out) < 8_000 {
		now := heap.Pop(&queue).(turn)
		if c.obeys && now.at.Before(closed) && len(waits) > 0 && now.at.After(waits[len(waits)-1].Sent) {
			later := closed.Add(60 * time.Millisecond)
			if now.worker != 0 {
				later = later.Add(c.long*2 + time.Duration(now.worker)*time.Duration(float64(time.Second)/c.rate))
			}
			heap.Push(&queue, turn{later, now.worker})
			continue
		}
		for _, stop := range c.stops { // the killed are away for a second
			if gone := epoch.Add(stop); now.at.After(gone) && now.at.Before(gone.Add(time.Second)) {
				now.at = gone.Add(time.Second + jitter(20*time.Millisecond))
			}
		}
		doc := todo[0]
		todo = todo[1:]
		a := journal.Arrival{
			N: len(out) + 1, At: now.at, Quota: c.quota, Kind: journal.Read, Method: "GET",
			Path: fmt.Sprintf("/doc/%d", doc), Document: doc, Try: tries[doc], Proto: "HTTP/1.1",
			Conn: int64(now.worker + 1), Worker: c.nameOf(now.worker), Status: 200, Began: now.at, End: journal.Sent, Whole: true,
		}
		tries[doc]++
		for i := len(waits) - 1; i >= 0 && a.Told == nil; i-- {
			if waits[i].Sent.Before(a.At) {
				a.Told = &waits[i]
			}
		}
		tokens = min(float64(c.burst), tokens+c.rate*now.at.Sub(filled).Seconds())
		filled = now.at
		a.Ended = now.at.Add(jitter(c.long))
		if tokens < 1 && !a.At.Before(closed) {
			closed = a.At.Add(c.wait)
		}
		if a.At.Before(closed) {
			a.Status, a.Refused, a.Whole = 429, journal.ByLimit, false
			a.Ended = now.at.Add(jitter(2 * time.Millisecond))
			a.Until = closed
			a.Hint = http.Header{"Retry-After": {fmt.Sprint(int(c.wait.Seconds()))}}
			if n := len(waits); n == 0 || a.Until.After(waits[n-1].Until) {
				waits = append(slices.Clip(waits), journal.Wait{N: a.N, Sent: a.Ended, Until: a.Until})
			}
			todo = append(todo, doc)
		} else {
			tokens--
			if c.status != nil {
				a.Status = c.status(a.N)
				a.Whole = a.Status == 200
			}
			if !a.Whole {
				todo = append(todo, doc)
			}
		}
		a.Sent = a.Ended
		rest := c.rest
		if c.obeys && len(waits) > 0 {
			rest = time.Duration(float64(c.workers) / c.rate * float64(time.Second)) // paced
		}
		out = append(out, a)
		heap.Push(&queue, turn{a.Ended.Add(jitter(rest)), now.worker})
	}
	return out
}

// record puts crowds into one record.
func record(scenario string, crowds ...crowd) *journal.Record {
	rec := &journal.Record{Head: journal.Head{Drill: 1, Scenario: scenario, StartedAt: epoch}}
	for i, c := range crowds {
		rec.Head.Quotas = append(rec.Head.Quotas, journal.Quota{Name: c.quota, First: c.first + 1, Last: c.first + c.docs})
		rec.Head.Documents += c.docs
		rec.Arrivals = append(rec.Arrivals, c.arrivals(uint64(i))...)
		rec.Events = append(rec.Events, journal.Event{Event: "started", At: epoch.Add(c.start - 30*time.Millisecond), Client: i + 1})
		for _, s := range c.stops {
			rec.Events = append(rec.Events,
				journal.Event{Event: "killed", At: epoch.Add(s), Client: i + 1, Code: -1},
				journal.Event{Event: "started", At: epoch.Add(s + 900*time.Millisecond), Client: i + 1})
		}
	}
	slices.SortStableFunc(rec.Arrivals, func(a, b journal.Arrival) int { return a.At.Compare(b.At) })
	for i := range rec.Arrivals {
		rec.Arrivals[i].N = i + 1
	}
	return rec
}

func numbered(worker int) string { return fmt.Sprint(worker + 1) }

// storm is sixteen workers that do not wait: whoever is refused asks again at once.
func storm(docs int) *journal.Record {
	return record("many-workers", crowd{
		quota: "main", workers: 16, docs: docs, burst: 20, rate: 25, wait: 2 * time.Second,
		rest: 45 * time.Millisecond, long: 60 * time.Millisecond, nameOf: numbered,
	})
}

// queue is the same, by workers that wait together and go on one at a time.
func queue(docs int) *journal.Record {
	return record("many-workers", crowd{
		quota: "main", workers: 16, docs: docs, burst: 20, rate: 25, wait: 2 * time.Second, obeys: true,
		rest: 45 * time.Millisecond, long: 60 * time.Millisecond, nameOf: numbered,
	})
}

// judged is a record with its verdict.
func judged(t *testing.T, rec *journal.Record, about string) drill.Result {
	t.Helper()
	if rec.Head.Expect == nil {
		rec.Head.Expect = []string{"late==0", "burst<=1", "lost==0"}
	}
	r, err := drill.Judge(rec, nil, judge.DefaultSlack)
	if err != nil {
		t.Fatal(err)
	}
	r.About, r.Client, r.Took = about, "curl", 12_340*time.Millisecond
	return r
}
