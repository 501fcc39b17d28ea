package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/standin"
)

// E5: a source that goes away and comes back costs no document anything, and the run goes on.
func TestOutage(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{})
	u.list("l.txt", s, 200)
	p := u.start("read", "l.txt", "--scope", "host", "--rate", "100/s", "--backoff-base", "200ms", "--attempts", "3")
	until(t, "the middle of the run", func() bool { return s.Journal.Len() >= 40 })
	if err := s.Down(); err != nil {
		t.Fatal(err)
	}
	until(t, "the origin is known to be down", func() bool { return strings.Contains(p.stderr.String(), "is down") })
	probes := s.Journal.Len()
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	p.wait(patience).want(t, 0)
	st := u.status("l")
	if st.Documents.Done != 200 || st.Attempts.Most > 2 { // one may have been cut in the middle
		t.Errorf("%d done, at most %d attempts", st.Documents.Done, st.Attempts.Most)
	}
	if rows := s.Journal.Arrivals(nil)[probes:]; len(rows) > 1 && rows[1].At.Before(rows[0].Sent) {
		t.Error("after the outage more than the probe arrived before it was answered")
	}
	u.must(0, "verify", "l", "--deep")
}

// E5: a source that stays away ends the run, with its place kept and nothing charged.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{})
	u.list("l.txt", s, 100)
	if err := s.Down(); err != nil {
		t.Fatal(err)
	}
	r := u.must(69, "read", "l.txt", "--scope", "host", "--max-throttles", "2", "--backoff-base", "100ms", "--attempts", "3", "--json")
	st := lines[status](t, r.stdout)[0]
	if st.LastRun.StopReason != "source_unreachable" || st.Documents.Pending != 100 || st.Attempts.Most > 1 {
		t.Errorf("%+v", st)
	}
	r.says(t, "resume l")
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	u.must(0, "resume", "l", "--max-throttles", "10")
}

// E5: a source that answers nothing but 5xx is down as well.
func TestServerErrors(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.When(func(x *standin.Exchange) bool {
		n := x.Service.Journal.Len()
		return n > 20 && n <= 33
	}, standin.Status(503))}})
	u.list("l.txt", s, 100)
	u.must(0, "read", "l.txt", "--scope", "host", "--rate", "100/s", "--concurrency", "4", "--backoff-base", "100ms", "--attempts", "8")
	if st := u.status("l"); st.Documents.Done != 100 || st.Requests.ByStatus["503"] == 0 || st.Requests.Throttled != 0 {
		t.Errorf("%+v", st)
	}
}

// W4: throttles without a hint end the run when there were too many in a row.
func TestThrottlesExhausted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.Throttle(429, standin.None, 0)}})
	u.list("l.txt", s, 50)
	began := time.Now()
	u.must(75, "read", "l.txt", "--scope", "host", "--max-throttles", "4", "--backoff-base", "200ms", "--concurrency", "1")
	st := u.status("l")
	if st.LastRun.StopReason != "throttles_exhausted" || s.Journal.Len() != 4 || st.Requests.Throttled != 4 || st.Documents.Pending != 50 {
		t.Errorf("%d requests: %+v", s.Journal.Len(), st)
	}
	// Half a step at least, each: 100, 200 and 400 ms.
	if d := time.Since(began); d < 700*time.Millisecond {
		t.Errorf("four throttles within %v", d)
	}
}
