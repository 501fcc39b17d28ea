package postgres

import (
	"context"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dogear/dogear/ledger"
)

// A tx is a write transaction of a pen's, and what its calls have in common. It begins with
// the first question that is asked in it. What they count is written at its end.
type tx struct {
	*pen
	tick  int64
	begun bool
	asked bool // to be committed

	keys   []string   // the scopes that its calls decide on, in key order
	gate   *gateState // what the gate's decisions share; nil before the first
	counts map[countKey]int64
	runs   map[int64]runCounts
	last   bool     // this holder ends with it: what it counts is nobody's
	kept   []move   // what it has taken from moves
	tell   bool     // others want to hear of what it does to scopes
	after  []func() // what may only be done once all is durable
}

func (p *pen) newTx(group []*call) *tx {
	p.tick = max(p.tick, p.done) + 1
	tx := &tx{pen: p, tick: p.tick, counts: map[countKey]int64{}, runs: map[int64]runCounts{}}
	for _, c := range group {
		tx.keys = append(tx.keys, c.keys...)
	}
	tx.keys = sorted(tx.keys)
	return tx
}

const (
	begin = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`

	// settings sets what holds for this transaction alone, so it works behind a pooler: who
	// stops in the middle of it does not hold others up for ever, and a commit is durable
	// when it returns. Everything is found by an index, whatever the planner has not counted
	// yet. It is a look at the clock too, before any lock is waited for.
	settings = `SELECT dogear.nanos(dogear.now()), set_config('idle_in_transaction_session_timeout', '10s', true),
		set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true),
		set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true),
		set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
			ELSE current_setting('synchronous_commit') END, true)`

	// setTick finds no row when this process was taken for dead.
	setTick = `UPDATE dogear.pens SET tick = $2 WHERE id = $1`

	// keepLease renews the lease half of it before its end: who writes lives. One that ran
	// out and that nobody noticed, as when the machine was asleep, goes on.
	keepLease = `UPDATE dogear.holders SET expires = dogear.now() + interval '30 s'
		WHERE n = $1 AND expires < dogear.now() + interval '15 s'`
)

// batch is a batch to be filled and sent. The first one begins the transaction.
func (tx *tx) batch() *pgx.Batch {
	b := &pgx.Batch{}
	if tx.begun {
		return b
	}
	tx.begun = true
	b.Queue(begin)
	sent := tx.clock.since()
	b.Queue(settings).QueryRow(func(r pgx.Row) error {
		var now int64
		var skip string
		err := r.Scan(&now, &skip, &skip, &skip, &skip, &skip, &skip, &skip)
		if err == nil {
			tx.clock.look(sent, now)
		}
		return err
	})
	b.Queue(setTick, tx.id(), tx.tick).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() == 0 {
			tx.lost.Store(true)
			return ledger.ErrLeaseLost
		}
		return nil
	})
	b.Queue(keepLease, tx.me.Load())
	if d := tx.absent.mercy(); d > 0 {
		b.Queue(spare, d.Seconds())
		tx.after = append(tx.after, tx.absent.spared)
	}
	if tx.kind == workPen {
		tx.writeMoves(b)
	}
	return b
}

// send sends a batch and reads its answers: one way there and back.
func (tx *tx) send(ctx context.Context, b *pgx.Batch) error {
	if tx.lost.Load() {
		return ledger.ErrLeaseLost
	}
	return tx.conn.SendBatch(ctx, b).Close()
}

// rows runs one query in the transaction.
func (tx *tx) rows(ctx context.Context, query string, read func(pgx.Rows) error, args ...any) error {
	b := tx.batch()
	each(b, query, read, args...)
	return tx.send(ctx, b)
}

// exec runs one statement in the transaction and reports how many rows it wrote.
func (tx *tx) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	b := tx.batch()
	b.Queue(query, args...).Exec(func(tag pgconn.CommandTag) error {
		n = tag.RowsAffected()
		return nil
	})
	err = tx.send(ctx, b)
	return n, err
}

// commit writes what the calls have counted and decided, and makes all durable.
func (tx *tx) commit(ctx context.Context) error {
	if !tx.begun {
		return nil // nothing was asked
	}
	b := tx.batch()
	tx.closeGate(b)
	tx.writeCounts(b)
	if tx.tell {
		b.Queue(notify, strconv.FormatInt(tx.me.Load(), 10))
	}
	b.Queue(`COMMIT`)
	tx.asked = true
	return tx.send(ctx, b)
}

// committed does what waited for the transaction to be durable.
func (tx *tx) committed() {
	tx.done = tx.tick
	for _, f := range tx.after {
		f()
	}
}

// sorted is a set of keys in key order.
func sorted(keys []string) []string {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	return slices.Compact(keys)
}
