package acceptance

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// job is the name of a row's job.
const job = "list"

// read begins a job of all documents, and must end with a code.
func read(code int, flags ...string) step {
	return func(t *trial) error {
		name, err := t.list(job+".txt", t.stand.List())
		if err != nil {
			return err
		}
		return ends(code, append([]string{"read", name}, defaults(flags)...)...)(t)
	}
}

// defaults are the flags of each read: what a user would say, and no bar.
func defaults(flags []string) []string {
	return append([]string{"--scope", "host", "-o", "out", "--progress", "none"}, flags...)
}

// resume is one more run, and must end with a code.
func resume(code int, flags ...string) step {
	return ends(code, append([]string{"resume", job, "--progress", "none"}, flags...)...)
}

// ends runs dogear, which must end with a code.
func ends(code int, args ...string) step {
	return func(t *trial) error {
		e, err := t.dogear(args...)
		if err != nil {
			return err
		}
		t.check(e.code == code, fmt.Sprintf("dogear %s ends with %d", args[0], code), fmt.Sprint(e.code),
			fmt.Sprintf("dogear %s ended with %d, not %d: %s", args[0], e.code, code, lastLine(e.stderr)))
		return nil
	}
}

// processes reads the list in n parts, a job and a process each, all at once.
func processes(n int, flags ...string) step {
	return func(t *trial) error {
		docs := t.stand.List()
		var all []*process
		for i := range n {
			name, err := t.list(fmt.Sprintf("part%d.txt", i+1), docs[i*len(docs)/n:(i+1)*len(docs)/n])
			if err != nil {
				return err
			}
			p, err := t.begin(append([]string{"read", name, "--scope", "host", "-o", fmt.Sprintf("out%d", i+1), "--progress", "none"}, flags...)...)
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		for i, p := range all {
			e := p.wait()
			t.check(e.code == 0, fmt.Sprintf("process %d ends with 0", i+1), fmt.Sprint(e.code),
				fmt.Sprintf("process %d ended with %d: %s", i+1, e.code, lastLine(e.stderr)))
		}
		return t.ctx.Err()
	}
}

// A moment is when a process is stopped.
type moment func(t *trial) (bool, error)

// arrived is when n requests have arrived.
func arrived(n int) moment {
	return func(t *trial) (bool, error) { return t.stand.Journal.Len() >= n, nil }
}

// waiting is when the ledger has a wait that is not over.
func waiting(t *trial) (bool, error) {
	if t.stand.Journal.Len() == 0 { // there is no ledger to ask yet
		return false, nil
	}
	s, err := ask[status](t, "status", job)
	if err != nil { // the job may not be there yet
		return false, nil
	}
	return slices.ContainsFunc(s[0].Scopes, func(c scope) bool { return time.Until(c.NotBefore) > 0 }), nil
}

// underWay is when half of a slow answer's body has been sent.
func underWay(t *trial) (bool, error) {
	return len(t.stand.Journal.Arrivals(func(a journal.Arrival) bool {
		return a.Fault == "slow" && a.Bytes > 0 && a.Bytes >= a.Size/2 && a.Ended.IsZero()
	})) > 0, nil
}

// stop runs a command until a moment, and sends it a signal then. It must end with a code;
// -1 is the end that the signal makes.
func stop(when moment, signal os.Signal, code int, args ...string) step {
	return func(t *trial) error {
		p, err := t.begin(args...)
		if err != nil {
			return err
		}
		err = t.until("the moment to stop dogear "+args[0], func() (bool, error) {
			select {
			case <-p.done:
				return true, nil
			default:
				return when(t)
			}
		})
		if err != nil {
			return err
		}
		if err := p.cmd.Process.Signal(signal); err != nil {
			return fmt.Errorf("dogear %s ended by itself before it could be stopped: %s", args[0], lastLine(p.wait().stderr))
		}
		t.stand.Journal.Note(journal.Event{Event: "killed", At: time.Now(), Client: 1})
		e := p.wait()
		if err := t.keep(); err != nil {
			return err
		}
		t.check(e.code == code, fmt.Sprintf("dogear %s, stopped, ends with %d", args[0], code), fmt.Sprint(e.code), lastLine(e.stderr))
		return nil
	}
}

// stopRead begins the job and stops it.
func stopRead(when moment, signal os.Signal, code int, flags ...string) step {
	return func(t *trial) error {
		name, err := t.list(job+".txt", t.stand.List())
		if err != nil {
			return err
		}
		return stop(when, signal, code, append([]string{"read", name}, defaults(flags)...)...)(t)
	}
}

// saved notes what is done before the next round.
func saved(t *trial) error { return t.keep() }

// keep notes what is done by the ledger, and how often it had been asked for by then.
func (t *trial) keep() error {
	done, err := ask[document](t, "results", job)
	if err != nil {
		return err
	}
	asked := t.stand.Journal.ByPath()
	for _, d := range done {
		if u, err := url.Parse(d.ID); err == nil {
			t.done[u.Path] = asked[u.Path]
		}
	}
	return nil
}

// kept looks at what was done when a run was stopped: it was not asked for again.
func kept(t *trial) error {
	asked, again := t.stand.Journal.ByPath(), 0
	for path, n := range t.done {
		if asked[path] != n {
			again++
		}
	}
	equal(t, "saved documents that were read again", again, 0)
	t.check(len(t.done) > 0, "a run was stopped with documents saved", fmt.Sprint(len(t.done)), "no document was saved when a run was stopped: nothing is shown")
	return nil
}

// counted holds the ledger against the journal: what arrived equals what the ledger counts.
func counted(t *trial) error {
	sent := 0
	jobs, err := ask[status](t, "status")
	if err != nil {
		return err
	}
	for _, j := range jobs {
		sent += j.Requests.Sent
	}
	equal(t, "requests in the ledger less arrivals", sent-t.stand.Journal.Len(), 0)
	return nil
}

// recorded holds the ledger against the journal after a crash: nothing arrived without a row.
func recorded(t *trial) error {
	s, err := ask[status](t, "status", job)
	if err != nil {
		return err
	}
	sent, came := s[0].Requests.Sent, t.stand.Journal.Len()
	t.check(sent >= came, "the ledger has every arrival", fmt.Sprintf("%d of %d", sent, came), fmt.Sprintf("%d requests arrived, and the ledger has %d", came, sent))
	return nil
}

// verified reads every result again.
func verified(t *trial) error {
	if err := ends(0, "verify", job, "--deep")(t); err != nil {
		return err
	}
	r, err := ask[document](t, "results", job)
	if err != nil {
		return err
	}
	want := map[string]string{}
	for _, d := range t.listed {
		want[d.URL] = d.SHA256
	}
	wrong := 0
	for _, d := range r {
		if want[d.ID] != d.SHA256 {
			wrong++
		}
	}
	equal(t, "results that are not the document", wrong, 0)
	return nil
}

// stopped looks at the reason of the last run's end.
func stopped(reason string) step {
	return func(t *trial) error {
		s, err := ask[status](t, "status", job)
		if err == nil {
			equal(t, "the stop reason", s[0].LastRun.StopReason, reason)
		}
		return err
	}
}

// remains looks at the list of what is not done: so many in each state.
func remains(want map[string]int) step {
	return func(t *trial) error {
		docs, err := ask[document](t, "remaining", job)
		if err != nil {
			return err
		}
		got := map[string]int{}
		for _, d := range docs {
			got[d.State]++
		}
		equal(t, "what remains", fmt.Sprint(got), fmt.Sprint(want))
		return nil
	}
}

// within looks at how long what came before it took.
func within(d time.Duration, steps ...step) step {
	return func(t *trial) error {
		began := time.Now()
		for _, s := range steps {
			if err := s(t); err != nil {
				return err
			}
		}
		took := time.Since(began)
		t.check(took <= d, fmt.Sprintf("it ends within %v", d), took.Round(100*time.Millisecond).String(), fmt.Sprintf("it took %v", took.Round(100*time.Millisecond)))
		return nil
	}
}

// The types below are what the rows read of --json.

type status struct {
	Requests struct{ Sent, Throttled int }
	LastRun  struct {
		StopReason string `json:"stop_reason"`
	} `json:"last_run"`
	Attempts struct{ Most int }
	Scopes   []scope
}

type scope struct {
	Key       string
	NotBefore time.Time `json:"not_before"`
}

type document struct{ ID, State, SHA256 string }
