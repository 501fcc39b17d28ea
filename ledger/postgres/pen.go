package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/dogear/dogear/ledger"
)

// The kinds of pens. Their numbers are stored: add, never renumber.
const (
	gatePen = iota // decisions, and whatever else changes scopes
	workPen        // what becomes of documents and runs
	listPen        // lists, and what is large
	nPens
)

// groupMax is how many calls share one transaction at most.
const groupMax = 256

// A pen is a connection that writes, and a goroutine that owns it.
type pen struct {
	*Store
	kind    int
	queue   chan *call
	stopped chan struct{} // closed when it takes no more calls

	conn conn
	tick int64 // of the last transaction that was begun
	done int64 // of the last one that is known to be committed
	next block // numbers of requests: the gate's pen has some, and that of lists in an import
	jobs map[int64]bool
}

func newPen(s *Store, kind int) *pen {
	return &pen{
		Store: s, kind: kind, queue: make(chan *call, groupMax), stopped: make(chan struct{}),
		jobs: map[int64]bool{},
	}
}

// id is the pen's row.
func (p *pen) id() int64 { return p.me.Load()<<2 | int64(p.kind) }

// A call is one method's work on its way into a transaction. The work may be done more than
// once, but only what it did last is kept.
type call struct {
	ctx  context.Context // of who waits for it
	work func(context.Context, *tx) error
	keys []string // scopes that it decides on
	// alone says that it is large, or must not be undone for another's sake: it has a
	// transaction for itself.
	alone bool
	taken atomic.Bool // by the pen, or by a caller that no longer waits
	done  chan error  // holds one
}

// act has work done in a transaction of a pen's, as a holder, and returns when that is
// durable, or failed and undone. Who gives up waiting before the work has begun gets ctx's
// error, and it never begins.
func (s *Store) act(ctx context.Context, kind int, work func(context.Context, *tx) error) error {
	return s.submit(ctx, kind, &call{work: work})
}

// actAlone is act in a transaction that no other call shares.
func (s *Store) actAlone(ctx context.Context, kind int, work func(context.Context, *tx) error) error {
	return s.submit(ctx, kind, &call{work: work, alone: true})
}

func (s *Store) submit(ctx context.Context, kind int, c *call) error {
	if err := s.join(ctx); err != nil {
		return err
	}
	p := s.pens[kind]
	c.ctx, c.done = ctx, make(chan error, 1)
	select {
	case <-s.quit:
		return ErrClosed
	default:
	}
	select {
	case p.queue <- c:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.quit:
		return ErrClosed
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		if c.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
	case <-p.stopped:
		if c.taken.CompareAndSwap(false, true) {
			return ErrClosed
		}
	}
	return <-c.done // it has begun: whoever asked for it has to know, as long as somebody can
}

// run makes transactions of what is in the queue until the store is closed.
func (p *pen) run(ctx context.Context) {
	defer close(p.stopped)
	var next *call // one that is to be alone
	for {
		c := next
		if c == nil {
			select {
			case <-p.quit:
				return
			case c = <-p.queue:
			}
		}
		next = p.turn(ctx, c)
	}
}

// turn makes one transaction of the first call and of all that wait by now. It returns a
// call that it took from the queue and that has to be alone.
func (p *pen) turn(ctx context.Context, first *call) (next *call) {
	group := take(nil, first)
	for !first.alone && len(group) < groupMax && next == nil {
		select {
		case c := <-p.queue:
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
		p.write(ctx, group)
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

// write does a group's work and tells the callers. When a call fails, all is undone, and
// each is done again in a transaction of its own.
func (p *pen) write(ctx context.Context, group []*call) {
	err := p.commit(ctx, group)
	if failed, ok := errors.AsType[*callError](err); ok && len(group) > 1 && !p.lost.Load() {
		for _, c := range group {
			p.write(ctx, []*call{c})
		}
		return
	} else if ok {
		err = failed.err
	}
	for _, c := range group {
		c.done <- explain(err)
	}
	if errors.Is(err, ErrUnreachable) {
		p.refuse(err)
	}
}

// refuse tells all that wait by now that the database does not answer: each has waited as
// long as is borne, or nearly.
func (p *pen) refuse(err error) {
	for {
		select {
		case c := <-p.queue:
			if c.taken.CompareAndSwap(false, true) {
				c.done <- err
			}
			continue
		default:
		}
		return
	}
}

// A callError is a call's own failure, as against the connection's.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }

func (e *callError) Unwrap() error { return e.err }

// triesMax is how often a transaction is tried that the database undoes for others' sake.
const triesMax = 20

// commit makes one transaction of a group, over broken connections. What was asked to be
// committed on one that broke is not done again before it is known that it was not.
func (p *pen) commit(ctx context.Context, group []*call) error {
	ctx, over := p.attended(ctx, group)
	defer over()
	var asked *tx // to be committed, without an answer
	patience, tries := p.patience(), 0
	for {
		err := p.connect(ctx)
		if err == nil && asked != nil {
			if p.done == asked.tick {
				asked.committed()
				p.absent.end()
				return nil
			}
			asked = nil
		}
		if err == nil {
			var tx *tx
			tx, err = p.together(ctx, group)
			if err == nil {
				p.absent.end()
				return nil
			}
			if !p.conn.IsClosed() && codeOf(err) != "25006" {
				p.absent.end()
				if tries++; undone(err) && tries < triesMax {
					continue
				}
				return &callError{unwrap(err)}
			}
			if p.conn.drop(); tx.asked {
				asked = tx
			}
		}
		if errors.Is(err, ledger.ErrLeaseLost) {
			return err
		}
		if err := patience.borne(ctx, unwrap(err)); err != nil {
			if asked != nil {
				return fmt.Errorf("%w: %w", ErrUncertain, err)
			}
			return err
		}
	}
}

// attention is how often a pen looks whether anybody still waits for what it does.
const attention = 100 * time.Millisecond

// attended is a context for a group's work, which ends when for a moment nobody has waited
// for it any more, or the database has taken longer than is borne: one that does not answer
// holds nobody.
func (p *pen) attended(ctx context.Context, group []*call) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	over := func() { cancel(nil) }
	if !group[0].alone { // what is large may take its time
		t := time.AfterFunc(p.timeout, func() { cancel(ErrUnreachable) })
		over = func() { t.Stop(); cancel(nil) }
	}
	waits := func(c *call) bool { return c.ctx.Err() == nil }
	go func() {
		tick := time.NewTicker(attention)
		defer tick.Stop()
		for alone := 0; alone < 2; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if alone++; slices.ContainsFunc(group, waits) {
				alone = 0
			}
		}
		cancel(errUnattended)
	}()
	return ctx, over
}

// errUnattended ends work that nobody waits for.
var errUnattended = errors.New("whoever asked for it gave up waiting")

func unwrap(err error) error {
	if failed, ok := errors.AsType[*callError](err); ok {
		return failed.err
	}
	return err
}

// together does all work of a group in one transaction, or none.
func (p *pen) together(ctx context.Context, group []*call) (_ *tx, err error) {
	tx := p.newTx(group)
	defer func() {
		if err != nil {
			tx.moves.giveBack(tx.kept)
		}
		if err != nil && tx.begun && !p.conn.IsClosed() {
			if _, e := p.conn.exec(ctx, `ROLLBACK`); e != nil {
				p.conn.drop()
			}
		}
	}()
	for _, c := range group {
		if err := c.work(ctx, tx); err != nil {
			return tx, &callError{err}
		}
	}
	if err := tx.commit(ctx); err != nil {
		return tx, err
	}
	tx.committed()
	return tx, nil
}

// readTick waits for a transaction of an earlier connection that the server has not ended yet.
const readTick = `SELECT tick FROM dogear.pens WHERE id = $1 FOR UPDATE`

// connect sees to it that there is a connection. After one that broke it finds out what was
// committed last.
func (p *pen) connect(ctx context.Context) error {
	if p.conn.Conn != nil && !p.conn.IsClosed() {
		return nil
	}
	c, err := p.dial(ctx)
	if err != nil {
		return err
	}
	if err := p.resume(ctx, c); err != nil {
		c.drop()
		return err
	}
	p.conn = c
	return nil
}

// resume finds out where the pen stands.
func (p *pen) resume(ctx context.Context, c conn) error {
	var tick int64
	found, err := row(ctx, c, readTick, []any{&tick}, p.id())
	if err != nil {
		return err
	}
	if err := p.recognize(ctx, c, tick < p.done); err != nil {
		return err
	}
	if !found {
		p.lost.Store(true)
		return ledger.ErrLeaseLost
	}
	if tick < p.done { // the server has forgotten some: what it knows counts
		p.next = block{}
	}
	p.done = tick
	return nil
}
