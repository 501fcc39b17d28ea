package standin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// A fault is seen by the client, and its row says what was done and how the answer ended.
func TestFaults(t *testing.T) {
	type answer struct {
		resp *http.Response
		body []byte
		err  error
	}
	broken := func(a answer) bool { return a.err != nil }
	cutAt := func(n int) func(answer) bool {
		return func(a answer) bool { return a.err != nil && a.resp != nil && len(a.body) == n }
	}
	whole := func(n int) func(answer) bool {
		return func(a answer) bool { return a.err == nil && bytes.Equal(a.body, Body(n)) }
	}
	status := func(code int) func(answer) bool {
		return func(a answer) bool { return a.err == nil && a.resp.StatusCode == code }
	}
	for _, tt := range []struct {
		name  string
		rule  Rule
		seen  func(answer) bool
		end   string
		fault string
		bytes int // of the body; -1: not said
		whole bool
		only1 bool // over HTTP/1.1 alone
	}{
		{"cut", Cut(100), cutAt(100), journal.Cut, "cut", 100, false, false},
		{"cut at the head", Cut(0), cutAt(0), journal.Cut, "cut", 0, false, false},
		{"cut in the middle", Cut(Half), cutAt(Size(1) / 2), journal.Cut, "cut", Size(1) / 2, false, false},
		{"reset", Reset(100), broken, journal.Cut, "reset", 100, false, false},
		{"cut chunked", CutChunked(100), cutAt(100), journal.Cut, "cut", 100, false, false},
		{"shorter", Shorter(7), cutAt(Size(1) - 7), journal.Cut, "short", Size(1) - 7, false, false},
		{"longer", Longer(10), whole(1), journal.Sent, "long", Size(1) + 10, true, true},
		{"slow", Slow(0, time.Millisecond), whole(1), journal.Sent, "slow", Size(1), true, false},
		{"slow by the byte", Slow(4000, time.Millisecond), whole(1), journal.Sent, "slow", Size(1), true, false},
		{"delay", Delay(time.Millisecond), whole(1), journal.Sent, "delay", Size(1), true, false},
		{"gzip", Gzip, func(a answer) bool { return a.resp.Header.Get("Content-Encoding") == "gzip" }, journal.Sent, "gzip", -1, false, false},
		{"endless head", EndlessHead, broken, journal.Gone, "endless", 0, false, true},
		{"not http", NotHTTP, broken, journal.Cut, "not http", 0, false, true},
		{"login", Login, func(a answer) bool { return string(a.body) == LoginPage }, journal.Sent, "login", len(LoginPage), false, false},
		{"error", Page(200, jsonText, `{"ok":false}`), func(a answer) bool { return string(a.body) == `{"ok":false}` }, journal.Sent, "error", 12, false, false},
		{"status", Status(500), status(500), journal.Sent, "status", -1, false, false},
		{"redirect", Redirect(302, "/doc/10"), status(302), journal.Sent, "", -1, false, false},
		{"header", Header("Content-MD5", "AAAA"), func(a answer) bool { return a.resp.Header.Get("Content-MD5") == "AAAA" }, journal.Sent, "", Size(1), true, false},
		{"digest", WrongDigest, func(a answer) bool {
			return a.err == nil && len(a.body) == Size(1) && a.resp.Header.Get("Repr-Digest") == digest(Body(1)) && digest(a.body) != digest(Body(1))
		}, journal.Sent, "digest", Size(1), false, false},
		{"deny", Deny, status(403), journal.Sent, "deny", -1, false, false},
		{"gone", Gone, status(404), journal.Sent, "gone", -1, false, false},
		{"two", When(func(*Exchange) bool { return true }, Delay(1), Cut(10)), cutAt(10), journal.Cut, "delay,cut", 10, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			both(t, func() Config { return Config{Rules: []Rule{tt.rule}} }, func(t *testing.T, s *Service, c *http.Client) {
				if tt.only1 && s.cfg.TLS {
					t.Skip("there is no bare connection")
				}
				var a answer
				a.resp, a.body, a.err = get(t, c, s.URL("/doc/1"))
				if !tt.seen(a) {
					t.Errorf("%v, %d bytes, %v", a.resp, len(a.body), a.err)
				}
				row := rows(t, s, 1)[0]
				if row.End != tt.end || row.Fault != tt.fault || tt.bytes >= 0 && row.Bytes != int64(tt.bytes) || row.Whole != tt.whole ||
					row.Sent.IsZero() != (tt.end != journal.Sent) {
					t.Errorf("journal: %+v", row)
				}
			})
		})
	}
}

// What hangs ends when the client goes, or with the service.
func TestHanging(t *testing.T) {
	both(t, func() Config {
		return Config{Rules: []Rule{On("/doc/1", HangAfter(5)), On("/doc/2", Hang), On("/doc/3", Hang)}}
	},
		func(t *testing.T, s *Service, c *http.Client) {
			for path, want := range map[string]int{"/doc/1": 5, "/doc/2": 0} {
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL(path), nil)
				resp, err := c.Do(req)
				if err == nil {
					defer resp.Body.Close()
					if b, err := io.ReadAll(resp.Body); err == nil || len(b) != want {
						t.Errorf("%s: %d bytes, %v", path, len(b), err)
					}
				}
			}
			for _, a := range rows(t, s, 2) {
				if a.End != journal.Gone || a.Fault != "hang" || !a.Sent.IsZero() {
					t.Errorf("journal: %+v", a)
				}
			}
			ended := make(chan error)
			go func() {
				_, _, err := get(t, c, s.URL("/doc/3"))
				ended <- err
			}()
			for s.Journal.Len() < 3 {
				time.Sleep(time.Millisecond)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err == nil {
				t.Error("a hanging answer was answered")
			}
			if a := rows(t, s, 3)[2]; a.End != journal.Cut || a.Fault != "hang" {
				t.Errorf("journal: %+v", a)
			}
		})
}

// A client that does not wait for its answer is gone.
func TestGoneClient(t *testing.T) {
	both(t, func() Config { return Config{Size: 8 << 20} }, func(t *testing.T, s *Service, c *http.Client) {
		resp, err := c.Get(s.URL("/doc/1"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 1000)); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
		if a := rows(t, s, 1)[0]; a.End != journal.Gone || a.Whole || a.Bytes == 8<<20 || a.Size != 8<<20 {
			t.Errorf("journal: %+v", a)
		}
	})
}

// Versions: a document changes before an answer, or in the middle of one.
func TestChanges(t *testing.T) {
	both(t, func() Config {
		return Config{Rules: []Rule{
			Where(Select{Documents: []Range{{1, 1}}, Requests: []Range{{2, 2}}}, ChangeNow),
			Where(Select{Documents: []Range{{2, 2}}, Requests: []Range{{1, 1}}}, ChangeAfter(10)),
		}}
	}, func(t *testing.T, s *Service, c *http.Client) {
		for i, want := range []int{0, 1, 1} {
			if resp, b, err := get(t, c, s.URL("/doc/1")); err != nil || !bytes.Equal(b, BodyOf(1, Size(1), want)) || resp.Header.Get("ETag") != ETag(1, Size(1), want) {
				t.Errorf("request %d: %v, %d bytes, %v; want version %d", i, resp, len(b), err, want)
			}
		}
		if _, b, err := get(t, c, s.URL("/doc/2")); err == nil || len(b) != 10 {
			t.Errorf("document 2: %d bytes, %v; want 10 and an error", len(b), err)
		}
		if _, b, err := get(t, c, s.URL("/doc/2")); err != nil || !bytes.Equal(b, BodyOf(2, Size(2), 1)) {
			t.Errorf("document 2 again: %d bytes, %v", len(b), err)
		}
		var versions []int
		for _, a := range rows(t, s, 5) {
			versions = append(versions, a.Version)
		}
		if got, want := fmt.Sprint(versions), "[0 1 1 0 1]"; got != want {
			t.Errorf("versions in the journal: %s, want %s", got, want)
		}
	})
}

// What is withheld stays so, whatever the rules say later.
func TestWithheld(t *testing.T) {
	s := start(t, Config{Rules: []Rule{Where(Select{Documents: []Range{{1, 1}}, Requests: []Range{{2, 2}}}, Deny)}})
	c := client(t, nil)
	for i, want := range []int{200, 403, 403} {
		if resp, _, err := get(t, c, s.URL("/doc/1")); err != nil || resp.StatusCode != want {
			t.Errorf("request %d: %v, %v; want %d", i, resp, err, want)
		}
	}
	s.SetRules()
	if resp, _, err := get(t, c, s.URL("/doc/1.pdf")); err != nil || resp.StatusCode != 403 {
		t.Errorf("without rules: %v, %v; want 403", resp, err)
	}
}
