package postgres

import (
	"context"
	"fmt"
	"math"
)

const dropJob = `UPDATE dogear.jobs SET stage = 2 WHERE id = $1 AND stage = 1`

// Forget drops a job that nobody runs. Its name is free at once; its rows go bit by bit, so
// that nobody has to wait for them.
func (s *Store) Forget(ctx context.Context, job int64) error {
	err := s.reapDead(ctx)
	if err == nil {
		err = s.act(ctx, listPen, func(ctx context.Context, tx *tx) error {
			name, _, err := tx.takeJob(ctx, job)
			if err != nil {
				return err
			}
			if err := tx.notRunning(ctx, job, name); err != nil {
				return err
			}
			_, err = tx.exec(ctx, dropJob, job)
			return err
		})
	}
	if err == nil {
		err = s.sweep(ctx, math.MaxInt)
	}
	if err != nil {
		return fmt.Errorf("forget job %d: %w", job, err)
	}
	return nil
}

// sweepRows is how many rows are deleted in one transaction.
const sweepRows = 10_000

// sweepSome is how many transactions of deleting a call spends that has other things to do.
const sweepSome = 4

const (
	anyDropped = `SELECT 1 FROM dogear.jobs WHERE stage <> 1 AND stage = 2 LIMIT 1`

	// findDropped leaves out what another process is deleting.
	findDropped = `SELECT id FROM dogear.jobs WHERE stage <> 1 AND stage = 2 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`
)

// sweep deletes rows of dropped jobs, in at most n transactions. What it leaves, the next
// one deletes: nobody sees them.
func (s *Store) sweep(ctx context.Context, n int) error {
	for range n {
		var more int64
		err := s.read(ctx, func(ctx context.Context, c conn) (err error) {
			more, err = number(ctx, c, anyDropped)
			return err
		})
		if err != nil || more == 0 {
			return err
		}
		left := false
		err = s.actAlone(ctx, listPen, func(ctx context.Context, tx *tx) (err error) {
			left, err = tx.sweep(ctx)
			return err
		})
		if err != nil || !left {
			return err
		}
	}
	return nil
}

// sweeps delete a part of the tables that hold a job's rows. Their parameters are the job's
// id, or the range of its document numbers; and how many rows may go.
var sweeps = []struct {
	byJob bool
	drop  string
}{
	{true, `DELETE FROM dogear.requests WHERE n = ANY(ARRAY(SELECT n FROM dogear.requests WHERE job = $1 LIMIT $2))`},
	{false, `DELETE FROM dogear.unplaced WHERE doc = ANY(ARRAY(
		SELECT doc FROM dogear.unplaced WHERE doc > $1 AND doc <= $2 ORDER BY doc LIMIT $3))`},
	{false, `DELETE FROM dogear.results WHERE doc = ANY(ARRAY(
		SELECT doc FROM dogear.results WHERE doc > $1 AND doc <= $2 ORDER BY doc LIMIT $3))`},
	{true, `DELETE FROM dogear.ids WHERE job = $1 AND ctid = ANY(ARRAY(
		SELECT ctid FROM dogear.ids WHERE job = $1 LIMIT $2))`},
	{false, `DELETE FROM dogear.documents WHERE seq = ANY(ARRAY(
		SELECT seq FROM dogear.documents WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3))`},
}

// lastSweeps delete what is little, and the job itself.
var lastSweeps = []string{
	`DELETE FROM dogear.folders WHERE job = $1`,
	`DELETE FROM dogear.lanes WHERE job = $1`,
	`DELETE FROM dogear.run_counts WHERE run IN (SELECT id FROM dogear.runs WHERE job = $1)`,
	`DELETE FROM dogear.runs WHERE job = $1`,
	`DELETE FROM dogear.counts WHERE job = $1`,
	`DELETE FROM dogear.jobs WHERE id = $1`,
}

// sweep deletes a part of a dropped job, and reports false when there is none.
func (tx *tx) sweep(ctx context.Context) (more bool, err error) {
	job, err := number(ctx, tx, findDropped)
	if err != nil || job == 0 {
		return false, err
	}
	after, last := rangeOf(job)
	left := int64(sweepRows)
	for _, s := range sweeps {
		args := []any{after, last, left}
		if s.byJob {
			args = []any{job, left}
		}
		n, err := tx.exec(ctx, s.drop, args...)
		if err != nil {
			return false, err
		}
		if left -= n; left <= 0 {
			return true, nil
		}
	}
	b := tx.batch()
	for _, drop := range lastSweeps {
		b.Queue(drop, job)
	}
	return true, tx.send(ctx, b)
}
