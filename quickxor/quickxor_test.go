package quickxor

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// vectors are in base64, as Graph writes sums. They are what other implementations are tested
// with: those of rclone and of the quickxorhash library for Python.
var vectors = []struct{ in, sum string }{
	{"", "AAAAAAAAAAAAAAAAAAAAAAAAAAA="},
	{"Sg==", "SgAAAAAAAAAAAAAAAQAAAAAAAAA="},
	{"tbQ=", "taAFAAAAAAAAAAAAAgAAAAAAAAA="},
	{"aGVsbG8gd29ybGQ=", "aCgDG9jwBhDc4Q1yawMZAAAAAAA="},
	{"vPgoDjOfO6fm71RxLw==", "vMAHChwwg0/s4BTmdQcV4vACAAA="},
	{"XoJ1AsoR4fDYJrDqYs4=", "XhBEHQSgjAiEAx7YPgEs1CEGZwA="}, // 14 bytes: the next one wraps
	{"gQaybEqS/4UlDc8e4IJm", "gDCALNigBEn8oxAlZ8AzPAAOQZg="},
	{"T6LYJIfDh81JrAK309H2JMJTXis=", "zBTHrspn3mEcohlJdIUAbjGNaNg="},
	{"DWAAX5/CIfrmErgZa8ot6ZraeSbu", "LR2Z0PjuRYGKQB/mhQAuMrAGZbQ="},
	{"Mb7EGva2rEE5fENDL85P+BsapHEEjv2/siVhKjvAQe02feExVOQSkfmuYzU/kTF1MaKjPmKF/w+cbvwfdWL8aQ==", "n1anP5NfvD4XDYWIeRPW3ZkPv1Y="},
	{"ikwCorI7PKWz17EI50jZCGbV9JU2E8bXVfxNMg5zdmqSZ2NlsQPp0kqYIPjzwTg1MBtfWPg53k0h0P2naJNEVgrqpoHTfV2b3pJ4m0zYPTJmUX4Bg/lOxcnC" +
		"xAYKU29Y5F0U8Quz7ZXFBEweftXxJ7RS4r6N7BzJrPsLhY7hgck=", "imAoFvCWlDn4yVw3/oq1PDbbm6U="},
	{"qwGf2ESubE5jOUHHyc94ORczFYYbc2OmEzo+hBIyzJiNwAzC8PvJqtTzwkWkSslgHFGWQZR2BV5+uYTrYT7HVwRM40vqfj0dBgeDENyTenIOL1LHkjtDKoXE" +
		"nQ0mXAHoJ8PjbNC93zi5TovVRXTNzfGEs5dpWVqxUzb5lc7dwkyvOluBw482mQ4xrzYyIY1t+//OrNi1ObGXuUw2jBQOFfJVj2Y6BOyYmfB1y36eBxi3zxeG" +
		"5d5NYjm2GSh6e08QMAwu3zrINcqIzLOuNIiGXBtl7DjKt7b5wqi4oFiRpZsCyx2smhSrdrtK/CkdU6nDN+34vSR/M8rZpWQdBE7a8g==",
		"WYT9JY3JIo/pEBp+tIM6Gt2nyTM="}, // 256 bytes: more than the ring has bits
	{"w0LGhqU1WXFbdavqDE4kAjEzWLGGzmTNikzqnsiXHx2KRReKVTxkv27u3UcEz9+lbMvYl4xFf2Z4aE1xRBBNd1Ke5C0zToSaYw5o4B/7X99nKK2/XaUX1byL" +
		"ow2aju2XJl2OpKpJg+tSJ2fmjIJTkfuYUz574dFX6/VXxSxwGH/xQEAKS5TCsBK3CwnuG1p5SAsQq3gGVozDWyjEBcWDMdy8/AIFrj/y03Lfc/RNRCQTAfZb" +
		"nf2QwV7sluw4fH3XJr07UoD0YqN+7XZzidtrwqMY26fpLZnyZjnBEt1FAZWO7RnKG5asg8xRk9YaDdedXdQSJAOy6bWEWlABj+tVAigBxavaluUH8LOj+yfC" +
		"FldJjNLdi90fVHkUD/m4Mr5OtmupNMXPwuG3EQlqWUVpQoYpUYKLsk7a5Mvg6UFkiH596y5IbJEVCI1Kb3D1", "e3+wo77iKcILiZegnzyUNcjCdoQ="},
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		in, err := base64.StdEncoding.DecodeString(v.in)
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range []int{1, 7, 64, 159, 160, 161, 512} {
			h := New()
			for part := range slices.Chunk(in, chunk) {
				h.Write(part)
			}
			if got := base64.StdEncoding.EncodeToString(h.Sum(nil)); got != v.sum {
				t.Errorf("%d bytes, %d at a time: sum %s, want %s", len(in), chunk, got, v.sum)
			}
		}
	}
}

// reference is the algorithm bit by bit, as its page tells it.
func reference(p []byte) []byte {
	var bits [160]bool
	for i, c := range p {
		for bit := range 8 {
			if c>>bit&1 == 1 {
				at := (i*11 + bit) % 160
				bits[at] = !bits[at]
			}
		}
	}
	var sum [20]byte
	for at, set := range bits {
		if set {
			sum[at/8] |= 1 << (at % 8)
		}
	}
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(p)))
	for i, c := range length {
		sum[12+i] ^= c
	}
	return sum[:]
}

// The sum is that of the bytes, however they are written and whenever it is asked for.
func TestSumOfAnySplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := New()
		var all []byte
		for range rapid.IntRange(0, 6).Draw(t, "writes") {
			part := make([]byte, rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(100, 400), rapid.IntRange(1200, 3000)).Draw(t, "bytes"))
			for i, seed := 0, rapid.Uint32().Draw(t, "seed"); i < len(part); i++ {
				seed = seed*1664525 + 1013904223
				part[i] = byte(seed >> 24)
			}
			if n, err := h.Write(part); n != len(part) || err != nil {
				t.Fatalf("Write of %d bytes: %d, %v", len(part), n, err)
			}
			all = append(all, part...)
			if got, want := h.Sum(nil), reference(all); !bytes.Equal(got, want) {
				t.Fatalf("sum of %d bytes: %x, want %x", len(all), got, want)
			}
		}
		h.Reset()
		if got := h.Sum([]byte("kept")); !bytes.Equal(got, append([]byte("kept"), make([]byte, Size)...)) {
			t.Fatalf("after Reset: %x", got)
		}
	})
}

func TestSizes(t *testing.T) {
	h := New()
	if h.Size() != 20 || len(h.Sum(nil)) != 20 || h.BlockSize() != BlockSize {
		t.Errorf("size %d, block size %d, a sum of %d bytes", h.Size(), h.BlockSize(), len(h.Sum(nil)))
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{160, 32 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			h, p := New(), make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				h.Write(p)
			}
		})
	}
}

func ExampleNew() {
	h := New()
	io.WriteString(h, "hello world")
	fmt.Println(base64.StdEncoding.EncodeToString(h.Sum(nil)))
	// Output: aCgDG9jwBhDc4Q1yawMZAAAAAAA=
}
