package reader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// reconcile makes the sink and the ledger agree before anything is read: results that were
// settled get their names (K2), and documents whose result is missing or of another size
// are pending again (K3). It reports how many those are.
func (r *run) reconcile(ctx context.Context) (missing int64, err error) {
	if err := r.placeLeft(ctx); err != nil {
		return 0, err
	}
	if missing, err = r.findMissing(ctx); err != nil {
		return missing, err
	}
	again := []dogear.State{dogear.Denied, dogear.Gone, dogear.Changed}
	if r.Pages != nil && r.Job.Cursor != "" { // the service tells what is as it was listed again
		again = again[:2]
	}
	if _, err := r.Store.Recheck(ctx, r.Job.ID, r.set.Attempts, again...); err != nil {
		return missing, &Stop{Reason: dogear.LedgerFailed, Err: err}
	}
	return missing, r.sweep(ctx)
}

// placeLeft gives results their names that were settled and not placed, by a process that did
// not live to do it.
func (r *run) placeLeft(ctx context.Context) error {
	if r.direct != nil { // it has its path before it is settled
		return nil
	}
	// Collected first: a sequence is not changed while it is read. They are one group.
	var left []ledger.Settlement
	for row, err := range r.Store.Unplaced(ctx, r.Job.ID) {
		if err != nil {
			return &Stop{Reason: dogear.LedgerFailed, Err: err}
		}
		left = append(left, row)
	}
	var placed []int64
	for _, row := range left {
		if err := r.placeAgain(ctx, row); err != nil {
			return err
		}
		placed = append(placed, row.Doc)
	}
	if len(placed) == 0 {
		return nil
	}
	return r.notePlaced(placed)
}

// placeAgain finishes what a crash may have cut between the ledger's commit and the rename.
// Where neither name holds the result, findMissing will see that it is gone.
func (r *run) placeAgain(ctx context.Context, row ledger.Settlement) error {
	held, err := r.Sink.Held(row.Doc)
	if errors.Is(err, fs.ErrNotExist) || err == nil && held != row.Size {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the temporary file of %s: %w", row.ID, err)
	}
	return r.place(ctx, dogear.Document{ID: row.ID, Name: row.Path}, row)
}

// findMissing compares names and sizes of all results with the sink, in constant memory.
func (r *run) findMissing(ctx context.Context) (n int64, err error) {
	there, err := r.lookUp(ctx)
	if err != nil {
		return 0, err
	}
	var gone []int64
	for res, err := range r.Store.Results(ctx, r.Job.ID) {
		if err != nil {
			return n, &Stop{Reason: dogear.LedgerFailed, Err: err}
		}
		ok, err := there(res)
		if err != nil {
			return n, fmt.Errorf("look for the result %s: %w", res.Path, err)
		}
		if !ok {
			r.Log.Info("a result is missing or of another size: its document is read again", "doc", res.ID, "path", res.Path)
			gone = append(gone, res.Doc)
		}
	}
	for len(gone) > 0 {
		k := min(len(gone), claimBlock)
		if err := r.Store.Reopen(ctx, gone[:k], "its result was missing"); err != nil {
			return n, &Stop{Reason: dogear.LedgerFailed, Err: err}
		}
		n += int64(k)
		gone = gone[k:]
	}
	return n, nil
}

// lookUp tells whether results are in the sink: by one listing of all, or by a look at each.
func (r *run) lookUp(ctx context.Context) (func(dogear.Result) (bool, error), error) {
	if r.direct == nil {
		return func(res dogear.Result) (bool, error) {
			size, err := r.Sink.Size(ctx, res.Path)
			if errors.Is(err, fs.ErrNotExist) {
				return false, nil
			}
			return size == res.Size, err
		}, nil
	}
	list := ctx
	if !r.Deadline.IsZero() { // a bucket may take its time
		var cancel context.CancelFunc
		list, cancel = context.WithDeadlineCause(ctx, r.Deadline, &Stop{Reason: dogear.Deadline})
		defer cancel()
	}
	has, err := r.direct.Inventory(list)
	if err != nil && list.Err() != nil {
		return nil, context.Cause(list)
	}
	if err != nil {
		return nil, &Stop{Reason: dogear.SinkFailed, Err: err}
	}
	return func(res dogear.Result) (bool, error) { return has(res.Path, res.Size), nil }, nil
}

// sweep removes temporary files that nobody will go on with.
func (r *run) sweep(ctx context.Context) error {
	return r.Sink.Sweep(func(doc int64) bool {
		p, err := r.Store.Partial(ctx, doc)
		return err != nil || p.Size > 0
	})
}
