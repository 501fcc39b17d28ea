package login

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// A Login gets tokens and holds the last one. Its methods are safe for concurrent use.
//
// What is secret stands behind a pointer: package fmt does not follow those of a value that
// it finds inside another.
type Login struct {
	cfg      Config
	endpoint *url.URL
	conf     oauth2.Config // without a secret

	mu     sync.Mutex // guards what follows
	token  *token     // at hand; nil: none
	flight *flight    // the renewal on its way; nil: none

	// Only the flight looks at these, and there is never more than one.
	refresh *oauth2.Token              // a person's refresh token and no more; nil: ask
	device  *oauth2.DeviceAuthResponse // the code that a person was asked to type; nil: none
}

// token is one that the service gave.
type token struct {
	access string
	// until is the last moment at which it is handed out. Zero: the service did not say.
	until time.Time
}

// flight is a renewal that several callers wait for. Its results are set before done is
// closed.
type flight struct {
	done chan struct{}
	err  error
	// abandoned says that it failed for no other reason than that its caller went away.
	abandoned bool
}

// ErrSameToken says that the service gave the very token again that had been refused: another
// renewal would be of no use.
var ErrSameToken = errors.New("the renewed token is the one that was refused")

// New checks cfg. It sends nothing.
func New(cfg Config) (*Login, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	authority := *cfg.Authority
	cfg.Authority = &authority
	base := authority.JoinPath(cfg.Tenant, "oauth2", "v2.0")
	l := &Login{cfg: cfg, endpoint: base.JoinPath("token")}
	l.conf = oauth2.Config{ClientID: cfg.ClientID, Scopes: cfg.scopes(), Endpoint: oauth2.Endpoint{
		TokenURL:      l.endpoint.String(),
		DeviceAuthURL: base.JoinPath("devicecode").String(),
		AuthStyle:     oauth2.AuthStyleInParams, // to find the style out would be a second request
	}}
	return l, nil
}

// Endpoint is the address that tokens are asked for at. Its host is a scope of its own. A
// person's codes come from the same host.
func (l *Login) Endpoint() *url.URL {
	u := *l.endpoint
	return &u
}

// Token returns the token at hand if it is good for a minute more, or for half of its life
// where it lives for less than two. It does no I/O.
func (l *Login) Token(now time.Time) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token.good(now)
}

func (t *token) good(now time.Time) (string, bool) {
	if t == nil || !t.until.IsZero() && now.After(t.until) {
		return "", false
	}
	return t.access, true
}

// Renew sees that a token is at hand that is good and is not the refused one; "" says that
// none was refused: the one at hand has run out, or there is none yet. If that is so
// already, it returns at once. A token that is named refused is not handed out again.
//
// Callers at the same time share one renewal, sent through rt and under the ctx of the first,
// and its error. When the first one's ctx ends, another takes its place; when another's ctx
// ends, that one alone returns, with the cause.
//
// The error is, or wraps: an [*Error] when the service answered; the cause of ctx; rt's own
// error or that of Config.Secret; or [ErrSameToken].
func (l *Login) Renew(ctx context.Context, rt http.RoundTripper, refused string) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, mine := l.board(time.Now(), refused)
		switch {
		case f == nil:
			return nil
		case mine:
			return l.fly(ctx, rt, f, refused)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.done:
		}
		if f.err != nil && !f.abandoned {
			return f.err
		}
	}
}

// board returns the flight that brings a token, and whether the caller has to fly it; nil if
// a token is at hand.
func (l *Login) board(now time.Time, refused string) (f *flight, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token != nil && l.token.access == refused {
		l.token = nil // whoever is about to send need not find out as well
	}
	if _, ok := l.token.good(now); ok {
		return nil, false
	}
	if l.flight == nil {
		l.flight, mine = &flight{done: make(chan struct{})}, true
	}
	return l.flight, mine
}

// fly renews, and tells everybody on board. It does so even where rt panics: they would wait
// for ever.
func (l *Login) fly(ctx context.Context, rt http.RoundTripper, f *flight, refused string) (err error) {
	var t *token
	defer func() {
		_, answered := errors.AsType[*Error](err)
		l.mu.Lock()
		defer l.mu.Unlock()
		if t != nil {
			l.token = t
		}
		f.err, f.abandoned = err, ctx.Err() != nil && !answered
		l.flight = nil
		close(f.done)
	}()
	got, err := l.get(ctx, rt)
	if err != nil {
		return err
	}
	if l.cfg.Kind == Person && got.RefreshToken != "" {
		l.refresh = &oauth2.Token{RefreshToken: got.RefreshToken}
	}
	t, err = l.usable(got, time.Now(), refused)
	return err
}

// usable is the token that the service gave at now, if it can be used. One that had run out
// before it came would be renewed for ever.
func (l *Login) usable(got *oauth2.Token, now time.Time, refused string) (*token, error) {
	t := &token{access: got.AccessToken}
	if !got.Expiry.IsZero() {
		life := got.Expiry.Sub(now)
		if life <= 0 {
			return nil, l.failed(http.StatusOK, "")
		}
		// Without the monotonic reading, which stands still while the machine sleeps.
		t.until = got.Expiry.Add(-min(time.Minute, life/2)).Round(0)
	}
	switch {
	case !word(got.AccessToken) || got.Type() != "Bearer":
		return nil, l.failed(http.StatusOK, "")
	case got.AccessToken == refused:
		return nil, ErrSameToken
	}
	return t, nil
}

// String is what may be seen of it.
func (l *Login) String() string { return l.cfg.String() }

// GoString implements [fmt.GoStringer].
func (l *Login) GoString() string { return "login.Login{" + l.cfg.String() + "}" }

// LogValue implements [slog.LogValuer].
func (l *Login) LogValue() slog.Value { return l.cfg.LogValue() }
