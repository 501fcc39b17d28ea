package wire

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// A relay is a proxy; auth, if any, is the Proxy-Authorization that it wants.
type relay struct {
	auth    string
	refuse  string // a whole answer to CONNECT
	tunnels atomic.Int64
	relayed atomic.Int64
}

func (p *relay) serve(nc net.Conn) {
	br := bufio.NewReader(nc)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		switch {
		case p.auth != "" && req.Header.Get("Proxy-Authorization") != p.auth:
			io.WriteString(nc, "HTTP/1.1 407 "+canary+"\r\nContent-Length: 0\r\n\r\n")
		case p.refuse != "":
			io.WriteString(nc, p.refuse)
			return
		case req.Method == http.MethodConnect:
			p.tunnels.Add(1)
			up, err := net.Dial("tcp", req.Host)
			if err != nil {
				return
			}
			io.WriteString(nc, "HTTP/1.1 200 Connection established\r\n\r\n")
			pipe(nc, up)
			return
		default:
			p.relayed.Add(1)
			fmt.Fprintf(nc, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(req.RequestURI), req.RequestURI)
		}
	}
}

func pipe(a, b net.Conn) {
	var wg sync.WaitGroup
	for _, p := range [][2]net.Conn{{a, b}, {b, a}} {
		wg.Go(func() {
			io.Copy(p[0], p[1])
			p[0].Close()
		})
	}
	wg.Wait()
}

func proxied(t testing.TB, raw string) func(*http.Request) (*url.URL, error) {
	u := parse(t, raw)
	return func(*http.Request) (*url.URL, error) { return u, nil }
}

// origins serve the protocol they are asked in.
func origins(t testing.TB) (plain, secure string) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Error("the origin saw the proxy's credential")
		}
		io.WriteString(w, r.Proto)
	})
	ts := httptest.NewUnstartedServer(h)
	ts.EnableHTTP2 = true
	ts.StartTLS()
	t.Cleanup(ts.Close)
	hs := httptest.NewServer(h)
	t.Cleanup(hs.Close)
	return hs.URL, ts.URL
}

func TestHTTPProxy(t *testing.T) {
	insecure, secure := origins(t)
	identity, trust := identityOf(t)
	for _, scheme := range []string{"http", "https"} {
		for _, auth := range []string{"", "u:" + canary} {
			p := new(relay)
			user := ""
			if auth != "" {
				u := url.UserPassword("u", canary)
				p.auth, user = basicAuth(u), u.String()+"@"
			}
			ln := listenTCP(t)
			if scheme == "https" {
				ln = tls.NewListener(ln, identity)
			}
			listen(t, ln, p.serve)
			w := newWire(t, Config{TLS: trust, Proxy: proxied(t, scheme+"://"+user+ln.Addr().String())})
			for range 2 {
				mustFetch(t, w, secure, "HTTP/2.0")
				mustFetch(t, w, insecure+"/a?b", insecure+"/a?b") // the proxy is told the whole address
			}
			if tunnels, relayed := p.tunnels.Load(), p.relayed.Load(); tunnels != 1 || relayed != 2 {
				t.Errorf("%s: %d tunnels and %d relayed, want 1 and 2", scheme, tunnels, relayed)
			}
		}
	}
}

func TestProxyRefuses(t *testing.T) {
	_, secure := origins(t)
	for name, p := range map[string]*relay{
		"authorization": {auth: "Basic other"},
		"forbidden":     {refuse: "HTTP/1.1 403 " + canary + "\r\n\r\n" + canary},
		"no HTTP":       {refuse: canary + "\r\n\r\n"},
		"nothing":       {refuse: " "},
	} {
		ln := listenTCP(t)
		listen(t, ln, p.serve)
		w := newWire(t, Config{Proxy: proxied(t, "http://u:"+canary+"@"+ln.Addr().String())})
		_, err := w.Reserve(t.Context(), parse(t, secure))
		wantError(t, err, NotSent, nil)
		t.Log(name, err)
	}
}

func TestProxyFunction(t *testing.T) {
	for name, f := range map[string]func(*http.Request) (*url.URL, error){
		"fails":  func(*http.Request) (*url.URL, error) { return nil, errors.New(canary) },
		"scheme": func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "ftp", Host: canary}, nil },
		"host":   func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "http"}, nil },
	} {
		_, err := newWire(t, Config{Proxy: f}).Reserve(t.Context(), parse(t, "https://example.com"))
		wantError(t, err, NotSent, nil)
		t.Log(name, err)
	}
	asked := ""
	w := newWire(t, Config{Proxy: func(r *http.Request) (*url.URL, error) {
		asked = r.URL.String()
		return nil, errors.New("enough")
	}})
	w.Reserve(t.Context(), parse(t, "https://EXAMPLE.com/secret?sig="+canary))
	if want := "https://example.com/"; asked != want {
		t.Errorf("the proxy function was asked for %q, want %q", asked, want)
	}
}

func TestSOCKS(t *testing.T) {
	insecure, secure := origins(t)
	_, trust := identityOf(t)
	ln := listenTCP(t)
	listen(t, ln, func(nc net.Conn) { serveSOCKS(nc, "u", canary) })
	w := newWire(t, Config{TLS: trust, Proxy: proxied(t, "socks5://u:"+canary+"@"+ln.Addr().String())})
	mustFetch(t, w, secure, "HTTP/2.0")
	mustFetch(t, w, insecure, "HTTP/1.1")

	w = newWire(t, Config{TLS: trust, Proxy: proxied(t, "socks5h://u:wrong"+canary+"@"+ln.Addr().String())})
	_, err := w.Reserve(t.Context(), parse(t, secure))
	wantError(t, err, NotSent, nil)
	t.Log(err)
}

// serveSOCKS is RFC 1928 with RFC 1929, for addresses in IPv4.
func serveSOCKS(nc net.Conn, user, password string) {
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(nc, b); err != nil {
			return make([]byte, n)
		}
		return b
	}
	read(int(read(2)[1])) // methods
	nc.Write([]byte{5, 2})
	got := string(read(int(read(2)[1])))
	got += ":" + string(read(int(read(1)[0])))
	if got != user+":"+password {
		nc.Write([]byte{1, 1})
		return
	}
	nc.Write([]byte{1, 0})
	if head := read(4); head[3] != 1 {
		return
	}
	ip, port := net.IP(read(4)), binary.BigEndian.Uint16(read(2))
	up, err := net.Dial("tcp", net.JoinHostPort(ip.String(), strconv.Itoa(int(port))))
	if err != nil {
		return
	}
	nc.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	pipe(nc, up)
}

func clearProxies(t *testing.T) {
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUEST_METHOD"} {
		t.Setenv(name, "")
	}
}

func TestEnvironmentIsChecked(t *testing.T) {
	for _, bad := range []string{
		"http://u:" + canary + "@host:port", "http://u:" + canary + "/x@host:80", "ftp://u:" + canary + "@host",
		"http://u:" + canary + "@", "http://:8080", "://" + canary, "http://host:99999", "http://host:0", "%" + canary,
		"http://u:" + canary + "%zz@host", "socks4://host", "http:// host", "http:host",
	} {
		for _, name := range []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"} {
			clearProxies(t)
			t.Setenv(name, bad)
			_, err := New(Config{})
			if err == nil {
				t.Errorf("%s=%s: no error", name, bad)
				continue
			}
			if s := err.Error(); strings.Contains(s, canary) || !strings.Contains(s, name) {
				t.Errorf("%s=%s: error is %q", name, bad, s)
			}
		}
	}
	for _, good := range []string{"", "host", "host:3128", "http://host", "https://u:p@host:1", "socks5://[::1]:1080", "socks5h://host"} {
		clearProxies(t)
		t.Setenv("HTTPS_PROXY", good)
		if _, err := New(Config{}); err != nil {
			t.Errorf("HTTPS_PROXY=%s: %v", good, err)
		}
	}
}

func TestEnvironmentIsUsed(t *testing.T) {
	p := new(relay)
	ln := listenTCP(t)
	listen(t, ln, p.serve)
	clearProxies(t)
	t.Setenv("http_proxy", ln.Addr().String())
	t.Setenv("no_proxy", "direct.example")
	w, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	mustFetch(t, w, "http://far.example/x", "http://far.example/x")
	for _, direct := range []string{"http://direct.example/", "https://far.example/"} {
		o, _ := originOf(parse(t, direct))
		if u, err := w.proxyFor(t.Context(), o); u != nil || err != nil {
			t.Errorf("%s goes through %v, %v; want direct", direct, u, err)
		}
	}
}
