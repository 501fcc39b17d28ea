package standin

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"
)

// Body is the body of document n at its first version.
func Body(n int) []byte { return BodyOf(n, Size(n), 0) }

// Size is the size of document n where nobody says another: between 500 and 8,691 bytes.
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

// digest is the value of Repr-Digest for b (RFC 9530).
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// Validators are what says of which version an answer is.
type Validators uint8

// The choices of validators.
const (
	ETagOnly       Validators = iota // strong entity-tags
	ModifiedOnly                     // Last-Modified
	BothValidators                   // both of them
	NoValidators                     // nothing
)

func (v Validators) etag() bool     { return v == ETagOnly || v == BothValidators }
func (v Validators) modified() bool { return v == ModifiedOnly || v == BothValidators }

// ETag is the strong entity-tag of document n at a size and a version.
func ETag(n, size, version int) string { return fmt.Sprintf(`"%d-%d-v%d"`, n, size, version) }

// Modified is when document n got a version: a whole second in the past, in UTC.
func Modified(n, version int) time.Time {
	return time.Date(2020, 1, 1, version, n%60, 0, 0, time.UTC).AddDate(0, 0, n/60%1000)
}
