package plan

import (
	"math/big"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
)

// A Quota is what one scope key stands for, with what is counted against it.
type Quota struct {
	Key   string
	Scope *profile.Scope // nil: the profile knows none
	// By says who has said which requests share it, where that is not the profile.
	By     dogear.Confirmation
	Bounds []*Bound

	stated    bool // the user says so on the command line
	loads     []int
	documents int64
}

// Confirmed reports whether it is known which requests share the quota (W6).
func (q *Quota) Confirmed() bool { return q.stated || q.By.OK() || q.Scope.Confirmed() }

// Name is the scope's name in the profile, else its key.
func (q *Quota) Name() string {
	if q.Scope != nil {
		return q.Scope.Name
	}
	return q.Key
}

// An Origin is where a limit comes from.
type Origin uint8

// The origins.
const (
	Written Origin = iota // in the profile
	Stated                // by the user of the plan
	Agreed                // with the scope's confirmation, in the ledger
	Own                   // dogear's own
)

// Missing is what is not known and needed to compute a limit.
type Missing uint8

// What can be missing.
const (
	Nothing Missing = iota
	Sizes
	Latency
)

// A Bound is one limit, and what it means for the documents that are counted against it.
type Bound struct {
	Quota *Quota
	profile.Limit
	Origin Origin
	// Needs is what the documents take of it in all, in its unit; nil: that is not known.
	Needs *big.Rat
	// Missing is why nothing can be computed. UpTo is then what may be at most, so that the
	// deadline is kept: bytes a document on average, or nanoseconds an answer. Zero: unknown.
	Missing Missing
	UpTo    int64
	// Shortest is when the last request may leave at the earliest; for requests at a time,
	// when its answer is there. Never: some request alone is more than the limit lets through.
	Shortest time.Duration
	Never    bool
	// Done is how many of the quota's documents the limit lets through by the deadline.
	Done int64
	// Binding says that no other limit takes longer.
	Binding bool

	amount *big.Rat // as it is reckoned with
	span   *big.Rat // its window in nanoseconds; of requests at a time, the latency
	burst  *big.Rat // nil: it is a window
	smooth bool     // the burst was not said: one request or batch always goes
	exact  *big.Rat // Shortest
}

// firm reports whether the limit is known well enough to decide.
func (b *Bound) firm() bool { return b.Origin != Written || b.Known == profile.Documented }

// bounds are the limits of a quota, but for the pace that was said on the command line.
func (a *Ask) bounds(q *Quota, p *profile.Profile) []*Bound {
	var out []*Bound
	tier, _ := a.tier()
	if q.Scope != nil && p != nil {
		for _, l := range p.Limits(q.Scope, tier) {
			out = append(out, &Bound{Limit: l, Origin: Written, amount: ratOf(l.Amount)})
		}
	}
	if s := a.Scopes[q.Key]; s.Confirmed.OK() && !confirmedByProfile(s) {
		if s.Rate > 0 {
			out = append(out, rateBound(Rate{ratOf(s.Rate), time.Second, int64(s.Burst)}, Agreed))
		}
		if s.Concurrency > 0 && a.Latency > 0 {
			out = append(out, &Bound{Limit: profile.Limit{Unit: profile.Concurrent, Amount: float64(s.Concurrency)}, Origin: Agreed, amount: ratInt(int64(s.Concurrency))})
		}
	}
	for _, b := range out {
		b.Quota = q
		a.reckon(b)
	}
	return out
}

// confirmedByProfile reports whether what the ledger has of a scope was put there by a run, from
// a profile.
func confirmedByProfile(s dogear.Scope) bool {
	return len(s.Confirmed.By) > 8 && s.Confirmed.By[:8] == "profile "
}

func rateBound(r Rate, from Origin) *Bound {
	amount, _ := r.Amount.Float64()
	return &Bound{Limit: profile.Limit{Unit: profile.Requests, Amount: amount, Per: r.Per, Burst: int(r.Burst)}, Origin: from, amount: r.Amount, smooth: r.Burst == 0}
}

// reckon prepares a limit for arithmetic.
func (a *Ask) reckon(b *Bound) {
	b.span = spanOf(b.Per)
	switch {
	case b.Unit == profile.Concurrent:
		b.span = spanOf(a.Latency)
		if a.Latency == 0 {
			b.Missing = Latency
		}
	case b.smooth:
		b.burst = ratInt(1)
	case b.Burst > 0 && b.Unit != profile.Bytes:
		b.burst = ratInt(int64(b.Burst))
	}
}

// most is what the limit lets through at once.
func (b *Bound) most() *big.Rat {
	if b.burst != nil {
		return b.burst
	}
	return b.amount
}
