// Package quickxor is QuickXorHash, the digest that Microsoft Graph tells of files in OneDrive
// and SharePoint. Graph writes it in standard base64.
//
// It finds bytes that were damaged or left out. It is no protection from anybody: who wants
// two files with one sum can make them.
//
//	h := quickxor.New()
//	io.Copy(h, file)
//	same := base64.StdEncoding.EncodeToString(h.Sum(nil)) == listed
//
// The algorithm: https://learn.microsoft.com/en-us/onedrive/developer/code-snippets/quickxorhash
package quickxor

import (
	"crypto/subtle"
	"encoding/binary"
	"hash"
)

// Size is the length of a sum in bytes.
const Size = 20

// BlockSize is after how many bytes a byte comes to lie where the first one lay.
const BlockSize = ring

const (
	ring = 8 * Size // bits of the ring that a sum is
	step = 11       // bits from the place of one byte to that of the next
)

// New returns an empty QuickXorHash. Its Write never fails.
func New() hash.Hash { return new(digest) }

// A digest keeps bytes that come to lie on the same bits XORed in one column. The columns are
// laid into the ring at the end only. Of each place there are several columns, so that more
// bytes are XORed at once.
type digest struct {
	columns [8 * ring]byte
	at      int // the column of the next byte
	length  uint64
}

func (d *digest) Write(p []byte) (int, error) {
	d.length += uint64(len(p))
	for rest := p; len(rest) > 0; {
		into := d.columns[d.at:]
		n := subtle.XORBytes(into, into, rest)
		d.at = (d.at + n) % len(d.columns)
		rest = rest[n:]
	}
	return len(p), nil
}

func (d *digest) Sum(b []byte) []byte {
	var sum [Size]byte
	for i, c := range d.columns {
		at := i * step % ring
		wide := uint16(c) << (at % 8)
		sum[at/8] ^= byte(wide)
		sum[(at/8+1)%Size] ^= byte(wide >> 8)
	}
	length := sum[Size-8:]
	binary.LittleEndian.PutUint64(length, binary.LittleEndian.Uint64(length)^d.length)
	return append(b, sum[:]...)
}

func (d *digest) Reset() { *d = digest{} }

func (d *digest) Size() int { return Size }

func (d *digest) BlockSize() int { return BlockSize }
