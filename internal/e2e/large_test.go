package e2e

import (
	"fmt"
	"testing"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

const (
	large = 20 << 20
	half  = 12 << 20
)

// K5: a large body that breaks goes on from where it was, in the same run.
func TestLargeGoesOn(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.First(1, standin.Cut(half))}})
	u.write("l.txt", s.URL(fmt.Sprintf("/doc/1?size=%d", large)))
	u.must(0, "read", "l.txt", "--scope", "host", "-o", "out", "--backoff-base", "50ms")
	rows := s.Journal.Arrivals(nil)
	if len(rows) != 2 {
		t.Fatalf("%d requests, want 2", len(rows))
	}
	checkContinued(t, rows[1])
	u.checkFile("out", u.results("l")[0], standin.BodyOf(1, large, 0))
}

// checkContinued checks that a request went on with what was kept.
func checkContinued(t *testing.T, a journal.Arrival) {
	t.Helper()
	var from int
	if _, err := fmt.Sscanf(a.Header.Get("Range"), "bytes=%d-", &from); err != nil || from < 8<<20 || from > half {
		t.Errorf("Range %q, want one from near byte %d", a.Header.Get("Range"), half)
	}
	if got, want := a.Header.Get("If-Range"), standin.ETag(1, large, 0); got != want {
		t.Errorf("If-Range %q, want %q", got, want)
	}
	if a.Status != 206 || a.Bytes != int64(large-from) {
		t.Errorf("answered %d with %d bytes, want 206 with %d", a.Status, a.Bytes, large-from)
	}
}

// K5: it goes on in a later run as well, or begins again where there is another version.
func TestLargeGoesOnLater(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]bool{"same": false, "changed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			s := serve(t, standin.Config{Rules: []standin.Rule{standin.First(1, standin.Cut(half))}})
			u.write("l.txt", s.URL(fmt.Sprintf("/doc/1?size=%d", large)))
			u.must(65, "read", "l.txt", "--scope", "host", "-o", "out", "--max-requests", "1", "--backoff-base", "50ms")
			version := 0
			if changed {
				s.Change(1)
				version = 1
			}
			u.must(0, "resume", "l", "--max-requests", "5")
			rows := s.Journal.Arrivals(nil)
			if len(rows) != 2 {
				t.Fatalf("%d requests, want 2", len(rows))
			}
			if changed {
				if rows[1].Header.Get("If-Range") != standin.ETag(1, large, 0) || rows[1].Status != 200 {
					t.Errorf("If-Range %q answered %d, want the old version's tag and 200", rows[1].Header.Get("If-Range"), rows[1].Status)
				}
			} else {
				checkContinued(t, rows[1])
			}
			d := u.results("l")[0]
			u.checkFile("out", d, standin.BodyOf(1, large, version))
			if d.Version != standin.ETag(1, large, version) {
				t.Errorf("version %s, want %s", d.Version, standin.ETag(1, large, version))
			}
			u.must(0, "verify", "l", "--deep")
		})
	}
}

// K5: without a strong validator, and in coded bodies, nothing is continued; short bodies are
// read again from their beginning.
func TestLargeBeginsAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule standin.Rule
		size int
	}{
		"weak tag": {standin.Header("ETag", `W/"weak"`), large},
		"no tag":   {standin.Header("ETag", ""), large},
		"short":    {standin.Header("X-Nothing", "x"), 4 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			s := serve(t, standin.Config{Rules: []standin.Rule{tt.rule, standin.First(1, standin.Cut(tt.size-1000))}})
			u.write("l.txt", s.URL(fmt.Sprintf("/doc/1?size=%d", tt.size)))
			u.must(0, "read", "l.txt", "--scope", "host", "-o", "out", "--backoff-base", "50ms")
			rows := s.Journal.Arrivals(nil)
			if len(rows) != 2 || rows[1].Header.Get("Range") != "" || rows[1].Status != 200 {
				t.Errorf("%d requests, the last with Range %q", len(rows), rows[len(rows)-1].Header.Get("Range"))
			}
			u.checkFile("out", u.results("l")[0], standin.BodyOf(1, tt.size, 0))
		})
	}
}

// A version that changes in the middle of a body is never mixed with the one before.
func TestLargeChangesInTheMiddle(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.First(1, standin.ChangeAfter(half))}})
	u.write("l.txt", s.URL(fmt.Sprintf("/doc/1?size=%d", large)))
	u.must(0, "read", "l.txt", "--scope", "host", "-o", "out", "--backoff-base", "50ms")
	u.checkFile("out", u.results("l")[0], standin.BodyOf(1, large, 1))
}
