package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	// findRunning looks at the open runs, of which there are few.
	findRunning = `SELECT r.pid, h.host FROM dogear.runs r JOIN dogear.holders h ON h.n = r.holder
		WHERE r.ended = 0 AND r.job = $1`

	// believeDocuments makes documents in doubt pending: whatever their requests did, nobody
	// will say.
	believeDocuments = `UPDATE dogear.documents SET state = 0, holder = NULL
		WHERE state > 2 AND state = 7 AND seq > $1 AND seq <= $2 RETURNING seq, lane`

	addRun = `INSERT INTO dogear.runs (job, number, holder, pid, started, deadline)
		SELECT $1::bigint, coalesce((SELECT max(number) FROM dogear.runs WHERE job = $1::bigint), 0) + 1, $2::bigint, $3::integer,
			dogear.nanos(clock_timestamp()), $4::bigint
		RETURNING id, number, started`
)

// Begin starts a run, after closing what dead holders left.
func (s *Store) Begin(ctx context.Context, job int64, deadline time.Time) (ledger.Run, error) {
	run := ledger.Run{Deadline: deadline, PID: os.Getpid()}
	err := s.reapDead(ctx)
	if err == nil {
		err = s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
			name, _, err := tx.takeJob(ctx, job)
			if err != nil {
				return err
			}
			if err := tx.notRunning(ctx, job, name); err != nil {
				return err
			}
			if err := tx.believe(ctx, job); err != nil {
				return err
			}
			var started int64
			_, err = row(ctx, tx, addRun, []any{&run.ID, &run.Number, &started}, job, tx.me.Load(), run.PID, nanos(deadline))
			run.Started = instant(started)
			return err
		})
	}
	if err != nil {
		return ledger.Run{}, fmt.Errorf("begin a run of job %d: %w", job, err)
	}
	_ = s.sweep(ctx, sweepSome) // what is left is deleted another time
	return run, nil
}

// notRunning refuses a job that a holder runs. The dead ones are reaped.
func (tx *tx) notRunning(ctx context.Context, job int64, name string) error {
	running := &ledger.RunningError{Job: name}
	found, err := row(ctx, tx, findRunning, []any{&running.PID, &running.Host}, job)
	if err != nil {
		return err
	}
	if found {
		running.Host = told(running.Host)
		return running
	}
	return nil
}

func (tx *tx) believe(ctx context.Context, job int64) error {
	after, last := rangeOf(job)
	return tx.rows(ctx, believeDocuments, func(r pgx.Rows) error {
		var seq, lane int64
		err := r.Scan(&seq, &lane)
		tx.moved(seq, lane, dogear.InDoubt, dogear.Pending)
		return err
	}, after, last)
}

const (
	endRun = `UPDATE dogear.runs SET ended = dogear.nanos(clock_timestamp()), reason = $3
		WHERE id = $1 AND ended = 0 AND holder = $2 RETURNING job`

	readOpenDocs = `SELECT doc FROM dogear.requests WHERE ended = 0 AND holder = $1`
)

// EndRun ends a run of this process's. What it still has in flight is in doubt where a
// request is open, else pending.
func (s *Store) EndRun(ctx context.Context, run int64, reason dogear.StopReason) error {
	err := s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
		me, job := tx.me.Load(), int64(0)
		open := []int64{}
		b := tx.batch()
		each(b, endRun, func(r pgx.Rows) error { return r.Scan(&job) }, run, me, string(reason))
		each(b, readOpenDocs, func(r pgx.Rows) error {
			var doc int64
			err := r.Scan(&doc)
			open = append(open, doc)
			return err
		}, me)
		if err := tx.send(ctx, b); err != nil {
			return err
		}
		if job == 0 {
			return errors.New("it has ended, or is not this process's")
		}
		return tx.free(ctx, me, job, open)
	})
	if err != nil {
		return fmt.Errorf("end run %d: %w", run, err)
	}
	return nil
}

const readRuns = `SELECT r.id, r.number, r.reason, r.started, r.ended, r.deadline, r.pid,
		coalesce(sum(c.sent), 0)::bigint, coalesce(sum(c.throttled), 0)::bigint, coalesce(sum(c.done), 0)::bigint,
		coalesce(sum(c.bytes), 0)::bigint,
		r.ended = 0 AND EXISTS (SELECT FROM dogear.holders h WHERE h.n = r.holder AND (h.n = $4 OR h.expires > dogear.now()))
	FROM dogear.runs r LEFT JOIN dogear.run_counts c ON c.run = r.id
	WHERE r.job = $1 AND r.number > $2 GROUP BY r.id ORDER BY r.number LIMIT $3`

// Runs are the job's runs, in order.
func (s *Store) Runs(ctx context.Context, job int64) iter.Seq2[ledger.Run, error] {
	return func(yield func(ledger.Run, error) bool) {
		after := int64(0)
		stream(ctx, s, "read runs", yield, func(ctx context.Context, c conn) (block []ledger.Run, err error) {
			err = c.rows(ctx, readRuns, func(r pgx.Rows) error {
				var run ledger.Run
				var reason string
				var started, ended, deadline int64
				err := r.Scan(&run.ID, &run.Number, &reason, &started, &ended, &deadline, &run.PID,
					&run.Sent, &run.Throttled, &run.Done, &run.Bytes, &run.Live)
				run.Reason = dogear.StopReason(reason)
				run.Started, run.Ended, run.Deadline = instant(started), instant(ended), instant(deadline)
				after = run.Number
				block = append(block, run)
				return err
			}, job, after, blockRows, s.me.Load())
			return block, err
		})
	}
}
