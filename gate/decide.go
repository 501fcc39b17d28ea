package gate

import (
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/dogear/dogear"
)

// round makes one transaction of all settlements that wait and of the heads that may be
// due. It reports when to look again, and false where nothing was to do.
func (g *Gate) round(ctx context.Context) (next time.Time, did bool, err error) {
	ops, queues, next := g.collect()
	if len(ops) == 0 && len(queues) == 0 {
		return next, false, nil
	}
	d := &decision{gate: g, ops: ops, queues: queues}
	if !g.cfg.Deadline.IsZero() {
		d.left = time.Until(g.cfg.Deadline)
	}
	err = g.cfg.Store.Decide(ctx, d.keys(), d.run)
	g.commit(d, err)
	return time.Time{}, true, err
}

// collect takes what is to be decided now: the settlements, and the due queues.
func (g *Gate) collect() (ops []*op, queues []*queue, next time.Time) {
	now := g.cfg.Store.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	ops, g.ops = g.ops, nil
	// Throttles before everything else, so that nothing is granted that they close.
	sort.SliceStable(ops, func(i, j int) bool {
		return ops[i].reply.kind == throttling && ops[j].reply.kind != throttling
	})
	for _, q := range g.queues {
		switch {
		case len(q.waiters) == 0:
		case len(ops) > 0 && q.blocked, !q.due.After(now), tells(ops, q.keys):
			queues = append(queues, q)
		case next.IsZero() || q.due.Before(next):
			next = q.due
		}
	}
	return ops, queues, next
}

// A decision is the gate's part of one transaction. Nothing of the gate changes until it
// is committed.
type decision struct {
	gate   *Gate
	ops    []*op
	queues []*queue
	left   time.Duration // until the deadline: the ledger's clock may be another than this machine's

	// What run decided; made anew at each call.
	scopes  map[string]*dogear.Scope
	paces   map[string]*pace
	granted []verdict
	asked   map[*queue]asked
	at      time.Time
}

type verdict struct {
	waiter *waiter
	permit *Permit
	err    error
}

type asked struct {
	due     time.Time
	blocked bool
}

func (d *decision) keys() []string {
	var keys []string
	for _, o := range d.ops {
		if o.permit != nil {
			keys = append(keys, o.permit.request.Scopes...)
		}
		keys = append(keys, o.keys...)
	}
	for _, q := range d.queues {
		keys = append(keys, q.keys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// run decides on one docket: first what came back, then who may go.
func (d *decision) run(k *dogear.Docket) {
	d.scopes, d.at = k.Scopes, k.Now
	d.granted, d.asked = nil, map[*queue]asked{}
	paces := make(map[string]*pace, len(k.Scopes))
	d.gate.mu.Lock()
	for key, s := range k.Scopes {
		paces[key] = paceOf(s)
		freeProbe(s, k.Now, d.gate.policy, k.Live)
		if _, ok := d.gate.first[key]; !ok {
			d.gate.first[key] = s.Generation
		}
	}
	d.gate.mu.Unlock()
	for _, o := range d.ops {
		d.apply(k, paces, o)
	}
	d.grant(k, paces)
	for key, s := range k.Scopes {
		paces[key].store(s)
	}
	d.paces = paces
}

// apply settles one reply in every scope that the request belongs to.
func (d *decision) apply(k *dogear.Docket, paces map[string]*pace, o *op) {
	if o.permit == nil {
		o.alone = o.reply.kind == down && slices.ContainsFunc(o.keys, func(key string) bool {
			return paces[key].heardElsewhere(d.gate.self, o.row)
		})
		if o.alone {
			return
		}
		for _, key := range o.keys {
			st := stake{generation: o.since[key], rate: paces[key].rate(k.Scopes[key].Rate)}
			d.settle(k, paces, key, st, o.reply)
		}
		return
	}
	var until time.Time
	for key, st := range o.permit.stakes {
		s, p := k.Scopes[key], paces[key]
		r := o.reply
		if r.kind == throttling && !o.shuts(key) {
			r.kind = answered
		}
		d.settle(k, paces, key, st, r)
		if o.reply.kind == answered || o.reply.kind == headOnly || o.reply.kind == throttling {
			p.Heard, p.By = k.Now.UnixNano(), d.gate.self
		}
		if o.end != nil {
			s.InFlight = max(0, s.InFlight-1)
			p.Flying = s.InFlight
		}
		if o.shuts(key) && s.NotBefore.After(until) {
			until = s.NotBefore
		}
	}
	o.tell(k, paces)
	if o.end == nil {
		return
	}
	end := *o.end
	if o.reply.kind == throttling && until.After(k.Now) {
		end.Until = until
	}
	end.Sent, end.Ended, end.Until = dated(k, end.Sent), dated(k, end.Ended), dated(k, end.Until)
	k.Ends = append(k.Ends, end)
}

// settle settles a reply in one scope, and notes whose request an outage was met by.
func (d *decision) settle(k *dogear.Docket, paces map[string]*pace, key string, st stake, r reply) {
	s := k.Scopes[key]
	before := s.Generation
	settle(s, paces[key], k.Now, st, r, d.gate.policy)
	if s.Generation > before && s.Cause == dogear.ByOutage {
		paces[key].Lost = d.gate.self
	}
}

// dated is a moment of the ledger's clock in wall time. None stays none.
func dated(k *dogear.Docket, at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return k.Wall.Add(at.Sub(k.Now))
}

// grant looks at the heads of the queues, the longest-waiting first. Each is granted by all
// its scopes or by none (W8).
func (d *decision) grant(k *dogear.Docket, paces map[string]*pace) {
	d.gate.mu.Lock()
	heads := make(map[*queue][]*waiter, len(d.queues))
	for _, q := range d.queues {
		heads[q] = slices.Clone(q.waiters)
	}
	d.gate.mu.Unlock()
	open := slices.Clone(d.queues)
	n := k.Next
	for len(open) > 0 && len(k.Grants) < grantsAtOnce {
		i := longestWaiting(open, heads)
		q := open[i]
		if len(heads[q]) == 0 {
			open = slices.Delete(open, i, i+1)
			continue
		}
		w := heads[q][0]
		if err := d.hopeless(k, q.keys, w); err != nil {
			d.granted = append(d.granted, verdict{waiter: w, err: err})
			heads[q] = heads[q][1:]
			continue
		}
		at, blocked := d.ask(k, paces, q.keys)
		if blocked || at.After(k.Now) {
			if blocked { // a process that dies settles nothing: look again
				at = k.Now.Add(lookEvery)
			}
			d.asked[q] = asked{due: at, blocked: blocked}
			open = slices.Delete(open, i, i+1)
			continue
		}
		d.granted = append(d.granted, verdict{waiter: w, permit: d.admit(k, paces, w, n)})
		heads[q] = heads[q][1:]
		n += 1 + int64(len(w.request.Items))
	}
}

// yield is how much later a gate probes a scope whose origin did not answer it: who else
// shares the ledger goes first.
const yield = time.Second / 2

// longestWaiting is the index of the queue whose head came first; an empty queue is first
// of all, to be dropped.
func longestWaiting(open []*queue, heads map[*queue][]*waiter) int {
	best := 0
	for i, q := range open {
		if len(heads[q]) == 0 {
			return i
		}
		if heads[q][0].order < heads[open[best]][0].order {
			best = i
		}
	}
	return best
}

// ask is when all of the scopes allow the next request.
func (d *decision) ask(k *dogear.Docket, paces map[string]*pace, keys []string) (at time.Time, blocked bool) {
	for _, key := range keys {
		s := k.Scopes[key]
		t, b := next(s, paces[key], k.Now)
		if s.Probing && s.Cause == dogear.ByOutage && paces[key].Lost == d.gate.self {
			t = s.NotBefore.Add(yield) // others may reach what this process could not
		}
		if t.After(at) {
			at = t
		}
		blocked = blocked || b
	}
	return at, blocked
}

func (d *decision) admit(k *dogear.Docket, paces map[string]*pace, w *waiter, n int64) *Permit {
	p := &Permit{N: n, gate: d.gate, request: w.request, granted: k.Now, stakes: make(map[string]stake, len(w.request.Scopes))}
	p.request.N = n
	p.request.Granted = k.Wall
	slow(paces, w.request.Scopes, k.Now)
	for _, key := range w.request.Scopes {
		p.stakes[key] = admit(k.Scopes[key], paces[key], k.Now, n, w.request.Cost(key))
	}
	k.Grants = append(k.Grants, p.request)
	for i, r := range w.request.Items {
		r.N, r.Parent, r.Granted, r.Scopes = n+1+int64(i), n, k.Wall, p.request.Scopes
		p.items = append(p.items, &Permit{N: r.N, gate: d.gate, request: r, granted: k.Now})
		k.Grants = append(k.Grants, r)
	}
	return p
}

// hopeless is why a request will not be sent in this gate's time, or nil.
func (d *decision) hopeless(k *dogear.Docket, keys []string, w *waiter) error {
	g := d.gate
	if g.cfg.MaxRequests > 0 && w.request.Job != 0 {
		sent := k.JobSent(w.request.Job)
		for _, r := range k.Grants {
			if r.Job == w.request.Job && r.Kind != dogear.Item {
				sent++
			}
		}
		if sent >= g.cfg.MaxRequests {
			return ErrRequests
		}
	}
	for _, key := range keys {
		s := k.Scopes[key]
		if !s.Probing {
			continue
		}
		met := s.Generation > g.firstMet(key)
		switch {
		case g.cfg.RequireConfirmed && !s.Confirmed.OK() && (s.Cause == dogear.ByHint || s.Cause == dogear.ByBackoff):
			return &UnconfirmedError{Key: key}
		case met && s.Streak >= g.cfg.MaxThrottles && !s.Hinted:
			return &ExhaustedError{Key: key, Streak: s.Streak, Down: s.Cause == dogear.ByOutage}
		case s.NotBefore.After(k.Now) && !g.cfg.Deadline.IsZero() && s.NotBefore.Sub(k.Now) >= d.left:
			return &WaitError{Key: key, NotBefore: dated(k, s.NotBefore)}
		}
	}
	return nil
}

func (g *Gate) firstMet(key string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.first[key]
}

// commit tells everybody what the transaction decided, once it is durable.
func (g *Gate) commit(d *decision, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range d.ops {
		o.err = err
		if o.done != nil {
			close(o.done)
		}
	}
	if err != nil {
		return
	}
	for key, s := range d.scopes {
		h := g.heard[key]
		h.scope, h.pace = *s, *d.paces[key]
		h.generation = max(h.generation, s.Generation)
		g.heard[key] = h
	}
	for q, a := range d.asked {
		q.due, q.blocked = a.due, a.blocked
	}
	for _, q := range d.queues {
		if _, ok := d.asked[q]; !ok {
			q.due, q.blocked = time.Time{}, false
		}
	}
	for _, v := range d.granted {
		if q := g.queues[strings.Join(v.waiter.request.Scopes, "\x00")]; q != nil {
			if i := slices.Index(q.waiters, v.waiter); i >= 0 {
				q.waiters = slices.Delete(q.waiters, i, i+1)
			} else if v.permit != nil {
				// It left while it was decided: nobody will use the permit.
				g.ops = append(g.ops, v.permit.unused()...)
			}
		}
		v.waiter.permit, v.waiter.err = v.permit, v.err
		close(v.waiter.done)
	}
}
