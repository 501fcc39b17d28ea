package plan

import (
	"math/big"
	"net/url"

	"github.com/dogear/dogear/profile"
)

// A shape is how the documents of a load leave: one by one, each in one or more requests that
// can be sent apart; or in batches, and what else a document takes after its batch.
type shape struct {
	*Load
	ask      *Ask
	requests int64 // a document
	batch    int64 // documents in one; zero: no batches
}

// A charge is what a shape takes of one limit.
type charge struct {
	request  *big.Rat // each request for a document, and each item of a batch if items
	envelope *big.Rat // each batch
	document *big.Rat // each document, whatever its requests
	items    bool
}

func (c charge) same(d charge) bool {
	return c.request.Cmp(d.request) == 0 && c.envelope.Cmp(d.envelope) == 0 && c.document.Cmp(d.document) == 0 && c.items == d.items
}

// charge is what the shape takes of a limit; ok is false where its sizes are not known.
func (s shape) charge(b *Bound) (c charge, ok bool) {
	zero := new(big.Rat)
	c = charge{zero, zero, zero, true}
	each := s.Profile == nil || s.Profile.Batch == nil || s.Profile.Batch.Charged == "each"
	switch b.Unit {
	case profile.Bytes:
		c.document, ok = s.size()
		return c, ok
	case profile.Concurrent:
		c.request, c.envelope, c.items = ratInt(1), ratInt(1), false
	case profile.Units:
		if s.ask.Cost != nil {
			c.document = s.ask.Cost
			return c, true
		}
		c.request, c.envelope, c.items = ratOf(s.cost(b.Quota.Key)), ratOf(s.envelope()), each
	default:
		c.request, c.items = ratInt(1), each
		if !each {
			c.envelope = ratInt(1)
		}
	}
	return c, true
}

func (s shape) cost(key string) float64 {
	for _, m := range s.Members {
		if m.Key == key {
			return m.Cost
		}
	}
	return 1
}

// envelope is what the request that holds a batch costs in units.
func (s shape) envelope() float64 {
	if s.batch == 0 {
		return 0
	}
	b := s.Profile.Batch
	return s.Profile.Cost(b.Method, &url.URL{Path: b.Path}, nil)
}

// size is the documents' mean.
func (s shape) size() (*big.Rat, bool) {
	unsized := s.Documents - s.Sized
	if unsized > 0 && s.ask.Size == 0 {
		return new(big.Rat), false
	}
	all := add(ratInt(s.Bytes), mul(ratInt(unsized), ratInt(s.ask.Size)))
	return quo(all, ratInt(s.Documents)), true
}

// batches are how many it takes for so many documents.
func (s shape) batches(documents int64) int64 {
	if s.batch == 0 {
		return 0
	}
	return parts(documents, s.batch)
}

// sent is how many requests leave for so many documents.
func (s shape) sent(documents int64) int64 {
	if s.batch == 0 {
		return product(documents, s.requests)
	}
	return sum(s.batches(documents), product(documents, s.requests-1))
}

// total is what so many documents take of a limit.
func (s shape) total(c charge, documents int64) *big.Rat {
	n := ratInt(documents)
	apart := s.requests
	if s.batch > 0 && !c.items {
		apart--
	}
	out := mul(mul(n, ratInt(apart)), c.request)
	out.Add(out, scaled(s.batches(documents), c.envelope))
	return out.Add(out, mul(n, c.document))
}

// once is what leaves at once: one request, or one batch of so many documents.
func (s shape) once(c charge, documents int64) *big.Rat {
	if s.batch == 0 {
		return larger(c.request, c.document)
	}
	out := add(c.envelope, scaled(documents, c.document))
	if c.items {
		out.Add(out, scaled(documents, c.request))
	}
	return out
}

// plain reports whether all that leaves costs the same.
func (s shape) plain() bool { return s.batch == 0 || s.requests == 1 }

// atoms is how many requests or batches leave for so many documents.
func (s shape) atoms(documents int64) int64 {
	if s.batch == 0 {
		return product(documents, s.requests)
	}
	return s.batches(documents)
}

// board puts a limit on a train of so many documents.
func (s shape) board(t *train, b *Bound, c charge, documents int64) {
	whole, last := s.once(c, 1), s.once(c, 1)
	group := int64(1) // atoms that are counted as one
	if s.batch > 0 {
		whole = s.once(c, s.batch)
		last = s.once(c, documents-(s.batches(documents)-1)*s.batch)
	} else if c.document.Sign() > 0 {
		group = s.requests
	}
	switch {
	case documents == 0 || whole.Sign() == 0:
	case b.burst == nil:
		size := floor(quo(b.amount, whole))
		beside := floor(quo(sub(b.amount, last), whole))
		if size == 0 { // even so one batch may be the last, and small
			t.never = t.never || beside < 0 || s.atoms(documents) > 1
			return
		}
		if group > 1 {
			size = product(size, group)
			beside = size - 1
		}
		t.windows = append(t.windows, window{size, b.span, beside})
	default:
		burst := b.burst
		if b.smooth {
			burst = larger(burst, whole)
		}
		if group > 1 {
			whole = quo(whole, ratInt(group))
			last = whole
		}
		if less(burst, whole) {
			t.never = t.never || less(burst, last) || s.atoms(documents) > 1
			return
		}
		t.buckets = append(t.buckets, bucket{quo(burst, whole), quo(mul(whole, b.span), b.amount), quo(last, whole)})
	}
}
