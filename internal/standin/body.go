package standin

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// Body is the body of document n at its first version.
func Body(n int) []byte { return BodyOf(n, Size(n), 0) }

// Size is the size of document n where the request asks for none: between 500 and 8,691 bytes.
func Size(n int) int { return 500 + n*2_654_435_761%8192 }

// BodyOf is the body of document n at a size and a version.
func BodyOf(n, size, version int) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(n))
	binary.LittleEndian.PutUint64(seed[8:], uint64(version))
	b := make([]byte, size)
	rand.NewChaCha8(seed).Read(b)
	return b
}

// Sum is the SHA-256 of b in lower-case hex.
func Sum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ETag is the strong entity-tag of document n at a size and a version.
func ETag(n, size, version int) string { return fmt.Sprintf(`"%d-%d-v%d"`, n, size, version) }
