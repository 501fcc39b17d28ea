package wire

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
)

// environmentProxy is [http.ProxyFromEnvironment] with two differences: it reads the
// environment now, and a variable that holds no proxy's address is an error, where net/http
// would go on without the proxy.
func environmentProxy() (func(*http.Request) (*url.URL, error), error) {
	env := httpproxy.FromEnvironment()
	for _, v := range []struct{ name, value string }{{"http_proxy", env.HTTPProxy}, {"https_proxy", env.HTTPSProxy}} {
		if v.value == "" {
			continue
		}
		if os.Getenv(v.name) == "" {
			v.name = map[string]string{"http_proxy": "HTTP_PROXY", "https_proxy": "HTTPS_PROXY"}[v.name]
		}
		value := v.value
		if !strings.Contains(value, "://") {
			value = "http://" + value
		}
		u, err := url.Parse(value)
		if err == nil {
			err = checkProxy(u)
		}
		if err != nil {
			// Not the value, and not url.Parse's words either: both may hold the password.
			return nil, fmt.Errorf("the environment variable %s: %w", v.name, errProxyAddress)
		}
	}
	f := env.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return f(r.URL) }, nil
}

var errProxyAddress = errors.New("not the address of a proxy; write http://host:port, https://host:port or socks5://host:port")

func checkProxy(u *url.URL) error {
	if _, ok := proxyPorts[u.Scheme]; !ok || u.Hostname() == "" {
		return errProxyAddress
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return errProxyAddress
		}
	}
	return nil
}

var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// proxyFor is the proxy on the way to o; nil if there is none.
func (w *Wire) proxyFor(ctx context.Context, o origin) (*url.URL, error) {
	r := (&http.Request{
		Method: http.MethodGet,
		URL:    &url.URL{Scheme: o.scheme, Host: o.hostport(), Path: "/"},
		Host:   o.hostport(),
		Header: make(http.Header),
	}).WithContext(ctx)
	u, err := w.proxy(r)
	if err != nil {
		return nil, errors.New("which proxy to use could not be found out") // its words may hold a password
	}
	if u == nil {
		return nil, nil
	}
	if u.Scheme == "" {
		c := *u
		c.Scheme = "http"
		u = &c
	}
	return u, checkProxy(u)
}

func proxyAddress(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = proxyPorts[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// connect makes a connection on which bytes reach o. With an HTTP proxy and plain http it
// ends at the proxy, who is told the whole address with each request; relayed says so.
func (w *Wire) connect(ctx context.Context, o origin, via *url.URL) (nc *meter, relayed bool, err error) {
	switch {
	case via == nil:
		nc, err = w.dialTCP(ctx, o.address())
		return nc, false, err
	case via.Scheme == "socks5", via.Scheme == "socks5h":
		nc, err = w.connectSOCKS(ctx, o, via)
	default:
		nc, err = w.connectHTTP(ctx, o, via)
		relayed = o.scheme == "http"
	}
	if err != nil {
		return nil, false, fmt.Errorf("proxy %s: %w", address(via), err)
	}
	return nc, relayed, nil
}

func (w *Wire) connectSOCKS(ctx context.Context, o origin, via *url.URL) (*meter, error) {
	var auth *proxy.Auth
	if via.User != nil {
		auth = &proxy.Auth{User: via.User.Username()}
		auth.Password, _ = via.User.Password()
	}
	d, err := proxy.SOCKS5("tcp", proxyAddress(via), auth, forward{w})
	if err != nil {
		return nil, err
	}
	nc, err := d.(proxy.ContextDialer).DialContext(ctx, "tcp", o.address())
	if err != nil {
		return nil, err
	}
	return &meter{Conn: nc}, nil
}

// forward dials the SOCKS proxy itself; only with a context.
type forward struct{ w *Wire }

func (f forward) Dial(string, string) (net.Conn, error) { return nil, errors.ErrUnsupported }

func (f forward) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return f.w.cfg.Dial(ctx, network, address)
}

func (w *Wire) connectHTTP(ctx context.Context, o origin, via *url.URL) (_ *meter, err error) {
	nc, err := w.dialTCP(ctx, proxyAddress(via))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			nc.Close()
		}
	}()
	if via.Scheme == "https" {
		tc, err := w.handshake(ctx, nc, via.Hostname(), []string{"http/1.1"})
		if err != nil {
			return nil, err
		}
		nc = &meter{Conn: tc}
	}
	if o.scheme == "http" {
		return nc, nil
	}
	return nc, w.tunnel(ctx, nc, o, via)
}

// tunnel asks an HTTP proxy to pass bytes on to o.
func (w *Wire) tunnel(ctx context.Context, nc net.Conn, o origin, via *url.URL) error {
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	req := &http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Opaque: o.address()},
		Host:   o.address(),
		Header: http.Header{"User-Agent": {""}},
	}
	if via.User != nil {
		req.Header.Set("Proxy-Authorization", basicAuth(via.User))
	}
	if err := req.Write(nc); err != nil {
		return err
	}
	// What the reader buffers beyond the head may be dropped: with TLS the client speaks first.
	resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(nc, w.cfg.MaxHeaderBytes)), req)
	if err != nil {
		if err := shown(err); err != nil {
			return err
		}
		return errors.New("it does not speak HTTP")
	}
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return errors.New("it wants a user name and a password, or other ones (407)")
	default:
		return fmt.Errorf("it refused the connection (%d %s)", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
}

func basicAuth(u *url.Userinfo) string {
	password, _ := u.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password))
}
