package standin

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, cfg Config) *Service {
	t.Helper()
	s, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client trusts the service, follows nothing and keeps no connection for longer than the test.
func client(t *testing.T, ca []byte) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 5 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func get(t *testing.T, c *http.Client, url string) (*http.Response, []byte, error) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, b, err
}

func TestDocuments(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			s := start(t, Config{TLS: secure, Documents: 3})
			c := client(t, s.CA())
			resp, b, err := get(t, c, s.URL("/doc/2"))
			if err != nil || !bytes.Equal(b, Body(2)) {
				t.Fatalf("document 2: %d bytes, %v; want the %d of Body(2)", len(b), err, Size(2))
			}
			if want := map[bool]int{false: 1, true: 2}[secure]; resp.ProtoMajor != want {
				t.Errorf("HTTP/%d, want HTTP/%d", resp.ProtoMajor, want)
			}
			if got, want := resp.Header.Get("ETag"), ETag(2, Size(2), 0); got != want {
				t.Errorf("ETag %s, want %s", got, want)
			}
			if resp, _, err := get(t, c, s.URL("/doc/4")); err != nil || resp.StatusCode != 404 {
				t.Errorf("document 4 of 3: %v, %v; want 404", resp, err)
			}
			s.Change(2)
			if _, b, err := get(t, c, s.URL("/doc/2/a.pdf?size=100")); err != nil || !bytes.Equal(b, BodyOf(2, 100, 1)) {
				t.Errorf("changed document: %d bytes, %v", len(b), err)
			}
			rows := s.Journal.Arrivals(nil)
			if len(rows) != 3 || !rows[0].Whole || rows[0].Sent.Before(rows[0].Began) || rows[1].Whole || rows[1].Status != 404 {
				t.Errorf("journal: %+v", rows)
			}
		})
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{Root: dir})
	c := client(t, nil)
	if resp, b, err := get(t, c, s.URL("/a.txt")); err != nil || string(b) != "hello" || resp.Header.Get("ETag") == "" {
		t.Errorf("a.txt: %q, %v, %v", b, resp, err)
	}
	if resp, _, err := get(t, c, s.URL("/../../etc/passwd")); err != nil || resp.StatusCode != 404 {
		t.Errorf("outside the folder: %v, %v; want 404", resp, err)
	}
}

func TestLimiters(t *testing.T) {
	t0 := time.Unix(1000, 0)
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	for _, tt := range []struct {
		name string
		l    Limiter
		ms   []int
		want string // s: served, else how long until one may be
	}{
		{"window", Window(2, time.Second), []int{0, 100, 200, 999, 1000, 2500}, "s s 800ms 1ms s s"},
		{"bucket", Bucket(10, 2), []int{0, 0, 0, 50, 100, 100}, "s s 100ms 50ms s 100ms"},
		{"parallel", Parallel(1, 7*time.Second), []int{0, 0}, "s 7s"},
	} {
		var got []string
		for _, ms := range tt.ms {
			_, wait, ok := tt.l.Take("", at(ms))
			if got = append(got, wait.Round(time.Millisecond).String()); ok {
				got[len(got)-1] = "s"
			}
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, g, tt.want)
		}
	}
	l := Parallel(1, time.Second)
	done, _, _ := l.Take("a", t0)
	if _, _, ok := l.Take("b", t0); !ok {
		t.Error("another key was refused")
	}
	done()
	if _, _, ok := l.Take("a", t0); !ok {
		t.Error("refused though the first is done")
	}
}

func TestHints(t *testing.T) {
	for name, tt := range map[string]struct {
		hint Hint
		wait time.Duration
	}{
		"seconds": {Seconds, 3 * time.Second}, "IMF": {Date(IMFDate, time.Hour), 3 * time.Second},
		"RFC 850": {Date(RFC850, 0), 3 * time.Second}, "asctime": {Date(ASCTime, -time.Hour), 3 * time.Second},
		"two": {Contradicting, 3 * time.Second}, "none": {None, 0}, "text": {Text("soon"), 0},
	} {
		h := http.Header{}
		if got := tt.hint(h, 2100*time.Millisecond); got != tt.wait {
			t.Errorf("%s: waits %v, want %v", name, got, tt.wait)
		}
		if strings.Contains(name, "C") || name == "asctime" { // a date: its distance to Date is the wait
			date, err := http.ParseTime(h.Get("Date"))
			until, err2 := http.ParseTime(h.Get("Retry-After"))
			if err := errors.Join(err, err2); err != nil || until.Sub(date) != tt.wait {
				t.Errorf("%s: %v, %v, want %v after %v", name, h, err, tt.wait, date)
			}
		}
	}
}

func TestEarly(t *testing.T) {
	s := start(t, Config{Rules: []Rule{On("/doc/1", Throttle(429, Seconds, 2*time.Second))}})
	c := client(t, nil)
	for _, path := range []string{"/doc/1", "/doc/2"} {
		if _, _, err := get(t, c, s.URL(path)); err != nil {
			t.Fatal(err)
		}
	}
	early := s.Journal.Early(0)
	if len(early) != 1 || early[0].Arrival.Path != "/doc/2" || early[0].Before > 2*time.Second || early[0].Before < time.Second {
		t.Errorf("early: %+v, want document 2", early)
	}
	if got := s.Journal.Early(time.Hour); len(got) != 0 {
		t.Errorf("early within the slack: %+v", got)
	}
	if a := early[0].Wait; a.Status != 429 || len(a.Hint) != 1 || a.Hint[0] != "2" || !a.Refused {
		t.Errorf("the wait: %+v", a)
	}
}

func TestFaults(t *testing.T) {
	s := start(t, Config{Rules: []Rule{
		On("/doc/1", Cut(100)), On("/doc/2", Reset(100)), On("/doc/3", CutChunked(100)), On("/doc/4", Longer(10)),
		On("/doc/5", Slow(4000, time.Millisecond)), On("/doc/6", Gzip), On("/doc/7", EndlessHead), On("/doc/8", NotHTTP),
		On("/doc/9", Login), On("/doc/10", Redirect(302, "/doc/10")), On("/doc/11", Header("Content-MD5", "AAAA")),
		On("/doc/12", ChangeAfter(10)), On("/doc/13", First(1, Status(503))), On("/doc/14", HangAfter(5)),
	}})
	c := client(t, nil)
	for path, check := range map[string]func(*http.Response, []byte, error) bool{
		"/doc/1": func(_ *http.Response, b []byte, err error) bool { return err != nil && len(b) == 100 },
		"/doc/2": func(_ *http.Response, _ []byte, err error) bool { return err != nil },
		"/doc/3": func(_ *http.Response, b []byte, err error) bool { return err != nil && len(b) == 100 },
		"/doc/4": func(_ *http.Response, b []byte, err error) bool { return err == nil && bytes.Equal(b, Body(4)) },
		"/doc/5": func(_ *http.Response, b []byte, err error) bool { return err == nil && bytes.Equal(b, Body(5)) },
		"/doc/6": func(r *http.Response, _ []byte, err error) bool {
			return err == nil && r.Header.Get("Content-Encoding") == "gzip"
		},
		"/doc/7":  func(_ *http.Response, _ []byte, err error) bool { return err != nil },
		"/doc/8":  func(_ *http.Response, _ []byte, err error) bool { return err != nil },
		"/doc/9":  func(_ *http.Response, b []byte, err error) bool { return err == nil && string(b) == LoginPage },
		"/doc/10": func(r *http.Response, _ []byte, err error) bool { return err == nil && r.StatusCode == 302 },
		"/doc/11": func(r *http.Response, _ []byte, err error) bool {
			return err == nil && r.Header.Get("Content-MD5") == "AAAA"
		},
		"/doc/12": func(_ *http.Response, b []byte, err error) bool { return err != nil && len(b) == 10 },
		"/doc/13": func(r *http.Response, _ []byte, err error) bool { return err == nil && r.StatusCode == 503 },
	} {
		if resp, b, err := get(t, c, s.URL(path)); !check(resp, b, err) {
			t.Errorf("%s: %v, %d bytes, %v", path, resp, len(b), err)
		}
	}
	for path, version := range map[string]int{"/doc/12": 1, "/doc/13": 0} {
		n := map[string]int{"/doc/12": 12, "/doc/13": 13}[path]
		s.SetRules(On("/doc/13", First(1, Status(503))))
		if _, b, err := get(t, c, s.URL(path)); err != nil || !bytes.Equal(b, BodyOf(n, Size(n), version)) {
			t.Errorf("%s again: %d bytes, %v", path, len(b), err)
		}
	}
	s.SetRules(On("/doc/14", HangAfter(5)))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL("/doc/14"), nil)
	if resp, err := c.Do(req); err == nil {
		if b, err := io.ReadAll(resp.Body); err == nil || len(b) != 5 {
			t.Errorf("hanging: %d bytes, %v", len(b), err)
		}
		resp.Body.Close()
	}
	if whole := s.Journal.Whole(); whole["/doc/1"] != 0 || whole["/doc/5"] != 1 {
		t.Errorf("whole deliveries: %v", whole)
	}
}

func TestOutage(t *testing.T) {
	s := start(t, Config{})
	c := client(t, nil)
	if err := s.Down(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := get(t, c, s.URL("/doc/1")); err == nil {
		t.Error("answered while down")
	}
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	if _, b, err := get(t, c, s.URL("/doc/1")); err != nil || !bytes.Equal(b, Body(1)) {
		t.Errorf("after the outage: %d bytes, %v", len(b), err)
	}
}

func TestCredentialsAreNotKept(t *testing.T) {
	var file bytes.Buffer
	s := start(t, Config{Journal: &file, Credentials: []string{"x-key"}})
	req, _ := http.NewRequest(http.MethodGet, s.URL("/doc/1?sig=canary"), nil)
	req.Header.Set("Authorization", "Bearer canary")
	req.Header.Set("X-Key", "canary")
	if _, err := client(t, nil).Do(req); err != nil {
		t.Fatal(err)
	}
	if err := s.Down(); err != nil {
		t.Fatal(err)
	}
	row := file.String()
	if strings.Contains(row, "canary") || !strings.Contains(row, "Authorization") || !strings.Contains(row, "X-Key") {
		t.Errorf("journal: %s", row)
	}
}

func TestH2(t *testing.T) {
	s, err := StartH2(func(path string, try int) Act {
		if path == "/doc/2" && try == 0 {
			return Calm
		}
		return Serve
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := client(t, s.CA())
	if _, b, err := get(t, c, s.URL("/doc/1")); err != nil || !bytes.Equal(b, Body(1)) {
		t.Errorf("document 1: %d bytes, %v", len(b), err)
	}
	if _, _, err := get(t, c, s.URL("/doc/2")); err == nil {
		t.Error("document 2 came though it was to be calm")
	}
	if got := s.Journal.ByPath(); got["/doc/1"] != 1 || got["/doc/2"] != 1 {
		t.Errorf("arrivals: %v", got)
	}
}
