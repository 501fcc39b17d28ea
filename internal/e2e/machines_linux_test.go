package e2e

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

// The clocks of three machines: that of the database and of the service is right.
var wrongClocks = []time.Duration{5 * time.Minute, -7 * time.Minute, 0}

// An event of a service: from its nth arrival on it refuses what comes for a moment, and
// tells one and the other hint by turns, all at once.
type event struct {
	arrival int
	hints   []standin.Rule
}

// eventful refuses in events. The probe after each is answered late, so that whoever does not
// wait for its answer shows.
func eventful(events ...event) standin.Rule {
	const burst = 150 * time.Millisecond
	var mu sync.Mutex
	var until time.Time // of the burst
	var next, told int
	probed := true
	return func(x *standin.Exchange) bool {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if now.After(until) && next < len(events) && x.Arrival >= events[next].arrival {
			until, next, probed = now.Add(burst), next+1, false
		}
		if now.Before(until) {
			hint := events[next-1].hints[told%len(events[next-1].hints)]
			told++
			mu.Unlock()
			standin.Delay(time.Until(until))(x)
			refused := hint(x)
			mu.Lock()
			return refused
		}
		if end, n := lastWait(x.Service.Journal); !probed && n == told && now.After(end) {
			probed = true
			mu.Unlock()
			standin.Delay(500 * time.Millisecond)(x)
			mu.Lock()
		}
		return false
	}
}

func refused(a journal.Arrival) bool { return a.Refused != "" }

// lastWait is the end of the longest of the n waits that were told.
func lastWait(j *journal.Journal) (end time.Time, n int) {
	all := j.Arrivals(refused)
	for _, a := range all {
		if a.Until.After(end) {
			end = a.Until
		}
	}
	return end, len(all)
}

// join lets all machines but the first help with a job.
func (l *lan) join(job string) (workers []*process) {
	l.t.Helper()
	until(l.t, "the job is running", func() bool { return l.machines[0].running(job) })
	for _, m := range l.machines[1:] {
		workers = append(workers, m.start("worker", job, "--progress", "none"))
	}
	return workers
}

// number is what the ledger answers.
func (l *lan) number(query string) (n int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, l.cluster.DSN("postgres"))
	l.must(err)
	defer c.Close(ctx)
	l.must(c.QueryRow(ctx, query).Scan(&n))
	return n
}

// W1, W2, W5, W9 over machines whose clocks differ by minutes: hints of every kind are waited
// for to the end, one probe of all machines goes first, an event counts once.
func TestMachinesWaitTogether(t *testing.T) {
	t.Parallel()
	const (
		docs, rate = 240, 40
		slack      = 1500 * time.Millisecond // for what was on its way; the promise is 2 s
	)
	l := newLan(t, wrongClocks...)
	for i, m := range l.machines {
		m.checkClock(wrongClocks[i])
	}
	throttle := func(h standin.Template, wait time.Duration) standin.Rule { return standin.Throttle(429, h, wait) }
	events := []event{
		{40, []standin.Rule{throttle(standin.Seconds, 2*time.Second), throttle(standin.Seconds, 4*time.Second)}},
		{100, []standin.Rule{throttle(standin.Date(standin.IMFDate, 0), 4*time.Second), throttle(standin.Seconds, time.Second)}},
		{160, []standin.Rule{throttle(standin.Date(standin.IMFDate, -time.Hour), 3*time.Second), throttle(standin.Contradicting, 4*time.Second)}},
	}
	s := l.serve(eventful(events...), standin.Delay(50*time.Millisecond))
	lead := l.machines[0]
	lead.list("l.txt", s, docs)
	all := []*process{lead.start("read", "l.txt", "--scope", "host", "-o", "out", "--rate", "40/s", "--concurrency", "16",
		"--header", "X-Worker: ${MACHINE}", "--progress", "none")}
	all = append(all, l.join("l")...)
	for _, p := range all {
		p.wait(2*patience).want(t, 0)
	}
	for _, a := range early(s.Journal, slack) {
		t.Errorf("arrival %d of %s came %v before the wait was over", a.N, a.Worker, a.Told.Until.Sub(a.At))
	}
	checkRecoveries(t, s.Journal, len(events), rate)

	throttled := len(s.Journal.Arrivals(refused))
	if throttled < 2*len(events) {
		t.Errorf("%d answers of %d events: the test proves little", throttled, len(events))
	}
	if n := l.number("SELECT generation FROM dogear.scopes"); n != len(events) {
		t.Errorf("the ledger counts %d events, want %d", n, len(events))
	}
	if st := lead.status("l"); st.Requests.Sent != s.Journal.Len() || st.Requests.Throttled != throttled || st.Attempts.Most != 1 {
		t.Errorf("%+v, %d arrivals, %d refused", st, s.Journal.Len(), throttled)
	}
	for _, m := range l.machines {
		if n := len(s.Journal.Arrivals(func(a journal.Arrival) bool { return a.Worker == m.name })); n < docs/10 {
			t.Errorf("%d requests of machine %s: the test proves little", n, m.name)
		}
	}
	l.checkDone(s, "l", docs)
	l.checkDates("l")
	t.Logf("%d arrivals, %d throttles in %d events", s.Journal.Len(), throttled, len(events))
}

// checkClock checks that a machine's clock is wrong by skew: a deadline between its time and
// the right one has passed for one that is ahead, and none has for one that is behind.
func (m *machine) checkClock(skew time.Duration) {
	m.t.Helper()
	half := time.Now().Add(skew / 2).Truncate(time.Second)
	r := m.run("plan", "none.txt", "--deadline", half.UTC().Format(time.RFC3339))
	if got := strings.Contains(r.stderr, "has passed"); got != (skew >= 0) {
		m.t.Fatalf("the clock of %s is not wrong by %v:\n%s", m.name, skew, r.stderr)
	}
}

// checkRecoveries checks that after each wait one request, the probe, arrives until it is
// answered, and that then all keep to the pace.
func checkRecoveries(t *testing.T, j *journal.Journal, events int, rate float64) {
	t.Helper()
	const jitter = 0.3 // seconds between grant and arrival
	var ends []time.Time
	for _, a := range j.Arrivals(refused) {
		if n := len(ends); n == 0 || a.At.After(ends[n-1]) {
			ends = append(ends, a.Until)
		} else if a.Until.After(ends[n-1]) {
			ends[n-1] = a.Until
		}
	}
	if len(ends) != events {
		t.Fatalf("%d waits were told one after the other, want %d", len(ends), events)
	}
	for i, end := range ends {
		to := time.Now()
		if i+1 < len(ends) {
			to = ends[i+1]
		}
		rows := j.Between(end, to)
		if len(rows) < 10 {
			t.Fatalf("%d arrivals after wait %d: the test proves nothing", len(rows), i+1)
		}
		probe := rows[0]
		if n := len(j.Between(end, probe.Sent)); n != 1 || probe.Sent.Sub(probe.At) < 400*time.Millisecond {
			t.Errorf("%d requests arrived after wait %d before the probe was answered, within %v; want the probe alone, answered late",
				n, i+1, probe.Sent.Sub(probe.At))
		}
		for k, a := range rows[1:] {
			for n, b := range rows[1+k:] {
				if span := b.At.Sub(a.At).Seconds() + jitter; float64(n+1) > 1+rate*span {
					t.Fatalf("%d requests within %.2f s at %v a second", n+1, span, rate)
				}
			}
		}
	}
}

// checkDates checks that what the ledger dates is dated by one clock.
func (l *lan) checkDates(job string) {
	l.t.Helper()
	lead := l.machines[0]
	run := lead.status(job).LastRun
	from, to := run.StartedAt.Add(-time.Second), run.EndedAt.Add(time.Second)
	for _, r := range lead.requests(job) {
		if r.Outcome == "not_sent" {
			continue
		}
		if r.GrantedAt.Before(from) || r.SentAt.Before(r.GrantedAt) || r.EndedAt.Before(r.SentAt) || r.EndedAt.After(to) {
			l.t.Errorf("request %d was granted at %v, sent at %v and ended at %v, in a run from %v to %v", r.N, r.GrantedAt, r.SentAt, r.EndedAt, from, to)
		}
	}
	for _, d := range lead.results(job) {
		if d.ReadAt.Before(from) || d.ReadAt.After(to) {
			l.t.Errorf("%s was read at %v, in a run from %v to %v", d.ID, d.ReadAt, from, to)
		}
	}
}

// checkDone checks that every document was saved, once, and sent whole once.
func (l *lan) checkDone(s *standin.Service, job string, docs int) {
	l.t.Helper()
	lead := l.machines[0]
	seen := map[string]bool{}
	for _, d := range lead.results(job) {
		if seen[d.ID] {
			l.t.Errorf("%s is recorded twice", d.ID)
		}
		seen[d.ID] = true
	}
	if st := lead.status(job); st.State != "completed" || st.Documents.Done != docs || len(seen) != docs {
		l.t.Errorf("%+v, %d results, want %d documents done", st, len(seen), docs)
	}
	lead.must(0, "verify", job, "--deep")
}

// E1, E2 over machines whose clocks differ by minutes: a run's deadline is the same moment for
// all, and a wait is compared with it by one clock.
func TestMachinesEndTogether(t *testing.T) {
	t.Parallel()
	l := newLan(t, wrongClocks...)
	for i := range l.machines {
		t.Run("lead "+wrongClocks[i].String(), func(t *testing.T) {
			t.Parallel()
			const round = 12 * time.Second
			l := l.in(t)
			lead, workers := l.machines[i], slices.Delete(slices.Clone(l.machines), i, i+1)
			s := l.serve(standin.Once(20, standin.Throttle(429, standin.Seconds, 2*time.Second)))
			job := lead.name
			lead.list(job+".txt", s, 1000)
			began := time.Now()
			p := lead.start("read", job+".txt", "--scope", "host", "--rate", "20/s", "--deadline", round.String(), "--grace", "1s",
				"--header", "X-Worker: ${MACHINE}", "--json", "--progress", "none")
			until(t, "the job is running", func() bool { return lead.running(job) })
			ran := time.Now()
			var all []*process
			for _, m := range workers {
				all = append(all, m.start("worker", job, "--grace", "1s", "--progress", "none"))
			}
			r := p.wait(patience)
			r.want(t, 75)
			for _, w := range all {
				w.wait(5*time.Second).want(t, 75)
			}
			st := lines[status](t, r.stdout)[0]
			deadline := st.LastRun.Deadline
			if deadline.Before(began.Add(round-time.Second)) || deadline.After(ran.Add(round+time.Second)) {
				t.Errorf("the ledger has a deadline %v after the start, want %v", deadline.Sub(began), round)
			}
			if d := st.LastRun.EndedAt.Sub(deadline); st.LastRun.StopReason != "deadline" || d < -time.Second || d > 4*time.Second {
				t.Errorf("ended %v after the deadline by %s, want at it by deadline\n%s", d, st.LastRun.StopReason, r.stderr)
			}
			last := map[string]time.Time{}
			for _, a := range s.Journal.Arrivals(nil) {
				last[a.Worker] = a.At
			}
			for _, m := range l.machines {
				if d := last[m.name].Sub(deadline); d < -4*time.Second || d > time.Second {
					t.Errorf("the last request of %s came %v after the deadline, want at it", m.name, d)
				}
			}

			// A wait that ends after the deadline is not waited for.
			s.SetRules(standin.Throttle(429, standin.Seconds, time.Minute))
			began = time.Now()
			r = lead.run("resume", job, "--deadline", "30s", "--json", "--progress", "none")
			r.want(t, 75)
			if st := lines[status](t, r.stdout)[0]; st.LastRun.StopReason != "wait_past_deadline" || time.Since(began) > 20*time.Second {
				t.Errorf("ended after %v by %s, want at once by wait_past_deadline", time.Since(began), st.LastRun.StopReason)
			}
		})
	}
}
