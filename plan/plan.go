package plan

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
)

// A Plan is what can be said of a batch before it starts.
type Plan struct {
	Documents int64
	// Sent is how many requests are needed, and Batches how many of them hold several
	// documents. Listing pages are not among them: no profile says how many those are.
	Sent, Batches int64
	// Size is how many documents are read in one batch; zero: batches are not used. Fits is
	// the largest number of them that each limit lets through at once, of at most Most.
	Size, Fits, Most int64
	// Smallest is the limit that keeps Fits below Most; nil: none.
	Smallest *Bound

	Quotas []*Quota // in key order
	Bounds []*Bound // of all quotas, in the same order
	// Known says that some limit could be computed. Shortest is then the time that all such
	// limits allow at once, and what the last answer takes where that is known; Never that it
	// cannot be done at all.
	Known    bool
	Shortest time.Duration
	Never    bool
	// Binding is the limit that takes longest; nil: all may leave at once.
	Binding *Bound
	// Done is how many documents are done by the deadline.
	Done    int64
	Verdict Verdict
	Reasons []Reason

	ask     Ask
	shapes  []shape    // of the loads, in their order
	against [][]*Quota // the quotas of each load
	firm    bool       // by firm limits alone the deadline is kept
	exact   *big.Rat   // Shortest
}

// New makes a plan. Its error says what in the question contradicts itself.
func New(a Ask) (*Plan, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	p := &Plan{ask: a}
	for i := range p.ask.Loads {
		l := &p.ask.Loads[i]
		p.Documents = sum(p.Documents, l.Documents)
		p.shapes = append(p.shapes, shape{Load: l, ask: &p.ask, requests: max(1, a.Requests)})
	}
	p.quotas()
	if a.Cost != nil && !slices.ContainsFunc(p.Bounds, func(b *Bound) bool { return b.Unit == profile.Units }) {
		return nil, errors.New("no limit here counts in units: what a document costs means nothing (--cost)")
	}
	p.batches()
	for i := range p.shapes {
		s := &p.shapes[i]
		p.Sent, p.Batches = sum(p.Sent, s.sent(s.Documents)), sum(p.Batches, s.batches(s.Documents))
	}
	for _, q := range p.Quotas {
		for _, b := range q.Bounds {
			p.compute(b)
		}
	}
	p.together()
	p.judge()
	return p, nil
}

// quotas finds what the documents are counted against, and its limits.
func (p *Plan) quotas() {
	byKey := map[string]*Quota{}
	owner := map[string]*profile.Profile{}
	p.against = make([][]*Quota, len(p.ask.Loads))
	for i, l := range p.ask.Loads {
		members := l.Members
		if len(members) == 0 { // whatever it is that the user speaks of
			members = []profile.Membership{{}}
		}
		for _, m := range members {
			q := byKey[m.Key]
			if q == nil {
				q = &Quota{Key: m.Key, Scope: m.Scope, By: p.ask.Scopes[m.Key].Confirmed, stated: p.ask.Scoped != "" || m.Key == "" && p.ask.Rate != nil}
				byKey[m.Key], owner[m.Key] = q, l.Profile
				p.Quotas = append(p.Quotas, q)
			}
			q.loads, q.documents = append(q.loads, i), sum(q.documents, l.Documents)
			p.against[i] = append(p.against[i], q)
		}
	}
	slices.SortFunc(p.Quotas, func(a, b *Quota) int { return strings.Compare(a.Key, b.Key) })
	for _, q := range p.Quotas {
		q.Bounds = p.ask.bounds(q, owner[q.Key])
	}
	// The user's own figures are of the narrowest quota of each load.
	said := map[*Quota]bool{}
	for _, quotas := range p.against {
		q := slices.MinFunc(quotas, func(a, b *Quota) int {
			return cmp.Or(cmp.Compare(a.documents, b.documents), cmp.Compare(b.width(), a.width()))
		})
		if !said[q] {
			p.stated(q)
		}
		said[q] = true
	}
	for _, q := range p.Quotas {
		p.Bounds = append(p.Bounds, q.Bounds...)
	}
}

// width is how many parts the quota's key has.
func (q *Quota) width() int {
	if q.Scope == nil {
		return 1
	}
	return len(q.Scope.Key)
}

// stated adds what the user of the plan has said, and what dogear does by itself.
func (p *Plan) stated(q *Quota) {
	var more []*Bound
	if p.ask.Rate != nil {
		more = append(more, rateBound(*p.ask.Rate, Stated))
	}
	if p.ask.Latency > 0 {
		n, from := p.ask.Concurrency, Stated
		if n == 0 {
			n, from = dogear.DefaultConcurrency, Own
		}
		more = append(more, &Bound{Limit: profile.Limit{Unit: profile.Concurrent, Amount: float64(n)}, Origin: from, amount: ratInt(n)})
	}
	for _, b := range more {
		b.Quota = q
		p.ask.reckon(b)
		q.Bounds = append(q.Bounds, b)
	}
}

// batches decides how many documents are read in one batch.
func (p *Plan) batches() {
	b := p.ask.batch()
	if b == nil || b.NoMedia {
		return
	}
	p.Most = int64(b.Most)
	p.Fits = p.Most
	any := false
	for i := range p.shapes {
		s := &p.shapes[i]
		if !s.Batched || p.ask.Batch < 0 {
			continue
		}
		any = true
		s.batch = 1 // so that it is charged as a batch
		for _, q := range p.against[i] {
			for _, bound := range q.Bounds {
				c, ok := s.charge(bound)
				if !ok || bound.Missing != Nothing || bound.smooth {
					continue
				}
				n := search(p.Most, func(n int64) bool { return n == 0 || s.once(c, n).Cmp(bound.most()) <= 0 })
				if n < p.Fits {
					p.Fits, p.Smallest = n, bound
				}
			}
		}
	}
	if !any {
		return
	}
	p.Size = max(1, p.Fits)
	if p.ask.Batch > 0 {
		p.Size = p.ask.Batch
	}
	for i := range p.shapes {
		if p.shapes[i].batch > 0 {
			p.shapes[i].batch = p.Size
		}
	}
}

func (p *Plan) of(q *Quota) []shape {
	var out []shape
	for _, i := range q.loads {
		out = append(out, p.shapes[i])
	}
	return out
}

// compute says what one limit means.
func (p *Plan) compute(b *Bound) {
	shapes := p.of(b.Quota)
	need := new(big.Rat)
	for _, s := range shapes {
		c, ok := s.charge(b)
		if !ok {
			b.Missing = Sizes
		}
		need.Add(need, s.total(c, s.Documents))
	}
	if b.Missing != Sizes {
		b.Needs = need
	}
	if b.Missing != Nothing {
		b.UpTo = p.upTo(b, shapes)
		return
	}
	c := p.ask.crowd(shapes, []*Bound{b})
	at, never := c.time()
	if b.Unit == profile.Concurrent {
		at = add(at, b.span)
	}
	b.exact, b.Shortest, b.Never = at, duration(at), never
	if p.ask.Deadline.given() {
		b.Done = c.by(p.ask.Deadline.within)
	}
}

// upTo is how large the documents may be on average, or how long an answer may take, for the
// deadline to be kept under a limit; zero where there is no deadline, or nothing would do.
func (p *Plan) upTo(b *Bound, shapes []shape) int64 {
	end := spanOf(p.ask.Deadline.within)
	if !p.ask.Deadline.given() {
		return 0
	}
	if b.Missing == Latency {
		rounds := ceil(quo(b.Needs, b.amount))
		return floor(quo(end, ratInt(max(1, rounds))))
	}
	latency := spanOf(p.ask.Latency)
	windows := ceil(quo(sub(end, latency), b.span))
	if p.ask.Latency > 0 {
		windows = sum(floor(quo(sub(end, latency), b.span)), 1)
	}
	if windows < 1 {
		return 0
	}
	atoms, each := int64(0), int64(1)
	for _, s := range shapes {
		n := s.Documents
		if s.batch > 0 {
			n, each = s.batches(n), max(each, s.batch)
		}
		atoms = sum(atoms, n)
	}
	perWindow := product(parts(atoms, windows), each)
	return floor(quo(b.amount, ratInt(perWindow)))
}

// together is the time that all limits allow at once, and what is done by the deadline.
func (p *Plan) together() {
	p.exact = new(big.Rat)
	for _, b := range p.Bounds {
		if b.Missing == Nothing {
			p.Known = true
			p.Never = p.Never || b.Never
			if b.exact.Sign() > 0 && (p.Binding == nil || less(p.Binding.exact, b.exact)) && !b.Never {
				p.Binding = b
			}
		}
	}
	if i := slices.IndexFunc(p.Bounds, func(b *Bound) bool { return b.Never }); i >= 0 {
		p.Binding = p.Bounds[i]
	}
	if p.Binding != nil {
		p.Binding.Binding = true
	}
	at, never := p.longest(func(*Bound) bool { return true })
	p.Never = p.Never || never
	p.exact = add(at, spanOf(p.ask.Latency))
	p.Shortest = duration(p.exact)
	if p.ask.Deadline.given() && p.Known {
		p.Done = p.done()
	}
	firm, never := p.longest((*Bound).firm)
	p.firm = !never && p.kept(firm)
}

// kept reports whether what leaves at a moment is done by the deadline.
func (p *Plan) kept(at *big.Rat) bool {
	c := crowd{latency: spanOf(p.ask.Latency)}
	return c.inTime(at, spanOf(p.ask.Deadline.within))
}

// crowds are those that the limits make: each load under all of its quotas at once, and then each
// quota with all of its loads. A load has its number, a quota none.
func (p *Plan) crowds(counts func(*Bound) bool, visit func(c *crowd, load int, q *Quota)) {
	kept := func(all []*Bound) []*Bound {
		return slices.DeleteFunc(slices.Clone(all), func(b *Bound) bool { return !counts(b) })
	}
	for i, s := range p.shapes {
		var mine []*Bound
		for _, q := range p.against[i] {
			mine = append(mine, q.Bounds...)
		}
		visit(p.ask.crowd([]shape{s}, kept(mine)), i, nil)
	}
	for _, q := range p.Quotas {
		if len(q.loads) > 1 {
			visit(p.ask.crowd(p.of(q), kept(q.Bounds)), -1, q)
		}
	}
}

func (p *Plan) longest(counts func(*Bound) bool) (at *big.Rat, never bool) {
	at = new(big.Rat)
	p.crowds(counts, func(c *crowd, _ int, _ *Quota) {
		t, no := c.time()
		at, never = larger(at, t), never || no
	})
	return at, never
}

// done is what the loads can have done by the deadline: each under its own quotas, and all of one
// quota together no more than it lets through.
func (p *Plan) done() int64 {
	each := make([]int64, len(p.shapes))
	all, least := int64(0), int64(math.MaxInt64)
	p.crowds(func(*Bound) bool { return true }, func(c *crowd, load int, q *Quota) {
		n := c.by(p.ask.Deadline.within)
		if q == nil {
			each[load], all = n, sum(all, n)
			return
		}
		others := all
		for _, i := range q.loads {
			others -= each[i]
		}
		least = min(least, sum(n, max(0, others)))
	})
	return min(all, least)
}
