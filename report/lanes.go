package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// lanesMost bounds the lanes of a picture; so many still fit on a page.
const lanesMost = 40

// lanes says in which lane each of some requests is drawn.
type lanes struct {
	of     []int    // by request
	names  []string // nil: the lanes have none
	count  int
	words  string // what a lane is: "16 workers"
	packed bool
	full   bool // requests overlap in a lane though lanes should keep them apart
}

// newLanes gives each worker a lane, or each connection where requests name no worker. Where
// that is not possible, or takes more than most lanes, lanes keep apart what was under way at
// the same time. The requests are in the order of their time.
func newLanes(requests []request, most int) lanes {
	if l := named(requests, "worker", "workers", most, worker); l.count > 0 {
		return l
	}
	if l := named(requests, "connection", "connections", most, connection); l.count > 0 {
		return l
	}
	return pack(requests, most)
}

func worker(a *journal.Arrival) string { return a.Worker }

// connection names a connection that carries one request at a time.
func connection(a *journal.Arrival) string {
	if a.Conn == 0 || strings.HasPrefix(a.Proto, "HTTP/2") {
		return ""
	}
	return strconv.FormatInt(a.Conn, 10)
}

// named gives a lane to each name. It has none if a request has no name or there are too many.
func named(requests []request, one, many string, most int, name func(*journal.Arrival) string) lanes {
	seen := map[string]int{}
	var names []string
	for _, r := range requests {
		n := name(r.Arrival)
		if _, ok := seen[n]; !ok {
			seen[n] = 0
			names = append(names, n)
		}
		if n == "" || len(names) > most {
			return lanes{}
		}
	}
	slices.SortFunc(names, natural)
	l := lanes{count: len(names), words: counted(len(names), one, many), of: make([]int, len(requests))}
	for i, n := range names {
		seen[n] = i
		l.names = append(l.names, shown(n, 10))
	}
	for i, r := range requests {
		l.of[i] = seen[name(r.Arrival)]
	}
	return l
}

// pack puts each request into the first lane that is free, and where none is into the one
// that is free soonest.
func pack(requests []request, most int) lanes {
	l := lanes{of: make([]int, len(requests)), packed: true}
	var free []time.Time
	for i, r := range requests {
		lane, soonest := -1, 0
		for k, t := range free {
			if !t.After(r.At) {
				lane = k
				break
			}
			if t.Before(free[soonest]) {
				soonest = k
			}
		}
		switch {
		case lane >= 0:
		case len(free) < most:
			lane = len(free)
			free = append(free, time.Time{})
		default:
			lane, l.full = soonest, true
		}
		free[lane] = left(r)
		l.of[i] = lane
	}
	l.count = len(free)
	l.words = "one at a time"
	if n := atOnce(requests); n > 1 {
		l.words = "up to " + number(n) + " at once"
	}
	return l
}

// left is when a request has left its lane. A journal counts microseconds: nothing takes less.
func left(r request) time.Time {
	if t := ended(r.Arrival); t.After(r.At) {
		return t
	}
	return r.At.Add(time.Microsecond)
}

// atOnce is how many requests were under way at the same time at most.
func atOnce(requests []request) int {
	ends := make([]time.Time, len(requests))
	for i, r := range requests {
		ends[i] = left(r)
	}
	slices.SortFunc(ends, time.Time.Compare)
	most, gone := 0, 0
	for i, r := range requests {
		for gone < i && !ends[gone].After(r.At) {
			gone++
		}
		most = max(most, i+1-gone)
	}
	return most
}

// natural compares names as people count: w2 comes before w10.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x != "" && y != "" {
			p, q := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			a, b = a[len(x):], b[len(y):]
			continue
		}
		if c := cmp.Compare(a[0], b[0]); c != 0 {
			return c
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits are those that s begins with.
func digits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
