package plan

import (
	"math/big"
	"slices"
)

// A train is what leaves one after the other: atoms, each a request or a batch, all of which
// cost the same but for the last one, which may cost less.
//
// A limit ties atoms together. Under a window that lets k through, an atom leaves no earlier
// than a window after the kth before it. So the moment of the nth is the longest chain of such
// ties from the first one to it: of all ways to go back n-1 atoms in steps, the one whose spans
// add up to most. That is a knapsack, and the knapsack's answer is exact, for any number of
// windows at once.
type train struct {
	windows []window
	buckets []bucket
	never   bool // some atom is more than a limit lets through
}

// A window lets so many atoms through in any stretch of its span.
type window struct {
	size int64 // at least 1
	span *big.Rat
	// beside is how many whole atoms fit into one window beside the last atom.
	beside int64
}

// A bucket lets its burst through at once, and then an atom each so often.
type bucket struct {
	burst *big.Rat // in whole atoms, at least 1
	each  *big.Rat
	last  *big.Rat // the last atom's cost, as a share of a whole one's
}

// leaves is when the last of n atoms leaves, if the first leaves at zero and the last one costs
// as much as the others.
func (t *train) leaves(n int64) *big.Rat {
	best := knapsack(n-1, t.items())
	for _, b := range t.buckets {
		best = larger(best, t.through(b, n, ratInt(1)))
	}
	return best
}

// ends is when the last of n atoms leaves, whatever it costs.
func (t *train) ends(n int64) *big.Rat {
	if n < 2 {
		return new(big.Rat)
	}
	best := t.leaves(n - 1)
	for _, w := range t.windows {
		if back := n - 1 - w.beside; back >= 1 {
			best = larger(best, add(t.leaves(back), w.span))
		}
	}
	for _, b := range t.buckets {
		best = larger(best, t.through(b, n, b.last))
		if over, least := b.ties(b.last); n-1-least >= 1 { // others before its shortest
			best = larger(best, add(t.leaves(n-1-least), mul(sub(ratInt(least), over), b.each)))
		}
	}
	return best
}

// ties tells of the bucket's ties to an atom that costs a share of a whole one: the one over d
// atoms before it takes (d - over) * each, and d is at least least.
func (b bucket) ties(share *big.Rat) (over *big.Rat, least int64) {
	over = sub(b.burst, share)
	if over.Sign() >= 0 {
		least = floor(over) + 1
	}
	return over, least
}

// items are the ties as they are put into the knapsack. A bucket's shortest tie is one of them;
// its longer ones are worth more than several short ones, so that a chain has at most one, and
// [train.through] looks at those.
func (t *train) items() []item {
	var items []item
	for _, w := range t.windows {
		items = append(items, item{w.size, w.span})
	}
	for _, b := range t.buckets {
		whole := floor(b.burst)
		items = append(items, item{whole, mul(sub(ratInt(whole+1), b.burst), b.each)})
	}
	return items
}

// through is the longest chain to the last of n atoms that has a long tie of bucket b in it: what
// is left of the way beside the other ties is the bucket's. The last atom costs a share.
func (t *train) through(b bucket, n int64, last *big.Rat) *big.Rat {
	over, least := b.ties(last)
	if n-1 < least {
		return new(big.Rat)
	}
	var items []item
	for _, i := range t.items() {
		if gain := sub(i.value, scaled(i.size, b.each)); gain.Sign() > 0 { // over the bucket's own
			items = append(items, item{i.size, gain})
		}
	}
	own := mul(sub(ratInt(n-1), over), b.each)
	return add(own, knapsack(n-1-least, items))
}

// An item can be put into the knapsack any number of times.
type item struct {
	size  int64 // at least 1
	value *big.Rat
}

// maxNodes bounds the search. What is found by then falls short of the truth by less than one
// window, and only sets of limits that nobody has written come so far.
const maxNodes = 5_000

// knapsack is the largest value of items that fit into a room.
func knapsack(room int64, items []item) *big.Rat {
	items = slices.DeleteFunc(slices.Clone(items), func(i item) bool { return i.size > room || i.value.Sign() <= 0 })
	if len(items) == 0 {
		return new(big.Rat)
	}
	// By value for their size; of equals the smaller first, which leaves less of the room over.
	slices.SortFunc(items, func(a, b item) int {
		if c := scaled(a.size, b.value).Cmp(scaled(b.size, a.value)); c != 0 {
			return c
		}
		return int(max(-1, min(1, a.size-b.size)))
	})
	var useful []item
	for _, i := range items { // several of another may take no more room, and be worth as much
		if !slices.ContainsFunc(useful, func(u item) bool { return !less(scaled(i.size/u.size, u.value), i.value) }) {
			useful = append(useful, i)
		}
	}
	items = useful
	k := &knapsackSearch{items: items, grid: items[0].value, best: new(big.Rat)}
	for _, i := range items[1:] {
		k.grid = gcd(k.grid, i.value)
	}
	k.fill(0, room, new(big.Rat))
	return k.best
}

type knapsackSearch struct {
	items []item
	grid  *big.Rat // every value is a multiple of it
	best  *big.Rat
	nodes int
}

// fill tries the items from number i on in what is left of the room, most of the best first.
func (k *knapsackSearch) fill(i int, room int64, value *big.Rat) {
	k.best = larger(k.best, value)
	if i == len(k.items) {
		return
	}
	it := k.items[i]
	for n := room / it.size; n >= 0 && k.nodes < maxNodes; n-- {
		k.nodes++
		left := room - n*it.size
		with := add(value, scaled(n, it.value))
		if !less(k.best, add(with, k.bound(i+1, left))) { // fewer of this one is worth less still
			k.best = larger(k.best, with)
			return
		}
		k.fill(i+1, left, with)
	}
}

// bound is what the items from number i on can add at most.
func (k *knapsackSearch) bound(i int, room int64) *big.Rat {
	if i == len(k.items) {
		return new(big.Rat)
	}
	most := quo(scaled(room, k.items[i].value), ratInt(k.items[i].size))
	steps := quo(most, k.grid)
	return mul(new(big.Rat).SetInt(new(big.Int).Quo(steps.Num(), steps.Denom())), k.grid)
}
