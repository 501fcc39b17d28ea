package gate

import (
	"math"
	"time"
)

// Where a profile says that its service means it, what an answer tells is left of a quota
// steers the pace before anything is refused: what is left is spread over the time that is
// left. That is pace and no wait: it closes nothing and moves no not_before (W10), holds back
// no probe, and teaches nothing.
const (
	// plenty is the share of a quota beyond which what is left does not steer: a job that is
	// smaller than the quota is not slowed. It is where SharePoint begins to tell.
	plenty = 0.2
	// rounding is what a reset may be off by: it is told in whole seconds, and nobody says
	// whether they are rounded up or down. A reset of no more tells nothing.
	rounding = time.Second
	// longest is the longest reset that is believed: one of decades is a moment in the wrong
	// unit. Who counts by the day says so by refusing.
	longest = time.Hour
)

// A left is what an answer tells of a scope's quota, in what the scope counts.
type left struct {
	remaining float64
	limit     float64       // negative where it is not said
	reset     time.Duration // from the receipt of the answer until there is more
}

// bound is what that means for a scope in which so many requests may be in flight, which the
// answer does not count.
func (l left) bound(received time.Time, abreast int) steer {
	b := steer{At: received.UnixNano()}
	if l.limit > 0 && l.remaining-float64(abreast) > plenty*l.limit {
		return b
	}
	until := received.Add(l.reset).Add(rounding)
	if until.After(never) {
		until = never
	}
	b.Until = until.UnixNano()
	b.Rate = math.Min(maxRate, math.Max(1, l.remaining)/l.reset.Seconds())
	if l.remaining < 1 {
		b.Next = b.Until
	}
	return b
}

// A steer is the latest that was told of a scope, as far as it binds. Its instants are as in
// [pace]; the zero value binds nothing.
type steer struct {
	At    int64   `json:"at,omitempty"`    // receipt of the answer that told it
	Until int64   `json:"until,omitempty"` // then there is more, and it is forgotten
	Rate  float64 `json:"rate,omitempty"`  // at most so many a second; 0 is no bound
	Next  int64   `json:"next,omitempty"`  // the earliest next admission
}

func (t *steer) binds(at int64) bool { return t.Rate > 0 && at < t.Until }

// hear takes what an answer tells. The latest answer counts, and of several budgets in one
// the strictest. What is owed of the gap before the next admission stays owed, at the new
// rate: answers that follow each other do not make a burst.
func (t *steer) hear(now time.Time, said steer) {
	if said.At < t.At {
		return
	}
	at := now.UnixNano()
	binds := t.binds(at)
	if said.At == t.At && binds && (said.Rate == 0 || said.Rate >= t.Rate) {
		t.Next = max(t.Next, said.Next)
		return
	}
	if owed := float64(t.next(at)-at) * t.Rate; binds && owed > 0 && said.Rate > 0 {
		said.Next = max(said.Next, min(said.Until, at+int64(math.Min(owed/said.Rate, math.MaxInt64/4))))
	}
	*t = said
}

// next is the earliest moment at or after at that it allows.
func (t *steer) next(at int64) int64 {
	if !t.binds(at) {
		return at
	}
	return max(at, min(t.Next, t.Until))
}

// giveBack returns what an admission took that surely never left; an admission of before it
// was told took nothing of it.
func (t *steer) giveBack(granted time.Time, cost float64) {
	if t.Rate > 0 && granted.UnixNano() > t.At && t.Next < t.Until {
		t.Next -= int64(math.Min(gap(t.Rate)*cost, math.MaxInt64/4))
	}
}

// held reports whether an admission had to wait for that, rather than for work or for the
// pace that is agreed or learnt.
func (p *pace) held(at int64) bool {
	t := &p.Steer
	return t.Rate > 0 && t.Next > p.TAT &&
		float64(at) < float64(min(t.Next, t.Until))+math.Max(float64(catchUp), gap(t.Rate)/4)
}

// steered takes one admission from what is left, and reports whether that, or what is left in
// another scope of the request, had held it back. A cycle in which it did shows no pace: one
// is measured anew when that is over.
func (p *pace) steered(at int64, cost float64) (held bool) {
	t := &p.Steer
	held = p.held(at) || p.Beside
	if t.binds(at) {
		g := gap(t.Rate)
		slack := math.Min(float64(catchUp), g/2)
		t.Next = min(t.Until, max(t.Next, at-int64(slack))+int64(math.Min(g*cost, math.MaxInt64/4)))
	} else {
		*t = steer{At: t.At}
	}
	switch {
	case held:
		p.Slowed = true
	case p.Slowed && t.Rate == 0:
		p.T0, p.N, p.Slowed, p.Doubt = at, 0, false, 0
	}
	return held
}

// shows reports whether a cycle of n answers, which has ended in a refusal, shows a pace. One
// that was held back does not, unless it is the third in a row to be refused soon: then
// another quota refuses than the one that is told of.
func (p *pace) shows(n float64) bool {
	if !p.Slowed || n > 2*minHold {
		p.Doubt = 0
		return !p.Slowed
	}
	p.Doubt++
	return p.Doubt > 2
}

// rateAt is the pace that holds at a moment, in requests a second; 0 is unbounded.
func (p *pace) rateAt(at int64, agreed float64) float64 {
	r := p.rate(agreed)
	if p.Steer.binds(at) && (r == 0 || p.Steer.Rate < r) {
		return p.Steer.Rate
	}
	return r
}
