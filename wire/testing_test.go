package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// canary is what no error, log or proxy may ever see.
const canary = "hunter2-canary"

// newWire is a Wire that goes without a proxy if cfg names none.
func newWire(t testing.TB, cfg Config) *Wire {
	t.Helper()
	if cfg.Proxy == nil {
		cfg.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func parse(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func get(t testing.TB, ctx context.Context, raw string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func reserve(t testing.TB, w *Wire, raw string) *Slot {
	t.Helper()
	s, err := w.Reserve(t.Context(), parse(t, raw))
	if err != nil {
		t.Fatalf("Reserve(%s): %v", raw, err)
	}
	return s
}

// send is one GET over w.
func send(t testing.TB, w *Wire, raw string) (*http.Response, error) {
	t.Helper()
	return reserve(t, w, raw).Send(get(t, t.Context(), raw))
}

// fetch is one GET with its body.
func fetch(t testing.TB, w *Wire, raw string) (string, error) {
	t.Helper()
	resp, err := send(t, w, raw)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func mustFetch(t testing.TB, w *Wire, raw, want string) {
	t.Helper()
	if got, err := fetch(t, w, raw); err != nil || got != want {
		t.Fatalf("GET %s = %q, %v; want %q", raw, got, err, want)
	}
}

// wantError checks the fate and the cause, and that nothing secret is in the words.
func wantError(t testing.TB, err error, fate Fate, is error) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error is %T (%v), want *wire.Error", err, err)
	}
	if e.Fate != fate {
		t.Errorf("fate is %v, want %v (%v)", e.Fate, fate, err)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error is %q, want one that is %q", err, is)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("error shows a secret: %q", err)
	}
}

// quiet fails the test if anything is printed to the standard log until it ends.
func quiet(t *testing.T) {
	var mu sync.Mutex
	var buf bytes.Buffer
	before := log.Writer()
	log.SetOutput(lockedWriter{&mu, &buf})
	t.Cleanup(func() {
		log.SetOutput(before)
		mu.Lock()
		defer mu.Unlock()
		if buf.Len() > 0 {
			t.Errorf("the standard log has %q", buf.String())
		}
	})
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// A server counts what arrives.
type server struct {
	url      string
	conns    atomic.Int64
	arrivals atomic.Int64
}

// listen serves each connection with serve until the test ends.
func listen(t testing.TB, ln net.Listener, serve func(net.Conn)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[nc] = true
			mu.Unlock()
			wg.Go(func() {
				defer nc.Close()
				serve(nc)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for nc := range open {
			nc.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
}

func listenTCP(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// h1Server answers the nth request on a connection, counted from 0, with what answer
// returns, as it is, and hangs up after an answer that ends in hangUp.
func h1Server(t testing.TB, answer func(nth int, r *http.Request) string) *server {
	ln := listenTCP(t)
	s := &server{url: "http://" + ln.Addr().String()}
	listen(t, ln, func(nc net.Conn) { s.serveH1(nc, answer) })
	return s
}

const hangUp = "\x00hang up"

func (s *server) serveH1(nc net.Conn, answer func(nth int, r *http.Request) string) {
	s.conns.Add(1)
	br := bufio.NewReader(nc)
	for nth := 0; ; nth++ {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		s.arrivals.Add(1)
		io.Copy(io.Discard, req.Body)
		text, end := strings.CutSuffix(answer(nth, req), hangUp)
		if _, err := io.WriteString(nc, text); err != nil || end {
			return
		}
	}
}

func plain(body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// identityOf is a certificate for 127.0.0.1 and example.com, and a client's trust in it.
func identityOf(t testing.TB) (server, client *tls.Config) {
	ts := httptest.NewTLSServer(nil)
	defer ts.Close()
	roots := x509.NewCertPool()
	roots.AddCert(ts.Certificate())
	return &tls.Config{Certificates: ts.TLS.Certificates}, &tls.Config{RootCAs: roots}
}

// onlyConn is the one connection that w has.
func onlyConn(t testing.TB, w *Wire) *conn {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*conn
	for _, p := range w.pools {
		all = append(all, p.conns...)
	}
	if len(all) != 1 {
		t.Fatalf("%d connections, want 1", len(all))
	}
	return all[0]
}

// awaitClosed waits until the connection knows that it is closed.
func awaitClosed(c *conn) {
	closed := make(chan struct{})
	var once sync.Once
	c.cc.SetStateHook(func(cc *http.ClientConn) {
		if cc.Err() != nil {
			once.Do(func() { close(closed) })
		}
	})
	if c.cc.Err() == nil {
		<-closed
	}
}
