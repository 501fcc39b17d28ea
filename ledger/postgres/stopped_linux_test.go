package postgres_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres"
)

// helper is a test's own process on the ledger: it runs the named test again.
func helper(t *testing.T, test, dsn string) (*exec.Cmd, io.WriteCloser, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), "DOGEAR_HELPER_DSN="+dsn, "DOGEAR_TEST_POSTGRES=skip")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, in, bufio.NewScanner(out)
}

func expect(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	if !lines.Scan() || lines.Text() != want {
		t.Fatalf("the helper says %q, want %q", lines.Text(), want)
	}
}

// A holder that was stopped for longer than its lease writes nothing more when it goes on.
func TestStoppedHolder(t *testing.T) {
	if dsn := os.Getenv("DOGEAR_HELPER_DSN"); dsn != "" {
		stoppedHolder(t, dsn)
		return
	}
	dsn := newDatabase(t)
	s := openStore(t, dsn)
	ctx := t.Context()
	job, _, err := s.Create(ctx, "j", ledger.Settings{}, postgres.Docs(10))
	must(t, err)
	cmd, in, lines := helper(t, "TestStoppedHolder", dsn)
	expect(t, lines, "begun")
	_, err = s.Begin(ctx, job.ID, time.Time{})
	if r, ok := errors.AsType[*ledger.RunningError](err); !ok || r.PID != cmd.Process.Pid {
		t.Fatalf("got error %v, want that process %d runs the job", err, cmd.Process.Pid)
	}
	must(t, cmd.Process.Signal(syscall.SIGSTOP))
	setOffset(t, dsn, 31*time.Second)
	_, err = s.Begin(ctx, job.ID, time.Time{})
	must(t, err)
	must(t, cmd.Process.Signal(syscall.SIGCONT))
	fmt.Fprintln(in, "go on")
	for range 4 {
		expect(t, lines, "lost")
	}
	c, err := s.Counts(ctx, job.ID)
	must(t, err)
	if c.Documents[dogear.Pending] != 10 || c.Sent != 1 {
		t.Errorf("counts: %+v", c)
	}
	must(t, s.Close())
}

func stoppedHolder(t *testing.T, dsn string) {
	s := openStore(t, dsn)
	ctx := t.Context()
	job, err := s.Job(ctx, "j")
	must(t, err)
	run, err := s.Begin(ctx, job.ID, time.Time{})
	must(t, err)
	lanes, err := s.Lanes(ctx, job.ID)
	must(t, err)
	docs, err := s.Claim(ctx, lanes[0].ID, 2, 8)
	must(t, err)
	var n int64
	must(t, s.Decide(ctx, docs[0].Scopes, func(d *dogear.Docket) {
		n = d.Next
		d.Grants = append(d.Grants, dogear.Request{N: n, Job: job.ID, Run: run.ID, Doc: docs[0].Seq, Scopes: docs[0].Scopes})
	}))
	fmt.Println("begun")
	fmt.Scanln() // stopped here
	for _, err := range []error{
		s.Settle(ctx, run.ID, []ledger.Settlement{settlementOf(docs[0])}, nil),
		s.Decide(ctx, docs[0].Scopes, func(d *dogear.Docket) { d.Ends = append(d.Ends, dogear.End{Request: n}) }),
		s.Return(ctx, []dogear.Fate{{Doc: docs[1].Seq, State: dogear.Failed}}),
		s.Renew(ctx, nil),
	} {
		if errors.Is(err, ledger.ErrLeaseLost) {
			fmt.Println("lost")
		} else {
			fmt.Println(err)
		}
	}
}

// A process that is stopped in the middle of a transaction does not hold a scope for ever.
func TestStoppedInTransaction(t *testing.T) {
	if dsn := os.Getenv("DOGEAR_HELPER_DSN"); dsn != "" {
		s := openStore(t, dsn)
		fmt.Println("opened")
		err := s.Decide(t.Context(), []string{benchKey}, func(d *dogear.Docket) {
			d.Scopes[benchKey].Streak++
			if d.Scopes[benchKey].Streak == 1 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			}
		})
		fmt.Println(err)
		return
	}
	if testing.Short() {
		t.Skip("ten seconds")
	}
	dsn := newDatabase(t)
	s := openStore(t, dsn)
	cmd, _, lines := helper(t, "TestStoppedInTransaction", dsn)
	expect(t, lines, "opened")
	for state := ""; !strings.Contains(state, "T (stopped)"); time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		must(t, err)
		state = string(b)
	}
	start := time.Now()
	must(t, s.Decide(t.Context(), []string{benchKey}, func(d *dogear.Docket) { d.Scopes[benchKey].Streak += 10 }))
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("a stopped process held a scope for %v", took)
	}
	must(t, cmd.Process.Signal(syscall.SIGCONT))
	expect(t, lines, "<nil>")
	if streak := ask[int](t, dsn, `SELECT streak FROM dogear.scopes`); streak != 11 {
		t.Errorf("streak %d, want 11: both decisions count", streak)
	}
	must(t, s.Close())
	do(t, dsn, `DELETE FROM dogear.pens; DELETE FROM dogear.holders`) // the helper did not close
}
