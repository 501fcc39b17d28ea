package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

// A Slot is room for one request on a live connection.
type Slot struct {
	c            *conn
	scheme, host string // as they were reserved for
	used         atomic.Bool
}

func (c *conn) slot(u *url.URL) *Slot { return &Slot{c: c, scheme: u.Scheme, host: u.Host} }

// Live reports whether Send would try the connection: the server has not closed it, and it
// did not sit idle for too long while the slot was held. A slot that is not live is released
// and another one reserved, best before the permit is taken.
func (s *Slot) Live() bool {
	s.c.w.mu.Lock()
	defer s.c.w.mu.Unlock()
	return !s.used.Load() && s.c.fault() == nil
}

// Release gives the slot back unused. After Send, or twice, it does nothing.
func (s *Slot) Release() {
	if !s.used.Swap(true) {
		s.c.cc.Release()
		s.c.release(false)
	}
}

// Send sends the request once, and uses up the slot. It follows no redirect and tries
// nothing again. The request asks for no content coding and expects no 100 (Continue),
// whatever its header says; the header itself is not changed.
//
// The answer's body must be read to its end, or closed; only after its end is an HTTP/1.1
// connection used again. What its Read returns is an [*Error], or [io.EOF] when all of it
// was received. The request's context bounds all of it, body included.
func (s *Slot) Send(req *http.Request) (*http.Response, error) {
	if s.used.Swap(true) {
		closeBody(req)
		return nil, refuse(req, errors.New("the slot was used before"))
	}
	c := s.c
	err := s.check(req)
	if err == nil {
		err = c.begin()
	}
	if err != nil {
		closeBody(req)
		c.cc.Release()
		c.release(false)
		return nil, refuse(req, err)
	}
	x := &exchange{c: c, req: req}
	x.ctx, x.cancel = context.WithCancelCause(req.Context())
	x.touch()
	x.waiting.Store(true)
	x.timer = time.AfterFunc(time.Hour, x.look)
	x.timer.Reset(c.w.cfg.IdleTimeout) // only now, since look needs x.timer
	resp, err := c.cc.RoundTrip(x.outgoing())
	x.waiting.Store(false)
	if err != nil {
		err = x.fail(err)
		x.finish()
		return nil, err
	}
	return x.answered(resp)
}

func refuse(req *http.Request, err error) error {
	return &Error{Op: "send to", Address: address(req.URL), Fate: NotSent, Err: err}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// check finds reasons not to send at all.
func (s *Slot) check(req *http.Request) error {
	if err := req.Context().Err(); err != nil {
		return context.Cause(req.Context())
	}
	if req.URL.Scheme != s.scheme || req.URL.Host != s.host {
		if o, err := originOf(req.URL); err != nil || o != s.c.to {
			return fmt.Errorf("the slot is for %s", s.c.to)
		}
	}
	if req.Method != "" && !httpguts.ValidHeaderFieldName(req.Method) { // both are tokens
		return errors.New("the method is impossible")
	}
	for name, values := range req.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return errors.New("a header has an impossible name")
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("the header %s has an impossible value", name)
			}
		}
	}
	return nil
}

// begin takes the connection into use, unless it must not be tried any more.
func (c *conn) begin() error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	err := c.fault()
	if err == nil && c.h1 != nil {
		err = c.h1.begin()
	}
	if err != nil {
		c.retired = true
		return err
	}
	c.active++
	return nil
}

// An exchange is one request and its answer; it is also the answer's body.
type exchange struct {
	c      *conn
	req    *http.Request
	ctx    context.Context
	cancel context.CancelCauseFunc
	trace  httptrace.ClientTrace
	body   io.ReadCloser // of the answer
	known  bool          // its length was announced
	err    error         // what Read returned last; for the reader's goroutine
	timer  *time.Timer

	upload   atomic.Pointer[error] // what the request's own body failed with
	stream   atomic.Uint32         // of HTTP/2; zero until its head was written
	heads    int64                 // bytes of informational heads, of HTTP/2
	received atomic.Int64
	moved    atomic.Int64 // time since Wire.began
	waiting  atomic.Bool  // somebody waits for the server now
	done     atomic.Bool
}

// outgoing is the request as it is sent.
func (x *exchange) outgoing() *http.Request {
	req, ctx := x.req, x.ctx
	if x.c.h2 != nil {
		x.trace.WroteHeaders = x.wroteHead
		x.trace.Got1xxResponse = x.informed
		ctx = httptrace.WithClientTrace(ctx, &x.trace)
	}
	out := req.WithContext(ctx)
	out.Header = make(http.Header, len(req.Header)+1)
	for name, values := range req.Header { // whose names may be in any case
		if !strings.EqualFold(name, "Accept-Encoding") && !strings.EqualFold(name, "Expect") {
			out.Header[name] = values
		}
	}
	out.Header["Accept-Encoding"] = identity
	if req.Body != nil && req.Body != http.NoBody {
		out.Body = &uploadBody{x, req.Body}
	}
	return out
}

var identity = []string{"identity"}

// wroteHead is called when net/http has written the head of the request, or failed to.
func (x *exchange) wroteHead() {
	x.touch()
	x.stream.Store(x.c.h2.claim())
}

// informed is called for 1xx heads of HTTP/2. net/http does not bound them for who listens.
func (x *exchange) informed(_ int, h textproto.MIMEHeader) error {
	x.touch()
	x.heads += 64
	for name, values := range h {
		for _, v := range values {
			x.heads += int64(len(name) + len(v) + 32)
		}
	}
	if x.heads > x.c.w.cfg.MaxHeaderBytes {
		return ErrMalformed
	}
	return nil
}

// answered wraps the body of an answer.
func (x *exchange) answered(resp *http.Response) (*http.Response, error) {
	x.touch()
	resp.Request, resp.TLS = x.req, x.c.tls
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		x.c.cc.Close()
		x.finish()
		return nil, x.error("read from", fmt.Errorf("%w: it switches protocols", ErrMalformed))
	}
	if h1 := x.c.h1; h1 != nil {
		x.c.keepAlive(resp.Header)
		h1.follow(resp)
	}
	if resp.Body == http.NoBody {
		x.finish()
		return resp, nil
	}
	x.body, x.known = resp.Body, resp.ContentLength >= 0
	resp.Body = x
	return resp, nil
}

// fail makes the error of a request that got no answer.
func (x *exchange) fail(err error) error {
	limit := x.c.w.cfg.MaxHeaderBytes
	stream := x.stream.Load()
	e := x.error("send to", nil)
	ended := x.ctx.Err() != nil
	if h1 := x.c.h1; h1 != nil {
		if h1.untouched() {
			e.Fate = NotSent
		}
		e.Err = h1.headFault(limit)
		x.c.cc.Close() // net/http has done so if it began to write
	} else {
		var refused bool
		e.Err, refused = x.c.h2.h2Fault(stream, err, limit)
		switch {
		case refused && stream != 0:
			e.Fate = Unprocessed
		case stream == 0 && !ended:
			e.Fate = NotSent // when its context has ended, net/http may still be about to write
		}
	}
	switch {
	case ended:
		e.Err = x.cause()
	case x.upload.Load() != nil:
		e.Err = fmt.Errorf("the body of the request: %w", *x.upload.Load())
	case e.Fate == NotSent && errors.Is(e.Err, ErrMalformed):
		e.Err = errUnwritten
	}
	x.tell(e.Err)
	return e
}

func (x *exchange) error(op string, err error) *Error {
	return &Error{Op: op, Address: address(x.req.URL), Err: err}
}

// tell keeps the server's wish for calm from being told again.
func (x *exchange) tell(err error) {
	if x.c.h2 != nil && Calm(err) {
		x.c.h2.tell()
	}
}

// cause says why the exchange's context ended.
func (x *exchange) cause() error {
	err := context.Cause(x.ctx)
	if errors.Is(err, ErrIdle) {
		x.c.retire() // its peer may have vanished
	}
	return err
}

// finish ends the exchange; what comes later changes nothing.
func (x *exchange) finish() {
	if x.done.Swap(true) {
		return
	}
	x.timer.Stop()
	x.cancel(nil)
	x.c.release(true)
}

func (x *exchange) touch() { x.moved.Store(int64(x.c.w.since())) }

// look ends the exchange if nothing moved for too long.
func (x *exchange) look() {
	if x.done.Load() {
		return
	}
	limit := x.c.w.cfg.IdleTimeout
	wait := limit
	if x.waiting.Load() {
		moved := x.moved.Load()
		if x.c.h1 != nil {
			moved = max(moved, x.c.h1.moved.Load())
		}
		wait = limit - (x.c.w.since() - time.Duration(moved))
	}
	if wait <= 0 {
		x.cancel(fmt.Errorf("%w for %v", ErrIdle, limit))
		return
	}
	x.timer.Reset(wait)
}
