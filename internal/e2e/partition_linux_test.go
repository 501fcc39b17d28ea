package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

// arrivals are the requests of a machine.
func (m *machine) arrivals(s *standin.Service) []journal.Arrival {
	return s.Journal.Arrivals(func(a journal.Arrival) bool { return a.Worker == m.name })
}

// partition starts a job on three machines and returns when the last of them has read some.
func partition(t *testing.T, docs int, flags ...string) (l *lan, s *standin.Service, lead *process, workers []*process) {
	l = newLan(t, 0, 0, 0)
	s = l.serve(standin.Delay(100 * time.Millisecond))
	l.machines[0].list("l.txt", s, docs)
	lead = l.machines[0].start(append([]string{"read", "l.txt", "--scope", "host", "-o", "out", "--rate", "20/s", "--burst", "4",
		"--header", "X-Worker: ${MACHINE}", "--progress", "none"}, flags...)...)
	workers = l.join("l")
	until(t, "the last machine has read some", func() bool { return len(l.machines[2].arrivals(s)) >= 10 })
	return l, s, lead, workers
}

// checkSilent checks that a machine has sent nothing from a moment to another: it was cut off
// the ledger 2 s before, and what it had leave to send is over.
func (m *machine) checkSilent(s *standin.Service, from, to time.Time) {
	m.t.Helper()
	for _, a := range m.arrivals(s) {
		if a.At.After(from) && a.At.Before(to) {
			m.t.Errorf("arrival %d of %s came %v after it may have sent its last", a.N, m.name, a.At.Sub(from))
		}
	}
}

const (
	permit = 2*time.Second + 200*time.Millisecond // that a permit is good for, and the way to the service
	lease  = 30 * time.Second
)

// A machine that cannot reach the ledger sends nothing, though it can reach the service. The
// others go on with what it had when its lease is over. When it can again, it leaves.
func TestMachineLosesLedger(t *testing.T) {
	t.Parallel()
	const docs = 500
	l, s, lead, workers := partition(t, docs)
	lost := l.machines[2]
	lost.cut(l.ledger)
	cut := time.Now()
	lead.wait(patience).want(t, 0)
	took := time.Since(cut)
	if took > lease+15*time.Second {
		t.Errorf("the others were done %v after the cut, want a lease after it", took)
	}
	workers[0].wait(10*time.Second).want(t, 0)
	lost.mend(l.ledger)
	r := workers[1].wait(patience)
	r.want(t, 74)
	lost.checkSilent(s, cut.Add(permit), time.Now())
	l.checkDone(s, "l", docs)
	const settling = time.Second // from an answer's end to its document's
	l.checkCounted(s, s.Journal.Arrivals(func(a journal.Arrival) bool {
		return a.Worker == lost.name && a.Ended.After(cut.Add(-settling))
	})...)
	t.Logf("done %v after the cut, gone %v after it; %d arrivals, %d of the machine that was cut off\n%s",
		took, time.Since(cut), s.Journal.Len(), len(lost.arrivals(s)), r.stderr)
}

// A machine that can reach the ledger again before its lease is over goes on.
func TestMachineFindsLedgerAgain(t *testing.T) {
	t.Parallel()
	const docs = 500
	l, s, lead, workers := partition(t, docs)
	lost := l.machines[2]
	lost.cut(l.ledger)
	cut := time.Now()
	time.Sleep(8 * time.Second) // of the lease
	lost.mend(l.ledger)
	mended := time.Now()
	before := len(lost.arrivals(s))
	lead.wait(patience).want(t, 0)
	for _, w := range workers {
		w.wait(10*time.Second).want(t, 0)
	}
	if n := len(lost.arrivals(s)); n == before {
		t.Errorf("the machine has sent nothing after it found the ledger again")
	}
	lost.checkSilent(s, cut.Add(permit), mended)
	l.checkDone(s, "l", docs)
	l.checkCounted(s)
}

// checkCounted checks that the ledger has a row for every arrival, and that a document was sent
// whole again only where nobody could have settled it: its request has no end in the ledger, or
// one of these was its answer.
func (l *lan) checkCounted(s *standin.Service, unsettled ...journal.Arrival) {
	l.t.Helper()
	lost := checkArrivals(l.t, s.Journal.Arrivals(nil), l.machines[0].requests("l"), func(path string) string { return s.URL(path) })
	excused := map[string]map[int]bool{}
	for _, a := range append(lost, unsettled...) {
		if excused[a.Path] == nil {
			excused[a.Path] = map[int]bool{}
		}
		excused[a.Path][a.N] = true
	}
	twice := 0
	for path, n := range s.Journal.Whole() {
		twice += n - 1
		if n-1 > len(excused[path]) {
			l.t.Errorf("%s was sent whole %d times, and could not be settled %d times", path, n, len(excused[path]))
		}
	}
	l.t.Logf("%d arrivals without an end in the ledger, %d documents sent again", len(lost), twice)
}

// A machine that cannot reach the service while others can rests, and they go on: it costs no
// document anything, and to nobody is the origin down.
func TestMachineLosesService(t *testing.T) {
	t.Parallel()
	const docs = 500
	l, s, lead, workers := partition(t, docs, "--idle-timeout", "1s", "--backoff-base", "200ms", "--backoff-max", "1s")
	lost := l.machines[2]
	lost.cut(l.service)
	cut := time.Now()
	for _, p := range append(workers, lead) {
		r := p.wait(patience)
		r.want(t, 0)
		if strings.Contains(r.stderr, "its scopes wait") {
			t.Errorf("to dogear %s the origin was down:\n%s", strings.Join(r.args, " "), r.stderr)
		}
		if p == workers[1] {
			r.says(t, "answers other processes and not this one")
		}
	}
	lost.checkSilent(s, cut.Add(permit), time.Now())
	lost.mend(l.service)
	l.checkDone(s, "l", docs)
	l.checkCounted(s)
}
