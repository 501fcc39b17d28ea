package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear/ledger"
)

const (
	readOpenRun = `SELECT id, number, started, deadline, pid FROM runs INDEXED BY runs_open WHERE ended = 0 AND job = ?`

	setHelps = `UPDATE holders SET helps = ?2 WHERE n = ?1`

	countHeld = `SELECT count(*) FROM documents INDEXED BY documents_held
		WHERE holder = ? AND seq > ? AND seq <= ?`

	readWorkers = `SELECT pid, host, started, n, lock, boot, expires FROM holders WHERE helps = ? ORDER BY n`
)

// Join lets this process help with the run of a job.
func (s *Store) Join(ctx context.Context, job int64) (run ledger.Run, err error) {
	err = s.act(ctx, func(tx *tx) error {
		if _, err := tx.jobName(job); err != nil {
			return err
		}
		if err := tx.reapDead(); err != nil {
			return err
		}
		found, err := tx.conn.row(readOpenRun, func(r *sqlite.Stmt) {
			run = ledger.Run{ID: r.ColumnInt64(0), Number: r.ColumnInt64(1), Started: instantAt(r, 2), Deadline: instantAt(r, 3), PID: r.ColumnInt(4), Live: true}
		}, job)
		if err != nil {
			return err
		}
		if !found {
			return ledger.ErrNotRunning
		}
		return tx.conn.exec(setHelps, tx.me.Load().n, run.ID)
	})
	if err != nil {
		return ledger.Run{}, fmt.Errorf("join the run of job %d: %w", job, err)
	}
	return run, nil
}

// Leave ends the help with a run. What this process still has in flight is in doubt where a
// request is open, else pending.
func (s *Store) Leave(ctx context.Context, job int64) error {
	err := s.act(ctx, func(tx *tx) error {
		me := tx.me.Load().n
		doubted, err := tx.openDocs(me)
		if err != nil {
			return err
		}
		if err := tx.free(me, job, doubted); err != nil {
			return err
		}
		return tx.conn.exec(setHelps, me, 0)
	})
	if err != nil {
		return fmt.Errorf("leave job %d: %w", job, err)
	}
	return nil
}

// Others counts the job's documents that other holders have in flight. What the dead among
// them left is free after it.
func (s *Store) Others(ctx context.Context, job int64) (n int64, err error) {
	after, last := rangeOf(job)
	err = s.act(ctx, func(tx *tx) error {
		n = 0
		if err := tx.reapDead(); err != nil {
			return err
		}
		if err := tx.believe(job); err != nil {
			return err
		}
		all, err := allHolders(tx.conn)
		if err != nil {
			return err
		}
		for _, h := range all {
			if h.n == tx.me.Load().n {
				continue
			}
			held, err := tx.conn.number(countHeld, h.n, after, last)
			if err != nil {
				return err
			}
			n += held
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("look for documents of job %d in flight elsewhere: %w", job, err)
	}
	return n, nil
}

// Workers are those that help with a run and live.
func (s *Store) Workers(ctx context.Context, run int64) ([]ledger.Worker, error) {
	var all []ledger.Worker
	err := s.read(ctx, func(c conn) error {
		all = all[:0]
		return c.rows(readWorkers, func(r *sqlite.Stmt) {
			h := holder{n: r.ColumnInt64(3), lock: r.ColumnText(4), boot: r.ColumnText(5), expires: r.ColumnInt64(6)}
			if s.alive(h, false) {
				all = append(all, ledger.Worker{PID: r.ColumnInt(0), Host: r.ColumnText(1), Since: instantAt(r, 2)})
			}
		}, run)
	})
	if err != nil {
		return nil, fmt.Errorf("look for the workers of run %d: %w", run, err)
	}
	return all, nil
}

// openDocs are the documents for which a holder has a request in flight.
func (tx *tx) openDocs(holder int64) (map[int64]bool, error) {
	docs := map[int64]bool{}
	err := tx.conn.rows(readOpenDocs, func(r *sqlite.Stmt) { docs[r.ColumnInt64(0)] = true }, holder)
	return docs, err
}
