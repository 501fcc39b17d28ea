package gate

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear/wire"
)

func startWith(t *testing.T, m *memory) *Gate {
	t.Helper()
	w, err := wire.New(wire.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return start(t, m.process(), func(c *Config) { c.Wire = w })
}

// A client behind the transport gets the throttle as it came; its next request waits.
func TestTransportWaitsAfterThrottle(t *testing.T) {
	var mu sync.Mutex
	var at []time.Time
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Now())
		if len(at) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, "slow down")
			return
		}
		io.WriteString(w, "text")
	}))
	defer srv.Close()
	for name, base := range map[string]http.RoundTripper{"own wire": nil, "foreign": &http.Transport{}} {
		t.Run(name, func(t *testing.T) {
			mu.Lock()
			at = nil
			mu.Unlock()
			m := newMemory()
			client := &http.Client{Transport: &Transport{Gate: startWith(t, m), Base: base}}
			for i, want := range []int{429, 200} {
				resp, err := client.Get(srv.URL)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != want || len(body) == 0 {
					t.Fatalf("request %d: status %d, body %q, %v; want %d with its body", i, resp.StatusCode, body, err, want)
				}
			}
			if got := at[1].Sub(at[0]); got < time.Second {
				t.Errorf("the second request arrived %v after a throttle that asks for 1s", got)
			}
			if len(m.grants) != len(at) {
				t.Errorf("%d permits for %d arrivals", len(m.grants), len(at))
			}
		})
	}
}

// R1: net/http sends a GET again by itself when a reused connection dies; each sending has
// a permit of its own, and the ledger counts what arrived.
func TestTransportCountsForeignResends(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var arrivals atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for i := 0; ; i++ {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					req.Body.Close()
					n := arrivals.Add(1)
					if i == 1 && n == 2 { // the second request of the first connection is read, and not answered
						return
					}
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}()
		}
	}()
	m := newMemory()
	client := &http.Client{Transport: &Transport{Gate: startWith(t, m), Base: &http.Transport{}}}
	for range 2 {
		resp, err := client.Get("http://" + l.Addr().String() + "/")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if got := arrivals.Load(); got != 3 || len(m.grants) != 3 {
		t.Errorf("%d arrivals and %d permits, want 3 of each", got, len(m.grants))
	}
}

// A client that gives up while it waits gets its context's error, and nothing is sent.
func TestTransportCancelled(t *testing.T) {
	m := newMemory()
	g := startWith(t, m)
	throttledBy(t, admit1(t, g, "host:127.0.0.1:1"), time.Hour, true)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&http.Client{Transport: &Transport{Gate: g}}).Do(req); err == nil {
		t.Error("no error")
	}
	if len(m.grants) != 1 {
		t.Errorf("%d requests granted, want only the first", len(m.grants))
	}
}
