package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// inBubble runs f where time is the test's own, with a server behind pipes.
func inBubble(t *testing.T, cfg Config, serve func(nc net.Conn, s *server), f func(t *testing.T, w *Wire, s *server)) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{url: "http://a.example"}
		var wg sync.WaitGroup
		cfg.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			client, nc := net.Pipe()
			wg.Go(func() {
				defer nc.Close()
				serve(nc, s)
			})
			return client, nil
		}
		w := newWire(t, cfg)
		f(t, w, s)
		w.Close()
		wg.Wait()
	})
}

func answering(answer string) func(net.Conn, *server) {
	return func(nc net.Conn, s *server) {
		s.serveH1(nc, func(int, *http.Request) string { return answer })
	}
}

// A connection is used again for a few seconds, or for as long as the server says.
func TestIdleConnectionIsNotTried(t *testing.T) {
	keep := func(field string) string {
		return strings.Replace(plain("ok"), "\r\n\r\n", "\r\n"+field+"\r\n\r\n", 1)
	}
	for _, tc := range []struct {
		answer string
		keep   time.Duration
	}{
		{plain("ok"), keepH1},
		{keep("Keep-Alive: timeout=8"), 6 * time.Second},
		{keep("Keep-Alive: max=100, Timeout = 8"), keepH1},
		{keep("keep-alive: TIMEOUT=1, max=3"), 750 * time.Millisecond},
		{keep("Keep-Alive: timeout=999999999"), keepMost},
		{keep("Keep-Alive: timeout=-1"), keepH1},
		{keep("Keep-Alive: timeout=0"), 0},
	} {
		inBubble(t, Config{}, answering(tc.answer), func(t *testing.T, w *Wire, s *server) {
			mustFetch(t, w, s.url, "ok")
			time.Sleep(tc.keep)
			mustFetch(t, w, s.url, "ok")
			if got := s.conns.Load(); got != 1 {
				t.Errorf("%v: %d connections, want 1", tc.keep, got)
			}
			time.Sleep(tc.keep + time.Nanosecond)
			mustFetch(t, w, s.url, "ok")
			if got := s.conns.Load(); got != 2 {
				t.Errorf("%v: %d connections later, want 2", tc.keep, got)
			}
		})
	}
}

// A slot that is held for too long sends nothing.
func TestStaleSlot(t *testing.T) {
	inBubble(t, Config{}, answering(plain("ok")), func(t *testing.T, w *Wire, s *server) {
		slot := reserve(t, w, s.url)
		time.Sleep(keepH1 + time.Second)
		if slot.Live() {
			t.Error("the slot is live")
		}
		_, err := slot.Send(get(t, t.Context(), s.url))
		wantError(t, err, NotSent, ErrStale)
		mustFetch(t, w, s.url, "ok")
		if conns, arrivals := s.conns.Load(), s.arrivals.Load(); conns != 2 || arrivals != 1 {
			t.Errorf("%d connections and %d arrivals, want 2 and 1", conns, arrivals)
		}
	})
}

// Nobody has to ask for idle connections to be closed.
func TestIdleConnectionsAreSwept(t *testing.T) {
	inBubble(t, Config{}, answering(plain("ok")), func(t *testing.T, w *Wire, s *server) {
		held := reserve(t, w, s.url)
		reserve(t, w, s.url).Release()
		mustFetch(t, w, s.url, "ok")
		time.Sleep(3 * keepH1)
		onlyConn(t, w) // the one that is held
		held.Release()
		time.Sleep(3 * keepH1)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.pools) != 0 || w.sweeping {
			t.Errorf("%d pools are left, sweeping: %v", len(w.pools), w.sweeping)
		}
	})
}

func TestCloseIdle(t *testing.T) {
	inBubble(t, Config{}, answering(plain("ok")), func(t *testing.T, w *Wire, s *server) {
		mustFetch(t, w, s.url, "ok")
		time.Sleep(2 * time.Second)
		w.CloseIdle(3 * time.Second)
		mustFetch(t, w, s.url, "ok")
		if got := s.conns.Load(); got != 1 {
			t.Errorf("%d connections, want 1", got)
		}
		slot := reserve(t, w, s.url)
		w.CloseIdle(0)
		if !slot.Live() {
			t.Error("a reserved connection was closed")
		}
		slot.Release()
		w.CloseIdle(0)
		mustFetch(t, w, s.url, "ok")
		if got := s.conns.Load(); got != 2 {
			t.Errorf("%d connections, want 2", got)
		}
	})
}

func TestClose(t *testing.T) {
	inBubble(t, Config{}, func(nc net.Conn, s *server) { io.Copy(io.Discard, nc) }, func(t *testing.T, w *Wire, s *server) {
		slot := reserve(t, w, s.url)
		done := make(chan error)
		go func() {
			_, err := slot.Send(get(t, t.Context(), s.url))
			done <- err
		}()
		synctest.Wait()
		w.Close()
		wantError(t, <-done, Unknown, nil)
		_, err := w.Reserve(t.Context(), parse(t, s.url))
		wantError(t, err, NotSent, ErrClosed)
		w.CloseIdle(0)
		w.Close()
	})
}

// Progress is any byte, either way, and only where somebody waits for it.
func TestProgress(t *testing.T) {
	const idle = 10 * time.Second
	trickle := func(nc net.Conn, s *server) {
		go io.Copy(io.Discard, nc)
		for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") {
			time.Sleep(idle - time.Second)
			nc.Write([]byte{b})
		}
	}
	inBubble(t, Config{IdleTimeout: idle}, trickle, func(t *testing.T, w *Wire, s *server) {
		mustFetch(t, w, s.url, "hello")
	})
	inBubble(t, Config{IdleTimeout: idle}, answering(plain("hello")), func(t *testing.T, w *Wire, s *server) {
		resp, err := send(t, w, s.url)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * idle) // a slow reader
		if b, err := io.ReadAll(resp.Body); string(b) != "hello" || err != nil {
			t.Errorf("body = %q, %v", b, err)
		}
	})
	// An answer that stops, wherever it does, ends idle after its last byte.
	for _, part := range []string{"", "HTTP/1.1 200 OK\r\nA: " + canary, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"} {
		inBubble(t, Config{IdleTimeout: idle}, func(nc net.Conn, s *server) {
			go io.Copy(io.Discard, nc)
			time.Sleep(idle / 2)
			io.WriteString(nc, part)
			time.Sleep(100 * idle)
		}, func(t *testing.T, w *Wire, s *server) {
			start := time.Now()
			_, err := fetch(t, w, s.url)
			wantError(t, err, Unknown, ErrIdle)
			want := idle
			if part != "" {
				want += idle / 2
			}
			if got := time.Since(start); got != want {
				t.Errorf("%q: it took %v, want %v", part, got, want)
			}
		})
	}
	// On HTTP/2 the request ends, and the connection takes no other.
	inBubble(t, Config{H2C: true, IdleTimeout: idle}, func(nc net.Conn, s *server) {
		s.conns.Add(1)
		go http2.NewFramer(nc, nil).WriteSettings()
		io.Copy(io.Discard, nc)
	}, func(t *testing.T, w *Wire, s *server) {
		for range 2 {
			start := time.Now()
			_, err := send(t, w, s.url)
			wantError(t, err, Unknown, ErrIdle)
			if got := time.Since(start); got != idle {
				t.Errorf("HTTP/2: it took %v, want %v", got, idle)
			}
		}
		if got := s.conns.Load(); got != 2 {
			t.Errorf("HTTP/2: %d connections, want 2", got)
		}
	})
}

func TestDialTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		w := newWire(t, Config{Dial: block, DialTimeout: 7 * time.Second})
		start := time.Now()
		_, err := w.Reserve(t.Context(), parse(t, "https://a.example"))
		wantError(t, err, NotSent, ErrDialTimeout)
		if got := time.Since(start); got != 7*time.Second {
			t.Errorf("it took %v, want 7s", got)
		}

		// The same where the server accepts and says nothing.
		silent := func(ctx context.Context, _, _ string) (net.Conn, error) {
			client, server := net.Pipe()
			go io.Copy(io.Discard, server)
			return client, nil
		}
		for _, cfg := range []Config{{}, {Proxy: proxied(t, "http://p")}, {Proxy: proxied(t, "socks5://p")}, {Proxy: proxied(t, "https://p")}} {
			cfg.Dial = silent
			_, err = newWire(t, cfg).Reserve(t.Context(), parse(t, "https://a.example"))
			wantError(t, err, NotSent, ErrDialTimeout)
		}
		_, err = newWire(t, Config{H2C: true, Dial: silent}).Reserve(t.Context(), parse(t, "http://a.example"))
		wantError(t, err, NotSent, ErrNotHTTP)

		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(because) })
		_, err = w.Reserve(ctx, parse(t, "https://a.example"))
		wantError(t, err, NotSent, because)
	})
}

// Who waits for somebody's first connection shares its failure, but not its cancelling.
func TestSharedDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		dials := 0
		w := newWire(t, Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dials++
			select {
			case <-time.After(time.Second):
				return nil, refused
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}})
		u := parse(t, "https://a.example")
		ctx, cancel := context.WithCancel(t.Context())
		go w.Reserve(ctx, u)
		synctest.Wait()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				_, err := w.Reserve(t.Context(), u)
				wantError(t, err, NotSent, refused)
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		if dials != 2 {
			t.Errorf("%d dials, want 2", dials)
		}
	})
}

func TestOrigin(t *testing.T) {
	for raw, want := range map[string]string{
		"http://A.example":          "http://a.example",
		"HTTPS://a.example:443/x":   "https://a.example",
		"https://a.example:80":      "https://a.example:80",
		"http://[::1]/":             "http://[::1]",
		"http://[::1]:81/":          "http://[::1]:81",
		"https://bücher.example/":   "https://xn--bcher-kva.example",
		"ftp://a.example":           "",
		"https:///x":                "",
		"https://a.example:70000":   "",
		"mailto:" + canary + "@b.c": "",
	} {
		o, err := originOf(parse(t, raw))
		if got := o.String(); want != "" && (got != want || err != nil) || want == "" && err == nil {
			t.Errorf("origin of %s is %s, %v; want %s", raw, got, err, want)
		}
		if want == "" {
			_, err := newWire(t, Config{}).Reserve(t.Context(), parse(t, raw))
			wantError(t, err, NotSent, nil)
		}
	}
}

// A host that answers nothing, or something else than TLS.
func TestConnectFaults(t *testing.T) {
	dead := listenTCP(t)
	dead.Close()
	hs := h1Server(t, func(int, *http.Request) string { return "" })
	for _, raw := range []string{"http://u:" + canary + "@" + dead.Addr().String(), "https" + strings.TrimPrefix(hs.url, "http")} {
		_, err := newWire(t, Config{}).Reserve(t.Context(), parse(t, raw+"/?token="+canary))
		wantError(t, err, NotSent, nil)
		t.Log(err)
	}
	_, secure := origins(t)
	_, err := newWire(t, Config{}).Reserve(t.Context(), parse(t, secure)) // an unknown authority
	wantError(t, err, NotSent, nil)
	t.Log(err)
}
