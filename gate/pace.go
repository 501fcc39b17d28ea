package gate

import (
	"encoding/json"
	"math"
	"time"

	"github.com/dogear/dogear"
)

// The law of the pace, in what is built of it so far:
//
//  1. Nothing known: go with all the concurrency that the user gave.
//  2. A throttle closes the scope; learning happens only when the probe has succeeded.
//  3. What a cycle got through is N/T, T from wait end to wait end; it is the pace of the next.
//  4. Between a pace that was sustained and one that was refused, try the middle, until they
//     are close.
//  5. Hold: creep from the sustained pace up by 2 % over H requests, then grow. H is chosen
//     so that each event is paid for before the next is risked.
//  6. Telling a fluke from a quota that fell; learnt concurrency caps. In [pace.learn] too.
const (
	margin   = 0.01  // below what was measured
	back     = 0.015 // below what was refused
	creep    = 0.02  // over a hold
	perEvent = 0.005 // refusals a request that are worth learning from
	lostTime = 0.012 // share of time that waits may cost
	minHold  = 10
	narrow   = 1.04    // a bracket that is no wider is not tried any more
	trial    = 2.2     // bursts that a pace has to last
	maxRate  = 1 << 20 // requests a second: beyond this nothing is learnt
	catchUp  = 5 * time.Millisecond
)

// A pace is what a scope has learnt. All instants are on the ledger's clock, in nanoseconds.
// The zero value knows nothing.
type pace struct {
	TAT   int64   `json:"tat,omitempty"`   // the earliest next admission (GCRA's theoretical arrival time)
	Lo    float64 `json:"lo,omitempty"`    // a pace that was sustained, in requests a second; 0 is unknown
	Hi    float64 `json:"hi,omitempty"`    // a pace that was refused; 0 is unknown
	Hold  float64 `json:"hold,omitempty"`  // answered requests at Lo before it may grow by more than the creep
	Held  int     `json:"held,omitempty"`  // admissions since the last resume that the pace held back
	T0    int64   `json:"t0,omitempty"`    // start of the cycle: the last probe's admission, or the first one
	Last  int64   `json:"last,omitempty"`  // the last admission
	N     float64 `json:"n,omitempty"`     // what the answers in the cycle that were no throttles cost
	B     float64 `json:"b,omitempty"`     // the first cycle's N
	Twice bool    `json:"twice,omitempty"` // more than one cycle was learnt from
	Win   int     `json:"win,omitempty"`   // ramp of the concurrency after a probe; 0 is off

	// Of the open event:
	X   int64   `json:"x,omitempty"`   // receipt of its first throttle; 0 where there is none
	Px  float64 `json:"px,omitempty"`  // the pace at which the refused request was admitted; 0 if none
	Ref int     `json:"ref,omitempty"` // refusals

	Steer  steer `json:"steer,omitzero"`   // what the service tells is left
	Slowed bool  `json:"slowed,omitempty"` // that has held this cycle back
	Doubt  int   `json:"doubt,omitempty"`  // events in a row that it did not prevent

	Heard int64  `json:"heard,omitempty"` // when an answer last came
	By    uint32 `json:"by,omitempty"`    // to which gate
	Lost  uint32 `json:"lost,omitempty"`  // the gate whose request was the last sign of an outage

	// Flying is the scope's requests in flight, filled in from the docket.
	Flying int `json:"-"`
	// Beside says that another scope of the request that is admitted is held back.
	Beside bool `json:"-"`
}

// heardElsewhere reports whether another gate than this one has had an answer since a moment.
func (p *pace) heardElsewhere(self uint32, since time.Time) bool {
	return p.By != self && p.Heard > since.UnixNano()
}

// paceOf reads what the scope has learnt. What another version wrote and this one cannot
// read is as good as nothing learnt.
func paceOf(s *dogear.Scope) *pace {
	p := &pace{}
	if len(s.Pace) > 0 && json.Unmarshal(s.Pace, p) != nil {
		p = &pace{}
	}
	if !(p.Lo >= 0 && p.Lo < maxRate) {
		p.Lo = maxRate
	}
	if s.Rebooted { // instants of another boot mean nothing
		p.TAT, p.T0, p.Last, p.N, p.X, p.Heard, p.Steer = 0, 0, 0, 0, 0, 0, steer{}
	}
	p.Flying = s.InFlight
	return p
}

func (p *pace) store(s *dogear.Scope) {
	blob, err := json.Marshal(p)
	if err != nil { // only NaN and infinities, which no path below makes
		panic(err)
	}
	s.Pace = blob
	s.Rebooted = false
}

// rate is the pace that is agreed or learnt, in requests a second; 0 is unbounded.
func (p *pace) rate(agreed float64) float64 {
	switch {
	case agreed > 0:
		return agreed
	case p.Lo == 0:
		return 0
	}
	if p.wide() {
		if p.Hi > 4*p.Lo {
			return math.Sqrt(p.Lo * p.Hi)
		}
		return (p.Lo + p.Hi) / 2
	}
	answered := float64(p.answered())
	if answered < p.Hold {
		return p.Lo * (1 + creep*answered/p.Hold)
	}
	accel := math.Max(8, p.B/2)
	if !p.Twice { // the first cycle's pace may be far too low
		accel = math.Max(5, p.B/4)
	}
	return math.Min(maxRate, p.Lo*(1+creep*math.Exp2(math.Min(40, (answered-p.Hold)/accel))))
}

// wide reports whether there is a middle to try between what was sustained and refused.
func (p *pace) wide() bool { return p.Hi > narrow*p.Lo }

// answered counts the admissions that the pace held back and that were answered: what is
// still in flight proves nothing.
func (p *pace) answered() int { return max(0, p.Held-p.Flying) }

// next is the earliest moment that the pace allows, at or after now.
func (p *pace) next(now time.Time, agreed float64, burst int) time.Time {
	at := p.Steer.next(now.UnixNano())
	if r := p.rate(agreed); r > 0 {
		tat := p.TAT
		if agreed > 0 && burst > 1 {
			tat -= int64(float64(burst-1) * gap(r))
		}
		at = max(at, tat)
	}
	if t := time.Unix(0, at); t.After(now) {
		return t
	}
	return now
}

// gap is the time between two requests, in nanoseconds. It saturates at 73 years.
func gap(rate float64) float64 { return math.Min(float64(time.Second)/rate, math.MaxInt64/4) }

// admit takes the cost of one request from the pace.
func (p *pace) admit(now time.Time, agreed, cost float64) {
	at := now.UnixNano()
	r := p.rate(agreed)
	p.skipIdle(at, r)
	slowed := p.steered(at, cost)
	if r == 0 {
		return
	}
	g := gap(r)
	if !slowed && float64(at) < float64(p.TAT)+math.Max(float64(catchUp), g/4) {
		p.Held++ // else it was short of work, which is no evidence
		if agreed == 0 && p.wide() && float64(p.answered()) >= math.Max(minHold, trial*p.B) {
			p.Lo, p.Held = r, 0 // it lasted
		}
	}
	slack := math.Min(float64(catchUp), g/2)
	p.TAT = max(p.TAT, at-int64(slack)) + int64(math.Min(g*cost, math.MaxInt64/4))
}

// idle is how long nothing must have been asked for before a pause counts as one.
const idle = time.Second

// skipIdle notes an admission. A pause in which nobody wanted to send is no part of the
// cycle: a job of today does not make what was learnt of yesterday's slower.
func (p *pace) skipIdle(at int64, rate float64) {
	since := p.Last
	if rate > 0 {
		since = max(since, p.TAT)
	}
	if pause := at - since; p.T0 == 0 {
		p.T0 = at
	} else if p.Flying == 0 && pause > int64(idle) {
		p.T0 += pause
	}
	p.Last = at
}

// giveBack returns what a request took that surely never left.
func (p *pace) giveBack(granted time.Time, agreed, cost float64) {
	if r := p.rate(agreed); r > 0 {
		p.TAT -= int64(math.Min(gap(r)*cost, math.MaxInt64/4))
	}
	p.Steer.giveBack(granted, cost)
}

// refused notes a throttle. First is whether it opens an event that no probe met.
func (p *pace) refused(now time.Time, at float64, first bool) {
	if !first {
		p.Ref++
		return
	}
	p.X, p.Px, p.Ref = now.UnixNano(), at, 1
}

// learn is run once an event, when its probe has succeeded: notBefore is when the wait had
// ended and probed when the probe was admitted, which may be long after.
func (p *pace) learn(now, notBefore, probed time.Time, agreed float64, burst int) {
	defer func() {
		p.N, p.T0, p.Last = 0, probed.UnixNano(), probed.UnixNano()
		p.Held, p.X, p.Px, p.Ref, p.Slowed = 0, 0, 0, 0, false
		p.Win = 1
		if r := p.rate(agreed); r > 0 { // an agreed burst has to fill again
			p.TAT = probed.UnixNano() + int64(gap(r)*float64(max(1, burst)))
		}
	}()
	n := p.N
	// A wait that nobody's admission met, or a cycle that shows no rate of its own.
	if p.X == 0 || n == 0 || !p.shows(n) {
		return
	}
	whole := math.Max(1e-3, seconds(notBefore.UnixNano()-p.T0))
	lost := seconds(notBefore.UnixNano() - p.X + now.UnixNano() - probed.UnixNano())
	open := n / math.Max(1e-3, math.Max(whole/2, whole-lost)) // the rate while it was open
	got := n / whole
	if p.Lo == 0 {
		p.B = min(n, 2000)
		p.Lo = got * (1 - margin)
		p.Hold = minHold
	} else {
		p.Twice = true
		p.Lo, p.Hi = afterRefusal(p.Lo, p.Px, got)
		p.Hold = math.Max(2*minHold, math.Max(float64(p.Ref)/perEvent, lost*math.Min(p.Lo, open)/lostTime))
	}
	p.Lo = math.Min(math.Max(p.Lo, 1e-6), maxRate)
}

// afterRefusal is the bracket after pace px was refused in a cycle that got through at the
// rate got, where lo had been sustained before. Zero px: nobody knows at which.
func afterRefusal(lo, px, got float64) (newLo, newHi float64) {
	switch {
	case px == 0:
		return got * (1 - margin), 0
	case px > 1.05*lo: // refused above what is sustained: lo stands, or what the cycle proved
		return math.Max(lo, math.Min(got, px*(1-back))), px
	case got < 0.9*lo: // much less came through: the quota is smaller than was thought
		return math.Max(got*(1-margin), lo/2), lo
	default:
		return math.Min(px*(1-back), math.Max(got, lo)), 0
	}
}

// succeeded notes an answer that was no throttle. The ramp ends where it stops to bind.
func (p *pace) succeeded(current bool, concurrency int, cost float64) {
	p.N += cost
	if current && p.Win > 0 {
		if p.Win++; p.Win >= concurrency {
			p.Win = 0
		}
	}
}

func seconds(ns int64) float64 { return float64(ns) / float64(time.Second) }
