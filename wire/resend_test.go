package wire

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// Whatever fails, one Send is one arrival, on a new connection and on one that was used
// before; and what the server may have acted on is never said not to be sent. net/http would
// send most of these again.
func TestNothingIsResent(t *testing.T) {
	reset := func(nc net.Conn) { nc.(*net.TCPConn).SetLinger(0) }
	say := func(words string) func(net.Conn) { return func(nc net.Conn) { io.WriteString(nc, words) } }
	for name, fail := range map[string]func(net.Conn){
		"close":            say(""),
		"reset":            reset,
		"cancel":           nil, // by the caller, when the request has arrived
		"408":              say("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
		"425":              say("HTTP/1.1 425 Too Early\r\nContent-Length: 0\r\n\r\n"),
		"429":              say("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"),
		"503":              say("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"),
		"redirect":         say("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"),
		"half a line":      say("HTTP/1"),
		"half a head":      say("HTTP/1.1 200 OK\r\nA:"),
		"no HTTP":          say("hello\r\n\r\n"),
		"only 1xx":         say("HTTP/1.1 103 Early Hints\r\n\r\n"),
		"half a body":      say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
		"half a chunk":     say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf"),
		"a bad chunk":      say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxx"),
		"a body too long":  say(plain("ok") + "more"),
		"a 205 with body":  say("HTTP/1.1 205 Reset Content\r\nContent-Length: 2\r\n\r\nok"),
		"an answer, reset": func(nc net.Conn) { say(plain("ok"))(nc); reset(nc) },
	} {
		for _, method := range []string{"GET", "POST"} {
			for _, used := range []int{0, 1} { // requests on the connection before
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := new(server)
				ln := listenTCP(t)
				s.url = "http://" + ln.Addr().String()
				listen(t, ln, func(nc net.Conn) {
					br := bufio.NewReader(nc)
					for nth := 0; ; nth++ {
						req, err := http.ReadRequest(br)
						if err != nil {
							return
						}
						s.arrivals.Add(1)
						io.Copy(io.Discard, req.Body)
						if nth == used && fail == nil {
							cancel()
							return
						}
						if nth == used {
							fail(nc)
							return
						}
						io.WriteString(nc, plain("ok"))
					}
				})
				w := newWire(t, Config{})
				if used > 0 {
					mustFetch(t, w, s.url, "ok")
				}
				before := s.arrivals.Load()
				req, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader("x"))
				if err != nil {
					t.Fatal(err)
				}
				if method == "GET" {
					req.Body, req.ContentLength = nil, 0
				}
				resp, err := reserve(t, w, s.url).Send(req)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				if err != nil {
					wantError(t, err, Unknown, nil)
				}
				if got := s.arrivals.Load() - before; got != 1 {
					t.Errorf("%s, %s after %d: %d arrivals, want 1 (%v)", name, method, used, got, err)
				}
			}
		}
	}
}

func TestNothingIsResentOverHTTP2(t *testing.T) {
	codes := map[string]func(p *peer, stream uint32) bool{
		"close":   func(p *peer, s uint32) bool { return false },
		"head":    func(p *peer, s uint32) bool { p.head(s, false, ":status", "200"); return false },
		"429":     func(p *peer, s uint32) bool { p.head(s, true, ":status", "429", "retry-after", "0"); return true },
		"goaway":  func(p *peer, s uint32) bool { p.WriteGoAway(s-1, http2.ErrCodeNo, nil); return p.drain() },
		"goaway=": func(p *peer, s uint32) bool { p.WriteGoAway(s, http2.ErrCodeNo, nil); return p.hangUp() },
		"calm":    func(p *peer, s uint32) bool { p.WriteGoAway(s-1, http2.ErrCodeEnhanceYourCalm, nil); return p.drain() },
	}
	for code := range http2.ErrCode(14) {
		codes[code.String()] = func(p *peer, s uint32) bool { return p.WriteRSTStream(s, code) == nil }
	}
	for name, fail := range codes {
		for _, used := range []int{0, 1} {
			s, trust := h2Server(t, nil, func(p *peer, _, nth int, stream uint32) bool {
				if nth == used {
					return fail(p, stream)
				}
				return p.ok(stream)
			})
			w := newWire(t, Config{TLS: trust})
			if used > 0 {
				mustFetch(t, w, s.url, "ok")
			}
			before := s.arrivals.Load()
			_, err := fetch(t, w, s.url)
			if got := s.arrivals.Load() - before; got != 1 {
				t.Errorf("%s after %d: %d arrivals, want 1 (%v)", name, used, got, err)
			}
			if e, ok := err.(*Error); ok && e.Fate == NotSent {
				t.Errorf("%s after %d: it arrived, and was said not to be sent (%v)", name, used, err)
			}
		}
	}
}
