package plan

import (
	"math"
	"math/big"
	"strconv"
	"time"
)

// Exact numbers are rationals. Times among them are in nanoseconds.

// ratOf is the decimal number that was written for f.
func ratOf(f float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64))
	if !ok { // not a number, or infinite: no profile has that
		return new(big.Rat)
	}
	return r
}

func ratInt(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func spanOf(d time.Duration) *big.Rat { return ratInt(int64(d)) }

func mul(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
func add(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }
func sub(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
func quo(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }

func scaled(n int64, r *big.Rat) *big.Rat { return mul(ratInt(n), r) }

func less(a, b *big.Rat) bool { return a.Cmp(b) < 0 }

func larger(a, b *big.Rat) *big.Rat {
	if less(a, b) {
		return b
	}
	return a
}

// floor is the whole number at or below r, at most [math.MaxInt64]. Below zero it is -1.
func floor(r *big.Rat) int64 {
	if r.Sign() < 0 {
		return -1
	}
	q := new(big.Int).Quo(r.Num(), r.Denom())
	if !q.IsInt64() {
		return math.MaxInt64
	}
	return q.Int64()
}

// ceil is the whole number at or above r, from 0 to [math.MaxInt64].
func ceil(r *big.Rat) int64 {
	if r.Sign() <= 0 {
		return 0
	}
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return math.MaxInt64
	}
	return q.Int64()
}

// duration rounds a time up to a nanosecond. What is longer than a Duration holds, some 292
// years, is the longest one.
func duration(r *big.Rat) time.Duration { return time.Duration(ceil(r)) }

// product and sum stop at [math.MaxInt64]. Their operands are not negative.
func product(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

func sum(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// parts is how many groups of size b are needed for a.
func parts(a, b int64) int64 {
	n := a / b
	if a%b > 0 {
		n++
	}
	return n
}

// gcd is the largest number of which both are whole multiples. Both are above zero.
func gcd(a, b *big.Rat) *big.Rat {
	num := new(big.Int).GCD(nil, nil,
		new(big.Int).Mul(a.Num(), b.Denom()), new(big.Int).Mul(b.Num(), a.Denom()))
	return new(big.Rat).SetFrac(num, new(big.Int).Mul(a.Denom(), b.Denom()))
}

// search is the largest n from 0 to most for which ok holds; ok holds from 0 up to some n and
// for none above.
func search(most int64, ok func(int64) bool) int64 {
	low, high := int64(0), most // ok(low) holds
	for low < high {
		mid := low + (high-low)/2 + (high-low)%2
		if ok(mid) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}
