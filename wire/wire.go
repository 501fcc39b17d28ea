package wire

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// A Config says how connections are made.
type Config struct {
	// Proxy names the proxy for a request of which only scheme and host are set; nil for
	// none. A nil Proxy reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY when New is called.
	// Schemes are http, https, socks5 and socks5h.
	Proxy func(*http.Request) (*url.URL, error)
	// TLS is cloned. Its NextProtos, when set, say which protocols are offered: without "h2"
	// there is no HTTP/2.
	TLS *tls.Config
	// Dial makes TCP connections. Nil means a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// H2C makes http:// speak HTTP/2 with prior knowledge, except through an HTTP proxy.
	H2C bool
	// DialTimeout bounds all of one new connection, from DNS to the end of the handshakes.
	// Zero means 30 seconds.
	DialTimeout time.Duration
	// IdleTimeout ends a request that made no progress for so long: no byte of it written,
	// no byte of its answer read while somebody waited for one. Zero means 60 seconds.
	IdleTimeout time.Duration
	// MaxHeaderBytes bounds the head of an answer with all that is informational before it.
	// Zero means 256 KiB.
	MaxHeaderBytes int64
}

// A Wire holds connections to any number of origins. It is safe for concurrent use.
type Wire struct {
	cfg    Config
	proxy  func(*http.Request) (*url.URL, error)
	h1, h2 *http.Transport // each makes client connections of one protocol, and sends nothing itself
	began  time.Time       // what instants of progress count from

	mu       sync.Mutex
	closed   bool
	pools    map[origin]*pool
	sweeping bool // a sweep of idle connections is due
}

// New checks the configuration and the proxy variables of the environment. Nothing is dialled.
func New(cfg Config) (*Wire, error) {
	w := &Wire{cfg: cfg, proxy: cfg.Proxy, began: time.Now(), pools: make(map[origin]*pool)}
	if w.proxy == nil {
		var err error
		if w.proxy, err = environmentProxy(); err != nil {
			return nil, err
		}
	}
	if w.cfg.Dial == nil {
		w.cfg.Dial = new(net.Dialer).DialContext
	}
	if w.cfg.DialTimeout == 0 {
		w.cfg.DialTimeout = 30 * time.Second
	}
	if w.cfg.IdleTimeout == 0 {
		w.cfg.IdleTimeout = 60 * time.Second
	}
	if w.cfg.MaxHeaderBytes == 0 {
		w.cfg.MaxHeaderBytes = 256 << 10
	}
	w.cfg.TLS = tlsConfig(cfg.TLS)
	w.h1, w.h2 = w.transports()
	return w, nil
}

func tlsConfig(cfg *tls.Config) *tls.Config {
	if cfg == nil {
		cfg = new(tls.Config)
	}
	cfg = cfg.Clone()
	if cfg.NextProtos == nil {
		cfg.NextProtos = []string{"h2", "http/1.1"}
		if strings.Contains(os.Getenv("GODEBUG"), "http2client=0") { // net/http heeds it too
			cfg.NextProtos = cfg.NextProtos[1:]
		}
	}
	if cfg.ClientSessionCache == nil {
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	return cfg
}

// CloseIdle closes connections on which nothing was sent or received for olderThan, unless
// a slot on them is reserved. Zero closes all that are idle now.
func (w *Wire) CloseIdle(olderThan time.Duration) {
	w.closeIdle(func(c *conn) bool { return c.idleFor() >= olderThan })
}

// Close closes all connections, and cuts the requests on them.
func (w *Wire) Close() error {
	w.mu.Lock()
	w.closed = true
	var all []*conn
	for _, p := range w.pools {
		all = append(all, p.conns...)
	}
	clear(w.pools)
	w.mu.Unlock()
	for _, c := range all {
		c.cc.Close()
	}
	return nil
}

// since is the time that has passed since the wire was made.
func (w *Wire) since() time.Duration { return time.Since(w.began) }
