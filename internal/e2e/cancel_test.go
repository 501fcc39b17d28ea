package e2e

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/standin"
)

var interrupt os.Signal = syscall.SIGINT

// E2: the first signal ends dispatch, and what is in flight is finished and kept.
func TestCancelFinishes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		signal os.Signal
		code   int
	}{"SIGINT": {syscall.SIGINT, 130}, "SIGTERM": {syscall.SIGTERM, 143}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			s := serve(t, standin.Config{Rules: []standin.Rule{standin.Delay(700 * time.Millisecond)}})
			u.list("l.txt", s, 40)
			p := u.start("read", "l.txt", "--scope", "host", "--concurrency", "8")
			until(t, "documents in flight", func() bool { return s.Journal.Len() >= 10 })
			p.signal(tt.signal)
			at := time.Now()
			p.wait(patience).want(t, tt.code)
			if late := s.Journal.Between(at.Add(300*time.Millisecond), time.Now()); len(late) > 0 {
				t.Errorf("%d requests were sent after the signal", len(late))
			}
			st := u.status("l")
			if arrived := s.Journal.Len(); st.Documents.Done != arrived || arrived == 40 || st.Documents.Pending != 40-arrived ||
				st.LastRun.StopReason != "cancelled" || st.State != "stopped" {
				t.Errorf("%d arrived, want as many done: %+v", arrived, st)
			}
			s.SetRules()
			u.must(0, "resume", "l", "--concurrency", "16")
			if n := s.Journal.Len(); n != 40 {
				t.Errorf("%d requests for 40 documents", n)
			}
			u.must(0, "verify", "l", "--deep")
		})
	}
}

// E2: the second signal aborts at once, and the place is kept all the same.
func TestCancelTwice(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.When(func(x *standin.Exchange) bool { return x.Service.Journal.Len() > 5 }, standin.Hang)}})
	u.list("l.txt", s, 40)
	p := u.start("read", "l.txt", "--scope", "host", "--concurrency", "8", "--grace", "10m", "--idle-timeout", "10m")
	until(t, "hanging documents", func() bool { return s.Journal.Len() >= 13 })
	p.signal(interrupt)
	until(t, "the end", func() bool { // two signals that are sent at once may arrive as one
		p.signal(interrupt)
		select {
		case <-p.ended:
			return true
		case <-time.After(100 * time.Millisecond):
			return false
		}
	})
	p.wait(patience).want(t, 130)
	st := u.status("l")
	if st.Documents.Done != 5 || st.Documents.InFlight != 0 || st.LastRun.StopReason != "cancelled" {
		t.Errorf("%+v", st)
	}
	doubtful := 0
	for _, r := range u.requests("l") {
		if r.Outcome == "in_doubt" {
			doubtful++
		}
	}
	if arrived := s.Journal.Len(); doubtful != arrived-5 || st.Requests.Sent != arrived {
		t.Errorf("%d requests in doubt, %d sent, %d arrived of which 5 were answered", doubtful, st.Requests.Sent, arrived)
	}
	s.SetRules()
	u.must(0, "resume", "l")
	u.must(0, "verify", "l", "--deep")
}

// E2: at the deadline nothing more is sent, and the command is gone by deadline + grace + 5 s.
func TestDeadline(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.When(func(x *standin.Exchange) bool { return x.Service.Journal.Len() > 5 }, standin.Hang)}})
	u.list("l.txt", s, 40)
	began := time.Now()
	p := u.start("read", "l.txt", "--scope", "host", "--deadline", "3s", "--grace", "1s", "--json")
	r := p.wait(3*time.Second + time.Second + 5*time.Second + 2*time.Second) // and two for the start of a process
	r.want(t, 75)
	st := lines[status](t, r.stdout)[0]
	if st.LastRun.StopReason != "deadline" || st.Documents.Done != 5 {
		t.Errorf("%+v", st)
	}
	if d := st.LastRun.EndedAt.Sub(st.LastRun.Deadline); d < 0 || d > 6*time.Second {
		t.Errorf("ended %v after the deadline, want between 0 and grace + 5 s", d)
	}
	if late := s.Journal.Between(began.Add(4500*time.Millisecond), time.Now()); len(late) > 0 {
		t.Errorf("%d requests were sent after the deadline", len(late))
	}
	s.SetRules()
	u.must(0, "resume", "l")
}

// E2: what ends within the grace is kept.
func TestGraceKeeps(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.Delay(3 * time.Second)}})
	u.list("l.txt", s, 40)
	r := u.must(75, "read", "l.txt", "--scope", "host", "--concurrency", "4", "--deadline", "2500ms", "--grace", "20s", "--json")
	st := lines[status](t, r.stdout)[0]
	if arrived := s.Journal.Len(); st.LastRun.StopReason != "deadline" || arrived == 0 || st.Documents.Done != arrived {
		t.Errorf("%d arrived, want as many done: %+v", arrived, st)
	}
}
