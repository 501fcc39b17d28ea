package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

// patience is how long a test waits for what must come: much longer than it takes.
const patience = 60 * time.Second

// A user has a state folder and a working folder of its own.
type user struct {
	t     *testing.T
	dir   string // where dogear runs
	state string
	vars  []string
	with  []string // the command that runs dogear; nil: the binary alone
}

func newUser(t *testing.T) *user {
	t.Helper()
	dir := t.TempDir()
	u := &user{t: t, dir: filepath.Join(dir, "work"), state: filepath.Join(dir, "state")}
	if err := os.Mkdir(u.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return u
}

// ledger is the ledger's file.
func (u *user) ledger() string { return filepath.Join(u.state, "dogear", "ledger.db") }

// on makes the user's ledger a database.
func (u *user) on(url string) *user {
	u.vars = append(u.vars, "DOGEAR_STORE="+url)
	return u
}

func (u *user) path(name string) string { return filepath.Join(u.dir, name) }

// write writes a file into the working folder.
func (u *user) write(name string, lines ...string) string {
	u.t.Helper()
	if err := os.WriteFile(u.path(name), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		u.t.Fatal(err)
	}
	return u.path(name)
}

// A process is a dogear that was started.
type process struct {
	u              *user
	cmd            *exec.Cmd
	args           []string
	stdout, stderr buffer
	ended          chan struct{}
}

// buffer is a bytes.Buffer that may be looked at while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts dogear. It is killed at the end of the test if it still runs.
func (u *user) start(args ...string) *process {
	u.t.Helper()
	command := slices.Concat(u.with, args)
	if u.with == nil {
		command = append([]string{binary}, args...)
	}
	p := &process{u: u, cmd: exec.Command(command[0], command[1:]...), args: args, ended: make(chan struct{})}
	p.cmd.Dir = u.dir
	p.cmd.Env = append(environment(), "XDG_STATE_HOME="+u.state, "GORACE=atexit_sleep_ms=0") // or each takes a second to exit
	p.cmd.Env = append(p.cmd.Env, u.vars...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // its code is looked at by whoever waits
	}()
	u.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
		if strings.Contains(p.stderr.String(), "DATA RACE") || strings.Contains(p.stderr.String(), "panic:") {
			u.t.Errorf("dogear %s:\n%s", strings.Join(p.args, " "), p.stderr.String())
		}
	})
	return p
}

// environment is the test's own, without what changes how dogear behaves.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(v), "=")
		return strings.HasSuffix(name, "_PROXY") || strings.HasPrefix(name, "DOGEAR_") || strings.HasPrefix(name, "XDG_")
	})
}

// A result is how a dogear ended.
type result struct {
	args           []string
	code           int // -1: by a signal
	stdout, stderr string
}

// wait waits for a process to end, and fails the test if it does not within d.
func (p *process) wait(d time.Duration) result {
	p.u.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(d):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // for the stacks
		select {
		case <-p.ended:
		case <-time.After(5 * time.Second):
		}
		p.u.t.Fatalf("dogear %s did not end within %v\n%s%s", strings.Join(p.args, " "), d, p.stdout.String(), p.stderr.String())
	}
	return result{p.args, p.cmd.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
}

// signal sends a signal.
func (p *process) signal(s os.Signal) {
	p.u.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.u.t.Fatal(err)
	}
}

// run runs dogear to its end.
func (u *user) run(args ...string) result {
	u.t.Helper()
	return u.start(args...).wait(2 * patience)
}

// must runs dogear and fails the test if it does not end with a code.
func (u *user) must(code int, args ...string) result {
	u.t.Helper()
	r := u.run(args...)
	r.want(u.t, code)
	return r
}

func (r result) want(t *testing.T, code int) {
	t.Helper()
	if r.code != code {
		t.Fatalf("dogear %s: exit code %d, want %d\n%s%s", strings.Join(r.args, " "), r.code, code, r.stdout, r.stderr)
	}
}

// says fails the test if standard error does not hold all words.
func (r result) says(t *testing.T, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("dogear %s does not say %q:\n%s", strings.Join(r.args, " "), w, r.stderr)
		}
	}
}

// The types below are what the contract promises of --json.

type status struct {
	Job, State, Sink string
	Listing          string
	Documents        struct {
		Total, Done, Pending int
		InFlight             int `json:"in_flight"`
		InDoubt              int `json:"in_doubt"`
		Changed, Denied      int
		Gone, Failed         int
	}
	Requests struct {
		Sent, Throttled int
		ByStatus        map[string]int `json:"by_status"`
	}
	Attempts struct{ Total, Most, Cap int }
	LastRun  lastRun `json:"last_run"`
	Scopes   []scope
}

type lastRun struct {
	ID         int
	StopReason string    `json:"stop_reason"`
	StartedAt  time.Time `json:"started_at"`
	EndedAt    time.Time `json:"ended_at"`
	Deadline   time.Time `json:"deadline"`
	Requests   struct{ Sent, Throttled int }
	Documents  struct{ Done int }
}

type scope struct {
	Key       string
	Confirmed bool
	NotBefore time.Time `json:"not_before"`
	WaitFrom  string    `json:"wait_from"`
	WaitSetBy string    `json:"wait_set_by"`
	Throttles int       `json:"throttles_in_a_row"`
	Waiting   int
	RatePerS  float64 `json:"rate_per_s"`
}

type document struct {
	ID, Version, State, Reason string
	Attempts                   int
	NotBefore                  time.Time `json:"not_before"`
	// Of results.
	Path, SHA256 string
	Size         int64
	ContentType  string    `json:"content_type"`
	ReadAt       time.Time `json:"read_at"`
	Run          int
}

type request struct {
	N, Parent, Run          int64
	ID, Kind, Outcome, Hint string
	Scopes                  []string
	Status                  int
	GrantedAt               time.Time `json:"granted_at"`
	SentAt                  time.Time `json:"sent_at"`
	EndedAt                 time.Time `json:"ended_at"`
	WaitUntil               time.Time `json:"wait_until"`
	Bytes                   int64
}

// lines decodes one JSON object a line.
func lines[T any](t *testing.T, text string) []T {
	t.Helper()
	var out []T
	for d := json.NewDecoder(strings.NewReader(text)); d.More(); {
		var v T
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		out = append(out, v)
	}
	return out
}

func (u *user) status(job string) status {
	u.t.Helper()
	return lines[status](u.t, u.must(0, "status", job, "--json").stdout)[0]
}

func (u *user) results(job string) []document {
	u.t.Helper()
	return lines[document](u.t, u.must(0, "results", job, "--json").stdout)
}

// remaining is what is not done, by id.
func (u *user) remaining(job string) map[string]document {
	u.t.Helper()
	out := map[string]document{}
	for _, d := range lines[document](u.t, u.must(0, "remaining", job, "--json").stdout) {
		out[d.ID] = d
	}
	return out
}

func (u *user) requests(job string) []request {
	u.t.Helper()
	return lines[request](u.t, u.must(0, "requests", job, "--json").stdout)
}

// sent counts the requests that left or may have.
func sent(rows []request) (n int) {
	for _, r := range rows {
		if r.Kind != "item" && r.Outcome != "not_sent" {
			n++
		}
	}
	return n
}

// checkFile checks a result against the bytes that it must have.
func (u *user) checkFile(sink string, d document, want []byte) {
	u.t.Helper()
	got, err := os.ReadFile(filepath.Join(u.dir, sink, d.Path))
	if err != nil {
		u.t.Errorf("result of %s: %v", d.ID, err)
		return
	}
	if !bytes.Equal(got, want) {
		u.t.Errorf("result of %s: %d bytes, want other %d bytes", d.ID, len(got), len(want))
	}
	if sum := standin.Sum(want); d.SHA256 != sum || d.Size != int64(len(want)) {
		u.t.Errorf("result of %s: size %d, sha256 %s; want %d, %s", d.ID, d.Size, d.SHA256, len(want), sum)
	}
}

// serve starts a stand-in, with digests on its answers, that is closed at the end of the test.
func serve(t *testing.T, cfg standin.Config) *standin.Service {
	t.Helper()
	cfg.Digests = true
	s, err := standin.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// list writes a list of documents 1 to n of a service.
func (u *user) list(name string, s *standin.Service, n int) string {
	var all []string
	for i := 1; i <= n; i++ {
		all = append(all, s.URL(fmt.Sprintf("/doc/%d", i)))
	}
	return u.write(name, all...)
}

// until polls until a condition holds, and fails the test if it does not within patience.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("waited %v, and still not: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// early are the arrivals in a wait that had been told whole, at least so long before.
func early(j *journal.Journal, slack time.Duration) []journal.Arrival {
	return j.Arrivals(func(a journal.Arrival) bool {
		return a.Told != nil && a.At.Before(a.Told.Until) && !a.At.Before(a.Told.Sent.Add(slack))
	})
}

// checkArrivals checks that the ledger has a row for every request that a service saw, and
// that every row without one is of a request that was cut. Each document's requests come one
// after the other, so an arrival's row is the last that was granted before it.
func checkArrivals(t *testing.T, arrivals []journal.Arrival, rows []request, address func(path string) string) (lost []journal.Arrival) {
	t.Helper()
	rows = slices.Clone(rows) // each process numbers them for itself
	slices.SortStableFunc(rows, func(a, b request) int { return a.GrantedAt.Compare(b.GrantedAt) })
	byDoc := map[string][]request{}
	for _, r := range rows {
		if r.Outcome != "not_sent" && r.Kind == "read" {
			byDoc[r.ID] = append(byDoc[r.ID], r)
		}
	}
	for _, a := range arrivals {
		id := address(a.Path)
		last := -1
		for i, r := range byDoc[id] {
			if !r.GrantedAt.After(a.At) {
				last = i
			}
		}
		if last < 0 {
			t.Errorf("arrival %d for %s at %v has no row", a.N, id, a.At)
			continue
		}
		r := byDoc[id][last]
		byDoc[id] = slices.Delete(byDoc[id], last, last+1)
		if r.Outcome == "in_doubt" || r.Status == 0 {
			lost = append(lost, a)
		} else if r.Status != a.Status {
			t.Errorf("arrival %d for %s was answered %d, and its row %d says %d %s", a.N, id, a.Status, r.N, r.Status, r.Outcome)
		}
	}
	for id, left := range byDoc {
		for _, r := range left {
			if !slices.Contains([]string{"in_doubt", "transient", "unprocessed"}, r.Outcome) {
				t.Errorf("row %d of %s (%s, status %d) without an arrival", r.N, id, r.Outcome, r.Status)
			}
		}
	}
	return lost
}
