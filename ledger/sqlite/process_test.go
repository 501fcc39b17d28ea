package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/sqlite"
)

// The test binary plays other processes too: its environment says which.
const (
	childEnv = "DOGEAR_TEST_CHILD"
	pathEnv  = "DOGEAR_TEST_LEDGER"
)

func TestMain(m *testing.M) {
	children := map[string]func(context.Context, *sqlite.Store) error{"reader": readUntilKilled, "committer": commitForASecond}
	child, ok := children[os.Getenv(childEnv)]
	if !ok {
		os.Exit(m.Run())
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, os.Getenv(pathEnv), sqlite.Options{})
	if err == nil {
		err = errors.Join(child(ctx, s), s.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A process is another one that works on the ledger.
type process struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

func start(t *testing.T, child, path string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+child, pathEnv+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{cmd, in, bufio.NewScanner(out)}
}

// line is the process's next line of output.
func (p *process) line(t *testing.T) string {
	t.Helper()
	if !p.out.Scan() {
		t.Fatalf("process %d said no more: %v", p.Process.Pid, p.Wait())
	}
	return p.out.Text()
}

// readUntilKilled reads job "j" and says of each request and each document what the ledger
// has said is durable.
func readUntilKilled(ctx context.Context, s *sqlite.Store) error {
	job, err := s.Job(ctx, "j")
	if err != nil {
		return err
	}
	run, err := s.Begin(ctx, job.ID, time.Time{})
	if err != nil {
		return err
	}
	lanes, err := s.Lanes(ctx, job.ID)
	if err != nil {
		return err
	}
	for {
		docs, err := s.Claim(ctx, lanes[0].ID, 8, 1000)
		if err != nil {
			return err
		}
		if len(docs) == 0 {
			return errors.New("nothing left to read")
		}
		var first int64
		err = s.Decide(ctx, docs[0].Scopes, func(d *dogear.Docket) {
			first = d.Next
			for i, doc := range docs {
				d.Grants = append(d.Grants, dogear.Request{N: first + int64(i), Job: job.ID, Run: run.ID, Doc: doc.Seq, Scopes: doc.Scopes})
			}
		})
		if err != nil {
			return err
		}
		for i := range docs {
			fmt.Println("sent", first+int64(i))
		}
		err = s.Decide(ctx, docs[0].Scopes, func(d *dogear.Docket) {
			for i, doc := range docs {
				e := dogear.End{Request: first + int64(i), Status: 200, Outcome: dogear.OK}
				if i == 0 {
					e.Status, e.Outcome, e.Fate = 503, dogear.Transient, &dogear.Fate{Doc: doc.Seq, Reason: "503"}
				}
				d.Ends = append(d.Ends, e)
			}
		})
		if err != nil {
			return err
		}
		var done []ledger.Settlement
		for _, doc := range docs[1:] {
			done = append(done, ledger.Settlement{Result: dogear.Result{Doc: doc.Seq, Path: doc.Name}, Folded: doc.Name})
		}
		if err := s.Settle(ctx, run.ID, done, nil); err != nil {
			return err
		}
		for _, d := range done {
			fmt.Println("done", d.Doc)
		}
	}
}

// K1, K2, K4: whatever the moment at which a process is killed, the next one begins at
// once, nothing that was said to be durable is missing, and the ledger agrees with itself.
func TestKill(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	job, _, err := s.Create(t.Context(), "j", ledger.Settings{}, sqlite.Docs(20_000))
	if err != nil {
		t.Fatal(err)
	}
	said := map[string][]int64{}
	for round := range 6 {
		p := start(t, "reader", path)
		for range 20 + rand.IntN(60) {
			say(t, said, p.line(t))
		}
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for p.out.Scan() { // what it had said before it died
			say(t, said, p.out.Text())
		}
		_ = p.Wait()
		run, err := s.Begin(t.Context(), job.ID, time.Time{})
		if err != nil {
			t.Fatalf("round %d: the run after the kill: %v", round, err)
		}
		if err := s.EndRun(t.Context(), run.ID, dogear.Deadline); err != nil {
			t.Fatal(err)
		}
		judge(t, s, job, said)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	consistent(t, path)
}

func say(t *testing.T, said map[string][]int64, line string) {
	t.Helper()
	what, number, _ := strings.Cut(line, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return // the line that the kill cut
	}
	said[what] = append(said[what], n)
}

func judge(t *testing.T, s *sqlite.Store, job ledger.Job, said map[string][]int64) {
	t.Helper()
	requests, results := map[int64]bool{}, map[int64]bool{}
	for r, err := range s.Requests(t.Context(), job.ID) {
		if err != nil {
			t.Fatal(err)
		}
		requests[r.N] = true
		if r.Outcome == dogear.Unsettled {
			t.Errorf("request %d is open, its holder gone", r.N)
		}
	}
	for r, err := range s.Results(t.Context(), job.ID) {
		if err != nil {
			t.Fatal(err)
		}
		results[r.Doc] = true
	}
	for _, n := range said["sent"] {
		if !requests[n] {
			t.Errorf("request %d left and is not in the ledger", n)
		}
	}
	for _, doc := range said["done"] {
		if !results[doc] {
			t.Errorf("document %d was done and is not", doc)
		}
	}
	c, err := s.Counts(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c.Documents[dogear.InFlight] != 0 || c.Documents[dogear.InDoubt] != 0 || c.Sent != int64(len(requests)) {
		t.Errorf("counts %+v of %d requests, want none in flight or in doubt", c, len(requests))
	}
	for r, err := range s.Runs(t.Context(), job.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]dogear.StopReason{true: dogear.Deadline, false: dogear.Interrupted}[r.PID == os.Getpid()]; r.Reason != want {
			t.Errorf("run %d ended %q, want %q", r.Number, r.Reason, want)
		}
	}
}

// commitForASecond commits as fast as it can from the word go, and says how often it did.
func commitForASecond(ctx context.Context, s *sqlite.Store) error {
	if err := s.Renew(ctx, nil); err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := fmt.Scanln(); err != nil && err.Error() != "unexpected newline" {
		return err
	}
	n := 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); n++ {
		err := s.Decide(ctx, []string{"host:a"}, func(d *dogear.Docket) { d.Scopes["host:a"].Generation++ })
		if err != nil {
			return err
		}
	}
	fmt.Println("commits", n)
	return nil
}

// Nobody starves, and nothing that several processes count is lost.
func TestFourProcesses(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	var all []*process
	for range 4 {
		p := start(t, "committer", path)
		p.line(t)
		all = append(all, p)
	}
	for _, p := range all {
		fmt.Fprintln(p.in)
	}
	said := map[string][]int64{}
	for _, p := range all {
		say(t, said, p.line(t))
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	shares := said["commits"]
	t.Logf("commits: %v", shares)
	var sum int64
	for _, n := range shares {
		sum += n
	}
	if len(shares) != 4 || slices.Min(shares) < sum/40 {
		t.Errorf("shares %v: want each to have a tenth of an even one at the least", shares)
	}
	for sc, err := range s.Scopes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if sc.Generation != sum {
			t.Errorf("the generation is %d after %d commits", sc.Generation, sum)
		}
	}
}
