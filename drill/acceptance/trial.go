package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/judge"
	"github.com/dogear/dogear/drill/scenario"
)

// A trial is one row being run. It has a folder, a ledger and a service of its own.
type trial struct {
	ctx      context.Context
	dir      string
	binary   string
	scenario *scenario.Scenario
	stand    *scenario.Stand
	journal  *os.File
	started  []*process
	listed   []scenario.Document // by the last list that was written
	checks   []judge.Check
	done     map[string]int // by path: requests when the ledger first had it done
	last     ended          // of the commands
}

// check notes what was looked at.
func (t *trial) check(pass bool, what, value, why string) {
	c := judge.Check{Assert: what, Value: value, Pass: pass}
	if !pass {
		c.Why = why
	}
	t.checks = append(t.checks, c)
}

// equal notes whether a value is what it must be.
func equal[T comparable](t *trial, what string, got, want T) {
	t.check(got == want, fmt.Sprintf("%s is %v", what, want), fmt.Sprint(got), fmt.Sprintf("%s is %v, not %v", what, got, want))
}

// A process is a dogear that runs.
type process struct {
	cmd    *exec.Cmd
	done   chan struct{}
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// ended is how a dogear ended.
type ended struct {
	code           int // -1: it was killed
	stdout, stderr string
}

// begin starts dogear.
func (t *trial) begin(args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(t.ctx, t.binary, args...), done: make(chan struct{})}
	p.cmd.Dir = t.dir
	p.cmd.Env = t.environment()
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	t.started = append(t.started, p)
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // its code is looked at by who waits
	}()
	return p, nil
}

// environment is the user's own, without what changes how dogear behaves.
func (t *trial) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(v), "=")
		return strings.HasSuffix(name, "_PROXY") || strings.HasPrefix(name, "DOGEAR_")
	})
	return append(env, "DOGEAR_STORE="+filepath.Join(t.dir, "state", "ledger.db"))
}

func (p *process) wait() ended {
	<-p.done
	return ended{p.cmd.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
}

// kill ends a process that still runs as nothing but the kernel can.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// dogear runs dogear to its end.
func (t *trial) dogear(args ...string) (ended, error) {
	p, err := t.begin(args...)
	if err != nil {
		return ended{}, err
	}
	t.last = p.wait()
	if err := t.ctx.Err(); err != nil {
		return t.last, fmt.Errorf("dogear %s was still running after %v", strings.Join(args, " "), t.scenario.TimeLimit)
	}
	return t.last, nil
}

// ask runs a query and decodes what it prints, one JSON object a line.
func ask[T any](t *trial, args ...string) ([]T, error) {
	e, err := t.dogear(append(args, "--json")...)
	if err != nil {
		return nil, err
	}
	if e.code != 0 {
		return nil, fmt.Errorf("dogear %s: exit code %d: %s", strings.Join(args, " "), e.code, lastLine(e.stderr))
	}
	var out []T
	for d := json.NewDecoder(strings.NewReader(e.stdout)); d.More(); {
		var v T
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("dogear %s: %w", strings.Join(args, " "), err)
		}
		out = append(out, v)
	}
	return out, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// list writes the addresses of documents, one a line, or with their versions as .csv.
func (t *trial) list(name string, docs []scenario.Document) (string, error) {
	t.listed = docs
	var b strings.Builder
	versions := strings.HasSuffix(name, ".csv")
	if versions {
		b.WriteString("url,version\n")
	}
	for _, d := range docs {
		if versions {
			fmt.Fprintf(&b, "%s,\"%s\"\n", d.URL, strings.ReplaceAll(d.Version, `"`, `""`))
		} else {
			fmt.Fprintln(&b, d.URL)
		}
	}
	return name, os.WriteFile(filepath.Join(t.dir, name), []byte(b.String()), 0o600)
}

// until waits for a condition.
func (t *trial) until(what string, holds func() (bool, error)) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return fmt.Errorf("after %v it had not come to this: %s", t.scenario.TimeLimit, what)
		}
	}
}
