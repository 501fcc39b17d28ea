package login

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"
)

// through is ctx as x/oauth2 wants it: what is asked for under it is sent through rt.
func through(ctx context.Context, rt http.RoundTripper) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		return exchange(rt, req.Clone(ctx)) // x/oauth2 leaves ctx out where it asks for a code
	})})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 20

// exchange sends once and reads the answer to its end. What it returns has no header of the
// service's: a client that sees a redirect would take the secret elsewhere.
func exchange(rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	req.GetBody = nil // nobody below sends it twice
	req.Header.Set("Accept", "application/json")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	var object map[string]json.RawMessage
	if ok(resp.StatusCode) && (json.Unmarshal(body, &object) != nil || object == nil) { // x/oauth2 panics at a null
		return nil, &Error{Host: req.URL.Host, Status: resp.StatusCode}
	}
	return &http.Response{
		Status: resp.Status, StatusCode: resp.StatusCode, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// judge makes of an error of x/oauth2 one that callers may see: its own text holds what the
// service wrote.
func (l *Login) judge(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return l.failed(e.Response.StatusCode, e.ErrorCode)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*url.Error](err); ok { // rt failed
		return fmt.Errorf("ask %s for a token: %w", l.endpoint.Host, e.Err)
	}
	return l.failed(http.StatusOK, "") // an answer that is no token
}
