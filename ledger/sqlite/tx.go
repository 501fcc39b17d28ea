package sqlite

import (
	"context"
	"time"
)

// A tx is a write transaction: the connection, and what its calls have in common. What they
// count is written once, at its end.
type tx struct {
	*Store
	conn conn
	now  int64     // on the ledger's clock
	wall time.Time // the same moment on the wall clock

	acting  bool       // this process's lease was looked at and is good
	gate    *gateState // what the gate's decisions share; nil before the first
	counts  map[countKey]int64
	runs    map[int64]runCounts
	pending map[int64]int64 // by lane
	delayed bool            // an instant on the ledger's clock was written
	interns map[string]int64
	after   []func() // what may only be done once all is durable
}

func (s *Store) newTx() *tx {
	return &tx{
		Store:   s,
		conn:    s.writer.conn,
		now:     s.clock.now(),
		wall:    s.clock.wall(),
		counts:  map[countKey]int64{},
		runs:    map[int64]runCounts{},
		pending: map[int64]int64{},
		interns: map[string]int64{},
	}
}

// act is do for a holder's work. The first such call makes this process a holder; each sees
// in its own transaction that it still is one.
func (s *Store) act(ctx context.Context, work func(*tx) error) error {
	if err := s.join(ctx); err != nil {
		return err
	}
	return s.do(ctx, func(tx *tx) error {
		if err := tx.acts(); err != nil {
			return err
		}
		return work(tx)
	})
}

// setSkew keeps how far the wall clock is ahead, for delays that outlive the boot.
const setSkew = `UPDATE clock SET skew = ?1 WHERE abs(skew - ?1) > 1000000000`

// flush writes what the calls have counted and decided.
func (tx *tx) flush() error {
	if err := tx.closeGate(); err != nil {
		return err
	}
	if err := tx.flushCounts(); err != nil {
		return err
	}
	if tx.delayed && tx.clock.boot != "" {
		return tx.conn.exec(setSkew, int64(tx.clock.skew()))
	}
	return nil
}

// committed does what waited for the transaction to be durable.
func (tx *tx) committed() {
	for _, f := range tx.after {
		f()
	}
}

// changed is how many rows the last statement wrote.
func (tx *tx) changed() int64 { return int64(tx.conn.Changes()) }
