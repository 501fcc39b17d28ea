package sqlite

import (
	"context"
	"fmt"
	"math"

	"zombiezen.com/go/sqlite"
)

const dropJob = `UPDATE jobs SET stage = 2 WHERE id = ? AND stage = 1`

// Forget drops a job that nobody runs. Its name is free at once; its rows go bit by bit, so
// that nobody has to wait for them.
func (s *Store) Forget(ctx context.Context, job int64) error {
	err := s.do(ctx, func(tx *tx) error {
		name, err := tx.jobName(job)
		if err != nil {
			return err
		}
		if err := tx.reapDead(); err != nil {
			return err
		}
		if err := tx.notRunning(job, name); err != nil {
			return err
		}
		return tx.conn.exec(dropJob, job)
	})
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

// sweep deletes rows of dropped jobs, in at most n transactions. What it leaves, the next
// one deletes: nobody sees them.
func (s *Store) sweep(ctx context.Context, n int) error {
	for range n {
		more := false
		err := s.doAlone(ctx, func(tx *tx) (err error) {
			more, err = tx.sweep()
			return err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

const findDropped = `SELECT id FROM jobs INDEXED BY jobs_unready WHERE stage <> 1 AND stage = 2 ORDER BY id LIMIT 1`

// sweeps are the tables that hold a job's rows: find tells where a part of them ends, and
// drop deletes the part. Their first parameters are the job's id, or the range of its
// document numbers.
var sweeps = []struct {
	byJob      bool
	find, drop string
}{
	{
		true,
		`SELECT n FROM requests WHERE job = ?1 ORDER BY n LIMIT 1 OFFSET ?2`,
		`DELETE FROM requests WHERE job = ?1 AND n <= ?2`,
	},
	{
		false,
		`SELECT doc FROM unplaced WHERE doc > ?1 AND doc <= ?2 ORDER BY doc LIMIT 1 OFFSET ?3`,
		`DELETE FROM unplaced WHERE doc > ?1 AND doc <= min(?2, ?3)`,
	},
	{
		false,
		`SELECT doc FROM results WHERE doc > ?1 AND doc <= ?2 ORDER BY doc LIMIT 1 OFFSET ?3`,
		`DELETE FROM results WHERE doc > ?1 AND doc <= min(?2, ?3)`,
	},
	{
		true,
		`SELECT hash FROM ids WHERE job = ?1 ORDER BY hash LIMIT 1 OFFSET ?2`,
		`DELETE FROM ids WHERE job = ?1 AND hash <= ?2`,
	},
	{
		false,
		`SELECT seq FROM documents WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT 1 OFFSET ?3`,
		`DELETE FROM documents WHERE seq > ?1 AND seq <= min(?2, ?3)`,
	},
}

// lastSweeps delete what is little, and the job itself.
var lastSweeps = []string{
	`DELETE FROM folders WHERE job = ?`,
	`DELETE FROM lanes WHERE job = ?`,
	`DELETE FROM runs WHERE job = ?`,
	`DELETE FROM counts WHERE job = ?`,
	`DELETE FROM jobs WHERE id = ?`,
}

// sweep deletes a part of a dropped job, and reports false when there is none.
func (tx *tx) sweep() (more bool, err error) {
	job, err := tx.conn.number(findDropped)
	if err != nil || job == 0 {
		return false, err
	}
	after, last := rangeOf(job)
	left := int64(sweepRows)
	for _, s := range sweeps {
		args := []any{after, last, left - 1}
		if s.byJob {
			args = []any{job, left - 1}
		}
		end := int64(math.MaxInt64)
		more, err := tx.conn.row(s.find, func(r *sqlite.Stmt) { end = r.ColumnInt64(0) }, args...)
		if err != nil {
			return false, err
		}
		args[len(args)-1] = end
		if err := tx.conn.exec(s.drop, args...); err != nil {
			return false, err
		}
		if left -= tx.changed(); more || left <= 0 {
			return true, nil
		}
	}
	for _, drop := range lastSweeps {
		if err := tx.conn.exec(drop, job); err != nil {
			return false, err
		}
	}
	return true, nil
}
