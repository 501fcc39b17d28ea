package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// get gets a token from the service, in the way of the login's kind.
func (l *Login) get(ctx context.Context, rt http.RoundTripper) (*oauth2.Token, error) {
	if l.cfg.Kind == App {
		return l.asApp(ctx, rt)
	}
	if l.refresh != nil {
		got, err := l.conf.TokenSource(through(ctx, rt), l.refresh).Token()
		if err == nil {
			return got, nil
		}
		err = l.judge(ctx, err)
		if e, ok := errors.AsType[*Error](err); !ok || !e.personNeeded() {
			return nil, err
		}
		l.refresh = nil
	}
	return l.ask(ctx, rt)
}

func (l *Login) asApp(ctx context.Context, rt http.RoundTripper) (*oauth2.Token, error) {
	secret, err := l.cfg.Secret()
	if err != nil {
		return nil, fmt.Errorf("the client secret: %w", err)
	}
	if secret == "" {
		return nil, errors.New("the client secret is empty")
	}
	conf := clientcredentials.Config{
		ClientID: l.cfg.ClientID, ClientSecret: secret, Scopes: l.conf.Scopes,
		TokenURL: l.conf.Endpoint.TokenURL, AuthStyle: l.conf.Endpoint.AuthStyle,
	}
	got, err := conf.Token(through(ctx, rt))
	if err != nil {
		return nil, l.judge(ctx, err)
	}
	return got, nil
}

// ask asks the person, and polls until the code was typed or has run out. What ends it on the
// way, such as a throttle or the end of ctx, does not take the code away: the next ask goes
// on with it, so nobody has to type a second one.
func (l *Login) ask(ctx context.Context, rt http.RoundTripper) (*oauth2.Token, error) {
	if l.device == nil || !time.Now().Before(l.device.Expiry) {
		d, err := l.code(ctx, rt)
		if err != nil {
			return nil, err
		}
		l.device = d
	}
	d := *l.device
	l.cfg.Prompt(d.VerificationURI, d.UserCode, d.Expiry)
	// A deadline of our own tells the end of the code from the end of ctx.
	ctx, cancel := context.WithDeadlineCause(ctx, d.Expiry, l.failed(0, "expired_token"))
	defer cancel()
	d.Expiry = time.Time{}
	got, err := l.conf.DeviceAccessToken(through(ctx, rt), &d)
	if err != nil {
		err = l.judge(ctx, err)
		if e, ok := errors.AsType[*Error](err); ok && e.final() {
			l.device = nil
		}
		return nil, err
	}
	l.device = nil
	return got, nil
}

// code gets a code for the person to type. Its words end up on a terminal.
func (l *Login) code(ctx context.Context, rt http.RoundTripper) (*oauth2.DeviceAuthResponse, error) {
	d, err := l.conf.DeviceAuth(through(ctx, rt))
	if err != nil {
		return nil, l.judge(ctx, err)
	}
	page, err := url.Parse(d.VerificationURI)
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if err != nil || page.Host == "" || page.Scheme != "https" && page.Scheme != "http" ||
		strings.ContainsFunc(d.VerificationURI+d.UserCode, unprintable) ||
		d.UserCode == "" || d.DeviceCode == "" || d.Expiry.IsZero() {
		return nil, l.failed(http.StatusOK, "")
	}
	return d, nil
}
