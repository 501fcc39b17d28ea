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

// A Select chooses requests: those for which all of it holds.
type Select struct {
	Documents []Range // by their numbers. Nil: all requests, whatever they are for
	Requests  []Range // which of the requests for the same document or path, from 1. Nil: all
	Arrivals  []Range // which of the service's arrivals, from 1. Nil: all
	// After and Until are times since the service's first arrival. Zero sets no bound.
	After, Until time.Duration
	// Every chooses each so many-th of what the rest has chosen. Zero: all.
	Every int64
}

// A Range is of numbers from First to Last, both included. A Last of zero leaves it open.
type Range struct{ First, Last int }

// Where limits rules to what is selected; the first that answers has the request.
func Where(sel Select, rules ...Rule) Rule {
	var seen atomic.Int64
	return When(func(x *Exchange) bool {
		switch {
		case sel.Documents != nil && (x.doc == nil || !within(sel.Documents, x.doc.n)):
		case sel.Requests != nil && !within(sel.Requests, x.Try+1):
		case sel.Arrivals != nil && !within(sel.Arrivals, x.Arrival):
		case x.Since < sel.After:
		case sel.Until > 0 && x.Since >= sel.Until:
		default:
			return sel.Every == 0 || seen.Add(1)%sel.Every == 0
		}
		return false
	}, rules...)
}

func within(ranges []Range, n int) bool {
	for _, r := range ranges {
		if n >= r.First && (r.Last == 0 || n <= r.Last) {
			return true
		}
	}
	return false
}

// First applies a rule to the first n requests for a document or a path.
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
		x.fault("status")
		x.Status(code)
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
	name := "status"
	if code == http.StatusOK {
		name = "error"
	}
	return func(x *Exchange) bool {
		x.fault(name)
		x.Page(code, contentType, text)
		return true
	}
}

// LoginPage is what stands in place of a document when a session has ended.
const LoginPage = `<!doctype html><html><head><title>Sign in</title></head><body>
<form method="post" action="/login"><input name="user"><input type="password" name="password"></form></body></html>`

// Login answers with a login page, as 200.
func Login(x *Exchange) bool {
	x.fault("login")
	x.Page(http.StatusOK, "text/html; charset=utf-8", LoginPage)
	return true
}

// Do runs f, and leaves the request to the rules after it.
func Do(f func(*Exchange)) Rule {
	return func(x *Exchange) bool {
		f(x)
		return false
	}
}

// Deny refuses the document that is asked for with 403, now and for good.
func Deny(x *Exchange) bool { return x.lose(http.StatusForbidden) }

// Gone takes the document that is asked for away: it is 404, now and for good.
func Gone(x *Exchange) bool { return x.lose(http.StatusNotFound) }

func (x *Exchange) lose(status int) bool {
	if x.doc == nil {
		return false
	}
	x.doc.owner.Withhold(x.doc.n, status)
	x.withhold(status)
	return true
}

func (x *Exchange) withhold(status int) {
	if status == http.StatusForbidden {
		x.fault("deny")
	} else {
		x.fault("gone")
	}
	if x.endpoint != nil {
		x.endpoint.fail(x, status)
		return
	}
	x.Status(status)
}

// ChangeNow gives the document that is asked for another version, and goes on.
func ChangeNow(x *Exchange) bool {
	if d := x.doc; d != nil {
		d.owner.Change(d.n)
		d.version = d.owner.version(d.n)
		x.fault("change")
		x.change(func() { x.row.Version = d.version })
	}
	return false
}
