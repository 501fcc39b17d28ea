package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/standin"
)

// K6: what is denied or gone is checked again by the next run; what is done is not.
func TestK6CheckedAgain(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{
		standin.On("/doc/1", standin.First(1, standin.Status(403))),
		standin.On("/doc/2", standin.First(1, standin.Status(404))),
	}})
	u.list("l.txt", s, 4)
	u.must(65, "read", "l.txt", "--scope", "host", "-o", "out")
	if left := u.remaining("l"); len(left) != 2 {
		t.Fatalf("%d remain, want the denied and the gone one: %v", len(left), left)
	}
	u.must(0, "resume", "l")
	for path, n := range s.Journal.ByPath() {
		want := 1
		if path == "/doc/1" || path == "/doc/2" {
			want = 2
		}
		if n != want {
			t.Errorf("%s was asked for %d times, want %d", path, n, want)
		}
	}
}

// W10: a Retry-After on 202 speaks of one document; the others go on.
func TestW10OneDocumentWaits(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{
		standin.On("/doc/1", standin.First(1, standin.Throttle(202, standin.Seconds, 3*time.Second))),
	}})
	u.list("l.txt", s, 30)
	u.must(0, "read", "l.txt", "--scope", "host", "-o", "out", "--backoff-base", "10ms")
	var first, again, last time.Time
	for _, a := range s.Journal.Arrivals(nil) {
		switch {
		case a.Path == "/doc/1" && first.IsZero():
			first = a.Sent
		case a.Path == "/doc/1":
			again = a.At
		default:
			last = a.At
		}
	}
	if again.Sub(first) < 3*time.Second-time.Millisecond {
		t.Errorf("asked again after %v, want at least 3s", again.Sub(first))
	}
	if last.After(again) {
		t.Error("another document waited too")
	}
	if st := u.status("l"); st.Requests.Throttled != 0 {
		t.Errorf("%d requests count as throttled, want none", st.Requests.Throttled)
	}
}

// W6: a scope that is met only on the way stops the run at its first throttle, with its
// place kept; once it is confirmed the next run goes on.
func TestW6ScopeMetOnTheWay(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	var open atomic.Bool // until then whatever is on its way is refused too
	other := serve(t, standin.Config{Rules: []standin.Rule{standin.When(func(*standin.Exchange) bool { return !open.Load() },
		standin.Throttle(429, standin.Seconds, time.Second))}})
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.When(func(x *standin.Exchange) bool {
		standin.Redirect(302, other.URL(x.R.URL.Path))(x)
		return true
	})}})
	u.list("l.txt", s, 3)
	u.must(0, "scopes", "confirm", "host:"+s.Addr(), "--source", "a test")
	r := u.must(78, "read", "l.txt", "-o", "out", "--concurrency", "1")
	r.says(t, "host:"+other.Addr())
	if st := u.status("l"); st.LastRun.StopReason != "scope_unconfirmed" || st.Documents.Pending != 3 {
		t.Errorf("%+v", st)
	}
	u.must(0, "scopes", "confirm", "host:"+other.Addr(), "--source", "a test")
	open.Store(true)
	u.must(0, "resume", "l")
	if early := early(other.Journal, 50*time.Millisecond); len(early) != 0 {
		t.Errorf("%d early arrivals", len(early))
	}
}

// K8: one id with two addresses is refused before anything is sent, with both line numbers;
// the same address twice is one document.
func TestK8OneIDOneAddress(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{})
	u.write("l.csv", "id,url", "a,"+s.URL("/doc/1"), "b,"+s.URL("/doc/2"), "a,"+s.URL("/doc/3"))
	u.must(65, "read", "l.csv", "--scope", "host", "-o", "out").says(t, "2", "4")
	u.write("m.csv", "id,url", "a,"+s.URL("/doc/1"), "a,"+s.URL("/doc/1"))
	u.must(0, "read", "m.csv", "--scope", "host", "-o", "out")
	if got := s.Journal.Len(); got != 1 {
		t.Errorf("%d requests, want one for the one document", got)
	}
}

// K3: a result that is missing, or of another size, is read again; the others are not.
func TestK3MissingResults(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{})
	u.list("l.txt", s, 5)
	u.must(0, "read", "l.txt", "--scope", "host", "-o", "out")
	docs := u.results("l")
	if err := os.Remove(u.path("out/" + docs[0].Path)); err != nil {
		t.Fatal(err)
	}
	u.write("out/"+docs[1].Path, "short")
	u.must(1, "verify", "l")
	u.must(0, "resume", "l").says(t, "2 results were missing")
	if got := s.Journal.Len(); got != 7 {
		t.Errorf("%d requests in two runs, want 7", got)
	}
	u.must(0, "verify", "l", "--deep")
}

// R1, K1: whatever fails beneath it, each arrival is a request of the ledger, and no more.
func TestR1EveryArrivalIsCounted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{
		standin.Every(5, standin.Reset(0)), standin.Every(7, standin.Cut(100)), standin.Every(11, standin.Status(500)),
	}})
	u.list("l.txt", s, 60)
	u.must(0, "read", "l.txt", "--scope", "host", "-o", "out", "--backoff-base", "10ms", "--attempts", "30")
	if rows, arrived := sent(u.requests("l")), s.Journal.Len(); rows != arrived {
		t.Errorf("%d requests in the ledger, %d arrived", rows, arrived)
	}
	if st := u.status("l"); int(st.Requests.Sent) != s.Journal.Len() {
		t.Errorf("requests.sent is %d, %d arrived", st.Requests.Sent, s.Journal.Len())
	}
}

// E3: a run ends with one reason, its counts and what remains with reasons.
func TestE3WhatRemains(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.On("/doc/2", standin.Status(500)), standin.On("/doc/3", standin.Status(451))}})
	u.list("l.txt", s, 3)
	u.must(65, "read", "l.txt", "--scope", "host", "-o", "out", "--attempts", "2", "--backoff-base", "10ms")
	left := u.remaining("l")
	var said []string
	for id, d := range left {
		said = append(said, fmt.Sprintf("%s %s %s", id[strings.LastIndex(id, "/"):], d.State, d.Reason))
	}
	text := strings.Join(said, "\n")
	if len(left) != 2 || !strings.Contains(text, "/2 pending attempts: 500") || !strings.Contains(text, "/3 failed 451") {
		t.Errorf("what remains:\n%s", text)
	}
	if st := u.status("l"); st.LastRun.StopReason != "attempts_exhausted" {
		t.Errorf("stop reason %s", st.LastRun.StopReason)
	}
	u.must(65, "resume", "l", "--attempts", "3") // raising the cap is enough to go on
	if n := s.Journal.ByPath()["/doc/2"]; n != 3 {
		t.Errorf("/doc/2 was asked for %d times, want 3", n)
	}
}

// W9: refusals that were in flight together are one event, however many say so.
func TestW9OneEvent(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.Delay(2 * time.Second), standin.Throttle(429, standin.None, 0)}})
	u.list("l.txt", s, 50)
	u.must(75, "read", "l.txt", "--scope", "host", "-o", "out", "--concurrency", "8", "--max-throttles", "2", "--backoff-base", "50ms")
	st := u.status("l")
	if s.Journal.Len() != 9 || st.Requests.Throttled != 9 || st.Scopes[0].Throttles != 2 {
		t.Errorf("%d arrived, %d throttled, %d in a row; want eight at once and one probe: 9, 9, 2",
			s.Journal.Len(), st.Requests.Throttled, st.Scopes[0].Throttles)
	}
}

// E1: a document's own delay past the deadline is not waited for, and no scope is blamed.
func TestE1DelayPastDeadline(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.On("/doc/1", standin.Status(500))}})
	u.list("l.txt", s, 2)
	r := u.must(75, "read", "l.txt", "--scope", "host", "-o", "out", "--backoff-base", "1h", "--backoff-max", "1h", "--deadline", "20s")
	r.says(t, "what is left may be tried again at")
	st := u.status("l")
	if st.LastRun.StopReason != "wait_past_deadline" || !st.LastRun.EndedAt.Before(st.LastRun.Deadline) || st.Documents.Done != 1 {
		t.Errorf("%+v", st)
	}
}
