package standin

import (
	"encoding/base64"
	"math/big"
	"slices"
	"testing"
)

func TestQuickXor(t *testing.T) {
	for text, want := range map[string]string{
		"":            "AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"J":           "SgAAAAAAAAAAAAAAAQAAAAAAAAA=",
		"hello world": "aCgDG9jwBhDc4Q1yawMZAAAAAAA=",
	} {
		if got := QuickXor([]byte(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// It is what Microsoft's description of it says, in numbers of any size.
func TestQuickXorIsARotation(t *testing.T) {
	for _, size := range []int{1, 2, 15, 20, 160, 161, 5000} {
		body := BodyOf(7, size, 3)
		ring, ones := new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 160), big.NewInt(1))
		for i, c := range body {
			turned := new(big.Int).Lsh(big.NewInt(int64(c)), uint(i*11%160))
			turned.Xor(turned, new(big.Int).Rsh(turned, 160)) // what has left it comes in below
			ring.Xor(ring, turned.And(turned, ones))
		}
		ring.Xor(ring, new(big.Int).Lsh(big.NewInt(int64(size)), 96))
		want := ring.FillBytes(make([]byte, 20))
		slices.Reverse(want)
		if got := QuickXor(body); got != base64.StdEncoding.EncodeToString(want) {
			t.Errorf("%d bytes: %s, want %x", size, got, want)
		}
	}
}
