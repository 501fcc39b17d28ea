package reader

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	putsMost = 16           // results of a group that are put into a direct sink at once
	putMost  = 4 * putsMost // results of a group
	// putGrace is what uploads get after the last body came, in the time in which the command
	// has to be gone: the rest is for the ledger.
	putGrace = 1500 * time.Millisecond
)

// putGroup puts a group into a direct sink and settles what is there then. The path comes
// first, the ledger last: after a crash between the two the path has the result, and Put
// finds it.
func (r *run) putGroup(group []saved) error {
	n := newNaming(group)
	failed := make([]error, len(group))
	ctx, cancel := r.putting()
	defer cancel()
	for left := n.all(); len(left) > 0; {
		if err := r.name(ctx, n, left); err != nil {
			if ctx.Err() != nil {
				return r.settlePut(n, failed, left, nil)
			}
			return r.settlePut(n, failed, left, &Stop{Reason: dogear.LedgerFailed, Err: err})
		}
		r.putAll(ctx, n, left, failed)
		var taken []int
		for _, i := range left {
			if errors.Is(failed[i], fs.ErrExist) { // by something foreign: the next name
				n.tries[i]++
				taken = append(taken, i)
			}
		}
		left = taken
	}
	var stop error
	for _, err := range failed {
		if err != nil && ctx.Err() == nil && stop == nil {
			stop = &Stop{Reason: dogear.SinkFailed, Err: err}
		}
	}
	return r.settlePut(n, failed, nil, stop)
}

// putAll puts these results of a group, some at once.
func (r *run) putAll(ctx context.Context, n *naming, left []int, failed []error) {
	var g errgroup.Group
	g.SetLimit(putsMost)
	for _, i := range left {
		g.Go(func() error {
			failed[i] = r.direct.Put(ctx, n.rows[i].Result)
			return nil
		})
	}
	_ = g.Wait() // each has its own error
}

// settlePut marks what was put as done and gives back the rest: what failed, and what is left
// without a path. It returns why the run has to stop.
func (r *run) settlePut(n *naming, failed []error, left []int, stop error) error {
	for _, i := range left {
		failed[i] = fs.ErrExist
	}
	var rows []ledger.Settlement
	var placed []int64
	var back []saved
	for i, err := range failed {
		if err != nil {
			back = append(back, n.group[i])
			continue
		}
		rows, placed = append(rows, n.rows[i]), append(placed, n.rows[i].Doc)
	}
	r.drop(back)
	if len(rows) == 0 {
		return stop
	}
	ctx, cancel := r.finishing()
	defer cancel()
	if err := r.Store.Settle(ctx, r.id, rows, placed); err != nil {
		return notMarked(len(rows), err)
	}
	for _, row := range rows {
		if err := r.Sink.Remove(row.Doc); err != nil {
			r.Log.Info("a temporary file stays until the next run", "doc", row.ID, "err", err)
		}
	}
	r.countDone(rows)
	return stop
}

// putting is a context for uploads: while the run goes on they take the time that they need,
// and end shortly after the last body came.
func (r *run) putting() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.dispatch))
	stop := context.AfterFunc(r.flight, func() {
		by := r.putBy.Load()
		if by == nil { // the round is over
			cancel()
			return
		}
		time.AfterFunc(time.Until(*by), cancel)
	})
	return ctx, func() { stop(); cancel() }
}
