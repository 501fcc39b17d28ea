package drill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dogear/dogear/drill/journal"
)

const (
	stopGrace = 3 * time.Second // from SIGTERM to SIGKILL
	// pipeDelay is how long output is still read when a command is gone and what it started
	// holds its output open.
	pipeDelay = 500 * time.Millisecond
)

// ErrNotStarted says that a client could not be started.
var ErrNotStarted = errors.New("the client cannot be started")

// A team is the clients of one drill.
type team struct {
	size    int
	began   time.Time // what the moments count from
	kill    []time.Duration
	limit   time.Duration
	command func(client int) (args, env []string)
	output  func(client int) string // the file for what it prints
	note    func(journal.Event)
}

// run starts the clients and waits for all of them. When it returns, none is running. It
// returns what each printed last, by client; the error matches [ErrNotStarted] if one could
// not be started, and is ctx's cause if ctx was done.
func (t *team) run(ctx context.Context) ([]ended, error) {
	g, ctx := errgroup.WithContext(ctx)
	ends := make([]ended, t.size)
	for i := range ends {
		g.Go(func() (err error) {
			out, err := createOutput(t.output(i + 1))
			if err != nil {
				return err
			}
			ends[i], err = t.client(ctx, i+1, out)
			ends[i].said = out.last(sayLines)
			return errors.Join(err, out.close())
		})
	}
	err := g.Wait()
	return ends, err
}

// ended is how one client ended.
type ended struct {
	code int
	hung bool
	said string // the last lines that it printed
}

// client runs one client to its end: it is killed at its moments and started again, and
// ended at the limit or when ctx is done.
func (t *team) client(ctx context.Context, n int, out *output) (ended, error) {
	limit := time.NewTimer(time.Until(t.began.Add(t.limit)))
	defer limit.Stop()
	kills := t.kill
	for {
		p, err := t.start(n, out)
		if err != nil {
			return ended{}, err
		}
		how, code := t.watch(ctx, p, n, kills, limit)
		switch {
		case how == hung:
			return ended{code: code, hung: true}, nil
		case how == stopped:
			return ended{code: code}, context.Cause(ctx)
		case how == exited && (code == 0 || len(kills) == 0 || !t.pause(ctx, kills[0], limit)):
			return ended{code: code}, context.Cause(ctx)
		}
		kills = kills[1:] // killed, or failed before
	}
}

// How a start of a client ended.
const (
	exited  = iota // by itself
	killed         // at one of the moments
	hung           // at the limit
	stopped        // because ctx was done
)

// watch waits for the end of a start, brings it about when it is time, and notes it.
func (t *team) watch(ctx context.Context, p *process, n int, kills []time.Duration, limit *time.Timer) (how, code int) {
	kill, stopTimer := t.moment(kills)
	defer stopTimer()
	select {
	case code = <-p.done:
	case <-kill:
		at := time.Now()
		killGroup(p.Process)
		if code = <-p.done; code != 0 { // 0: it was faster
			t.note(journal.Event{Event: "killed", At: at, Client: n, Code: code})
			return killed, code
		}
	case <-limit.C:
		how = hung
		t.note(journal.Event{Event: "timeout", At: time.Now(), Client: n})
		code = p.stop()
	case <-ctx.Done():
		how = stopped
		code = p.stop()
	}
	t.note(journal.Event{Event: "ended", At: time.Now(), Client: n, Code: code})
	return how, code
}

// moment is a channel that says when the next of the kills is due; nil: never.
func (t *team) moment(kills []time.Duration) (<-chan time.Time, func()) {
	if len(kills) == 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(t.began.Add(kills[0])))
	return timer.C, func() { timer.Stop() }
}

// pause waits until a client that has failed by itself is started again; false: it is not.
func (t *team) pause(ctx context.Context, until time.Duration, limit *time.Timer) bool {
	again, stopTimer := t.moment([]time.Duration{until})
	defer stopTimer()
	select {
	case <-again:
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

// A process is one start of a client.
type process struct {
	*os.Process
	done <-chan int // its exit code, once
}

// start starts a client.
func (t *team) start(n int, out *output) (*process, error) {
	args, env := t.command(n)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, out, out, pipeDelay
	ownGroup(cmd)
	at := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	t.note(journal.Event{Event: "started", At: at, Client: n})
	done := make(chan int, 1)
	go func() {
		_ = cmd.Wait() // the exit code says it
		sweepGroup(cmd.Process)
		done <- exitCode(cmd.ProcessState)
	}()
	return &process{cmd.Process, done}, nil
}

// stop ends a process, in a friendly way first, and returns its exit code.
func (p *process) stop() int {
	stopGroup(p.Process)
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case code := <-p.done:
		return code
	case <-grace.C:
	}
	killGroup(p.Process)
	return <-p.done
}
