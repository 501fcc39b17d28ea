package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

// E1, W1: a wait that is longer than the run ends it at once, and the next run keeps it.
func TestWaitPastDeadline(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.Throttle(429, standin.Seconds, time.Hour)}})
	u.list("list.txt", s, 50)
	first := u.must(75, "read", "list.txt", "--scope", "host", "--deadline", "5s", "--json")
	st := lines[status](t, first.stdout)[0]
	if st.LastRun.StopReason != "wait_past_deadline" || st.State != "stopped" {
		t.Errorf("state %s, stop reason %s; want stopped, wait_past_deadline", st.State, st.LastRun.StopReason)
	}
	if !st.LastRun.EndedAt.Before(st.LastRun.Deadline) {
		t.Errorf("ended at %v: not before its deadline %v", st.LastRun.EndedAt, st.LastRun.Deadline)
	}
	arrived := s.Journal.Len()
	if arrived == 0 || arrived > 16 || st.Requests.Sent != arrived || st.Requests.Throttled != arrived {
		t.Errorf("%d arrived, %d sent, %d throttled; want the same, at most 16", arrived, st.Requests.Sent, st.Requests.Throttled)
	}
	first.says(t, "wait_past_deadline", "resume list", s.Addr())

	rows := s.Journal.Arrivals(nil)
	earliest, latest := rows[0].Until, rows[len(rows)-1].Until
	again := u.must(75, "resume", "list", "--deadline", "5s", "--json")
	if n := s.Journal.Len(); n != arrived {
		t.Errorf("resume sent %d requests, want none", n-arrived)
	}
	st = lines[status](t, again.stdout)[0]
	if st.LastRun.ID != 2 || st.LastRun.StopReason != "wait_past_deadline" || st.LastRun.Requests.Sent != 0 {
		t.Errorf("second run: %+v", st.LastRun)
	}
	if len(st.Scopes) != 1 || st.Scopes[0].NotBefore.Before(earliest.Add(-2*time.Millisecond)) ||
		st.Scopes[0].NotBefore.After(latest.Add(time.Minute)) || st.Scopes[0].WaitFrom == "" || st.Scopes[0].WaitSetBy != "job list" {
		t.Errorf("scopes %+v; want one that waits until about %v", st.Scopes, latest)
	}
	// It says until when: to the second, for the shown moment is counted anew each time.
	if at := st.Scopes[0].NotBefore.UTC().Format("2006-01-02T15:04:05"); !strings.Contains(again.stderr, at[:len(at)-1]) {
		t.Errorf("does not say until when (%s):\n%s", at, again.stderr)
	}
	if got := u.status("list"); got.Documents.Pending != 50 || got.Requests.Sent != arrived {
		t.Errorf("status: %+v", got)
	}
}

// W3: all forms of a hint are waited for, and the documents come after it.
func TestHints(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		hint   standin.Template
		least  time.Duration // that a run takes
	}{
		"seconds":       {429, standin.Seconds, 2 * time.Second},
		"IMF date":      {429, standin.Date(standin.IMFDate, -time.Hour), 2 * time.Second},
		"RFC 850 date":  {429, standin.Date(standin.RFC850, time.Hour), 2 * time.Second},
		"asctime date":  {429, standin.Date(standin.ASCTime, 0), 2 * time.Second},
		"contradicting": {429, standin.Contradicting, 2 * time.Second},
		"503":           {503, standin.Seconds, 2 * time.Second},
		"529":           {529, standin.Seconds, 2 * time.Second},
		"none":          {429, standin.None, 500 * time.Millisecond},
		"zero":          {429, standin.Text("0"), 0},
		"illegal":       {429, standin.Text("soon"), 500 * time.Millisecond},
		"negative":      {429, standin.Text("-5"), 500 * time.Millisecond},
		"decimal":       {429, standin.Text("1.2"), 2 * time.Second},
		"503 without":   {503, standin.None, 0},
		"date, no zone": {429, standin.Text("Fri, 26 Jun 2026 04:28:20"), 500 * time.Millisecond},
		"not a number":  {429, standin.Text("nan"), 500 * time.Millisecond},
		"infinite":      {429, standin.Text("inf"), 500 * time.Millisecond},
		"a moment past": {429, standin.Text("Fri, 26 Jun 2020 04:28:20 GMT"), 0},
		"empty":         {429, standin.Text(""), 500 * time.Millisecond},
		"403 never":     {403, standin.Seconds, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			s := serve(t, standin.Config{Rules: []standin.Rule{standin.On("/doc/1", standin.First(1, standin.Throttle(tt.status, tt.hint, 2*time.Second)))}})
			u.list("l.txt", s, 4)
			r := u.run("read", "l.txt", "--scope", "host", "--concurrency", "1", "--rate", "100/s", "--burst", "10", "--backoff-base", "1s", "--json")
			rows := s.Journal.Arrivals(func(a journal.Arrival) bool { return a.Path == "/doc/1" })
			if tt.least < 0 {
				r.want(t, 65)
				if got := u.remaining("l")[s.URL("/doc/1")]; got.State != "denied" || len(rows) != 1 {
					t.Errorf("%+v after %d requests, want denied after one", got, len(rows))
				}
				return
			}
			r.want(t, 0)
			if len(rows) != 2 {
				t.Fatalf("document 1 was asked for %d times, want 2", len(rows))
			}
			if waited := rows[1].At.Sub(rows[0].Began); waited < tt.least {
				t.Errorf("came again after %v, want at least %v", waited, tt.least)
			}
			if tt.status != 503 || !rows[0].Until.IsZero() { // the scope was closed, for all
				if n := len(s.Journal.Between(rows[0].Sent.Add(300*time.Millisecond), rows[0].Began.Add(tt.least))); n > 0 && tt.least > 0 {
					t.Errorf("%d requests arrived in the wait", n)
				}
			}
			if rows := u.requests("l"); len(s.Journal.Arrivals(nil)) != sent(rows) {
				t.Errorf("%d arrived, %d in the ledger", s.Journal.Len(), sent(rows))
			}
		})
	}
}

// W1, W5 over processes: after a throttle nothing comes early, one probe goes first, and
// then all of them keep to one pace.
func TestProcessesWaitTogether(t *testing.T) {
	t.Parallel()
	const (
		jobs, docs = 4, 60
		rate       = 20
		hint       = 5 * time.Second
		slack      = 1500 * time.Millisecond // for what was on its way; the promise is 2 s
	)
	u := newUser(t)
	throttle := standin.Once(40, standin.Throttle(429, standin.Seconds, hint))
	s := serve(t, standin.Config{})
	// The probe is answered late, so that whoever does not wait for it shows.
	s.SetRules(throttle, standin.When(func(x *standin.Exchange) bool {
		waits := s.Journal.Arrivals(func(a journal.Arrival) bool { return !a.Until.IsZero() && !a.Sent.IsZero() })
		return len(waits) > 0 && time.Now().After(waits[0].Until) && len(s.Journal.Between(waits[0].Until, time.Now().Add(time.Hour))) == 1
	}, standin.Delay(time.Second)))
	var all []*process
	for i := range jobs {
		name := fmt.Sprintf("job%d", i)
		var addresses []string
		for d := range docs {
			addresses = append(addresses, s.URL(fmt.Sprintf("/doc/%d", i*docs+d+1)))
		}
		u.write(name+".txt", addresses...)
		all = append(all, u.start("read", name+".txt", "--scope", "service:one", "--rate", fmt.Sprintf("%d/s", rate), "--header", "X-Worker: "+name))
	}
	for _, p := range all {
		p.wait(2*patience).want(t, 0)
	}
	waits := s.Journal.Arrivals(func(a journal.Arrival) bool { return !a.Until.IsZero() })
	if len(waits) != 1 {
		t.Fatalf("%d throttles, want one", len(waits))
	}
	for _, a := range early(s.Journal, slack) {
		t.Errorf("arrival %d of %s came %v before the wait was over", a.N, a.Worker, a.Told.Until.Sub(a.At))
	}
	rows := s.Journal.Between(waits[0].Until, time.Now())
	workers := map[string]bool{}
	for _, a := range s.Journal.Arrivals(nil) {
		workers[a.Worker] = true
	}
	if len(workers) != jobs || len(rows) < docs {
		t.Fatalf("%d workers, %d arrivals after the wait: the test proves nothing", len(workers), len(rows))
	}
	probe := rows[0]
	if n := len(s.Journal.Between(waits[0].Until, probe.Sent)); n != 1 {
		t.Errorf("%d requests arrived before the probe was answered, want the probe alone", n)
	}
	if d := probe.Sent.Sub(probe.At); d < 900*time.Millisecond {
		t.Errorf("the probe was answered within %v: the test proves nothing", d)
	}
	const jitter = 0.3 // seconds between grant and arrival
	for i, a := range rows[1:] {
		for j, b := range rows[1+i:] {
			if span := b.At.Sub(a.At).Seconds() + jitter; float64(j+1) > 1+rate*span {
				t.Fatalf("%d requests within %.2f s at %d a second", j+1, span, rate)
			}
		}
	}
	total := 0
	for i := range jobs {
		total += sent(u.requests(fmt.Sprintf("job%d", i)))
	}
	if total != s.Journal.Len() || total != jobs*docs+1 {
		t.Errorf("%d requests in the ledger, %d arrivals, want %d", total, s.Journal.Len(), jobs*docs+1)
	}
}

// W7: one scope's wait holds no other.
func TestScopesWaitAlone(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	closed := serve(t, standin.Config{Rules: []standin.Rule{standin.Throttle(429, standin.Seconds, time.Hour)}})
	open := serve(t, standin.Config{})
	var all []string
	for i := range 100 {
		all = append(all, closed.URL(fmt.Sprintf("/doc/%d", i)), open.URL(fmt.Sprintf("/doc/%d", i)))
	}
	u.write("l.txt", all...)
	u.must(75, "read", "l.txt", "--scope", "host", "--deadline", "1h")
	if st := u.status("l"); st.Documents.Done != 100 || st.Documents.Pending != 100 || st.LastRun.StopReason != "wait_past_deadline" {
		t.Errorf("%+v", st)
	}
}

// W11: while all wait, plain lines and another process say for what.
func TestWaitShows(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.First(1, standin.Throttle(429, standin.Seconds, 11*time.Second))}})
	u.list("l.txt", s, 20)
	p := u.start("read", "l.txt", "--scope", "host", "--progress", "plain", "--max-requests", "1000")
	var st status
	until(t, "status shows the wait", func() bool {
		r := u.run("status", "l", "--json")
		if r.code != 0 {
			return false
		}
		st = lines[status](t, r.stdout)[0]
		return len(st.Scopes) == 1 && !st.Scopes[0].NotBefore.IsZero() && st.Scopes[0].Waiting > 0
	})
	if sc := st.Scopes[0]; st.State != "running" || sc.WaitSetBy != "job l" || sc.WaitFrom != "hint" || sc.Throttles != 1 {
		t.Errorf("state %s, scope %+v", st.State, sc)
	}
	until(t, "a line about the wait", func() bool {
		return strings.Contains(p.stderr.String(), "waits") && strings.Contains(p.stderr.String(), s.Addr())
	})
	p.signal(interrupt)
	p.wait(patience).want(t, 130)
}
