package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/hint"
	"github.com/dogear/dogear/wire"
)

// An Exchange is one request and what came of its sending.
type Exchange struct {
	// Response is the answer's head with its body still to be read; nil where none came.
	// Whoever gets it closes the body and, unless it was a throttle, calls End.
	Response *http.Response
	// Status is the answer's status; zero if none came.
	Status int
	// Outcome is Throttled, or, where there is no Response, NotSent, Unprocessed or
	// Transient; else it is for the caller to judge.
	Outcome dogear.Outcome
	// Hint is what the answer said of waiting.
	Hint hint.Hint
	// Means is what the service's profile says that the answer means; Unsettled where it says
	// no more than the status.
	Means dogear.Outcome
	// Received is when its head came.
	Received time.Time
	// Err says why no answer came.
	Err error

	permit *Permit
	closes []string          // of the permit's scopes, those that the throttle closes; nil: all
	partly bool              // of a batch the service took some items
	waits  []time.Duration   // what is documented to wait after it for want of a hint
	said   map[string][]left // what the answer tells is left, by scope
}

// Send admits a request, sends it once and judges the answer's head. Ctx bounds the wait for
// admission, the request's own context its sending. Sign, if not nil, puts credentials on
// when the wait is over (R4). A throttle is settled when Send returns: the scope is closed in
// the ledger, and the request's document, if any, is pending again. The error is Admit's or
// Sign's; what went wrong in sending is in the Exchange.
func (g *Gate) Send(ctx context.Context, req *http.Request, r dogear.Request, sign func(*http.Request) error) (*Exchange, error) {
	var slot *wire.Slot
	defer func() {
		if slot != nil {
			slot.Release()
		}
	}()
	g.costs(req, &r)
	for {
		// Connections are made before the permit is asked for, but not into a wait: while a
		// scope is closed its origin hears nothing at all.
		if slot == nil && !g.shutNow(r.Scopes) {
			var err error
			if slot, err = g.cfg.Wire.Reserve(ctx, req.URL); err != nil {
				return g.unreserved(ctx, r, err)
			}
		}
		p, err := g.Admit(ctx, r)
		if err != nil {
			return nil, err
		}
		if slot != nil && !slot.Live() { // it sat idle through a wait: closed, not tried
			slot.Release()
			slot = nil
		}
		if slot == nil {
			if slot, err = g.cfg.Wire.Reserve(ctx, req.URL); err != nil {
				p.unreached()
				return &Exchange{Outcome: dogear.NotSent, Err: err}, nil
			}
		}
		if sign != nil {
			if err := sign(req); err != nil {
				g.settleAll(p.unused())
				return nil, err
			}
		}
		if !p.Use() {
			g.settleAll(p.unused())
			continue
		}
		x := p.send(slot, req)
		slot = nil
		if x.Outcome == dogear.Throttled {
			if err := x.settleThrottle(); err != nil {
				return nil, err
			}
		}
		return x, nil
	}
}

// unreserved is what came of a request for which no connection was to be had. A server that
// answered an earlier connection with ENHANCE_YOUR_CALM has throttled its scopes, without a
// hint, though no request was there to hear it.
func (g *Gate) unreserved(ctx context.Context, r dogear.Request, err error) (*Exchange, error) {
	if wire.Calm(err) {
		if err := g.closeScopes(ctx, g.closing(r.Scopes, throttling)); err != nil {
			return nil, err
		}
	}
	return &Exchange{Outcome: dogear.NotSent, Err: err}, nil
}

// shutNow reports whether this process knows one of the scopes to be closed or probing.
func (g *Gate) shutNow(keys []string) bool {
	now := g.cfg.Store.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, k := range keys {
		h := g.heard[k]
		if h.scope.Probing || h.generation > h.scope.Generation || now.Before(h.scope.NotBefore) {
			return true
		}
	}
	return false
}

// send puts the request on the wire, once.
func (p *Permit) send(slot *wire.Slot, req *http.Request) *Exchange {
	x := &Exchange{permit: p}
	resp, err := slot.Send(req)
	x.Received = p.gate.cfg.Store.Now()
	if err != nil {
		x.Err = err
		x.Outcome = dogear.Transient
		var we *wire.Error
		switch {
		case wire.Calm(err):
			x.Outcome = dogear.Throttled
		case errors.As(err, &we) && we.Fate == wire.NotSent:
			x.Outcome = dogear.NotSent
		case errors.As(err, &we) && we.Fate == wire.Unprocessed:
			x.Outcome = dogear.Unprocessed
		}
		if x.Outcome != dogear.Throttled && req.Context().Err() != nil {
			x.Err = context.Cause(req.Context())
		}
		return x
	}
	if p.gate.judge(x, req, resp, len(p.items) > 0); x.Outcome != dogear.Throttled && x.Status < 500 { // a 5xx is no answer of an origin that is down
		x.head()
	}
	return x
}

// settleThrottle closes the scopes and returns when that is durable.
func (x *Exchange) settleThrottle() error {
	p := x.permit
	end := p.end(dogear.Throttled)
	end.Status, end.Hint = x.Status, x.Hint.Raw
	if p.request.Doc != 0 && p.request.Kind != dogear.Check { // a check is no attempt
		end.Fate = &dogear.Fate{Doc: p.request.Doc, State: dogear.Pending, Reason: "throttled", Refund: 1}
	}
	o := &op{permit: p, end: end, said: x.said, closes: x.closes, done: make(chan struct{}), reply: reply{
		kind: throttling, hint: x.Hint.Wait, hinted: x.Hint.Valid(), atLeast: x.Hint.AtLeast, waits: x.waits, partly: x.partly,
		received: x.Received, by: p.gate.cfg.By,
	}}
	p.gate.settle(o)
	<-o.done // a throttle is written down though the run was cancelled
	if o.err != nil {
		return fmt.Errorf("write down a throttle of %v: %w", p.request.Scopes, o.err)
	}
	return nil
}

// N is the request's number in the ledger; zero where no permit was used.
func (x *Exchange) N() int64 {
	if x.permit == nil {
		return 0
	}
	return x.permit.N
}

// Next makes the request that follows a redirect, without what must not leave the origin:
// credentials, and the headers that drop names. It sends nothing.
func (x *Exchange) Next(req *http.Request, drop ...string) (*http.Request, error) {
	return wire.Next(req, x.Response, drop...)
}

// Body reads the answer's body with its content coding undone, and reports whether there
// was one.
func (x *Exchange) Body() (body io.Reader, coded bool, err error) { return wire.Decode(x.Response) }

// End settles a request whose answer was read, or that got none: what became of it, how
// many bytes of body came over the wire, and what that means for its document (nil: the
// document stays in flight). The ledger has it soon; see [Gate.Flush].
func (x *Exchange) End(outcome dogear.Outcome, bytes int64, fate *dogear.Fate) {
	p := x.permit
	if p == nil || p.settled {
		return
	}
	end := p.end(outcome)
	end.Status, end.Hint, end.Bytes, end.Fate = x.Status, x.Hint.Raw, bytes, fate
	kind := answered
	switch {
	case outcome == dogear.NotSent:
		kind = unsent
	case x.Status == 0:
		kind = silent
	case x.Status >= 500:
		kind = serverFail
	}
	p.gate.settle(&op{permit: p, end: end, said: x.said, reply: reply{kind: kind, received: x.Received, by: p.gate.cfg.By}})
}

// end begins the record of a request's end, once. Its moments are the ledger's clock's.
func (p *Permit) end(outcome dogear.Outcome) *dogear.End {
	p.settled = true
	return &dogear.End{Request: p.N, Sent: p.used, Ended: p.gate.cfg.Store.Now(), Outcome: outcome}
}

// unsent gives a permit back that was not used. The document keeps its place, uncharged.
func (p *Permit) unsent() *op {
	end := p.end(dogear.NotSent)
	if p.request.Doc != 0 && (p.request.Kind == dogear.Read || p.request.Kind == dogear.Item) {
		end.Fate = &dogear.Fate{Doc: p.request.Doc, State: dogear.InFlight, Refund: 1}
	}
	return &op{permit: p, end: end, reply: reply{kind: unsent}}
}

// unused gives back a permit that was not used, with those of its items.
func (p *Permit) unused() []*op {
	all := []*op{p.unsent()}
	for _, it := range p.items {
		all = append(all, it.unsent())
	}
	return all
}

func (g *Gate) settleAll(ops []*op) {
	for _, o := range ops {
		g.settle(o)
	}
}

// unreached gives a permit back whose origin could not be reached. For a probe that is an
// answer of a kind: nobody is there yet.
func (p *Permit) unreached() {
	all := p.unused()
	for _, st := range p.stakes {
		if st.probe {
			all[0].reply = reply{kind: silent, by: p.gate.cfg.By}
		}
	}
	p.gate.settleAll(all)
}

// Down closes scopes whose origin does not answer, without a hint (E5). The row of failures
// began at a moment of the ledger's clock: where another process has had an answer since, the
// origin is not down but this process cut off. Then nothing is closed, and alone is true.
func (g *Gate) Down(ctx context.Context, keys []string, row time.Time) (alone bool, err error) {
	o := g.closing(keys, down)
	o.row = row
	err = g.closeScopes(ctx, o)
	return err == nil && o.alone, err
}

func (g *Gate) closeScopes(ctx context.Context, o *op) error {
	g.settle(o)
	return o.wait(ctx)
}

// closing is what closes scopes for what no single request has met. It is one event, however
// many say so at the same time: they speak of the generation that this process knows.
func (g *Gate) closing(keys []string, kind replyKind) *op {
	since := map[string]int64{}
	g.mu.Lock()
	for _, k := range keys {
		since[k] = g.heard[k].scope.Generation
	}
	g.mu.Unlock()
	return &op{keys: keys, since: since, done: make(chan struct{}),
		reply: reply{kind: kind, received: g.cfg.Store.Now(), by: g.cfg.By}}
}
