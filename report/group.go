package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// A group is the requests that one limit counts together, in the order of their time.
type group struct {
	name     string // empty: it is the only one
	requests []request
	waits    []wait // joined where they overlap; none where limits are mixed
	mixed    bool   // of several limits: there were too many for a band each
	lanes    lanes
}

// groupsMost bounds the bands of a picture, so that it fits on a page.
const groupsMost = 8

// groupsOf divides arrivals by quota and key: in the order of the head, then by first arrival.
func groupsOf(rec *journal.Record, arrivals []*journal.Arrival) []*group {
	type scope struct{ quota, key string }
	by := map[scope][]*journal.Arrival{}
	var order []scope
	keys := map[string]int{} // by quota
	for _, a := range arrivals {
		s := scope{a.Quota, a.Key}
		if by[s] == nil {
			order = append(order, s)
			keys[s.quota]++
		}
		by[s] = append(by[s], a)
	}
	if len(order) == 1 {
		return []*group{newGroup("", arrivals)}
	}
	rank := func(s scope) int {
		i := slices.IndexFunc(rec.Head.Quotas, func(q journal.Quota) bool { return q.Name == s.quota })
		if i < 0 {
			return len(rec.Head.Quotas)
		}
		return i
	}
	slices.SortStableFunc(order, func(a, b scope) int { return rank(a) - rank(b) })
	var out []*group
	for i, s := range order {
		if i == groupsMost-1 && len(order) > groupsMost {
			rest := &group{name: number(len(order)-i) + " more quotas", mixed: true}
			for _, s := range order[i:] {
				rest.requests = append(rest.requests, requests(by[s])...)
			}
			slices.SortStableFunc(rest.requests, func(a, b request) int { return a.At.Compare(b.At) })
			return append(out, rest)
		}
		name := shown(s.quota, 30)
		if s.quota == "" {
			name = "no quota"
		}
		if keys[s.quota] > 1 {
			name += " · " + shown(s.key, 20)
		}
		out = append(out, newGroup(name, by[s]))
	}
	return out
}

func newGroup(name string, arrivals []*journal.Arrival) *group {
	return &group{name: name, requests: requests(arrivals), waits: union(told(arrivals), 0)}
}

// arrange gives every group its lanes and returns the height of a lane in pixels.
func arrange(groups []*group) int {
	all := 0
	for _, g := range groups {
		g.lanes = newLanes(g.requests, lanesMost)
		all += g.lanes.count
	}
	if all > lanesMost {
		share := lanesMost / len(groups)
		all = 0
		for _, g := range groups {
			if g.lanes.count > share {
				g.lanes = newLanes(g.requests, share)
			}
			all += g.lanes.count
		}
	}
	switch {
	case all <= 8:
		return 20
	case all <= 16:
		return 16
	case all <= 28:
		return 12
	}
	return 10
}

// count is how many requests have an outcome.
func (g *group) count(o outcome) int {
	n := 0
	for _, r := range g.requests {
		if r.outcome == o {
			n++
		}
	}
	return n
}

// union joins waits, in the order of their beginnings, that overlap or touch, or whose gap is
// no longer than one that nobody could see.
func union(waits []wait, unseen time.Duration) []wait {
	var out []wait
	for _, w := range waits {
		n := len(out) - 1
		if n < 0 || w.from.After(out[n].to.Add(unseen)) {
			out = append(out, w)
			continue
		}
		if w.from.After(out[n].to) {
			out[n].n += w.n
		}
		if w.to.After(out[n].to) {
			out[n].to = w.to
		}
	}
	return out
}

func (g *group) waitWords(ax axis) string {
	if len(g.waits) == 0 {
		return ""
	}
	var sum time.Duration
	for _, w := range g.waits {
		sum += min(w.to.Sub(w.from), ax.long)
	}
	s := fmt.Sprintf(" Waits were told %s, in the time shown %s in all.", counted(len(g.waits), "time", "times"), span(min(sum, ax.long)))
	if last := g.waits[len(g.waits)-1]; ax.beyond(last.to) {
		s += fmt.Sprintf(" The last goes on after the end, until %s.", span(last.to.Sub(ax.first)))
	}
	return s
}
