package buckets

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// Proxy passes requests on to a server as they are signed, and all of them through handle.
func Proxy(t testing.TB, kind, target string, handle func(w http.ResponseWriter, r *http.Request, server http.Handler)) (endpoint string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint = "http://" + l.Addr().String()
	p := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(u)
			if kind != "gcs" { // it has no signatures, and knows itself by its name
				r.Out.Host = r.In.Host
			}
		},
		ModifyResponse: func(r *http.Response) error { // where an upload goes on
			if place := r.Header.Get("Location"); place != "" {
				r.Header.Set("Location", strings.Replace(place, target, endpoint, 1))
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, p) })}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return endpoint
}
