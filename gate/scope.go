package gate

import (
	"math"
	"time"

	"github.com/dogear/dogear"
)

// A policy is what was agreed for waits without a valid hint (W4).
type policy struct {
	base, max time.Duration
	// jitter is a number in [0, 1), drawn once a decision.
	jitter func() float64
}

// step is the wait of the nth event in a row without a hint: exponential with equal jitter,
// never less than half a step and never more than max.
func (p policy) step(streak int) time.Duration {
	full := float64(p.base) * math.Exp2(float64(min(max(streak-1, 0), 62)))
	full = math.Min(full, float64(p.max))
	return time.Duration(full * (0.5 + p.jitter()/2))
}

// A stake is what a permit holds of one scope.
type stake struct {
	generation int64
	probe      bool
	granted    time.Time // ledger's clock
	rate       float64   // the pace at the grant; 0 is unbounded
	cost       float64   // what it took of the pace
}

// A reply is what came back, as far as a scope is concerned.
type reply struct {
	kind     replyKind
	hint     time.Duration // counted from at; valid only if hinted
	hinted   bool
	atLeast  time.Duration   // the least that a back-off waits
	waits    []time.Duration // documented for want of a hint, by events in a row; the last repeats
	partly   bool            // a batch of which the service took some items: the row of events begins anew
	received time.Time       // ledger's clock
	by       string          // who met it
}

type replyKind uint8

const (
	answered   replyKind = iota // any HTTP answer that closes nothing
	headOnly                    // the same, while the body is still coming
	throttling                  // the service asks to wait
	down                        // the origin does not answer at all
	serverFail                  // a 5xx that is no throttle
	silent                      // no answer, or nobody saw it
	unsent                      // surely never left
)

// least is the least that the nth event in a row without a hint waits: what the answer shows
// all the same, and the penalty that the service documents. That is no hint: it comes with no
// answer, so events that are waited out by it count towards the bound (W4).
func (r reply) least(streak int) time.Duration {
	if r.hinted || len(r.waits) == 0 {
		return r.atLeast
	}
	return max(r.atLeast, r.waits[min(max(streak, 1), len(r.waits))-1])
}

// next reports when the scope's next request may leave. It reads no clock and changes
// nothing. Blocked means that no moment is known: only a settlement can tell.
func next(s *dogear.Scope, p *pace, now time.Time) (at time.Time, blocked bool) {
	if now.Before(s.NotBefore) {
		return s.NotBefore, false
	}
	if s.Probing {
		return now, s.Probe != 0
	}
	if s.InFlight >= concurrency(s) || p.Win > 0 && s.InFlight >= p.Win {
		return now, true
	}
	return p.next(now, s.Rate, s.Burst), false
}

func concurrency(s *dogear.Scope) int {
	if s.Concurrency > 0 {
		return s.Concurrency
	}
	return dogear.DefaultConcurrency
}

// freeProbe gives a probe back whose holder died: it may be sent again after one step.
func freeProbe(s *dogear.Scope, now time.Time, pol policy, live func(int64) bool) {
	if s.Probe != 0 && !live(s.Probe) {
		s.Probe = 0
		later(s, now.Add(pol.step(max(1, s.Streak))))
	}
}

// never is where waits saturate: the last instant that fits 64 bits of nanoseconds.
var never = time.Unix(0, math.MaxInt64)

// later moves the end of the wait, never earlier (W2).
func later(s *dogear.Scope, t time.Time) bool {
	if t.After(never) {
		t = never
	}
	if t.After(s.NotBefore) {
		s.NotBefore = t
		return true
	}
	return false
}

// admit takes one request numbered n from the scope, which next has just allowed.
func admit(s *dogear.Scope, p *pace, now time.Time, n int64, cost float64) stake {
	st := stake{generation: s.Generation, granted: now, rate: p.rateAt(now.UnixNano(), s.Rate), cost: cost}
	if s.Probing {
		st.probe = true
		s.Probe = n
	} else {
		p.admit(now, s.Rate, cost)
	}
	s.InFlight++
	p.Flying++
	return st
}

// settle applies one reply to a scope. What ended is no longer in flight but for headOnly.
func settle(s *dogear.Scope, p *pace, now time.Time, st stake, r reply, pol policy) {
	current := st.generation == s.Generation
	probe := st.probe && current && s.Probing
	switch r.kind {
	case throttling:
		if !current {
			late(s, p, now, r)
			return
		}
		event(s, p, now, st, r, pol)
		return
	case down:
		if current {
			event(s, p, now, st, r, pol)
		}
		return
	}
	switch {
	case probe && s.Cause == dogear.ByOutage && (r.kind == serverFail || r.kind == silent):
		r.kind = down // the outage goes on
		event(s, p, now, st, r, pol)
	case probe && r.kind == unsent:
		s.Probe = 0
	case probe && r.kind == silent:
		s.Probe = 0
		later(s, now.Add(pol.step(max(1, s.Streak))))
	case probe:
		reopen(s, p, now, st)
		if r.kind != headOnly { // else its end will count it
			p.N += st.cost
		}
	case r.kind == unsent:
		p.giveBack(st.granted, s.Rate, st.cost)
	case r.kind == answered || r.kind == serverFail:
		if current && !s.Probing { // an answer of before the wait is no success of the scope
			s.Streak = 0
		}
		p.succeeded(current && !s.Probing && !st.probe, concurrency(s), st.cost)
	}
}

// reopen ends the wait: the probe was answered. What was told is left before it went is out
// of date.
func reopen(s *dogear.Scope, p *pace, now time.Time, probe stake) {
	p.learn(now, s.NotBefore, probe.granted, s.Rate, s.Burst)
	s.Probing, s.Probe, s.Streak = false, 0, 0
	s.Hinted, s.Cause, s.SetBy = false, dogear.NoCause, ""
	if p.Steer.At < probe.granted.UnixNano() {
		p.Steer = steer{At: p.Steer.At}
	}
}

// late is a throttle whose permit was granted before an event that is already counted: a
// valid hint may move the wait later, and nothing else moves (W9). A scope that had opened
// meanwhile is closed again, with a probe after it.
func late(s *dogear.Scope, p *pace, now time.Time, r reply) {
	p.refused(now, 0, false)
	if !r.hinted || !later(s, r.received.Add(r.hint)) {
		return
	}
	if s.NotBefore.After(now) && !s.Probing {
		s.Probing, s.Probe = true, 0
	}
	s.Cause, s.SetBy = dogear.ByHint, r.by
}

// event closes the scope: generation, count in a row, back-off and what is learnt of the
// pace move once, here.
func event(s *dogear.Scope, p *pace, now time.Time, st stake, r reply, pol policy) {
	s.Generation++
	if r.partly {
		s.Streak = 0
	}
	s.Streak++
	s.Hinted = r.hinted
	s.Probing, s.Probe = true, 0
	s.SetBy = r.by
	s.Cause = dogear.ByBackoff
	if r.kind == down { // an outage teaches nothing of a pace
		s.Cause = dogear.ByOutage
		p.X = 0
	} else {
		p.refused(now, st.rate, !st.probe)
	}
	until := now
	if r.hinted {
		until = r.received.Add(r.hint)
		s.Cause = dogear.ByHint
	}
	if !r.hinted || s.Streak > 1 {
		if step := now.Add(max(pol.step(s.Streak), r.least(s.Streak))); step.After(until) {
			until = step
			if r.hinted {
				s.Cause = dogear.ByBackoff
			}
		}
	}
	later(s, until)
}
