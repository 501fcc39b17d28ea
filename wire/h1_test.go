package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

func TestConnectionIsUsedAgain(t *testing.T) {
	s := h1Server(t, func(int, *http.Request) string { return plain("ok") })
	w := newWire(t, Config{})
	for range 5 {
		mustFetch(t, w, s.url, "ok")
	}
	if got := s.conns.Load(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

// The request is the caller's, but for what this package must say itself.
func TestHeader(t *testing.T) {
	var got http.Header
	s := h1Server(t, func(_ int, r *http.Request) string { got = r.Header; return plain("") })
	w := newWire(t, Config{})
	req := get(t, t.Context(), s.url)
	req.Header = http.Header{"Accept-Encoding": {"br"}, "accept-encoding": {"zstd"}, "expect": {"100-continue"}, "X-Own": {"1"}}
	resp, err := reserve(t, w, s.url).Send(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !slices.Equal(got["Accept-Encoding"], identity) || got.Get("Expect") != "" || got.Get("X-Own") != "1" {
		t.Errorf("server saw %v", got)
	}
	if req.Header.Get("Accept-Encoding") != "br" {
		t.Errorf("the caller's header was changed: %v", req.Header)
	}
}

// What follows an answer that has ended is not an answer, is shown nowhere, and ends the
// connection.
func TestSurplus(t *testing.T) {
	rest := strings.Repeat(canary, 20)
	for name, tc := range map[string]struct {
		method, answer, want string
		bad                  bool
	}{
		"length":      {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", bad: true},
		"chunks":      {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", want: "ok"},
		"trailer":     {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nA: b\r\n\r\n", want: "ok"},
		"no content":  {answer: "HTTP/1.1 204 No Content\r\n\r\n"},
		"no length":   {answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"head":        {method: "HEAD", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"},
		"unmodified":  {answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n"},
		"after hints": {answer: "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			quiet(t)
			s := h1Server(t, func(nth int, _ *http.Request) string { return tc.answer + rest })
			w := newWire(t, Config{})
			for range 2 {
				req := get(t, t.Context(), s.url)
				req.Method = tc.method
				resp, err := reserve(t, w, s.url).Send(req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				if tc.bad {
					wantError(t, err, Unknown, ErrMalformed)
				} else if err != nil || string(got) != tc.want {
					t.Errorf("body = %q, %v; want %q", got, err, tc.want)
				}
			}
			if conns, arrivals := s.conns.Load(), s.arrivals.Load(); conns != 2 || arrivals != 2 {
				t.Errorf("%d connections and %d requests, want 2 and 2", conns, arrivals)
			}
		})
	}
}

// What a server sends while no request is out is not the answer to the next one.
func TestUnsolicited(t *testing.T) {
	quiet(t)
	more := make(chan string)
	ln := listenTCP(t)
	listen(t, ln, func(nc net.Conn) {
		http.ReadRequest(bufio.NewReader(nc))
		io.WriteString(nc, plain("ok"))
		io.WriteString(nc, <-more)
		io.Copy(io.Discard, nc)
	})
	url := "http://" + ln.Addr().String()
	w := newWire(t, Config{})
	mustFetch(t, w, url, "ok")
	c := onlyConn(t, w)
	more <- plain(canary)
	awaitClosed(c)
	close(more)
	mustFetch(t, w, url, "ok")
}

func TestHeadFaults(t *testing.T) {
	const limit = 8 << 10
	for name, tc := range map[string]struct {
		answer string
		is     error
	}{
		"another protocol": {"SSH-2.0-" + canary + "\r\n" + canary + "\r\n", ErrNotHTTP},
		"no line":          {strings.Repeat(canary, 1000), ErrNotHTTP},
		"few bytes":        {"S" + hangUp, ErrNotHTTP},
		"TLS":              {"\x15\x03\x01\x00\x02\x02\x0a" + hangUp, ErrNotHTTP},
		"bad status":       {"HTTP/1.1 " + canary + "\r\n\r\n", ErrMalformed},
		"bad field":        {"HTTP/1.1 200 OK\r\n" + canary + "\r\n\r\n", ErrMalformed},
		"bad length":       {"HTTP/1.1 200 OK\r\nContent-Length: " + canary + "\r\n\r\n", ErrMalformed},
		"two lengths":      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", ErrMalformed},
		"endless":          {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", 2*limit), ErrMalformed},
		"endless hints":    {strings.Repeat("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n", limit/16), ErrMalformed},
		"switch":           {"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", ErrMalformed},
		"cut":              {"HTTP/1.1 200 OK\r\nA: " + canary + hangUp, io.ErrUnexpectedEOF},
		"nothing":          {hangUp, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			quiet(t)
			s := h1Server(t, func(int, *http.Request) string { return tc.answer })
			_, err := send(t, newWire(t, Config{MaxHeaderBytes: limit}), s.url+"/?sig="+canary)
			wantError(t, err, Unknown, tc.is)
			if got := s.arrivals.Load(); got != 1 {
				t.Errorf("%d arrivals, want 1", got)
			}
			t.Log(err)
		})
	}
}

func TestBodyFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		is     error
	}{
		"short":        {"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + canary + hangUp, io.ErrUnexpectedEOF},
		"no last":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + hangUp, io.ErrUnexpectedEOF},
		"in a chunk":   {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok" + hangUp, io.ErrUnexpectedEOF},
		"in a trailer": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n" + hangUp, io.ErrUnexpectedEOF},
		"bad size":     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + canary + "\r\n", ErrMalformed},
		"bad chunk":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok" + canary + "\r\n", ErrMalformed},
		"huge chunk":   {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n" + canary, ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			quiet(t)
			s := h1Server(t, func(int, *http.Request) string { return tc.answer })
			_, err := fetch(t, newWire(t, Config{}), s.url)
			wantError(t, err, Unknown, tc.is)
			t.Log(err)
		})
	}
}

func TestOrdinaryAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		conns  int64 // after two requests
	}{
		"1xx":                 {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + plain("ok"), 1},
		"bare line feeds":     {"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 1},
		"chunks":              {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", 1},
		"trailer":             {"HTTP/1.1 200 OK\r\nTrailer: A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n\r\n", 1},
		"HTTP/1.0":            {"HTTP/1.0 200 OK\r\n\r\nok" + hangUp, 2},
		"HTTP/1.0 keep-alive": {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", 1},
		"close":               {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 2},
		"to the end":          {"HTTP/1.1 200 OK\r\n\r\nok" + hangUp, 2},
	} {
		t.Run(name, func(t *testing.T) {
			quiet(t)
			s := h1Server(t, func(int, *http.Request) string { return tc.answer })
			w := newWire(t, Config{})
			mustFetch(t, w, s.url, "ok")
			mustFetch(t, w, s.url, "ok")
			if got := s.conns.Load(); got != tc.conns {
				t.Errorf("%d connections, want %d", got, tc.conns)
			}
		})
	}
}

// A connection that the server closed while it was idle is not tried.
func TestClosedWhileIdle(t *testing.T) {
	s := h1Server(t, func(int, *http.Request) string { return plain("ok") + hangUp })
	w := newWire(t, Config{})
	mustFetch(t, w, s.url, "ok")
	awaitClosed(onlyConn(t, w))
	mustFetch(t, w, s.url, "ok")
	if got := s.arrivals.Load(); got != 2 {
		t.Errorf("%d arrivals, want 2", got)
	}
}

// A connection that was closed after it was reserved sends nothing.
func TestClosedWhileReserved(t *testing.T) {
	bye := make(chan struct{})
	var arrivals atomic.Int64
	ln := listenTCP(t)
	listen(t, ln, func(nc net.Conn) {
		br := bufio.NewReader(nc)
		http.ReadRequest(br)
		io.WriteString(nc, plain("ok"))
		<-bye
		nc.(*net.TCPConn).CloseWrite()
		if _, err := http.ReadRequest(br); err == nil {
			arrivals.Add(1)
		}
	})
	url := "http://" + ln.Addr().String()
	w := newWire(t, Config{})
	mustFetch(t, w, url, "ok")
	slot := reserve(t, w, url)
	if !slot.Live() {
		t.Error("a good connection is not live")
	}
	close(bye)
	awaitClosed(slot.c)
	if slot.Live() {
		t.Error("a closed connection is live")
	}
	_, err := slot.Send(get(t, t.Context(), url))
	wantError(t, err, NotSent, io.ErrUnexpectedEOF)
	if got := arrivals.Load(); got != 0 {
		t.Errorf("%d arrivals, want 0", got)
	}
}

func TestNotSent(t *testing.T) {
	s := h1Server(t, func(int, *http.Request) string { return plain("ok") })
	w := newWire(t, Config{})
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("because"))
	badQuery := parse(t, s.url)
	badQuery.RawQuery = "a=\x01"
	for name, req := range map[string]*http.Request{
		"cancelled":    get(t, cancelled, s.url),
		"other origin": get(t, t.Context(), "http://127.0.0.1:1/"),
		"bad field":    {Method: "GET", URL: parse(t, s.url), Header: http.Header{"Authorization": {canary + "\n"}}},
		"bad name":     {Method: "GET", URL: parse(t, s.url), Header: http.Header{"a b": {canary}}},
		"bad query":    {Method: "GET", URL: badQuery, Header: http.Header{}},
		"bad method":   {Method: "G E T", URL: parse(t, s.url), Header: http.Header{}},
	} {
		_, err := reserve(t, w, s.url).Send(req)
		wantError(t, err, NotSent, nil)
		t.Log(name, err)
	}
	if _, err := reserve(t, w, s.url).Send(get(t, cancelled, s.url)); !errors.Is(err, context.Cause(cancelled)) {
		t.Errorf("error is %v, want the cause", err)
	}
	slot := reserve(t, w, s.url)
	slot.Release()
	slot.Release()
	_, err := slot.Send(get(t, t.Context(), s.url))
	wantError(t, err, NotSent, nil)
	mustFetch(t, w, s.url, "ok")
	if got := s.arrivals.Load(); got != 1 {
		t.Errorf("%d arrivals, want 1", got)
	}
}

func TestUpload(t *testing.T) {
	s := h1Server(t, func(_ int, r *http.Request) string { return plain(r.Method) })
	w := newWire(t, Config{})
	post := func(body io.Reader) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, body)
		if err != nil {
			t.Fatal(err)
		}
		return reserve(t, w, s.url).Send(req)
	}
	resp, err := post(strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); string(b) != "POST" || err != nil {
		t.Errorf("body = %q, %v", b, err)
	}
	broken := errors.New("disk is gone")
	_, err = post(io.MultiReader(strings.NewReader("hel"), iotest.ErrReader(broken)))
	wantError(t, err, Unknown, broken)
}

func TestCancel(t *testing.T) {
	because := errors.New("the deadline of the run")
	arrived := make(chan struct{})
	hold := make(chan struct{})
	s := h1Server(t, func(_ int, r *http.Request) string {
		if r.URL.Path == "/body" {
			return "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhello"
		}
		arrived <- struct{}{}
		<-hold
		return ""
	})
	defer close(hold)
	w := newWire(t, Config{})

	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(because)
	}()
	_, err := reserve(t, w, s.url).Send(get(t, ctx, s.url))
	wantError(t, err, Unknown, because)

	ctx, cancel = context.WithCancelCause(t.Context())
	resp, err := reserve(t, w, s.url).Send(get(t, ctx, s.url+"/body"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	cancel(because)
	_, err = io.ReadAll(resp.Body)
	wantError(t, err, Unknown, because)
	if got := Received(resp); got != 5 {
		t.Errorf("received %d bytes, want 5", got)
	}
}

func TestUnreadBody(t *testing.T) {
	s := h1Server(t, func(int, *http.Request) string { return plain("hello") })
	w := newWire(t, Config{})
	resp, err := send(t, w, s.url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("Read after Close: %v", err)
	}
	mustFetch(t, w, s.url, "hello")
	if got := s.conns.Load(); got != 2 {
		t.Errorf("%d connections, want 2", got)
	}
}
