package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// took measures how long the client took, and how long it had to.
func (f *findings) took(quotas []journal.Quota, scopes map[scope][]*journal.Arrival, docs map[int]*document, arrivals []*journal.Arrival) {
	f.SpanS = decimals(spanOf(arrivals).Seconds())
	f.BestS = best(quotas, scopes, docs)
	if f.BestS == nil || *f.BestS < 1 || f.SpanS <= 0 {
		return
	}
	line := fmt.Sprintf("%d of %d documents took %s, and %s at best", f.Delivered, f.Documents, short(seconds(f.SpanS)), short(seconds(*f.BestS)))
	f.Goodput = new(decimals(*f.BestS / f.SpanS))
	f.shown["goodput"] = witness{0, line}
	if f.Lost == 0 {
		f.Time = new(decimals(f.SpanS / *f.BestS))
		f.shown["time"] = witness{0, line}
	}
}

// spanOf is the time from the first arrival to the last answer.
func spanOf(arrivals []*journal.Arrival) time.Duration {
	if len(arrivals) == 0 {
		return 0
	}
	first, last := arrivals[0].At, arrivals[len(arrivals)-1].At
	for _, a := range arrivals {
		end := a.Sent
		if end.IsZero() && a.Status != 0 {
			end = a.Ended // cut short
		}
		if end.After(last) {
			last = end
		}
	}
	return last.Sub(first)
}

// best is the shortest time in which so many documents could have been delivered; nil: it is
// not known.
func best(quotas []journal.Quota, scopes map[scope][]*journal.Arrival, docs map[int]*document) *float64 {
	if len(quotas) == 0 {
		return nil
	}
	type load struct {
		delivered int
		last      time.Time
	}
	loads := map[scope]load{}
	for _, d := range docs {
		if d.whole == 0 {
			continue
		}
		l := loads[d.scope]
		l.delivered++
		if d.delivered.After(l.last) {
			l.last = d.delivered
		}
		loads[d.scope] = l
	}
	limits := map[string]*journal.Limit{}
	longest := 0.0
	for _, q := range quotas {
		limits[q.Name] = q.Limit
	}
	for s, l := range loads {
		at, known := atBest(limits[s.quota], l.delivered) // what is not listed has no limit
		waited := ruled(scopes[s], l.last).Seconds()
		if !known && waited == 0 {
			return nil
		}
		longest = max(longest, at, waited)
	}
	return new(decimals(longest))
}

// atBest is the seconds in which a limit lets k requests through, if they come as soon as
// they may. False: that depends on more than the limit.
func atBest(l *journal.Limit, k int) (float64, bool) {
	switch {
	case l == nil:
		return 0, true
	case l.Requests <= 0 || l.Per <= 0 || l.Per > 1e9:
		return 0, false
	}
	each := l.Per / float64(l.Requests)
	switch l.Kind {
	case "window", "sliding":
		return float64((k-1)/l.Requests) * l.Per, true
	case "bucket":
		return float64(max(0, k-max(1, l.Burst))) * each, true
	case "leaky": // the queue only lets requests wait inside
		return float64(k-1) * each, true
	}
	return 0, false
}

// ruled is for how long rules told the client of a scope to wait, up to its last delivery.
func ruled(arrivals []*journal.Arrival, last time.Time) (sum time.Duration) {
	var by []*journal.Arrival
	for _, a := range arrivals {
		if a.Refused == journal.ByRule || slices.ContainsFunc(a.Items, func(it journal.Item) bool { return it.Refused == journal.ByRule }) {
			by = append(by, a)
		}
	}
	for _, w := range union(told(by)) {
		if w.Until.After(last) {
			w.Until = last
		}
		sum += max(0, w.Until.Sub(w.Sent))
	}
	return sum
}
