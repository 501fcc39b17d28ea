package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// groupMax is how many calls share one transaction at most.
const groupMax = 256

// A writer is the one connection that writes, and the lock that goes with it. It belongs to
// the writing goroutine, and to Close when that has ended.
type writer struct {
	conn conn
	lock *writeLock
	data int64  // data_version when it was last looked at
	kept []move // what the transaction has taken from moves
	at   place
}

// A call is one method's work on its way into a transaction. The work may be done more than
// once, but only what it did last is kept.
type call struct {
	work func(*tx) error // nil: only to see whether others have committed
	// alone says that it is large, or must not be undone for another's sake: it has a
	// transaction for itself.
	alone bool
	taken atomic.Bool // by the writer, or by a caller that no longer waits
	done  chan error  // holds one
}

// do has work done in a transaction and returns when that is durable, or failed and undone.
// Who gives up waiting before the work has begun gets ctx's error, and it never begins.
func (s *Store) do(ctx context.Context, work func(*tx) error) error {
	return s.await(ctx, s.submit(ctx, &call{work: work}))
}

// doAlone is do in a transaction that no other call shares.
func (s *Store) doAlone(ctx context.Context, work func(*tx) error) error {
	return s.await(ctx, s.submit(ctx, &call{work: work, alone: true}))
}

// submit puts a call into the queue. It is over at once where that is not possible.
func (s *Store) submit(ctx context.Context, c *call) *call {
	c.done = make(chan error, 1)
	select {
	case <-s.quit:
		c.over(ErrClosed)
		return c
	default:
	}
	select {
	case s.queue <- c:
	case <-ctx.Done():
		c.over(ctx.Err())
	case <-s.quit:
		c.over(ErrClosed)
	}
	return c
}

func (c *call) over(err error) {
	c.taken.Store(true)
	c.done <- err
}

// await returns the outcome of a call.
func (s *Store) await(ctx context.Context, c *call) error {
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		if c.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
	case <-s.stopped:
		if c.taken.CompareAndSwap(false, true) {
			return ErrClosed
		}
	}
	return <-c.done // it has begun: whoever asked for it has to know
}

// run is the writing goroutine: it makes transactions of what is in the queue until the
// store is closed.
func (s *Store) run() {
	defer close(s.stopped)
	var next *call // one that is to be alone
	for {
		c := next
		next = nil
		if c == nil {
			select {
			case <-s.quit:
				return
			case c = <-s.queue:
			}
		}
		if c.work == nil {
			s.glance(c)
			continue
		}
		next = s.turn(c)
	}
}

// glance looks for commits of others without a transaction.
func (s *Store) glance(c *call) {
	if c.taken.CompareAndSwap(false, true) {
		c.done <- s.look()
	}
}

// turn takes the lock and makes one transaction of the first call and of all that wait by
// then. It returns a call that it took from the queue and that has to be alone.
func (s *Store) turn(first *call) (next *call) {
	w := s.writer
	if err := w.lock.lock(); err != nil {
		s.refuse(first, fmt.Errorf("take the ledger's lock: %w", err))
		return nil
	}
	defer func() { _ = w.lock.unlock() }() // cannot fail: the lock is held
	group := take(nil, first)
	for !first.alone && len(group) < groupMax && next == nil {
		select {
		case c := <-s.queue:
			if c.alone {
				next = c
			} else {
				group = take(group, c)
			}
			continue
		default:
		}
		break
	}
	if len(group) > 0 {
		s.commit(group)
	}
	return next
}

// take adds a call to the group unless its caller has gone.
func take(group []*call, c *call) []*call {
	if c.taken.CompareAndSwap(false, true) {
		return append(group, c)
	}
	return group
}

// commit does a group's work and tells the callers. Most groups succeed whole, so they pay
// for no savepoints: when a call fails, all is undone and done again, each call inside a
// savepoint of its own.
func (s *Store) commit(group []*call) {
	errs := make([]error, len(group))
	err := s.together(group)
	if failed, ok := errors.AsType[*callError](err); ok {
		if err = failed.err; len(group) > 1 {
			err = s.apart(group, errs)
		}
	}
	for i, c := range group {
		if err != nil {
			errs[i] = err
		}
		c.done <- errs[i]
	}
}

// A callError is a call's own failure, as against the transaction's.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }

// together does all work in one transaction, or none.
func (s *Store) together(group []*call) (err error) {
	tx, err := s.begin()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.rollback()
		}
	}()
	for _, c := range group {
		if c.work == nil {
			continue // begin has looked
		}
		if err := c.work(tx); err != nil {
			return &callError{err}
		}
	}
	if err := tx.flush(); err != nil {
		return &callError{err}
	}
	if err := s.end(); err != nil {
		return err
	}
	tx.committed()
	return nil
}

// apart does all work in one transaction that leaves out the calls that fail, whose errors
// it puts into errs.
func (s *Store) apart(group []*call, errs []error) (err error) {
	if _, err := s.begin(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.rollback()
		}
	}()
	c := s.writer.conn
	var good []*tx
	for i, call := range group {
		if call.work == nil {
			continue
		}
		if err := c.exec(`SAVEPOINT call`); err != nil {
			return err
		}
		tx := s.newTx()
		errs[i] = call.work(tx)
		if errs[i] == nil {
			errs[i] = tx.flush()
		}
		if errs[i] == nil {
			good = append(good, tx)
		} else if c.AutocommitEnabled() { // it was so bad that SQLite undid everything
			return errs[i]
		} else if err := c.exec(`ROLLBACK TO call`); err != nil {
			return err
		}
		if err := c.exec(`RELEASE call`); err != nil {
			return err
		}
	}
	if err := s.end(); err != nil {
		return err
	}
	for _, tx := range good {
		tx.committed()
	}
	return nil
}

// begin begins a transaction. The caller holds the lock file.
func (s *Store) begin() (*tx, error) {
	if err := s.writer.at.check(); err != nil {
		return nil, err
	}
	if err := s.writer.conn.exec(`BEGIN IMMEDIATE`); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	tx := s.newTx()
	s.writer.kept = s.moves.take()
	if err := errors.Join(s.look(), tx.writeMoves(s.writer.kept)); err != nil {
		s.rollback()
		return nil, err
	}
	return tx, nil
}

// end makes a transaction durable.
func (s *Store) end() error {
	if err := s.writer.conn.exec(`COMMIT`); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	s.writer.kept = nil
	return nil
}

// rollback ends a transaction that failed, unless SQLite has done so already.
func (s *Store) rollback() {
	s.moves.giveBack(s.writer.kept)
	s.writer.kept = nil
	if c := s.writer.conn; !c.AutocommitEnabled() {
		_ = c.exec(`ROLLBACK`) // nothing to be done: the next BEGIN will say so
	}
}

// refuse tells a call, and all that wait behind it by now, that the writer cannot go on. Who
// comes later, as a caller that was told and tries again, is not meant.
func (s *Store) refuse(first *call, err error) {
	refused := take(nil, first)
	for waiting := true; waiting; {
		select {
		case c := <-s.queue:
			refused = take(refused, c)
		default:
			waiting = false
		}
	}
	for _, c := range refused {
		c.done <- err
	}
}
