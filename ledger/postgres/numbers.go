package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

const (
	// blockSize is how many numbers of requests a process takes at once: one question to the
	// sequence for all of them.
	blockSize = 1 << 17
	// docketMax is how many numbers are free when a decision begins.
	docketMax = 1 << 14
)

// A block is the numbers of requests that this process may give out. No other has them.
type block struct {
	first int64 // the first that is free
	end   int64 // the first that is not its own
}

// low reports whether the block may not do for one more transaction.
func (b *block) low() bool { return b.end-b.first < 2*docketMax }

// renew takes a row of nextBlock: a new block. What the old one has left is given out never.
func (b *block) renew(r pgx.Row) error {
	var n int64
	err := r.Scan(&n)
	b.first, b.end = (n-1)*blockSize+1, n*blockSize+1
	return err
}

// use takes a number that a decision has given out.
func (b *block) use(n int64) error {
	switch {
	case n < b.first:
		return errors.New("the number was given out before")
	case n >= b.end:
		return errors.New("the number was not offered")
	}
	b.first = n + 1
	return nil
}

// numbers sees to it that a decision finds as many numbers as it may want.
func (tx *tx) numbers(ctx context.Context) error {
	if tx.next.end-tx.next.first >= docketMax {
		return nil
	}
	b := tx.batch()
	b.Queue(nextBlock).QueryRow(tx.next.renew)
	return tx.send(ctx, b)
}
