package reader

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
)

// begin gives the run its end: a stop, its deadline, or that ctx is done. What it returns is
// to be called when all is over.
func (r *run) begin(ctx context.Context) (over func()) {
	ctx, r.stop = context.WithCancelCause(ctx)
	cancel := func() {}
	if !r.Deadline.IsZero() {
		ctx, cancel = context.WithDeadlineCause(ctx, r.Deadline, &Stop{Reason: dogear.Deadline})
	}
	r.halted, r.dispatch, r.flight = ctx, ctx, ctx // until the round has its own
	// The command is to be gone 5 s after the grace (E2). Beside a ledger that does not answer, what
	// comes after this moment takes up to two: the gate's last words, the last look, the leave.
	r.goneBy = sync.OnceValue(func() time.Time { return time.Now().Add(r.Grace + 2*time.Second) })
	stop := context.AfterFunc(ctx, func() { r.goneBy() })
	return func() { stop(); cancel(); r.stop(nil) }
}

// finishing is a context for what has to be written down though the run may be ending. While
// nothing makes the run end, the ledger may take the time that it is given; after that it has
// until the command has to be gone (E2). One that did not answer by then is hardly asked again.
func (r *run) finishing() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.halted))
	stop := context.AfterFunc(r.halted, func() {
		least := time.Second / 2
		if r.late.Load() {
			least = time.Second / 20
		}
		t := time.AfterFunc(max(time.Until(r.goneBy()), least), func() { r.late.Store(true); cancel(errLate) })
		context.AfterFunc(ctx, func() { t.Stop() })
	})
	return ctx, func() { stop(); cancel(nil) }
}

// errLate ends what could not be written down before the command had to be gone.
var errLate = errors.New("the time that a run has to end is over")

// judgeEnd chooses the reason of a run that nothing hard has ended: every lane has come to
// where nothing more can be sent now.
func (r *run) judgeEnd(end *Ending) {
	ctx, cancel := r.finishing()
	defer cancel()
	counts, err := r.Store.Counts(ctx, r.Job.ID)
	if err != nil {
		end.Reason, end.Err = dogear.LedgerFailed, err
		return
	}
	left := counts.Documents[dogear.Pending] + counts.Documents[dogear.InFlight] + counts.Documents[dogear.InDoubt]
	if left == 0 && !r.unlisted {
		end.Reason = dogear.Completed
		return
	}
	end.Reason = dogear.AttemptsExhausted
	if len(r.held) > 0 {
		end.Reason, end.Err = dogear.SourceRefused, fmt.Errorf("%d documents cannot be read: %s", len(r.held), r.held[0].Reason)
	}
	for _, err := range r.soft {
		end.take(err)
	}
}

// take lets a reason that a later run goes on from come before one that needs a decision,
// and the earliest wait before later ones.
func (e *Ending) take(err error) {
	var at time.Time
	var key string
	if w, ok := errors.AsType[*gate.WaitError](err); ok {
		at, key = w.NotBefore, w.Key
	} else if d, ok := errors.AsType[*delayError](err); ok {
		at = d.notBefore
	}
	if !at.IsZero() {
		if e.NotBefore.IsZero() || at.Before(e.NotBefore) {
			e.Reason, e.Err, e.NotBefore, e.Scope = dogear.WaitPastDeadline, err, at, key
		}
		return
	}
	x, ok := errors.AsType[*gate.ExhaustedError](err)
	switch {
	case !ok || e.Reason == dogear.WaitPastDeadline:
	case x.Down && e.Reason != dogear.ThrottlesExhausted:
		e.Reason, e.Err, e.Scope = dogear.SourceUnreachable, err, x.Key
	case !x.Down:
		e.Reason, e.Err, e.Scope = dogear.ThrottlesExhausted, err, x.Key
	}
}
