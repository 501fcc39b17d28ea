package plan

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// simulate finds the moment of each atom from what the limits say, one after the other: in any
// stretch of a window's span no more than its amount, and in any stretch at all no more than a
// bucket's burst and what has run in.
func simulate(costs []*big.Rat, windows []limitOf, buckets []limitOf) *big.Rat {
	at := make([]*big.Rat, len(costs))
	for j := range costs {
		at[j] = new(big.Rat)
		if j > 0 {
			at[j].Set(at[j-1])
		}
		for _, w := range windows {
			used := new(big.Rat)
			for i := j; i >= 0; i-- {
				if used.Add(used, costs[i]); less(w.amount, used) {
					at[j] = larger(at[j], add(at[i], w.span)) // i and j are not in one window
					break
				}
			}
		}
		for _, b := range buckets {
			used := new(big.Rat)
			for i := j; i >= 0; i-- {
				used.Add(used, costs[i])
				at[j] = larger(at[j], add(at[i], quo(mul(sub(used, b.amount), b.span), b.rate)))
			}
		}
	}
	return at[len(at)-1]
}

// limitOf is an amount in a span, or a burst with a rate.
type limitOf struct{ amount, span, rate *big.Rat }

// The longest chain of ties is the moment that the limits themselves give, for any windows and
// buckets together, and whatever the last atom costs.
func TestTrain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := func(name string, most int64) *big.Rat {
			return big.NewRat(rapid.Int64Range(1, most).Draw(t, name), rapid.Int64Range(1, 3).Draw(t, name+" over"))
		}
		whole := small("cost", 6)
		last := mul(whole, big.NewRat(rapid.Int64Range(1, 4).Draw(t, "last"), 4))
		n := rapid.IntRange(1, 60).Draw(t, "atoms")
		costs := make([]*big.Rat, n)
		for i := range costs {
			costs[i] = whole
		}
		costs[n-1] = last
		var windows, buckets []limitOf
		tr := &train{}
		for range rapid.IntRange(0, 3).Draw(t, "windows") {
			w := limitOf{amount: add(whole, small("amount", 40)), span: small("span", 30)}
			windows = append(windows, w)
			tr.windows = append(tr.windows, window{floor(quo(w.amount, whole)), w.span, floor(quo(sub(w.amount, last), whole))})
		}
		for range rapid.IntRange(0, 2).Draw(t, "buckets") {
			b := limitOf{amount: add(whole, small("burst", 20)), span: small("per", 10), rate: small("rate", 20)}
			buckets = append(buckets, b)
			tr.buckets = append(tr.buckets, bucket{quo(b.amount, whole), quo(mul(whole, b.span), b.rate), quo(last, whole)})
		}
		want := simulate(costs, windows, buckets)
		if got := tr.ends(int64(n)); got.Cmp(want) != 0 {
			t.Errorf("the last of %d atoms of %s (%s) leaves at %s, want %s", n, whole.RatString(), last.RatString(), got.RatString(), want.RatString())
		}
	})
}

// A knapsack is filled as well as trying everything fills it.
func TestKnapsack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.Int64Range(-1, 200).Draw(t, "room")
		var items []item
		for range rapid.IntRange(0, 5).Draw(t, "items") {
			items = append(items, item{rapid.Int64Range(1, 60).Draw(t, "size"), big.NewRat(rapid.Int64Range(-3, 50).Draw(t, "value"), rapid.Int64Range(1, 7).Draw(t, "over"))})
		}
		best := make([]*big.Rat, max(0, room)+1)
		for r := range best {
			best[r] = new(big.Rat)
			for _, i := range items {
				if left := int64(r) - i.size; left >= 0 {
					best[r] = larger(best[r], add(best[left], i.value))
				}
			}
		}
		if got, want := knapsack(room, items), best[max(0, room)]; got.Cmp(want) != 0 {
			t.Errorf("room %d, items %v: got %s, want %s", room, items, got, want)
		}
	})
}

// Sets of windows as services have them are found at once, however many atoms there are.
func TestKnapsackIsFast(t *testing.T) {
	second := spanOf(1e9)
	for _, sizes := range [][3]int64{{100, 6000, 360_000}, {1250, 75_001, 1_200_000}, {7, 421, 25_199}, {50, 1000, 60_000}, {3, 100, 9_999_999}} {
		items := []item{{sizes[0], second}, {sizes[1], scaled(60, second)}, {sizes[2], scaled(3600, second)}}
		for _, room := range []int64{1e6 - 1, 1e9 + 7, 1e15 + 3, 1<<63 - 1} {
			k := testing.AllocsPerRun(1, func() { knapsack(room, items) })
			if k > 20_000 {
				t.Errorf("sizes %v, room %d: %v allocations", sizes, room, k)
			}
		}
	}
}
