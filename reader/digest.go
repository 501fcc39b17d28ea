package reader

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"net/http"
	"strings"

	"github.com/dunglas/httpsfv"
)

// digest is what a service promises of the bytes, and the sum that is being made of them.
type digest struct {
	name string
	want []byte
	sum  hash.Hash
	// ofContent says that it is of the bytes of this answer, as they came over the wire;
	// else it is of the whole document, coded as it was sent.
	ofContent bool
}

// holds compares. A digest that cannot be checked against what came proves nothing: one of
// a part's bytes where the beginning was kept is, one of a whole that came coded is not.
func (d digest) holds(part, coded bool) bool {
	if !d.ofContent && coded {
		return true
	}
	if d.name == "Content-MD5" && part { // of the part or of the whole: services differ
		return true
	}
	return bytes.Equal(d.sum.Sum(nil), d.want)
}

// digests reads the digest fields of an answer: Content-Digest and Repr-Digest (RFC 9530),
// Digest (RFC 3230) and Content-MD5 (RFC 2616). What cannot be read promises nothing.
func digests(h http.Header) []digest {
	var out []digest
	out = append(out, structured("Content-Digest", h, true)...)
	out = append(out, structured("Repr-Digest", h, false)...)
	for _, part := range strings.Split(strings.Join(h.Values("Digest"), ","), ",") {
		alg, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		out = appendDigest(out, "Digest", strings.ToLower(alg), value, false)
	}
	return appendDigest(out, "Content-MD5", "md5", h.Get("Content-MD5"), true)
}

func structured(name string, h http.Header, ofContent bool) []digest {
	values := h.Values(name)
	if len(values) == 0 {
		return nil
	}
	dict, err := httpsfv.UnmarshalDictionary(values)
	if err != nil {
		return nil
	}
	var out []digest
	for _, alg := range dict.Names() {
		member, _ := dict.Get(alg)
		if item, ok := member.(httpsfv.Item); ok {
			if want, ok := item.Value.([]byte); ok {
				if sum := summer(alg); sum != nil && sum.Size() == len(want) {
					out = append(out, digest{name, want, sum, ofContent})
				}
			}
		}
	}
	return out
}

func appendDigest(out []digest, name, alg, value string, ofContent bool) []digest {
	want, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
	sum := summer(alg)
	if value == "" || err != nil || sum == nil || sum.Size() != len(want) {
		return out
	}
	return append(out, digest{name, want, sum, ofContent})
}

func summer(alg string) hash.Hash {
	switch alg {
	case "sha-256":
		return sha256.New()
	case "sha-512":
		return sha512.New()
	case "md5":
		return md5.New()
	}
	return nil
}
