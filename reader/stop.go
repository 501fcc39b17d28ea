package reader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
)

// judgeEnd chooses the reason of a run that nothing hard has ended: every lane has come to
// where nothing more can be sent now.
func (r *run) judgeEnd(end *Ending) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
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
