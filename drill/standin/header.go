package standin

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
)

// secret are header fields of which only the name is kept: they are or may hold credentials.
var secret = []string{"Authorization", "Cookie", "Proxy-Authorization", "Referer"}

// dull are header fields that say nothing about a client.
var dull = []string{"User-Agent", "Accept", "Content-Length"}

// headerOf is what a journal keeps of a request's header.
func headerOf(h http.Header, credentials []string) http.Header {
	out := http.Header{}
	for name, values := range h {
		switch {
		case slices.Contains(dull, name):
		case slices.Contains(secret, name) || slices.Contains(credentials, name):
			out[name] = []string{"(a credential)"}
		default:
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// leaked are the names of the credentials that a request brought.
func leaked(h http.Header, credentials []string) []string {
	var out []string
	for _, name := range slices.Concat(secret[:3], credentials) {
		if h.Get(name) != "" {
			out = append(out, name)
		}
	}
	return out
}

// ByCredential is a key for each credential: a limit is shared by the requests with the same
// Authorization. The key is a hash, so that the journal does not have the credential.
func ByCredential(r *http.Request) string {
	s := r.Header.Get("Authorization")
	if s == "" {
		return "none"
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

// ByHeader is a key for each value of a header field.
func ByHeader(name string) func(*http.Request) string {
	return func(r *http.Request) string { return r.Header.Get(name) }
}
