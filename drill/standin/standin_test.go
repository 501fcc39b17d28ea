package standin

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
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

// TestMain silences a client's words on answers that are longer than they say.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// client trusts the service, follows nothing and keeps no connection for longer than the test.
func client(t *testing.T, ca []byte) *http.Client {
	t.Helper()
	c := trusting(ca)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func trusting(ca []byte) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true, DisableCompression: true}
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

// both runs a test over HTTP/1.1 and over HTTP/2.
func both(t *testing.T, config func() Config, test func(t *testing.T, s *Service, c *http.Client)) {
	t.Helper()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			cfg := config()
			cfg.TLS = secure
			s := start(t, cfg)
			test(t, s, client(t, s.CA()))
		})
	}
}

// rows are the journal's when n requests have ended.
func rows(t *testing.T, s *Service, n int) []journal.Arrival {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		all := s.Journal.Arrivals(nil)
		ended := 0
		for _, a := range all {
			if !a.Ended.IsZero() {
				ended++
			}
		}
		if ended == n && len(all) == n {
			return all
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d requests have ended, want %d: %+v", ended, len(all), n, all)
		}
	}
}

func TestDocuments(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			s := start(t, Config{TLS: secure, Last: 3})
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
			rows := rows(t, s, 3)
			a, b4, c3 := rows[0], rows[1], rows[2]
			if a.Kind != journal.Read || a.Document != 2 || a.Quota != "docs" || a.Status != 200 || !a.Whole || a.End != journal.Sent ||
				a.Bytes != int64(Size(2)) || a.Size != a.Bytes || a.Try != 0 || a.Conn != 1 || a.Proto != resp.Proto {
				t.Errorf("document 2: %+v", a)
			}
			if a.Began.Before(a.At) || a.Sent.Before(a.Began) || a.Ended.Before(a.Sent) {
				t.Errorf("document 2 came at %v, began at %v, was sent at %v and ended at %v", a.At, a.Began, a.Sent, a.Ended)
			}
			if b4.Kind != journal.Other || b4.Document != 0 || b4.Status != 404 || b4.Whole {
				t.Errorf("document 4: %+v", b4)
			}
			if c3.Document != 2 || c3.Version != 1 || c3.Try != 1 || c3.Size != 100 || !c3.Whole {
				t.Errorf("document 2 changed: %+v", c3)
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
	s := start(t, Config{Journal: journal.New(&file), Credentials: []string{"x-key"}})
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
