package judge

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// early is whether an arrival came in a wait that its client had been told.
func early(a *journal.Arrival) bool {
	return a.Told != nil && a.At.After(a.Told.Sent) && a.At.Before(a.Told.Until)
}

// until is the end of the wait that an answer told, in its own name or in that of an item;
// zero: it told none.
func until(a *journal.Arrival) time.Time {
	end := a.Until
	for _, it := range a.Items {
		if it.Until.After(end) {
			end = it.Until
		}
	}
	return end
}

// told are the waits that were told by arrivals and sent whole, as they were sent.
func told(arrivals []*journal.Arrival) []journal.Wait {
	var waits []journal.Wait
	for _, a := range arrivals {
		if end := until(a); !a.Sent.IsZero() && end.After(a.Sent) {
			waits = append(waits, journal.Wait{N: a.N, Sent: a.Sent, Until: end})
		}
	}
	slices.SortStableFunc(waits, func(a, b journal.Wait) int { return a.Sent.Compare(b.Sent) })
	return waits
}

// union joins waits that overlap or touch. N is then who told the end.
func union(waits []journal.Wait) []journal.Wait {
	var out []journal.Wait
	for _, w := range waits {
		last := len(out) - 1
		if last < 0 || w.Sent.After(out[last].Until) {
			out = append(out, w)
			continue
		}
		if w.Until.After(out[last].Until) {
			out[last].N, out[last].Until = w.N, w.Until
		}
	}
	return out
}

// waits judges what came in the waits of one scope, and after them.
func (f *findings) waits(arrivals []*journal.Arrival, slack time.Duration) {
	waits := told(arrivals)
	f.inWaits(arrivals, waits, slack)
	for _, w := range union(waits) {
		f.afterWait(arrivals, w)
	}
}

// inWaits counts who came early, and who of them late. An arrival that has just been told
// one wait may have been told another long before: a client that never rests is told one
// with each refusal.
func (f *findings) inWaits(arrivals []*journal.Arrival, waits []journal.Wait, slack time.Duration) {
	var longest journal.Wait // of those that were sent more than slack ago
	for _, a := range arrivals {
		for len(waits) > 0 && a.At.After(waits[0].Sent.Add(slack)) {
			if waits[0].Until.After(longest.Until) {
				longest = waits[0]
			}
			waits = waits[1:]
		}
		if !early(a) {
			continue
		}
		f.Early++
		f.show("early", a.N, "%s", beforeEnd{a, a.Told})
		if by := decimals(a.Told.Until.Sub(a.At).Seconds()); by > f.EarliestS {
			f.EarliestS = by
			f.shown["earliest_s"] = witness{a.N, beforeEnd{a, a.Told}.String()}
		}
		switch {
		case a.At.After(a.Told.Sent.Add(slack)):
			f.Late++
			f.show("late", a.N, "%s", beforeEnd{a, a.Told})
		case a.At.Before(longest.Until):
			f.Late++
			f.show("late", a.N, "%s", beforeEnd{a, &longest})
		}
	}
}

// beforeEnd says how long before the end of a wait an arrival came.
type beforeEnd struct {
	a *journal.Arrival
	w *journal.Wait
}

func (b beforeEnd) String() string {
	return fmt.Sprintf("%s came %s before the wait told by arrival %d ended", named{b.a}, short(b.w.Until.Sub(b.a.At)), b.w.N)
}

// afterWait counts what came after a wait and before the first had its answer.
func (f *findings) afterWait(arrivals []*journal.Arrival, w journal.Wait) {
	from := sort.Search(len(arrivals), func(i int) bool { return !arrivals[i].At.Before(w.Until) })
	if from == len(arrivals) {
		return
	}
	first := arrivals[from]
	answered := first.Began
	if answered.IsZero() {
		answered = first.Ended // it never had one
	}
	to := len(arrivals)
	if !answered.IsZero() {
		to = sort.Search(len(arrivals), func(i int) bool { return !arrivals[i].At.Before(answered) })
	}
	n := max(1, to-from)
	if f.Burst == nil || n > *f.Burst {
		f.Burst = new(n)
		f.shown["burst"] = witness{first.N, fmt.Sprintf("%d requests came after the wait told by arrival %d had ended and before the first of them, %s, had its answer",
			n, w.N, named{first})}
	}
}

// rest measures the silence after each refusal without a valid wait.
func (f *findings) rest(arrivals []*journal.Arrival, slack time.Duration) {
	var refusals []*journal.Arrival
	for _, a := range arrivals {
		if refused(a) && until(a).IsZero() && !a.Sent.IsZero() {
			refusals = append(refusals, a)
		}
	}
	slices.SortStableFunc(refusals, func(a, b *journal.Arrival) int { return a.Sent.Compare(b.Sent) })
	again := nextOnConn(arrivals)
	s := silences{arrivals: arrivals}
	for _, r := range refusals {
		if end, silence, ok := s.after(r.Sent, slack); ok {
			f.rested(r, end, silence)
		}
		if next := again[r]; next != nil {
			f.rested(r, next, max(0, next.At.Sub(r.Sent)))
		}
	}
}

// silences finds the longest silence in a window that moves forward over arrivals, each of
// which it looks at twice.
type silences struct {
	arrivals []*journal.Arrival
	from, to int   // the first arrival after the window's begin, and the first after its end
	longest  []int // the arrivals that end a silence, none shorter than a later one in the window
}

// after is the longest silence that began from a moment on and at most slack later, and the
// arrival that ended it; false: nothing came after that. The moments come in their order.
func (s *silences) after(moment time.Time, slack time.Duration) (*journal.Arrival, time.Duration, bool) {
	for s.from < len(s.arrivals) && !s.arrivals[s.from].At.After(moment) {
		s.from++
	}
	edge := moment.Add(slack)
	for s.to < len(s.arrivals) && !s.arrivals[s.to].At.After(edge) {
		s.to++
		s.add(s.to)
	}
	for len(s.longest) > 0 && s.longest[0] <= s.from {
		s.longest = s.longest[1:]
	}
	if s.to == len(s.arrivals) {
		return nil, 0, false
	}
	end, silence := s.arrivals[s.from], s.arrivals[s.from].At.Sub(moment)
	if len(s.longest) > 0 && s.before(s.longest[0]) > silence {
		end, silence = s.arrivals[s.longest[0]], s.before(s.longest[0])
	}
	return end, silence, true
}

// before is the silence before arrival i.
func (s *silences) before(i int) time.Duration { return s.arrivals[i].At.Sub(s.arrivals[i-1].At) }

func (s *silences) add(i int) {
	if i == len(s.arrivals) {
		return
	}
	for len(s.longest) > 0 && s.before(s.longest[len(s.longest)-1]) < s.before(i) {
		s.longest = s.longest[:len(s.longest)-1]
	}
	s.longest = append(s.longest, i)
}

// refused is whether an answer refused a request, or an item of it.
func refused(a *journal.Arrival) bool {
	return a.Refused != "" || slices.ContainsFunc(a.Items, func(it journal.Item) bool { return it.Refused != "" })
}

// nextOnConn is, for each arrival, the next on the same HTTP/1 connection: that one cannot
// have been sent before the answer had come.
func nextOnConn(arrivals []*journal.Arrival) map[*journal.Arrival]*journal.Arrival {
	next, last := map[*journal.Arrival]*journal.Arrival{}, map[int64]*journal.Arrival{}
	for _, a := range arrivals {
		if a.Conn == 0 || !strings.HasPrefix(a.Proto, "HTTP/1") {
			continue
		}
		if before := last[a.Conn]; before != nil {
			next[before] = a
		}
		last[a.Conn] = a
	}
	return next
}

// rested notes one rest after a refusal.
func (f *findings) rested(refusal, end *journal.Arrival, silence time.Duration) {
	s := decimals(silence.Seconds())
	if f.RestS != nil && *f.RestS <= s {
		return
	}
	f.RestS = &s
	f.shown["rest_s"] = witness{end.N, fmt.Sprintf("%s came when %s had been refused without a wait, after a silence of only %s",
		named{end}, named{refusal}, short(silence))}
}
