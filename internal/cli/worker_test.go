package cli

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/dogear/dogear/ledger"
)

// appearing is a ledger whose job another process makes between two looks.
type appearing struct {
	ledger.Store
	looks int
}

func (a *appearing) Job(context.Context, string) (ledger.Job, error) {
	if a.looks++; a.looks == 1 {
		return ledger.Job{}, ledger.ErrNoJob
	}
	return ledger.Job{ID: 7, Name: "l"}, nil
}

func (a *appearing) Runs(context.Context, int64) iter.Seq2[ledger.Run, error] {
	return func(yield func(ledger.Run, error) bool) { yield(ledger.Run{ID: 3, Live: true}, nil) }
}

// A job that begins while a worker finds out that there is none is a job to help with.
func TestJobAppears(t *testing.T) {
	worker := &workerCmd{Job: "l"}
	job, run, err := worker.await(&call{ctx: t.Context()}, &appearing{})
	if err != nil || job.ID != 7 || run.ID != 3 {
		t.Errorf("job %+v, run %+v, %v: want those that are there", job, run, err)
	}
}

// A run that ends before a worker can join it is one that nobody is running.
func TestRunEndsBeforeJoining(t *testing.T) {
	var said bytes.Buffer
	err := fmt.Errorf("join the run of job 7: %w", ledger.ErrNotRunning)
	if code := (Env{Stderr: &said}).fail(err); code != exitTemporary {
		t.Errorf("exit code %d, want %d: %s", code, exitTemporary, &said)
	}
}

// The flag in a hint can be pasted: it names the role, never the password, and is one word.
func TestStoreArg(t *testing.T) {
	for store, want := range map[string]string{
		"":                                  "",
		"a/l.db":                            " --store a/l.db",
		"my ledger.db":                      " --store 'my ledger.db'",
		"it's.db":                           ` --store 'it'\''s.db'`,
		"postgres://h/d":                    " --store postgres://h/d",
		"postgres://me:canary@h/d":          " --store postgres://me@h/d",
		"postgres://me@/d?host=/tmp&port=1": " --store 'postgres://me@/d?host=/tmp&port=1'",
		"postgres://h/d?password=canary":    " --store postgres://h/d",
		"postgres://me:can%ary@h/d":         " --store '(an address that cannot be read)'",
	} {
		if got := storeArg(store); got != want {
			t.Errorf("%s: %s, want %s", store, got, want)
		}
	}
}
