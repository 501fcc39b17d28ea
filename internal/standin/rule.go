package standin

import (
	"net/http"
	"sync/atomic"
	"time"
)

// A Rule answers a request and reports true, or leaves it to the rules after it.
type Rule func(*Exchange) bool

// On limits rules to one path; the first that answers has the request.
func On(path string, rules ...Rule) Rule {
	return When(func(x *Exchange) bool { return x.R.URL.Path == path }, rules...)
}

// When limits rules to requests that a condition holds for.
func When(holds func(*Exchange) bool, rules ...Rule) Rule {
	return func(x *Exchange) bool {
		if !holds(x) {
			return false
		}
		for _, rule := range rules {
			if rule(x) {
				return true
			}
		}
		return false
	}
}

// First applies a rule to the first n requests for a path.
func First(n int, rule Rule) Rule {
	return func(x *Exchange) bool { return x.Try < n && rule(x) }
}

// Once applies a rule to the nth request that comes by, counted from 0, whatever its path.
func Once(n int64, rule Rule) Rule {
	var seen atomic.Int64
	return func(x *Exchange) bool { return seen.Add(1)-1 == n && rule(x) }
}

// Every applies a rule to every nth request that comes by.
func Every(n int64, rule Rule) Rule {
	var seen atomic.Int64
	return func(x *Exchange) bool { return seen.Add(1)%n == 0 && rule(x) }
}

// Status answers with a status.
func Status(code int) Rule {
	return func(x *Exchange) bool {
		x.Status(code)
		return true
	}
}

// Throttle answers with a status and a hint, such as 429 and Seconds.
func Throttle(code int, hint Hint, wait time.Duration) Rule {
	return func(x *Exchange) bool {
		x.refuse(code, hint, wait)
		return true
	}
}

// Redirect answers with a redirect to an address.
func Redirect(code int, to string) Rule {
	return func(x *Exchange) bool {
		x.W.Header().Set("Location", to)
		x.Status(code)
		return true
	}
}

// Header puts fields on the answers of the rules after it. An empty value removes a field
// that the document would have.
func Header(name, value string) Rule {
	return func(x *Exchange) bool {
		if value == "" {
			x.W.Header()[http.CanonicalHeaderKey(name)] = nil
		} else {
			x.W.Header().Set(name, value)
		}
		return false
	}
}

// Page answers with a text of a content type.
func Page(code int, contentType, text string) Rule {
	return func(x *Exchange) bool {
		x.Page(code, contentType, text)
		return true
	}
}

// LoginPage is what stands in place of a document when a session has ended.
const LoginPage = `<!doctype html><html><head><title>Sign in</title></head><body>
<form method="post" action="/login"><input name="user"><input type="password" name="password"></form></body></html>`

// Login answers with a login page, as 200.
func Login(x *Exchange) bool { return Page(http.StatusOK, "text/html; charset=utf-8", LoginPage)(x) }

// Do runs f, and leaves the request to the rules after it.
func Do(f func(*Exchange)) Rule {
	return func(x *Exchange) bool {
		f(x)
		return false
	}
}
