package plan

import (
	"math"
	"math/big"
	"slices"
	"time"
)

// A crowd is what is counted against the same limits.
type crowd struct {
	shapes    []shape
	bounds    []*Bound // that can be computed
	documents int64
	latency   *big.Rat
	alike     bool // all that leaves costs the same: its moments are known one by one
}

func (a *Ask) crowd(shapes []shape, bounds []*Bound) *crowd {
	c := &crowd{shapes: shapes, latency: spanOf(a.Latency), alike: true}
	for _, s := range shapes {
		c.documents = sum(c.documents, s.Documents)
		c.alike = c.alike && s.plain() && s.batch == shapes[0].batch
	}
	for _, b := range bounds {
		if b.Missing != Nothing {
			continue
		}
		first, _ := shapes[0].charge(b)
		for _, s := range shapes[1:] {
			other, _ := s.charge(b)
			c.alike = c.alike && other.same(first)
		}
		c.bounds = append(c.bounds, b)
	}
	return c
}

// train is what so many documents of a crowd that is alike leave as.
func (c *crowd) train(documents int64) *train {
	t := &train{}
	for _, b := range c.bounds {
		charge, _ := c.shapes[0].charge(b)
		c.shapes[0].board(t, b, charge, documents)
	}
	return t
}

// time is when the last request of all may leave; never is true where some cannot.
func (c *crowd) time() (at *big.Rat, never bool) {
	at = new(big.Rat)
	if c.alike {
		t := c.train(c.documents)
		if t.never {
			return at, true
		}
		return t.ends(c.shapes[0].atoms(c.documents)), false
	}
	for _, b := range c.bounds {
		need, once := new(big.Rat), new(big.Rat)
		for _, s := range c.shapes {
			charge, _ := s.charge(b)
			need.Add(need, s.total(charge, s.Documents))
			once = larger(once, s.once(charge, min(max(1, s.batch), s.Documents)))
		}
		if less(b.most(), once) && !b.smooth {
			return at, true
		}
		at = larger(at, b.passes(need))
	}
	return at, false
}

// passes is when the last of so much has passed, however it is split up.
func (b *Bound) passes(need *big.Rat) *big.Rat {
	if need.Cmp(b.most()) <= 0 {
		return new(big.Rat)
	}
	if b.burst != nil {
		return quo(mul(sub(need, b.burst), b.span), b.amount)
	}
	return scaled(ceil(quo(need, b.amount))-1, b.span)
}

// inTime reports whether what leaves at a moment is done by the deadline: it left before it, and
// its answer, if it is known how long one takes, has come by it.
func (c *crowd) inTime(at, deadline *big.Rat) bool {
	return less(at, deadline) && add(at, c.latency).Cmp(deadline) <= 0
}

// by is how many documents can be done by a deadline.
func (c *crowd) by(deadline time.Duration) int64 {
	end := spanOf(deadline)
	if _, never := c.time(); never {
		return 0
	}
	if c.alike {
		return search(c.documents, func(n int64) bool {
			if n == 0 {
				return true
			}
			t := c.train(n)
			return c.inTime(t.ends(c.shapes[0].atoms(n)), end)
		})
	}
	least := int64(math.MaxInt64)
	for _, b := range c.bounds {
		least = min(least, c.under(b, end))
	}
	return min(least, c.documents)
}

// under is how many documents one limit lets through, the cheap ones first.
func (c *crowd) under(b *Bound, end *big.Rat) int64 {
	type priced struct {
		shape
		charge charge
		mean   *big.Rat
	}
	var order []priced
	for _, s := range c.shapes {
		charge, _ := s.charge(b)
		order = append(order, priced{s, charge, quo(s.total(charge, s.Documents), ratInt(s.Documents))})
	}
	slices.SortStableFunc(order, func(a, b priced) int { return a.mean.Cmp(b.mean) })
	spent, done := new(big.Rat), int64(0)
	for _, s := range order {
		n := search(s.Documents, func(n int64) bool {
			if n == 0 {
				return true
			}
			fits := b.smooth || s.once(s.charge, min(max(1, s.batch), n)).Cmp(b.most()) <= 0
			return fits && c.inTime(b.passes(add(spent, s.total(s.charge, n))), end)
		})
		spent, done = add(spent, s.total(s.charge, n)), sum(done, n)
		if n < s.Documents {
			break
		}
	}
	return done
}
