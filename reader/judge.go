package reader

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
)

// manyDenied refusals in a row, with no success between them, are taken for the run's, not
// the documents'.
const manyDenied = 20

// judge decides on an answer. It returns the next request where the answer was a redirect,
// and how long it asks to wait before it; else the request and its document are dealt with.
func (a *attempt) judge(req *http.Request, x *gate.Exchange) (next *http.Request, wait time.Duration) {
	resp, r := x.Response, a.run
	if x.Status < 500 {
		a.answered(req.URL)
	}
	switch {
	case x.Means != dogear.Unsettled && x.Means != dogear.OK: // the profile knows better than the status
	case x.Status == http.StatusOK, x.Status == http.StatusNonAuthoritativeInfo, x.Status == http.StatusPartialContent:
		r.accepted()
		a.body(x)
		return nil, 0
	case x.Status >= 300 && x.Status < 400 && resp.Header.Get("Location") != "":
		r.accepted()
		return a.redirect(req, x)
	}
	n := drain(resp)
	outcome, state, reason := verdict(x.Status, x.Means)
	if a.isLink(req.URL, outcome) { // one that ran out refuses nobody (R4)
		x.End(dogear.Transient, n, a.transient(fmt.Sprintf("%d from the redirect's target", x.Status), 0))
		return nil, 0
	}
	if outcome != dogear.Unauthorized {
		r.accepted()
	}
	switch outcome {
	case dogear.Unauthorized:
		a.unauthorized(req, x, n)
		return nil, 0
	case dogear.Transient:
		x.End(outcome, n, a.transient(reason, x.Hint.Wait))
		if x.Status >= 500 {
			a.failedAt(req.URL, r.Scopes(req.URL), true, reason)
		}
		return nil, 0
	case dogear.Invalid:
		x.End(outcome, n, a.invalid(reason))
		return nil, 0
	}
	x.End(outcome, n, &dogear.Fate{Doc: a.doc.Seq, State: state, Reason: reason})
	a.ended(state)
	return nil, 0
}

// isLink reports whether such an answer of a redirect's target speaks of the link, and not of
// the document: no credential went there, and a service that lists documents says itself
// when one is gone.
func (a *attempt) isLink(u *url.URL, outcome dogear.Outcome) bool {
	if sameOrigin(a.home, u) {
		return false
	}
	return outcome == dogear.Refused || outcome == dogear.Unauthorized || outcome == dogear.Missing && a.checks() != ""
}

// means are the states of documents whose answers a profile explains.
var means = map[dogear.Outcome]dogear.State{dogear.Refused: dogear.Denied, dogear.Missing: dogear.Gone,
	dogear.Rejected: dogear.Failed, dogear.OtherVersion: dogear.Changed}

// verdict reads an answer that brings no document: by what the profile says that it means,
// else by its status.
func verdict(status int, meant dogear.Outcome) (dogear.Outcome, dogear.State, string) {
	reason := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if meant != dogear.Unsettled {
		return meant, means[meant], fmt.Sprintf("%s: the service's profile reads it as %s", reason, meant)
	}
	switch status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return dogear.Unauthorized, dogear.Pending, reason
	case http.StatusForbidden:
		return dogear.Refused, dogear.Denied, reason
	case http.StatusNotFound, http.StatusGone:
		return dogear.Missing, dogear.Gone, reason
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusRequestURITooLong,
		http.StatusRequestHeaderFieldsTooLarge, http.StatusUnavailableForLegalReasons:
		return dogear.Rejected, dogear.Failed, reason
	case http.StatusNoContent, http.StatusResetContent:
		return dogear.Invalid, dogear.Pending, reason + ": no document came"
	}
	return dogear.Transient, dogear.Pending, reason
}

// redirect makes the next hop, at most ten of them.
func (a *attempt) redirect(req *http.Request, x *gate.Exchange) (*http.Request, time.Duration) {
	n := drain(x.Response)
	a.hops++
	if a.hops > maxHops {
		x.End(dogear.Invalid, n, a.invalid(fmt.Sprintf("more than %d redirects", maxHops)))
		return nil, 0
	}
	var drop []string
	if a.run.Credentials != nil {
		drop = a.run.Credentials.Names()
	}
	next, err := x.Next(req, drop...)
	if err == nil { // a service with links takes ranges there alone
		a.ranged(next)
	}
	if err != nil {
		x.End(dogear.Invalid, n, a.invalid(err.Error()))
		return nil, 0
	}
	if wait := x.Hint.Wait; x.Hint.Valid() && wait > 0 {
		if a.run.pastDeadline(time.Now().Add(wait)) || wait > linkLife {
			x.End(dogear.Redirected, n, a.transient("its redirect asks to wait", wait))
			return nil, 0
		}
		x.End(dogear.Redirected, n, nil)
		return next, wait
	}
	x.End(dogear.Redirected, n, nil)
	return next, 0
}

// invalid is the fate of a document for which something else came: it is tried again, and
// failed when it has paid its cap.
func (a *attempt) invalid(reason string) *dogear.Fate {
	f := a.transient(reason, 0)
	if a.doc.Attempts+1 >= a.run.set.Attempts {
		f.State, f.NotBefore = dogear.Failed, time.Time{}
		a.ended(dogear.Failed)
	}
	return f
}

// unauthorized ends the run, unless other credentials have come to hand meanwhile.
func (a *attempt) unauthorized(req *http.Request, x *gate.Exchange, n int64) {
	r := a.run
	x.End(dogear.Unauthorized, n, &dogear.Fate{Doc: a.doc.Seq, State: dogear.Pending, Reason: "unauthorized"})
	if x.Status == http.StatusUnauthorized && a.renewed(req) {
		return
	}
	r.stop(&Stop{Reason: dogear.StopUnauthorized, Err: fmt.Errorf("%s answered %d %s", a.home.Host, x.Status, http.StatusText(x.Status))})
}

// ended notes the end of a document, and stops the run when the service refuses one
// after the other.
func (a *attempt) ended(s dogear.State) {
	r := a.run
	r.mu.Lock()
	defer r.mu.Unlock()
	switch s {
	case dogear.Done:
		r.denied = 0
	case dogear.Denied:
		r.count.Denied++
		if r.denied++; r.denied == manyDenied {
			go r.stop(&Stop{Reason: dogear.StopUnauthorized, Err: fmt.Errorf("%s refused %d documents in a row", a.home.Host, manyDenied)})
		}
	case dogear.Gone:
		r.count.Gone++
	case dogear.Changed:
		r.count.Changed++
	case dogear.Failed:
		r.count.Failed++
	}
}
