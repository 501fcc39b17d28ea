package standin

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// A stampedConn knows when the first byte of the next request came. The server's own hooks
// run when a request's head has been read whole, and a slow head must not make its request
// late. Under TLS nobody here can tell the bytes of a request from those of a handshake.
type stampedConn struct {
	net.Conn

	mu    sync.Mutex
	first time.Time // zero: nothing of it has come
	body  bool      // what comes now belongs to the body of the request before
}

// stamps is a listener of stampedConns.
type stamps struct{ net.Listener }

func (l stamps) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &stampedConn{Conn: c}, nil
}

func (c *stampedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.mu.Lock()
		if c.first.IsZero() && !c.body {
			c.first = time.Now()
		}
		c.mu.Unlock()
	}
	return n, err
}

// taken is when the request that is taken up now came.
func (c *stampedConn) taken(r *http.Request) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.first
	if at.IsZero() { // it was read together with the one before
		at = time.Now()
	}
	c.first, c.body = time.Time{}, r.ContentLength != 0
	return at
}

// watch is the server's hook: a connection that is idle waits for a request.
func watch(c net.Conn, state http.ConnState) {
	if c, ok := c.(*stampedConn); ok && state == http.StateIdle {
		c.mu.Lock()
		c.body = false
		c.mu.Unlock()
	}
}
