package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// A conn is one connection to an origin. Wire.mu guards the fields from slots on.
type conn struct {
	w   *Wire
	to  origin
	cc  *http.ClientConn
	tls *tls.ConnectionState // nil for plain http
	h1  *h1Conn              // exactly one of these is set
	h2  *h2Conn

	slots   int           // reserved or in use
	active  int           // in use
	idle    time.Time     // since when nothing is in use
	keep    time.Duration // for how long it may be idle and still be used
	retired bool          // takes no new request
}

// dial makes a connection to o; all that can be waited for before a request is waited for.
func (w *Wire) dial(ctx context.Context, o origin) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.DialTimeout,
		fmt.Errorf("%w (%v)", ErrDialTimeout, w.cfg.DialTimeout))
	defer cancel()
	c, err := w.establish(ctx, o)
	if err == nil {
		return c, nil
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		<-ctx.Done() // a deadline of the connection's may be noticed before the context's own
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		err = errors.New("it does not speak TLS there")
	}
	return nil, &Error{Op: "connect to", Address: o.String(), Fate: NotSent, Err: err}
}

func (w *Wire) establish(ctx context.Context, o origin) (*conn, error) {
	via, err := w.proxyFor(ctx, o)
	if err != nil {
		return nil, err
	}
	nc, relayed, err := w.connect(ctx, o, via)
	if err != nil {
		return nil, err
	}
	c := &conn{w: w, to: o}
	var top net.Conn = nc
	h2 := o.scheme == "http" && w.cfg.H2C && !relayed
	if o.scheme == "https" {
		tc, err := w.handshake(ctx, nc, o.host, w.cfg.TLS.NextProtos)
		if err != nil {
			nc.Close()
			return nil, err
		}
		state := tc.ConnectionState()
		c.tls, top, h2 = &state, tc, state.NegotiatedProtocol == "h2"
	}
	ready := dialled{}
	if relayed {
		ready.proxy = via
	}
	transport := w.h1
	if h2 {
		c.keep, c.h2 = keepH2, newH2Conn(top, nc)
		ready.conn, transport = c.h2, w.h2
	} else {
		c.keep, c.h1 = keepH1, newH1Conn(top, nc, w.began)
		ready.conn = c.h1
	}
	// The first write of HTTP/2 knows no context.
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	c.cc, err = transport.NewClientConn(context.WithValue(ctx, dialled{}, ready), o.scheme, o.address())
	if err != nil {
		top.Close()
		return nil, err
	}
	if h2 {
		if err := c.settle(ctx); err != nil {
			c.cc.Close()
			return nil, err
		}
	}
	c.idle = time.Now()
	return c, nil
}

// settle waits until an HTTP/2 server has said how many streams it takes.
func (c *conn) settle(ctx context.Context) error {
	select {
	case <-c.h2.settled:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case c.cc.Err() != nil:
		return fmt.Errorf("%w: HTTP/2 was expected", ErrNotHTTP)
	case c.cc.Available() == 0:
		return errors.New("the server takes no requests on a new HTTP/2 connection")
	}
	return nil
}

// dialled is a connection on its way through a Transport; also its key in a context.
type dialled struct {
	conn  net.Conn
	proxy *url.URL
}

// transports are given connections that are ready, and put HTTP on them. A Transport that
// dials TLS itself would hide the connection's plain bytes, which tell what left and which
// requests an HTTP/2 server did not take.
func (w *Wire) transports() (h1, h2 *http.Transport) {
	ready := func(ctx context.Context) dialled { return ctx.Value(dialled{}).(dialled) }
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return ready(ctx).conn, nil }
	fresh := func() *http.Transport {
		return &http.Transport{
			Proxy:                  func(r *http.Request) (*url.URL, error) { return ready(r.Context()).proxy, nil },
			DialContext:            dial,
			DialTLSContext:         dial,
			DisableCompression:     true,
			MaxResponseHeaderBytes: w.cfg.MaxHeaderBytes,
			Protocols:              new(http.Protocols),
		}
	}
	h1, h2 = fresh(), fresh()
	h1.Protocols.SetHTTP1(true)
	// To the Transport the connection is plain; TLS is below it.
	h2.Protocols.SetUnencryptedHTTP2(true)
	h2.IdleConnTimeout = keepH2
	h2.HTTP2 = &http.HTTP2Config{
		// A connection whose peer has vanished ends before the requests on it time out one
		// by one. Pings are no requests.
		SendPingTimeout:  w.cfg.IdleTimeout / 2,
		WriteByteTimeout: w.cfg.IdleTimeout,
	}
	return h1, h2
}

func (w *Wire) dialTCP(ctx context.Context, address string) (*meter, error) {
	nc, err := w.cfg.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &meter{Conn: nc}, nil
}

func (w *Wire) handshake(ctx context.Context, nc net.Conn, host string, protos []string) (*tls.Conn, error) {
	cfg := w.cfg.TLS.Clone()
	cfg.NextProtos = protos
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	tc := tls.Client(nc, cfg)
	return tc, tc.HandshakeContext(ctx)
}

// A meter counts what the kernel took.
type meter struct {
	net.Conn
	sent atomic.Int64
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.sent.Add(int64(n))
	return n, err
}

// closeBoth closes the upper of two layers, and the lower one if that takes long: the end
// of TLS is a write, which a peer that has vanished holds up.
func closeBoth(top, bottom net.Conn) error {
	t := time.AfterFunc(250*time.Millisecond, func() { bottom.Close() })
	defer t.Stop()
	return top.Close()
}
