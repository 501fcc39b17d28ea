package gate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"

	"github.com/dogear/dogear"
)

// Transport puts any Go client behind a gate: one RoundTrip is one sending under one
// permit. It retries nothing itself. An answer that is a throttle closes the scope for
// everybody who shares the ledger and is handed to the client as it came; if the client
// tries again, its next request waits.
//
// The gate must be running; see [Gate.Run].
type Transport struct {
	Gate *Gate
	// Scopes names the scopes of a request. Nil means those of the gate's profile or, without
	// one, one for each host.
	Scopes func(*http.Request) []string
	// Base sends, where it is not the gate's own wire. A net/http Transport may send a
	// request again by itself; each such sending then waits for a permit of its own.
	Base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper]. Its errors are those of [Gate.Admit], or say
// why no answer came.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	r := dogear.Request{Scopes: []string{dogear.HostKey(req.URL)}}
	if t.Scopes != nil {
		r.Scopes = t.Scopes(req)
	} else if t.Gate.cfg.Profile != nil {
		r.Scopes = t.Gate.profile(req.URL).Keys(req.Method, req.URL, t.Gate.cfg.Parts)
	}
	x, err := t.send(req, r)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	if x.Response == nil {
		x.End(x.Outcome, 0, nil)
		return nil, x.Err
	}
	if x.Outcome != dogear.Throttled {
		x.Response.Body = &countedBody{ReadCloser: x.Response.Body, x: x}
	}
	return x.Response, nil
}

func (t *Transport) send(req *http.Request, r dogear.Request) (*Exchange, error) {
	if t.Base == nil {
		if t.Gate.cfg.Wire == nil {
			return nil, fmt.Errorf("gate: a Transport needs a Base or a gate with a wire")
		}
		return t.Gate.Send(req.Context(), req, r, nil)
	}
	return t.sendOver(req, r)
}

// sendOver sends through a foreign RoundTripper. Its first sending is under the permit that
// was taken before; whenever it gets hold of a further connection, it is about to send
// again, and waits there for a further permit.
func (t *Transport) sendOver(req *http.Request, r dogear.Request) (*Exchange, error) {
	g := t.Gate
	ctx, cancel := context.WithCancelCause(req.Context())
	g.costs(req, &r)
	p, err := g.admitUsable(ctx, r)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	var mu sync.Mutex
	sendings := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		mu.Lock()
		defer mu.Unlock()
		if sendings++; sendings == 1 {
			return
		}
		(&Exchange{permit: p, Err: fmt.Errorf("sent again by its transport")}).End(dogear.Doubtful, 0, nil)
		next, err := g.admitUsable(ctx, r)
		if err != nil {
			cancel(err)
			return
		}
		p = next
	}})
	resp, err := t.Base.RoundTrip(req.WithContext(ctx))
	mu.Lock()
	defer mu.Unlock()
	x := &Exchange{permit: p, Received: g.cfg.Store.Now(), Outcome: dogear.Transient}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		x.Err = err
		return x, nil
	}
	resp.Body = &cancelBody{resp.Body, cancel}
	x.Outcome = dogear.Unsettled
	if g.judge(x, req, resp, false); x.Outcome == dogear.Throttled {
		return x, x.settleThrottle()
	}
	if x.Status < 500 {
		x.head()
	}
	return x, nil
}

// admitUsable admits until the permit may be used.
func (g *Gate) admitUsable(ctx context.Context, r dogear.Request) (*Permit, error) {
	for {
		p, err := g.Admit(ctx, r)
		if err != nil || p.Use() {
			return p, err
		}
		g.settle(p.unsent())
	}
}

// countedBody ends the request when its body is at its end or closed.
type countedBody struct {
	io.ReadCloser
	x *Exchange
	n int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	if err == io.EOF {
		b.x.End(dogear.OK, b.n, nil)
	} else if err != nil {
		b.x.End(dogear.Transient, b.n, nil)
	}
	return n, err
}

func (b *countedBody) Close() error {
	b.x.End(dogear.OK, b.n, nil)
	return b.ReadCloser.Close()
}

type cancelBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *cancelBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
