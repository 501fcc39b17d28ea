package login

import (
	"fmt"
	"net/http"
	"strings"
)

// An Error says that the service gave no token. It holds nothing that the service wrote but
// a code, and its text says what to do.
type Error struct {
	Host string
	// Code is the OAuth error code, such as invalid_client; empty if the answer had none.
	Code string
	// Status is the answer's HTTP status. Zero: the code that a person was to type ran out
	// while nobody answered.
	Status int
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no token from %s: ", e.Host)
	switch {
	case e.Code != "" && e.Status != 0:
		fmt.Fprintf(&b, "%s (HTTP %d)", e.Code, e.Status)
	case e.Code != "":
		b.WriteString(e.Code)
	default:
		b.WriteString(strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))))
	}
	if m := e.meaning(); m != "" {
		b.WriteString(": " + m)
	}
	return b.String()
}

// meanings are what a code says, and what to do.
var meanings = map[string]string{
	"invalid_client":         "the client id or its secret is wrong, or the secret has run out; for a person the app must be a public client",
	"unauthorized_client":    "the app may not get tokens in this way: allow it where the app is registered",
	"invalid_scope":          "the service does not know the scope, or the app may not ask for it",
	"invalid_grant":          "the sign-in does not hold any more: sign in again",
	"invalid_request":        "the service does not understand the request: see that the tenant and the client id are right",
	"expired_token":          "nobody typed the code in time: start again to get another",
	"access_denied":          "access was refused, by the person or by a rule of the tenant: ask its administrator",
	"authorization_declined": "access was refused by the person",
	"consent_required":       "somebody must agree to the app first: ask the tenant's administrator",
	"interaction_required":   "the service wants to see the person: sign in again",
}

func (e *Error) meaning() string {
	switch m := meanings[e.Code]; {
	case m != "":
		return m
	case e.Status == http.StatusTooManyRequests:
		return "the service is asked too often: try again later"
	case e.Status >= 500:
		return "the service has trouble of its own: try again later"
	case e.Status >= 400 && e.Code == "":
		return "see that the authority and the tenant are right"
	case e.Status >= 300 && e.Code == "":
		return "it leads elsewhere, where no secret is sent: see that the authority is right"
	case e.Code == "":
		return "the answer holds no token that can be used: see that the authority is right"
	default:
		return ""
	}
}

// failed is an answer of the service that brought no token.
func (l *Login) failed(status int, code string) *Error {
	return &Error{Host: l.endpoint.Host, Code: clean(code), Status: status}
}

// clean is the code if it looks like one: a service may write there what it likes, such as
// what was sent.
func clean(code string) string {
	other := func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }
	if len(code) > 40 || strings.ContainsFunc(code, other) {
		return ""
	}
	return code
}

// personNeeded reports whether a refresh token was refused for good.
func (e *Error) personNeeded() bool {
	return e.Code == "invalid_grant" || e.Code == "interaction_required"
}

// final reports whether a code that a person was to type is of no more use.
func (e *Error) final() bool {
	return e.Code != "" && e.Status < 500 && e.Status != http.StatusTooManyRequests
}

func ok(status int) bool { return status >= 200 && status < 300 }
