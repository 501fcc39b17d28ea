package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	// findRunning looks at the open runs, of which there are few.
	findRunning = `SELECT r.pid, h.host FROM runs r INDEXED BY runs_open JOIN holders h ON h.n = r.holder
		WHERE r.ended = 0 AND r.job = ?`

	readDoubted = `SELECT seq, lane FROM documents INDEXED BY documents_ended
		WHERE state > 2 AND state = 7 AND seq > ? AND seq <= ?`

	lastRun = `SELECT coalesce(max(number), 0) FROM runs WHERE job = ?`

	addRun = `INSERT INTO runs (job, number, holder, pid, reason, started, ended, deadline, sent, throttled, done, bytes)
		VALUES (?, ?, ?, ?, '', ?, 0, ?, 0, 0, 0, 0)`
)

// Begin starts a run, after closing what dead holders left.
func (s *Store) Begin(ctx context.Context, job int64, deadline time.Time) (ledger.Run, error) {
	var run ledger.Run
	err := s.act(ctx, func(tx *tx) error {
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
		if err := tx.believe(job); err != nil {
			return err
		}
		last, err := tx.conn.number(lastRun, job)
		if err != nil {
			return err
		}
		run = ledger.Run{Number: last + 1, Started: tx.wall, Deadline: deadline, PID: os.Getpid()}
		if err := tx.conn.exec(addRun, job, run.Number, tx.me.Load().n, run.PID, run.Started, deadline); err != nil {
			return err
		}
		run.ID = tx.conn.LastInsertRowID()
		return nil
	})
	if err != nil {
		return ledger.Run{}, fmt.Errorf("begin a run of job %d: %w", job, err)
	}
	_ = s.sweep(ctx, sweepSome) // what is left is deleted another time
	return run, nil
}

// notRunning refuses a job that a holder runs. The dead ones are reaped.
func (tx *tx) notRunning(job int64, name string) error {
	running := &ledger.RunningError{Job: name}
	found, err := tx.conn.row(findRunning, func(r *sqlite.Stmt) {
		running.PID, running.Host = r.ColumnInt(0), r.ColumnText(1)
	}, job)
	if err != nil {
		return err
	}
	if found {
		return running
	}
	return nil
}

// believe makes the job's documents in doubt pending: whatever their requests did, nobody
// will say.
func (tx *tx) believe(job int64) error {
	after, last := rangeOf(job)
	type doubted struct{ seq, lane int64 }
	var docs []doubted
	err := tx.conn.rows(readDoubted, func(r *sqlite.Stmt) {
		docs = append(docs, doubted{r.ColumnInt64(0), r.ColumnInt64(1)})
	}, after, last)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if err := tx.conn.exec(freeDocument, d.seq, int(dogear.Pending), nil); err != nil {
			return err
		}
		tx.moved(d.seq, d.lane, dogear.InDoubt, dogear.Pending)
	}
	return nil
}

const (
	readRun = `SELECT job FROM runs WHERE id = ? AND ended = 0 AND holder = ?`

	endRun = `UPDATE runs SET ended = ?2, reason = ?3 WHERE id = ?1`

	readOpenDocs = `SELECT doc FROM requests INDEXED BY requests_open WHERE ended = 0 AND holder = ?`
)

// EndRun ends a run of this process's. What it still has in flight is in doubt where a
// request is open, else pending.
func (s *Store) EndRun(ctx context.Context, run int64, reason dogear.StopReason) error {
	err := s.act(ctx, func(tx *tx) error {
		me := tx.me.Load().n
		job, err := tx.conn.number(readRun, run, me)
		if err != nil {
			return err
		}
		if job == 0 {
			return errors.New("it has ended, or is not this process's")
		}
		doubted, err := tx.openDocs(me)
		if err != nil {
			return err
		}
		if err := tx.free(me, job, doubted); err != nil {
			return err
		}
		return tx.conn.exec(endRun, run, tx.wall, string(reason))
	})
	if err != nil {
		return fmt.Errorf("end run %d: %w", run, err)
	}
	return nil
}

const readRuns = `SELECT id, number, reason, started, ended, deadline, sent, throttled, done, bytes, pid, holder
	FROM runs WHERE job = ? AND number > ? ORDER BY number LIMIT ?`

// Runs are the job's runs, in order.
func (s *Store) Runs(ctx context.Context, job int64) iter.Seq2[ledger.Run, error] {
	return func(yield func(ledger.Run, error) bool) {
		after := int64(0)
		stream(ctx, s, "read runs", yield, func(c conn) (block []ledger.Run, err error) {
			holders := map[int64]bool{}
			if all, err := allHolders(c); err != nil {
				return nil, err
			} else {
				for _, h := range all {
					holders[h.n] = s.alive(h, false)
				}
			}
			err = c.rows(readRuns, func(r *sqlite.Stmt) {
				after = r.ColumnInt64(1)
				block = append(block, ledger.Run{
					ID: r.ColumnInt64(0), Number: after, Reason: dogear.StopReason(r.ColumnText(2)),
					Started: instantAt(r, 3), Ended: instantAt(r, 4), Deadline: instantAt(r, 5),
					Sent: r.ColumnInt64(6), Throttled: r.ColumnInt64(7), Done: r.ColumnInt64(8),
					Bytes: r.ColumnInt64(9), PID: r.ColumnInt(10),
					Live: r.ColumnInt64(4) == 0 && holders[r.ColumnInt64(11)],
				})
			}, job, after, blockRows)
			return block, err
		})
	}
}
