package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	// stopPens waits for what the holder's pens are writing. After it they write no more.
	stopPens = `DELETE FROM dogear.pens WHERE id IN (
		SELECT id FROM dogear.pens WHERE id >= $1::bigint * 4 AND id < $1::bigint * 4 + 4 ORDER BY id FOR UPDATE)`

	// removeHolder leaves alone who has renewed its lease meanwhile.
	removeHolder = `DELETE FROM dogear.holders WHERE n = $1 AND (expires <= dogear.now() OR $2)`

	interruptRuns = `UPDATE dogear.runs SET ended = dogear.nanos(clock_timestamp()), reason = 'interrupted'
		WHERE ended = 0 AND holder = $1`

	doubtOpen = `UPDATE dogear.requests q SET ended = dogear.nanos(clock_timestamp()), outcome = $2
		FROM dogear.sets s WHERE q.ended = 0 AND q.holder = $1 AND s.id = q.scopes RETURNING q.doc, s.keys`

	lockSome = `SELECT FROM dogear.scopes WHERE key = ANY($1) ORDER BY key FOR UPDATE`

	// doubtScopes make scopes prove themselves: what they answered was not seen.
	doubtScopes = `UPDATE dogear.scopes SET probing = true, probe = 0 WHERE key = ANY($1)`

	dropListings = `UPDATE dogear.jobs SET stage = 2 WHERE stage <> 1 AND stage = 0 AND holder = $1`

	// foldCounts keeps what the holder's pens have counted.
	foldCounts = `WITH gone AS (
			DELETE FROM dogear.counts WHERE pen >= $1::bigint * 4 AND pen < $1::bigint * 4 + 4 RETURNING job, what, key, n
		)
		INSERT INTO dogear.counts AS c (job, what, key, pen, n)
		SELECT job, what, key, 0, sum(n) FROM gone GROUP BY job, what, key HAVING sum(n) <> 0 ORDER BY job, what, key
		ON CONFLICT (job, what, key, pen) DO UPDATE SET n = c.n + excluded.n`
)

// errAlive says that a holder is not dead: it has renewed its lease.
var errAlive = errors.New("its lease is good")

// reap ends a holder and all that ends with it: runs, requests, claims and listings. Its
// pens come first: what they write and what this does never wait for each other crosswise.
// The error is errAlive, for a transaction to be undone, where the lease is good, unless the
// holder is this process.
func (tx *tx) reap(ctx context.Context, holder int64) error {
	b := tx.batch()
	found := false
	b.Queue(stopPens, holder)
	each(b, removeHolder+` RETURNING n`, func(pgx.Rows) error {
		found = true
		return nil
	}, holder, holder == tx.me.Load())
	if err := tx.send(ctx, b); err != nil {
		return err
	}
	if !found {
		return errAlive
	}
	tx.last = holder == tx.me.Load()
	return tx.inherit(ctx, holder)
}

// inherit puts in order what a holder leaves.
func (tx *tx) inherit(ctx context.Context, holder int64) error {
	docs, sets := []int64{}, map[string]bool{}
	b := tx.batch()
	b.Queue(interruptRuns, holder)
	each(b, doubtOpen, func(r pgx.Rows) error {
		var doc int64
		var keys string
		err := r.Scan(&doc, &keys)
		docs, sets[keys] = append(docs, doc), true
		return err
	}, holder, int16(dogear.Doubtful))
	if err := tx.send(ctx, b); err != nil {
		return err
	}
	if err := tx.free(ctx, holder, 0, docs); err != nil {
		return err
	}
	var keys []string
	for set := range sets {
		keys = append(keys, split(set)...)
	}
	b = tx.batch()
	if len(keys) > 0 { // one of them may have been answered by a throttle that nobody wrote down
		b.Queue(lockSome, keys)
		b.Queue(doubtScopes, keys)
		tx.tell = true
	}
	b.Queue(dropListings, holder)
	b.Queue(foldCounts, holder)
	b.Queue(foldRuns, holder)
	return tx.send(ctx, b)
}

// freeDocuments takes a holder's documents out of flight, those of a range of numbers. Where
// a request is open its document is in doubt, else it is pending.
const freeDocuments = `UPDATE dogear.documents SET holder = NULL,
		state = CASE WHEN seq = ANY($4) THEN 7 ELSE 0 END,
		reason = CASE WHEN seq = ANY($4) THEN 'interrupted' ELSE reason END
	WHERE holder = $1 AND seq > $2 AND seq <= $3 RETURNING seq, lane, state`

// free takes a holder's documents out of flight, those of one job or, with job 0, of all.
func (tx *tx) free(ctx context.Context, holder, job int64, doubted []int64) error {
	after, last := rangeOf(job)
	if job == 0 {
		after, last = 0, 1<<63-1
	}
	return tx.rows(ctx, freeDocuments, func(r pgx.Rows) error {
		var seq, lane int64
		var state dogear.State
		err := r.Scan(&seq, &lane, &state)
		tx.moved(seq, lane, dogear.InFlight, state)
		return err
	}, holder, after, last, doubted)
}

// readDead finds the holders whose lease has run out.
const readDead = `SELECT n, pid FROM dogear.holders WHERE n <> $1 AND expires <= dogear.now() ORDER BY n`

// reapDead ends all holders that are dead, each in a transaction of its own, before whatever
// wants them gone.
func (s *Store) reapDead(ctx context.Context) error {
	type dead struct {
		n   int64
		pid int
	}
	var all []dead
	if err := s.join(ctx); err != nil {
		return err
	}
	err := s.read(ctx, func(ctx context.Context, c conn) error {
		all = all[:0]
		return c.rows(ctx, readDead, func(r pgx.Rows) error {
			var d dead
			err := r.Scan(&d.n, &d.pid)
			all = append(all, d)
			return err
		}, s.me.Load())
	})
	for _, d := range all {
		if err != nil {
			break
		}
		err = s.actAlone(ctx, workPen, func(ctx context.Context, tx *tx) error { return tx.reap(ctx, d.n) })
		if err == errAlive {
			err = nil
		}
		if err != nil {
			err = fmt.Errorf("close what process %d left: %w", d.pid, err)
		}
	}
	return err
}

// leave ends this process's holder. The pens' goroutines have ended.
func (s *Store) leave(ctx context.Context) error {
	if s.me.Load() == 0 {
		return nil
	}
	if s.lost.Load() {
		return ledger.ErrLeaseLost
	}
	p := s.pens[workPen]
	c := &call{ctx: ctx, alone: true, done: make(chan error, 1), work: func(ctx context.Context, tx *tx) error {
		return tx.reap(ctx, s.me.Load())
	}}
	p.turn(ctx, c)
	return <-c.done
}
