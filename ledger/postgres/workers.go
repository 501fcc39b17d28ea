package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear/ledger"
)

const (
	readOpenRun = `SELECT r.id, r.number, r.started, r.deadline, r.pid FROM dogear.runs r
		JOIN dogear.holders h ON h.n = r.holder WHERE r.ended = 0 AND r.job = $1`

	setHelps = `UPDATE dogear.holders SET helps = $2 WHERE n = $1`

	countHeld = `SELECT count(*) FROM dogear.documents
		WHERE holder IS NOT NULL AND holder <> $1 AND seq > $2 AND seq <= $3`

	readWorkers = `SELECT pid, host, started FROM dogear.holders WHERE helps = $1 AND (n = $2 OR expires > dogear.now()) ORDER BY n`
)

// Join lets this process help with the run of a job.
func (s *Store) Join(ctx context.Context, job int64) (run ledger.Run, err error) {
	err = s.reapDead(ctx)
	if err == nil {
		err = s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
			if _, _, err := tx.takeJob(ctx, job); err != nil {
				return err
			}
			var started, deadline int64
			found, err := row(ctx, tx, readOpenRun, []any{&run.ID, &run.Number, &started, &deadline, &run.PID}, job)
			if err != nil {
				return err
			}
			if !found {
				return ledger.ErrNotRunning
			}
			run.Started, run.Deadline, run.Live = instant(started), instant(deadline), true
			_, err = tx.exec(ctx, setHelps, tx.me.Load(), run.ID)
			return err
		})
	}
	if err != nil {
		return ledger.Run{}, fmt.Errorf("join the run of job %d: %w", job, err)
	}
	return run, nil
}

// Leave ends the help with a run. What this process still has in flight is in doubt where a
// request is open, else pending.
func (s *Store) Leave(ctx context.Context, job int64) error {
	err := s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
		me, open := tx.me.Load(), []int64{}
		err := tx.rows(ctx, readOpenDocs, func(r pgx.Rows) error {
			var doc int64
			err := r.Scan(&doc)
			open = append(open, doc)
			return err
		}, me)
		if err != nil {
			return err
		}
		if err := tx.free(ctx, me, job, open); err != nil {
			return err
		}
		_, err = tx.exec(ctx, setHelps, me, 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("leave job %d: %w", job, err)
	}
	return nil
}

// Others counts the job's documents that other holders have in flight. What the dead among
// them left is free after it.
func (s *Store) Others(ctx context.Context, job int64) (n int64, err error) {
	err = s.reapDead(ctx)
	if err == nil {
		err = s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
			if err := tx.believe(ctx, job); err != nil {
				return err
			}
			after, last := rangeOf(job)
			_, err := row(ctx, tx, countHeld, []any{&n}, tx.me.Load(), after, last)
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("look for documents of job %d in flight elsewhere: %w", job, err)
	}
	return n, nil
}

// Workers are those that help with a run and live.
func (s *Store) Workers(ctx context.Context, run int64) ([]ledger.Worker, error) {
	var all []ledger.Worker
	err := s.read(ctx, func(ctx context.Context, c conn) error {
		all = all[:0]
		return c.rows(ctx, readWorkers, func(r pgx.Rows) error {
			var w ledger.Worker
			var since int64
			err := r.Scan(&w.PID, &w.Host, &since)
			w.Host, w.Since = told(w.Host), instant(since)
			all = append(all, w)
			return err
		}, run, s.me.Load())
	})
	if err != nil {
		return nil, fmt.Errorf("look for the workers of run %d: %w", run, err)
	}
	return all, nil
}
