package standin

import (
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"time"
)

const tokenPath = "/token"

// isToken reports whether a path is that of tokens: the service's own, or that of a tenant of
// Microsoft's identity platform, /TENANT/oauth2/v2.0/token.
func isToken(path string) bool {
	return path == tokenPath || strings.HasSuffix(path, "/oauth2/v2.0/token")
}

// Tokens are those that a service takes as Authorization: Bearer. POST /token gives a new
// one to whoever asks. Services can share them. Safe for concurrent use.
type Tokens struct {
	lifetime time.Duration // zero: for ever

	mu  sync.Mutex
	end map[string]time.Time // of each token
}

// NewTokens returns tokens that are good for a time; zero means for ever.
func NewTokens(lifetime time.Duration) *Tokens {
	return &Tokens{lifetime: lifetime, end: map[string]time.Time{}}
}

// Valid is a new token, which is good from now on.
func (t *Tokens) Valid() string {
	token, now := rand.Text(), time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for old, end := range t.end {
		if t.lifetime > 0 && !now.Before(end) {
			delete(t.end, old)
		}
	}
	t.end[token] = now.Add(t.lifetime)
	return token
}

func (t *Tokens) good(token string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	end, known := t.end[token]
	return known && (t.lifetime == 0 || now.Before(end))
}

// admit answers 401 to a request without a token that is good, and reports false.
func (t *Tokens) admit(x *Exchange) bool {
	kind, token, _ := strings.Cut(x.R.Header.Get("Authorization"), " ")
	challenge := `Bearer realm="drill"`
	if kind != "" {
		if strings.EqualFold(kind, "Bearer") && t.good(token, x.row.At) {
			return true
		}
		challenge += `, error="invalid_token", error_description="the token is unknown or has expired"`
	}
	x.W.Header().Set("WWW-Authenticate", challenge)
	x.problem(http.StatusUnauthorized, "InvalidAuthenticationToken", "a token that is good is needed: POST "+tokenPath+" gives one")
	return false
}

// issue answers with a new token.
func (t *Tokens) issue(x *Exchange) {
	if x.R.Method != http.MethodPost {
		x.W.Header().Set("Allow", http.MethodPost)
		x.problem(http.StatusMethodNotAllowed, "MethodNotAllowed", "a token is given to a POST")
		return
	}
	answer := struct {
		Token   string `json:"access_token"`
		Type    string `json:"token_type"`
		Expires int64  `json:"expires_in,omitempty"` // seconds
	}{t.Valid(), "Bearer", int64(t.lifetime / time.Second)}
	x.W.Header().Set("Cache-Control", "no-store")
	x.json(http.StatusOK, answer)
}
