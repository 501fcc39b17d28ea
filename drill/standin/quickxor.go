package standin

import (
	"encoding/base64"
	"encoding/binary"
)

// QuickXor is the QuickXorHash of b in base64, as Graph says it of a file: each byte is XORed
// into a ring of 160 bits, eleven further on than the one before it, and the length into the
// last 64.
func QuickXor(b []byte) string {
	var ring [20]byte
	at := 0 // in bits
	for _, c := range b {
		i, shift := at/8, at%8
		ring[i] ^= c << shift
		ring[(i+1)%len(ring)] ^= c >> (8 - shift)
		at = (at + 11) % (8 * len(ring))
	}
	length := ring[12:]
	binary.LittleEndian.PutUint64(length, binary.LittleEndian.Uint64(length)^uint64(len(b)))
	return base64.StdEncoding.EncodeToString(ring[:])
}
