package gate

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
	"github.com/dogear/dogear/wire"
)

// wiki is a service with a quota for all requests and one for each class of them, which
// refuses in its body at status 200 and says in a field which quota it was.
const wiki = `
name: wiki
title: A wiki
sources: {docs: "https://wiki.example.com/limits"}
parts:
  area: {path: "/{}/**", else: other}
scopes:
  - {name: site, key: [host], source: docs, known: documented, limits: [{units: 600, per: 1m, source: docs, known: documented}]}
  - {name: area, key: [host, area], source: docs, known: documented}
costs:
  - {match: {paths: ["/search/**"]}, units: 5, source: docs, known: documented}
throttles:
  - {status: [429], fields: [{name: X-Reason, in: [burst]}], closes: [area], source: docs, known: documented}
  - {status: [200], body: {path: errcode, in: [45009]}, waits: [3s], source: docs, known: documented}
statuses:
  - {status: [200], body: {path: errcode, in: [7]}, means: denied, source: docs, known: documented}
hints:
  - {field: Retry-After, form: seconds, source: docs, known: documented}
unknown: [whether refused requests count]
`

func startWiki(t *testing.T, m *memory) *Gate {
	t.Helper()
	p, err := profile.Parse("wiki", []byte(wiki))
	if err != nil {
		t.Fatal(err)
	}
	w, err := wire.New(wire.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return start(t, m.process(), func(c *Config) {
		c.Wire, c.Profile = w, func(*url.URL) *profile.Profile { return p }
	})
}

// W10: the profile says which scope a reason closes; the others of the request stay open.
func TestReasonClosesItsScope(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pages/1" {
			w.Header().Set("Retry-After", "60")
			w.Header().Set("X-Reason", "burst")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer srv.Close()
	m := newMemory()
	client := &http.Client{Transport: &Transport{Gate: startWiki(t, m)}}
	for _, path := range []string{"/pages/1", "/files/1"} {
		resp, err := client.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	closed := 0
	for key, s := range m.scopes {
		waits := time.Until(s.NotBefore) > 50*time.Second
		if waits {
			closed++
		}
		if want := fmt.Sprintf("wiki:host=%s,area=pages", srv.Listener.Addr()); waits != (key == want) {
			t.Errorf("scope %s: closed %v, want only %s closed", key, waits, want)
		}
	}
	if closed != 1 || len(m.scopes) != 3 {
		t.Errorf("%d of %d scopes closed, want 1 of 3", closed, len(m.scopes))
	}
}

// A limit at the level of the body closes the scope, for the time that the service documents;
// any other body can still be read to its end.
func TestBodyIsAThrottle(t *testing.T) {
	const refused, denied, page = `{"errcode":45009,"errmsg":"api freq out of limit"}`, `{"errcode":7}`, `{"errcode":0,"text":"a page"}`
	var bodies = map[string]string{"/a/1": page, "/a/2": denied, "/a/3": refused}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, bodies[r.URL.Path])
	}))
	defer srv.Close()
	m := newMemory()
	client := &http.Client{Transport: &Transport{Gate: startWiki(t, m)}}
	for _, path := range []string{"/a/1", "/a/2", "/a/3"} {
		resp, err := client.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(got) != bodies[path] {
			t.Errorf("%s: %q, %v; want %q", path, got, err, bodies[path])
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, s := range m.scopes {
		if left := time.Until(s.NotBefore); left < 2*time.Second || left > 3500*time.Millisecond {
			t.Errorf("scope %s waits %v, want the documented 3s", key, left)
		}
	}
}

// What a request costs is taken from the pace of the scope that counts in units.
func TestCosts(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	m := newMemory()
	g := startWiki(t, m)
	client := &http.Client{Transport: &Transport{Gate: g}}
	site := "wiki:host=" + srv.Listener.Addr().String()
	m.set(site, func(s *dogear.Scope) { s.Rate = 10 }) // units a second
	began := time.Now()
	for range 3 {
		resp, err := client.Get(srv.URL + "/search/x")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if took := time.Since(began); took < 990*time.Millisecond {
		t.Errorf("three requests of 5 units took %v at 10 units a second, want a second at least", took)
	}
}

// A throttle closes the scopes that the request was admitted under, though the profile would
// have named others.
func TestNamedScopeCloses(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer srv.Close()
	for _, named := range []string{"no profile", "profile"} {
		m := newMemory()
		g := startWith(t, m)
		if named == "profile" {
			g = startWiki(t, m)
		}
		client := &http.Client{Transport: &Transport{Gate: g, Scopes: func(*http.Request) []string { return []string{"service:one"} }}}
		resp, err := client.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		m.mu.Lock()
		if s := m.scopes["service:one"]; time.Until(s.NotBefore) < 50*time.Second {
			t.Errorf("%s: the scope waits %v, want a minute", named, time.Until(s.NotBefore))
		}
		m.mu.Unlock()
	}
}
