package reader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger"
)

// claimBlock is how many documents are claimed, or given back, in one transaction.
const claimBlock = 256

// lane reads the documents of one set of scopes.
type lane struct {
	run  *run
	id   int64
	keys []string
	// open ends when nothing more of the lane can be sent; over says why.
	open context.Context
	over context.CancelCauseFunc

	docs    chan dogear.Document
	workers int
	started int
	all     sync.WaitGroup // of the workers, and of documents that went on without one
	busy    atomic.Int64   // documents that are claimed and not finished
	news    chan struct{}  // holds one: a document was finished
	halved  atomic.Int32   // how often the service refused a batch for its size
	alone   atomic.Bool    // the service does not take batches: documents are read one by one
	rest    rest           // the origin answers other processes and not this one
	flushed bool           // since nothing could be claimed, all ends are in the ledger
	last    bool           // since then no other process had a document in flight
}

// lanes runs every lane to its end.
func (r *run) lanes() {
	list, err := r.Store.Lanes(r.dispatch, r.Job.ID)
	agreed, agreedErr := r.agreed()
	if err = errors.Join(err, agreedErr); err != nil {
		r.stop(&Stop{Reason: dogear.LedgerFailed, Err: err})
		return
	}
	var all sync.WaitGroup
	for _, l := range list {
		if l.Pending > 0 || r.Help {
			all.Go(func() { r.lane(l, agreed) })
		}
	}
	all.Wait()
}

// lane reads one lane until nothing of it can be read in this run.
func (r *run) lane(rec ledger.Lane, agreed map[string]int) {
	l := &lane{
		run: r, id: rec.ID, keys: rec.Scopes,
		docs:    make(chan dogear.Document, r.ahead()),
		workers: r.workers(rec.Scopes, agreed),
		news:    make(chan struct{}, 1),
	}
	l.open, l.over = context.WithCancelCause(r.dispatch)
	defer l.over(nil)
	err := l.feed()
	close(l.docs)
	l.all.Wait()
	switch {
	case r.dispatch.Err() != nil:
	case l.open.Err() != nil:
		r.note(context.Cause(l.open))
	case err != nil:
		r.stop(&Stop{Reason: dogear.LedgerFailed, Err: err})
	}
}

// workers is how many requests a lane may have in flight: what the job says, else what its
// scopes have agreed. The gate sees to the rest.
func (r *run) workers(keys []string, agreed map[string]int) int {
	if r.set.Concurrency > 0 {
		return r.set.Concurrency
	}
	n := dogear.DefaultConcurrency
	for _, k := range keys {
		if agreed[k] > 0 {
			n = agreed[k]
		}
	}
	return n
}

// agreed are the concurrencies that scopes have, where somebody has said so.
func (r *run) agreed() (map[string]int, error) {
	out := map[string]int{}
	for s, err := range r.Store.Scopes(r.dispatch) {
		if err != nil {
			return nil, err
		}
		out[s.Key] = s.Concurrency
	}
	return out, nil
}

// feed claims documents and hands them out. It returns nil when the lane has nothing left.
func (l *lane) feed() error {
	for l.open.Err() == nil {
		n := min(claimBlock, 4*l.workers+cap(l.docs))
		left, cutOff := l.rest.left()
		if left > 0 {
			if err := l.run.pause(l.open, left); err != nil {
				l.over(err)
			}
			continue
		}
		if cutOff {
			n = 1
		}
		docs, err := l.run.Store.Claim(l.open, l.id, n, l.run.set.Attempts)
		if err != nil {
			return fmt.Errorf("claim documents: %w", err)
		}
		if len(docs) > 0 {
			l.flushed, l.last = false, false
			l.hand(docs)
			continue
		}
		if done, err := l.idle(); done || err != nil {
			return err
		}
	}
	return nil
}

// hand gives documents to workers, starting one while there are fewer than may work. What
// cannot be handed out any more goes back to the ledger.
func (l *lane) hand(docs []dogear.Document) {
	l.busy.Add(int64(len(docs)))
	for i, d := range docs {
		if l.started < l.workers {
			l.started++
			l.all.Go(l.work)
		}
		select {
		case l.docs <- d:
		case <-l.open.Done():
			l.giveBack(docs[i:])
			return
		}
	}
}

func (l *lane) giveBack(docs []dogear.Document) {
	fates := make([]dogear.Fate, len(docs))
	for i, d := range docs {
		fates[i] = dogear.Fate{Doc: d.Seq, State: dogear.Pending}
	}
	l.run.giveBack(fates)
	l.busy.Add(-int64(len(docs)))
}

// idle waits where nothing can be claimed: for a document to be finished, for it may have
// come back, or for one whose time is yet to come. It reports done when there are neither.
func (l *lane) idle() (done bool, err error) {
	due, err := l.run.Store.NextDue(l.open, l.id, l.run.set.Attempts)
	if err != nil {
		return false, fmt.Errorf("look for delayed documents: %w", err)
	}
	busy := l.busy.Load() > 0
	wait := time.Hour
	if !due.IsZero() {
		wait = max(0, due.Sub(l.run.Store.Now()))
		if at := time.Now().Add(wait); !busy && l.run.pastDeadline(at) {
			l.over(&delayError{at})
			return true, nil
		}
		wait = min(wait, time.Second) // a sleeping machine's timers stop: look again
	} else if !busy && l.flushed {
		others, err := l.run.waitsForOthers()
		if err != nil || !others && l.last {
			return true, err
		}
		if l.last = !others; l.last { // what a dead one held is free now: look once more
			return false, nil
		}
		wait = lookEvery
	} else if !busy { // what ended last may not be in the ledger yet: it may have come back
		l.flushed = true
		return false, l.run.flush()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-l.news:
	case <-t.C:
	case <-l.open.Done():
	}
	return false, nil
}

// A delayError says that no document that is left may be tried again before the deadline.
type delayError struct{ notBefore time.Time }

func (e *delayError) Error() string {
	return fmt.Sprintf("what is left may be tried again at %s, which is not before the deadline", e.notBefore.UTC().Format(time.RFC3339))
}

func (r *run) pastDeadline(wall time.Time) bool {
	return !r.Deadline.IsZero() && !wall.Before(r.Deadline)
}

// work reads documents until there are no more.
func (l *lane) work() {
	for d := range l.docs {
		if left, _ := l.rest.left(); left > 0 || l.open.Err() != nil {
			l.giveBack([]dogear.Document{d})
			continue
		}
		if l.run.Batch != nil && !l.alone.Load() {
			l.gather(d)
			continue
		}
		l.read(d)
	}
}

// finished is called once for every document that was read, whatever came of it.
func (l *lane) finished() {
	l.busy.Add(-1)
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// refused sorts out why the gate admits nothing: some reasons end the run, others this lane.
func (l *lane) refused(err error) {
	if l.open.Err() == nil && l.run.ends(err) {
		l.over(err)
	}
}

// ends sorts out why the gate admits nothing. It reports true where that is no reason to end
// the run for others; else the run has been stopped.
func (r *run) ends(err error) (soft bool) {
	_, waits := errors.AsType[*gate.WaitError](err)
	_, spent := errors.AsType[*gate.ExhaustedError](err)
	_, delayed := errors.AsType[*delayError](err)
	_, unconfirmed := errors.AsType[*gate.UnconfirmedError](err)
	stop, hard := errors.AsType[*Stop](err)
	switch {
	case waits, spent, delayed:
		return true
	case hard:
		r.stop(stop)
	case unconfirmed:
		r.stop(&Stop{Reason: dogear.ScopeUnconfirmed, Err: err})
	case errors.Is(err, gate.ErrRequests):
		r.stop(&Stop{Reason: dogear.RequestsExhausted, Err: err})
	case errors.Is(err, ErrNoCredential):
		r.stop(&Stop{Reason: dogear.StopUnauthorized, Err: err})
	default:
		r.stop(&Stop{Reason: dogear.LedgerFailed, Err: err})
	}
	return false
}

// ErrNoCredential says that a credential that the job names is not at hand. Credentials
// wrap it.
var ErrNoCredential = errors.New("the credential is not at hand")

func (r *run) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.soft = append(r.soft, err)
}

// giveBack moves documents out of flight though the run may be ending. Where the ledger does
// not take them their claims end with this process, and the next run frees them.
func (r *run) giveBack(fates []dogear.Fate) {
	if r.stayed.Load() {
		return
	}
	ctx, cancel := r.finishing()
	defer cancel()
	for block := range slices.Chunk(fates, claimBlock) {
		if err := r.Store.Return(ctx, block); err != nil {
			if !r.stayed.Swap(true) {
				r.Log.Warn("documents stay claimed until the next run", "err", err)
			}
			return
		}
	}
}
