package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/ledger/sqlite"
)

const (
	// updateRounds is how often each client is measured for docs/clients.md.
	updateRounds = 3
	// tries is how often a client is run until its verdict is the one of docs/clients.md: on a
	// busy machine a request may come too late to be under way.
	tries = 3
)

// TestClients holds the verdicts of docs/clients.md, for the versions that it was made with,
// or measures anew.
func TestClients(t *testing.T) {
	needClients(t)
	now := &seen{Machine: machine(), About: map[string]string{}, Clients: map[string]*seenClient{}}
	for _, c := range clients {
		version, err := c.version()
		if err != nil {
			t.Fatal(err)
		}
		now.Clients[c.name] = &seenClient{Version: version, Rounds: map[string][]round{}}
	}
	if !*update {
		was, err := readSeen()
		if err != nil {
			t.Fatal(err)
		}
		each(t, func(t *testing.T, c client, s scenario) { hold(t, c, s, was, now.Clients[c.name].Version) })
		return
	}
	var mu sync.Mutex // guards now
	t.Run("measure", func(t *testing.T) {
		for range updateRounds {
			each(t, func(t *testing.T, c client, s scenario) {
				r := run(t, c, s)
				mu.Lock()
				defer mu.Unlock()
				now.add(c, s, r)
			})
		}
	})
	if t.Failed() {
		return
	}
	if err := now.write(); err != nil {
		t.Fatal(err)
	}
}

// each runs a test for each client in each scenario, several at once.
func each(t *testing.T, test func(*testing.T, client, scenario)) {
	for _, c := range clients {
		for _, s := range scenarios {
			if c.not[s.name] == "" {
				t.Run(c.name+"/"+s.name, func(t *testing.T) {
					t.Parallel()
					test(t, c, s)
				})
			}
		}
	}
}

// hold fails the test if the client's verdict is not the one that was seen, where that was
// always the same.
func hold(t *testing.T, c client, s scenario, was *seen, version string) {
	rounds := was.rounds(&c, s)
	if len(rounds) == 0 {
		t.Fatalf("docs/clients.md does not have %s in %s; try: make clients", c.name, s.name)
	}
	want, same := verdict(rounds)
	for try := 1; ; try++ {
		r := run(t, c, s)
		switch {
		case was.version(&c) != version:
			t.Logf("docs/clients.md is about %s; this is %s: verdicts are not compared", was.version(&c), version)
			return
		case !same || r.Pass == want:
			return
		case try == tries:
			t.Errorf("pass is %v, and docs/clients.md says %v: %s", r.Pass, want, r.Why)
			return
		}
	}
}

// run runs a client in a scenario by the real binary.
func run(t *testing.T, c client, s scenario) drill.Result {
	t.Helper()
	command := c.args(s, programs)
	ledger := ""
	if c.name == gated {
		ledger = filepath.Join(t.TempDir(), "state", "ledger.db")
		command[len(command)-1] = ledger
	}
	args := append([]string{"drill", "run", s.file, "--json", "--"}, command...)
	cmd := exec.Command(filepath.Join(programs, "dogear"), args...)
	cmd.Dir, cmd.Env = root, environment()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("dogear %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	var r drill.Result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("dogear %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	if r.Pass != (err == nil) {
		t.Errorf("dogear %s: pass is %v, and its exit says %v", strings.Join(args, " "), r.Pass, err)
	}
	if r.Figures.Requests == 0 {
		t.Fatalf("dogear %s: no request arrived\n%s", strings.Join(args, " "), stderr.String())
	}
	if ledger != "" {
		holdLedger(t, r, ledger)
	}
	return r
}

// holdLedger fails the test if the ledger of a client over gate.Transport does not have every
// request that arrived, or if one came while it was known that it must wait: with one worker
// there is none that could have been under way.
func holdLedger(t *testing.T, r drill.Result, path string) {
	t.Helper()
	f := r.Figures
	sent, throttled := ledgerRequests(t, path)
	if sent != f.Requests || throttled != f.Throttled {
		t.Errorf("the ledger has %d requests, %d of them throttled; %d and %d arrived", sent, throttled, f.Requests, f.Throttled)
	}
	if r.Scenario == "one-worker" && f.Early != 0 {
		t.Errorf("%d requests came early: %s", f.Early, r.Why)
	}
}

// ledgerRequests counts the requests in a ledger that belong to no job.
func ledgerRequests(t *testing.T, path string) (sent, throttled int) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for r, err := range store.Requests(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome.Sent() {
			sent++
		}
		if r.Outcome == dogear.Throttled {
			throttled++
		}
	}
	return sent, throttled
}
