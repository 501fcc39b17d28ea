package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"
)

const (
	// keepH1 is for how long an HTTP/1.1 connection may be idle and still be used, when the
	// server does not say. Apache, Node and uvicorn close after 5 seconds. A request that
	// meets the close is lost, and nobody knows whether it was acted on; a new connection
	// costs two or three round trips, and no request.
	keepH1 = 4 * time.Second
	// keepMost bounds what a server may say: after that, proxies and NATs in between forget.
	keepMost = 20 * time.Second
	// keepH2 may be longer, since an HTTP/2 server that closes says which requests it took.
	keepH2 = keepMost
)

// An origin is what a connection leads to. Its host is in lower case and ASCII.
type origin struct{ scheme, host, port string }

func originOf(u *url.URL) (origin, error) {
	o := origin{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()), port: u.Port()}
	if o.port == "" {
		o.port = map[string]string{"http": "80", "https": "443"}[o.scheme]
	}
	switch {
	case o.scheme != "http" && o.scheme != "https":
		return o, errors.New("only http and https can be read")
	case o.host == "":
		return o, errors.New("the address has no host")
	}
	if port, err := strconv.ParseUint(o.port, 10, 16); err != nil || port == 0 {
		return o, errors.New("the address has an impossible port")
	}
	if strings.ContainsFunc(o.host, func(r rune) bool { return r > 0x7e }) {
		// What cannot be converted is kept, and refused below.
		if ascii, err := idna.Lookup.ToASCII(o.host); err == nil {
			o.host = ascii
		}
	}
	if !validHost(o.host, strings.HasPrefix(u.Host, "[")) {
		return o, errors.New("the address has an impossible host")
	}
	return o, nil
}

// validHost is stricter than package url, which takes nearly anything for a host.
func validHost(host string, brackets bool) bool {
	if brackets {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_')
	})
}

func (o origin) address() string { return net.JoinHostPort(o.host, o.port) }

// hostport is the address without the scheme's own port.
func (o origin) hostport() string {
	if o.scheme == "http" && o.port == "80" || o.scheme == "https" && o.port == "443" {
		if strings.Contains(o.host, ":") {
			return "[" + o.host + "]"
		}
		return o.host
	}
	return o.address()
}

func (o origin) String() string { return o.scheme + "://" + o.hostport() }

// A pool is the connections to one origin.
type pool struct {
	conns  []*conn
	h1     bool    // the last connection spoke HTTP/1.1
	flight *flight // a connection that others wait for: it may carry them too
	// calm is when a connection was dropped whose server had asked for calm, and no request
	// has failed with it: the next Reserve does.
	calm time.Time
}

// A flight is a dial that others wait for.
type flight struct {
	done chan struct{}
	err  error // set before done is closed; nil also if only the dialler's own context ended
}

// Reserve waits for a live connection to u's origin and reserves room for one request on it:
// the whole of an HTTP/1.1 connection, a stream of an HTTP/2 one. Connections that are idle
// for longer than a few seconds are closed and not tried. Every error is of Fate NotSent.
//
// The slot must be used up by Send or given back by Release.
func (w *Wire) Reserve(ctx context.Context, u *url.URL) (*Slot, error) {
	o, err := originOf(u)
	if err != nil {
		return nil, &Error{Op: "connect to", Address: address(u), Fate: NotSent, Err: err}
	}
	for {
		if ctx.Err() != nil {
			return nil, o.refuse(context.Cause(ctx))
		}
		c, theirs, mine, err := w.take(o)
		switch {
		case err != nil:
			return nil, o.refuse(err)
		case c != nil:
			return c.slot(u), nil
		case theirs != nil:
			select {
			case <-theirs.done:
				if theirs.err != nil {
					return nil, theirs.err
				}
			case <-ctx.Done():
			}
			continue
		}
		c, err = w.dial(ctx, o)
		if c, err = w.land(o, mine, c, err); mine != nil {
			if ctx.Err() == nil {
				mine.err = err
			}
			close(mine.done)
		}
		if err != nil {
			return nil, err
		}
		return c.slot(u), nil
	}
}

func (o origin) refuse(err error) error {
	return &Error{Op: "connect to", Address: o.String(), Fate: NotSent, Err: err}
}

// take reserves on a connection that exists, or names somebody's dial to wait for. If it
// returns neither, the caller must dial and land, and then end its own flight, if it got one.
func (w *Wire) take(o origin) (c *conn, theirs, mine *flight, err error) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, nil, nil, ErrClosed
	}
	p := w.pool(o)
	c, gone := p.reserve()
	if c == nil && p.calmed() {
		p.calm, err = time.Time{}, ErrCalm
	}
	if err == nil && c == nil && !p.h1 { // an HTTP/1.1 request needs a connection of its own
		if theirs = p.flight; theirs == nil {
			mine = &flight{done: make(chan struct{})}
			p.flight = mine
		}
	}
	w.mu.Unlock()
	for _, old := range gone {
		old.cc.Close()
	}
	return c, theirs, mine, err
}

// pool is the origin's pool. Wire.mu is held.
func (w *Wire) pool(o origin) *pool {
	p := w.pools[o]
	if p == nil {
		p = &pool{h1: o.scheme == "http" && !w.cfg.H2C}
		w.pools[o] = p
	}
	return p
}

// reserve finds room, on the newest connection that has some: the others may then become
// idle. Those that turn out to be of no use any more it drops.
func (p *pool) reserve() (c *conn, gone []*conn) {
	for i := len(p.conns) - 1; i >= 0; i-- {
		c := p.conns[i]
		if c.retired || c.h1 != nil && c.slots > 0 {
			continue
		}
		fault := c.fault()
		switch {
		case fault == nil && c.cc.Reserve() == nil:
			c.slots++
			return c, gone
		case c.slots == 0:
			p.drop(i)
			gone = append(gone, c)
		default:
			c.retired = fault != nil // else it is only full
		}
	}
	return nil, gone
}

// prune drops the connections that match and that nobody uses.
func (p *pool) prune(match func(*conn) bool) (gone []*conn) {
	for i := len(p.conns) - 1; i >= 0; i-- {
		if c := p.conns[i]; c.slots == 0 && match(c) {
			p.drop(i)
			gone = append(gone, c)
		}
	}
	return gone
}

func (p *pool) drop(i int) {
	if c := p.conns[i]; c.h2 != nil && c.h2.untold() {
		p.calm = time.Now()
	}
	p.conns = append(p.conns[:i], p.conns[i+1:]...)
}

// calmed reports whether a server asked for calm, not long ago, and nobody has heard it.
func (p *pool) calmed() bool { return !p.calm.IsZero() && time.Since(p.calm) < keepMost }

// land ends a dial: the new connection, one slot of it reserved, is there for others too.
func (w *Wire) land(o origin, mine *flight, c *conn, err error) (*conn, error) {
	if err == nil && c.cc.Reserve() != nil {
		c.cc.Close()
		err = o.refuse(errCut)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.closed {
		c.cc.Close()
		err = o.refuse(ErrClosed)
	}
	p := w.pool(o)
	if mine != nil {
		p.flight = nil
	}
	if err != nil {
		return nil, err
	}
	c.slots = 1
	p.conns = append(p.conns, c)
	p.h1 = c.h1 != nil
	return c, nil
}

// release gives a slot back.
func (c *conn) release(wasActive bool) {
	w := c.w
	w.mu.Lock()
	c.slots--
	if wasActive {
		if c.active--; c.active == 0 {
			c.idle = time.Now()
		}
	}
	drop := c.retired && c.slots == 0
	if p := w.pools[c.to]; p != nil && drop {
		p.prune(func(old *conn) bool { return old == c })
	}
	if c.slots == 0 && !drop && !w.sweeping && !w.closed {
		w.sweeping = true
		time.AfterFunc(keepH1, w.sweep)
	}
	w.mu.Unlock()
	if drop {
		c.cc.Close()
	}
}

// retire lets nothing new onto a connection.
func (c *conn) retire() {
	c.w.mu.Lock()
	c.retired = true
	c.w.mu.Unlock()
}

// fault says why no request may be tried on the connection; nil if one may. Wire.mu is held.
func (c *conn) fault() error {
	if c.cc.Err() != nil || c.h1 != nil && c.h1.spoilt() || c.h2 != nil && c.h2.leaving() {
		return errCut
	}
	if c.active == 0 && c.idleFor() > c.keep {
		return ErrStale
	}
	return nil
}

// idleFor also counts the time for which the machine slept: the wall clock does. Wire.mu is
// held.
func (c *conn) idleFor() time.Duration {
	if c.active > 0 {
		return 0
	}
	return max(time.Since(c.idle), time.Now().Round(0).Sub(c.idle.Round(0)))
}

// sweep closes what was idle for too long, and goes on as long as anything is idle.
func (w *Wire) sweep() {
	again := w.closeIdle(func(c *conn) bool { return c.fault() != nil })
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sweeping = again && !w.closed; w.sweeping {
		time.AfterFunc(keepH1, w.sweep)
	}
}

// closeIdle closes the connections that match and that nobody uses, and reports whether
// anything is left that a later call may drop.
func (w *Wire) closeIdle(match func(*conn) bool) (more bool) {
	w.mu.Lock()
	var gone []*conn
	for o, p := range w.pools {
		gone = append(gone, p.prune(match)...)
		more = more || p.calmed() || slices.ContainsFunc(p.conns, func(c *conn) bool { return c.slots == 0 })
		if len(p.conns) == 0 && p.flight == nil && !p.calmed() {
			delete(w.pools, o)
		}
	}
	w.mu.Unlock()
	for _, c := range gone {
		c.cc.Close()
	}
	return more
}

// keepAlive heeds "Keep-Alive: timeout=5", less a quarter: the server's clock began earlier.
func (c *conn) keepAlive(h http.Header) {
	for _, field := range h["Keep-Alive"] {
		for part := range strings.SplitSeq(field, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			if n, err := strconv.Atoi(strings.TrimSpace(value)); strings.EqualFold(name, "timeout") && err == nil && n >= 0 {
				keep := min(time.Duration(min(n, 3600))*time.Second*3/4, keepMost)
				c.w.mu.Lock()
				c.keep = keep
				c.w.mu.Unlock()
			}
		}
	}
}
