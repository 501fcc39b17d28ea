package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func h2Wire(t testing.TB, trust *tls.Config) *Wire {
	return newWire(t, Config{TLS: trust, MaxHeaderBytes: 8 << 10})
}

// awaitLeaving waits for a GOAWAY that is on its way.
func awaitLeaving(c *conn) {
	for !c.h2.leaving() {
		runtime.Gosched()
	}
}

func TestH2Ordinary(t *testing.T) {
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Proto", r.Proto)
		w.WriteHeader(http.StatusEarlyHints)
		io.Copy(w, r.Body)
	}))
	ts.EnableHTTP2 = true
	ts.StartTLS()
	defer ts.Close()
	_, trust := identityOf(t)
	w := newWire(t, Config{TLS: trust})
	for range 3 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, ts.URL, strings.NewReader("hello"))
		resp, err := reserve(t, w, ts.URL).Send(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if string(b) != "hello" || err != nil || resp.Proto != "HTTP/2.0" || resp.TLS == nil || Received(resp) != 5 {
			t.Errorf("%v: %q, %v", resp, b, err)
		}
	}
	onlyConn(t, w)
}

// Five refusals are five sendings, each of them told.
func TestRefusedStream(t *testing.T) {
	s, trust := h2Server(t, nil, func(p *peer, _, nth int, stream uint32) bool {
		if nth < 5 {
			return p.WriteRSTStream(stream, http2.ErrCodeRefusedStream) == nil
		}
		return p.ok(stream)
	})
	w := h2Wire(t, trust)
	for i := range 5 {
		_, err := send(t, w, s.url)
		wantError(t, err, Unprocessed, nil)
		if got, want := s.arrivals.Load(), int64(i+1); got != want {
			t.Errorf("%d arrivals, want %d", got, want)
		}
	}
	mustFetch(t, w, s.url, "ok")
	if got := s.conns.Load(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

func TestGoAway(t *testing.T) {
	for name, tc := range map[string]struct {
		code  http2.ErrCode
		taken bool // the last stream is the request's
		fate  Fate
		calm  bool
	}{
		"below":            {http2.ErrCodeNo, false, Unprocessed, false},
		"below, an error":  {http2.ErrCodeInternal, false, Unprocessed, false},
		"below, calm":      {http2.ErrCodeEnhanceYourCalm, false, Unprocessed, true},
		"taken":            {http2.ErrCodeNo, true, Unknown, false},
		"taken, and calm":  {http2.ErrCodeEnhanceYourCalm, true, Unknown, true},
		"taken, an error":  {http2.ErrCodeInternal, true, Unknown, false},
		"unknown, a large": {0xdead, true, Unknown, false},
	} {
		for _, first := range []bool{true, false} { // net/http treats a first stream differently
			s, trust := h2Server(t, nil, func(p *peer, conn, nth int, stream uint32) bool {
				if conn > 0 || nth == 0 && !first {
					return p.ok(stream)
				}
				last := stream - 1
				if tc.taken {
					last = stream
				}
				p.WriteGoAway(last, tc.code, []byte(canary))
				return p.hangUp()
			})
			w := h2Wire(t, trust)
			if !first {
				mustFetch(t, w, s.url, "ok")
			}
			before := s.arrivals.Load()
			_, err := send(t, w, s.url)
			t.Log(name, err)
			wantError(t, err, tc.fate, nil)
			if Calm(err) != tc.calm {
				t.Errorf("%s: calm is %v, want %v", name, Calm(err), tc.calm)
			}
			if got := s.arrivals.Load() - before; got != 1 {
				t.Errorf("%s: %d arrivals, want 1", name, got)
			}
			mustFetch(t, w, s.url, "ok")
		}
	}
}

// Each of many requests on one connection knows its own stream.
func TestGoAwayAmongMany(t *testing.T) {
	const n = 32
	streams := map[string]uint32{}
	var last uint32
	dec := hpack.NewDecoder(4096, nil)
	s, trust := h2Server(t, nil, func(p *peer, _, nth int, stream uint32) bool {
		fields, _ := dec.DecodeFull(p.fragment)
		for _, f := range fields {
			if f.Name == ":path" {
				streams[f.Value] = stream
			}
		}
		if nth == n/2 {
			last = stream
		}
		if nth < n-1 {
			return true
		}
		p.WriteGoAway(last, http2.ErrCodeNo, nil)
		return p.hangUp()
	})
	w := h2Wire(t, trust)
	fates := make([]Fate, n)
	var wg sync.WaitGroup
	for i := range n {
		slot := reserve(t, w, s.url)
		wg.Go(func() {
			_, err := slot.Send(get(t, t.Context(), fmt.Sprintf("%s/%d", s.url, i)))
			if e, ok := errors.AsType[*Error](err); ok {
				fates[i] = e.Fate
			} else {
				t.Errorf("%d: error is %v", i, err)
			}
		})
	}
	wg.Wait()
	for i, got := range fates {
		want := Unknown
		if streams[fmt.Sprintf("/%d", i)] > last {
			want = Unprocessed
		}
		if got != want {
			t.Errorf("stream %d with last %d is %v, want %v", streams[fmt.Sprintf("/%d", i)], last, got, want)
		}
	}
}

// A server that leaves while nothing is in flight costs a connection, and no error.
func TestGoAwayWhileIdle(t *testing.T) {
	s, trust := h2Server(t, nil, func(p *peer, conn, nth int, stream uint32) bool {
		p.ok(stream)
		p.WriteGoAway(stream, http2.ErrCodeNo, nil)
		return p.drain()
	})
	w := h2Wire(t, trust)
	for range 3 {
		mustFetch(t, w, s.url, "ok")
		awaitLeaving(onlyConn(t, w))
	}
	if got := s.conns.Load(); got != 3 {
		t.Errorf("%d connections, want 3", got)
	}
}

// The old streams of a connection that the server leaves are not cut.
func TestGoAwayInFlight(t *testing.T) {
	left := make(chan struct{})
	s, trust := h2Server(t, nil, func(p *peer, conn, nth int, stream uint32) bool {
		if conn > 0 {
			return p.ok(stream)
		}
		p.head(stream, false, ":status", "200")
		p.WriteGoAway(stream, http2.ErrCodeNo, nil)
		<-left
		p.WriteData(stream, true, []byte("late"))
		return p.drain()
	})
	w := h2Wire(t, trust)
	resp, err := send(t, w, s.url)
	if err != nil {
		t.Fatal(err)
	}
	awaitLeaving(onlyConn(t, w))
	mustFetch(t, w, s.url, "ok") // on another connection
	close(left)
	if b, err := io.ReadAll(resp.Body); string(b) != "late" || err != nil {
		t.Errorf("body = %q, %v", b, err)
	}
}

func TestCalm(t *testing.T) {
	s, trust := h2Server(t, nil, func(p *peer, _, nth int, stream uint32) bool {
		if nth == 1 {
			p.head(stream, false, ":status", "200")
		}
		if nth < 2 {
			return p.WriteRSTStream(stream, http2.ErrCodeEnhanceYourCalm) == nil
		}
		p.ok(stream)
		p.WriteGoAway(stream, http2.ErrCodeEnhanceYourCalm, nil)
		return p.drain()
	})
	w := h2Wire(t, trust)
	_, err := send(t, w, s.url)
	wantError(t, err, Unknown, ErrCalm)
	_, err = fetch(t, w, s.url)
	wantError(t, err, Unknown, ErrCalm)

	// Said while nothing was in flight, it is told once to who comes next.
	mustFetch(t, w, s.url, "ok")
	awaitLeaving(onlyConn(t, w))
	_, err = w.Reserve(t.Context(), parse(t, s.url))
	wantError(t, err, NotSent, ErrCalm)
	reserve(t, w, s.url).Release()
}

// The same where the last requests of the connection ended well.
func TestCalmAfterSuccess(t *testing.T) {
	s, trust := h2Server(t, nil, func(p *peer, _, nth int, stream uint32) bool {
		p.head(stream, false, ":status", "200")
		p.WriteGoAway(stream, http2.ErrCodeEnhanceYourCalm, nil)
		p.WriteData(stream, true, []byte("ok"))
		return p.drain()
	})
	w := h2Wire(t, trust)
	mustFetch(t, w, s.url, "ok") // by then the frame before it was seen
	_, err := w.Reserve(t.Context(), parse(t, s.url))
	wantError(t, err, NotSent, ErrCalm)
	reserve(t, w, s.url).Release()
}

func TestH2Faults(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(p *peer, stream uint32) bool
		is     error
	}{
		"no status":  {func(p *peer, s uint32) bool { p.head(s, true, "a", canary); return true }, ErrMalformed},
		"bad status": {func(p *peer, s uint32) bool { p.head(s, true, ":status", canary); return true }, ErrMalformed},
		"upper case": {func(p *peer, s uint32) bool { p.head(s, true, ":status", "200", "A", canary); return true }, ErrMalformed},
		"large head": {func(p *peer, s uint32) bool {
			p.head(s, true, ":status", "200", "a", strings.Repeat("x", 9<<10))
			return true
		}, ErrMalformed},
		"endless head": {func(p *peer, s uint32) bool {
			p.head(s, true, ":status", "200", "a", strings.Repeat("x", 1<<20))
			return true
		}, ErrMalformed},
		"many 1xx": {func(p *peer, s uint32) bool {
			for range 1000 {
				p.head(s, false, ":status", "103", "link", canary)
			}
			return true
		}, ErrMalformed},
		"data first": {func(p *peer, s uint32) bool { return p.WriteData(s, true, []byte(canary)) == nil }, ErrMalformed},
		"bad frame": {func(p *peer, s uint32) bool {
			return p.WriteRawFrame(http2.FrameWindowUpdate, 0, s, []byte(canary)) == nil
		}, ErrMalformed},
		"huge frame": {func(p *peer, s uint32) bool {
			_, err := io.WriteString(p.nc, "HTTP/1.1 400 "+canary)
			return err == nil
		}, nil},
		"reset":    {func(p *peer, s uint32) bool { return p.WriteRSTStream(s, http2.ErrCodeInternal) == nil }, nil},
		"http/1.1": {func(p *peer, s uint32) bool { return p.WriteRSTStream(s, http2.ErrCodeHTTP11Required) == nil }, nil},
		"cut":      {func(p *peer, s uint32) bool { return p.hangUp() }, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			s, trust := h2Server(t, nil, func(p *peer, _, _ int, stream uint32) bool { return tc.answer(p, stream) })
			_, err := send(t, h2Wire(t, trust), s.url)
			wantError(t, err, Unknown, tc.is)
			if Calm(err) {
				t.Error("it is calm")
			}
			if got := s.arrivals.Load(); got != 1 {
				t.Errorf("%d arrivals, want 1", got)
			}
			t.Log(err)
		})
	}
}

func TestH2BodyFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(p *peer, stream uint32) bool
		is     error
	}{
		"short":  {func(p *peer, s uint32) bool { return p.WriteData(s, true, []byte(canary)) == nil }, io.ErrUnexpectedEOF},
		"none":   {func(p *peer, s uint32) bool { return p.WriteData(s, true, nil) == nil }, io.ErrUnexpectedEOF},
		"longer": {func(p *peer, s uint32) bool { return p.WriteData(s, true, make([]byte, 100)) == nil }, ErrMalformed},
		"cut":    {func(p *peer, s uint32) bool { p.WriteData(s, false, []byte(canary)); return p.hangUp() }, io.ErrUnexpectedEOF},
		"reset":  {func(p *peer, s uint32) bool { return p.WriteRSTStream(s, http2.ErrCodeRefusedStream) == nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, trust := h2Server(t, nil, func(p *peer, _, _ int, stream uint32) bool {
				p.head(stream, false, ":status", "200", "content-length", "99")
				return tc.answer(p, stream)
			})
			_, err := fetch(t, h2Wire(t, trust), s.url)
			wantError(t, err, Unknown, tc.is)
			t.Log(err)
		})
	}
}

// A slot is a stream that the server takes; more of them need more connections.
func TestStreamLimit(t *testing.T) {
	s, trust := h2Server(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 2}},
		func(p *peer, _, _ int, stream uint32) bool { return p.ok(stream) })
	w := h2Wire(t, trust)
	var slots []*Slot
	for range 5 {
		slots = append(slots, reserve(t, w, s.url))
	}
	if got := s.conns.Load(); got != 3 {
		t.Errorf("%d connections for 5 slots, want 3", got)
	}
	for _, slot := range slots {
		resp, err := slot.Send(get(t, t.Context(), s.url))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		mustFetch(t, w, s.url, "ok")
	}
	if got := s.conns.Load(); got != 3 {
		t.Errorf("%d connections later, want 3", got)
	}
}

func TestNoStreamsAtAll(t *testing.T) {
	s, trust := h2Server(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 0}},
		func(*peer, int, int, uint32) bool { return true })
	_, err := h2Wire(t, trust).Reserve(t.Context(), parse(t, s.url))
	wantError(t, err, NotSent, nil)
}

// Who agrees on HTTP/2 and speaks something else is found out before a request leaves.
func TestNotHTTP2(t *testing.T) {
	quiet(t)
	identity, trust := identityOf(t)
	identity.NextProtos = []string{"h2"}
	for _, words := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n" + canary, canary, ""} {
		ln := tls.NewListener(listenTCP(t), identity)
		listen(t, ln, func(nc net.Conn) { io.WriteString(nc, words) })
		_, err := h2Wire(t, trust).Reserve(t.Context(), parse(t, "https://"+ln.Addr().String()))
		wantError(t, err, NotSent, ErrNotHTTP)
	}
}

func TestH2Cancel(t *testing.T) {
	because := errors.New("because")
	arrived := make(chan struct{}, 10)
	s, trust := h2Server(t, nil, func(p *peer, _, _ int, stream uint32) bool { arrived <- struct{}{}; return true })
	w := newWire(t, Config{TLS: trust})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(because)
	}()
	_, err := reserve(t, w, s.url).Send(get(t, ctx, s.url))
	wantError(t, err, Unknown, because)
}

func TestH2C(t *testing.T) {
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
	}))
	ts.Config.Protocols = new(http.Protocols)
	ts.Config.Protocols.SetUnencryptedHTTP2(true)
	ts.Config.Protocols.SetHTTP1(true)
	ts.Start()
	defer ts.Close()
	mustFetch(t, newWire(t, Config{H2C: true}), ts.URL, "HTTP/2.0")
	mustFetch(t, newWire(t, Config{}), ts.URL, "HTTP/1.1")
}

// The first connection to an origin is waited for by all who need one: HTTP/2 carries them.
func TestFirstConnectionIsShared(t *testing.T) {
	const n = 64
	reserveAll := func(t *testing.T, proto string) int64 {
		s := &server{}
		identity, trust := identityOf(t)
		identity.NextProtos = []string{proto}
		ln := tls.NewListener(listenTCP(t), identity)
		listen(t, ln, func(nc net.Conn) {
			s.conns.Add(1)
			if proto == "h2" {
				if p := newPeer(nc, nil); p != nil {
					p.drain()
				}
			}
			io.Copy(io.Discard, nc)
		})
		w := newWire(t, Config{TLS: trust})
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if _, err := w.Reserve(t.Context(), parse(t, "https://"+ln.Addr().String())); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return s.conns.Load()
	}
	if got := reserveAll(t, "h2"); got != 1 {
		t.Errorf("HTTP/2: %d connections for %d requests, want 1", got, n)
	}
	if got := reserveAll(t, "http/1.1"); got != n {
		t.Errorf("HTTP/1.1: %d connections for %d requests, want %d", got, n, n)
	}
}
