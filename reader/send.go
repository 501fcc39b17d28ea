package reader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/profile"
)

// ErrExpired says that a credential is good no more and that another can be had. What
// [Credentials] return to sign with matches it.
var ErrExpired = errors.New("the credential has expired")

// maxRenewals is how often a request waits for another credential before it was sent once.
const maxRenewals = 5

var errShortLived = fmt.Errorf("%w: each one had expired before a request could leave", ErrNoCredential)

// renewWithin is how long a request that may leave waits for another credential: its permit is
// good for two seconds.
const renewWithin = time.Second

// renewing signs with another credential where the one at hand has expired and another comes
// at once; else the permit goes back.
func (r *run) renewing(ctx context.Context, sign func(*http.Request) error) func(*http.Request) error {
	return func(req *http.Request) error {
		err := sign(req)
		if !errors.Is(err, ErrExpired) {
			return err
		}
		soon, cancel := context.WithTimeout(ctx, renewWithin)
		defer cancel()
		if _, e := r.Credentials.Renew(soon, nil, tokens{r, soon}); e != nil {
			return err
		}
		return sign(req)
	}
}

// send admits a request and sends it once, with credentials where it goes to their origin.
// One that expired in the wait is renewed first, and the request queues again (R4).
func (r *run) send(ctx context.Context, req *http.Request, rec dogear.Request, sign func(*http.Request) error) (*gate.Exchange, error) {
	for range maxRenewals {
		x, err := r.Gate.Send(ctx, req, rec, r.renewing(ctx, sign))
		if !errors.Is(err, ErrExpired) {
			return x, err
		}
		if _, err := r.renew(ctx, nil); err != nil {
			return nil, err
		}
	}
	return nil, errShortLived
}

// sendBatch is send for a batch.
func (r *run) sendBatch(ctx context.Context, form *profile.Batch, req *http.Request, rec dogear.Request, items []gate.Item, sign func(*http.Request) error) (*gate.Exchange, []*gate.Exchange, []string, error) {
	for range maxRenewals {
		x, parts, unknown, err := r.Gate.SendBatch(ctx, form, req, rec, items, r.renewing(ctx, sign))
		if !errors.Is(err, ErrExpired) {
			return x, parts, unknown, err
		}
		if _, err := r.renew(ctx, nil); err != nil {
			return nil, nil, nil, err
		}
	}
	return nil, nil, nil, errShortLived
}

// signed puts credentials on requests to the origin that they are for.
func (r *run) signed(home *url.URL) func(*http.Request) error {
	return func(req *http.Request) error {
		if r.Credentials != nil && sameOrigin(home, req.URL) {
			return r.Credentials.Sign(req)
		}
		return nil
	}
}

// renew gets another credential than that on a refused request; nil: than the one at hand,
// which has expired. What may pass is tried again, with a growing pause.
func (r *run) renew(ctx context.Context, refused *http.Request) (ok bool, err error) {
	for tries := 1; ; tries++ {
		ok, err = r.Credentials.Renew(ctx, refused, tokens{r, ctx})
		_, waits := errors.AsType[*gate.WaitError](err)
		_, spent := errors.AsType[*gate.ExhaustedError](err)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case err == nil, waits, spent, errors.Is(err, ErrNoCredential), errors.Is(err, gate.ErrRequests):
			return ok, err
		case tries >= r.set.Attempts:
			return false, &Stop{Reason: dogear.SourceUnreachable, Err: fmt.Errorf("no token is to be had: %w", err)}
		}
		r.Log.Warn("no token came: it is asked for again", "err", err)
		if err := r.pause(ctx, r.step(tries)); err != nil {
			return false, err
		}
	}
}

// renewed reports whether another credential is at hand now than that on a request that was
// answered 401. A second one that is refused, with no answer between them, is not replaced:
// it is not the credential that is wrong. An error says why none is to be had for now.
func (r *run) renewed(ctx context.Context, refused *http.Request) (bool, error) {
	if r.Credentials == nil {
		return false, nil
	}
	with := maphash.String(cursorSeed, refused.Header.Get("Authorization"))
	r.mu.Lock()
	if r.refusedWith == nil {
		r.refusedWith = map[uint64]bool{}
	}
	r.refusedWith[with] = true
	many := len(r.refusedWith) > 1
	r.mu.Unlock()
	if many {
		return false, nil
	}
	ok, err := r.renew(ctx, refused)
	if errors.Is(err, ErrNoCredential) {
		r.Log.Warn("the credential was refused, and no other came", "err", err)
		return false, nil
	}
	return ok, err
}

// accepted notes that the service has taken the credential.
func (r *run) accepted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusedWith = nil
}

// renewed is the run's, for one document: where no other credential is to be had, the lane or
// the run has been told.
func (a *attempt) renewed(refused *http.Request) bool {
	ok, err := a.run.renewed(a.open, refused)
	switch {
	case err != nil:
		a.refused(err)
		return true // it is dealt with
	case !ok:
		a.run.stop(&Stop{Reason: dogear.StopUnauthorized, Err: fmt.Errorf("%s answered 401 Unauthorized", a.home.Host)})
	}
	return ok
}

// pause waits, where that ends before the deadline.
func (r *run) pause(ctx context.Context, d time.Duration) error {
	if at := time.Now().Add(d); r.pastDeadline(at) {
		return &delayError{at}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tokens sends requests for tokens: through the gate, in a scope like any other. One that is
// throttled waits with its scope, and goes again when it may.
type tokens struct {
	run *run
	ctx context.Context // of the wait for admission
}

// RoundTrip implements [http.RoundTripper].
func (t tokens) RoundTrip(req *http.Request) (*http.Response, error) {
	r := t.run
	rec := dogear.Request{Job: r.Job.ID, Run: r.id, Scopes: r.TokenScopes(req.URL), Kind: dogear.Token}
	body, err := io.ReadAll(req.Body) // a form of a few fields: requests for tokens are POSTs
	if err != nil {
		return nil, err
	}
	req.Body.Close()
	for {
		next := req.Clone(r.flight)
		next.Body = io.NopCloser(bytes.NewReader(body))
		x, err := r.Gate.Send(t.ctx, next, rec, nil)
		if err != nil {
			return nil, err
		}
		r.tally(x)
		switch {
		case x.Outcome == dogear.Throttled:
			drain(x.Response)
		case x.Response == nil:
			x.End(x.Outcome, 0, nil)
			return nil, x.Err
		default:
			return r.token(x)
		}
	}
}

// maxToken bounds the answer to a request for a token.
const maxToken = 1 << 20

// token reads an answer whole, so that its request can be settled.
func (r *run) token(x *gate.Exchange) (*http.Response, error) {
	body, err := readAll(x, maxToken)
	outcome := dogear.OK
	switch {
	case err != nil:
		outcome = dogear.Transient
	case x.Status != http.StatusOK:
		outcome, _, _ = verdict(x.Status, x.Means)
	}
	x.End(outcome, int64(len(body.data)), nil)
	x.Response.Body = body
	return x.Response, err
}

// tally counts a request for people.
func (r *run) tally(x *gate.Exchange) {
	if x.Outcome.Sent() {
		r.counted(func(p *Progress) { p.Sent++ })
	}
	if x.Outcome == dogear.Throttled {
		r.counted(func(p *Progress) { p.Throttled++ })
	}
}
