package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear/ledger"
)

const (
	jobColumns = `id, name, settings, created, total, listing, cursor`

	readJob = `SELECT ` + jobColumns + ` FROM jobs WHERE name = ? AND stage = 1`

	readJobs = `SELECT ` + jobColumns + ` FROM jobs WHERE stage = 1 AND id > ? ORDER BY id LIMIT ?`

	readJobName = `SELECT name FROM jobs WHERE id = ? AND stage = 1`

	setSettings = `UPDATE jobs SET settings = ?2, sink = ?3 WHERE id = ?1 AND stage = 1`

	findSink = `SELECT name FROM jobs WHERE sink = ? AND stage = 1 ORDER BY id LIMIT 1`
)

// Job is the job of a name.
func (s *Store) Job(ctx context.Context, name string) (job ledger.Job, err error) {
	found := false
	err = s.read(ctx, func(c conn) (err error) {
		var bad error
		found, err = c.row(readJob, func(r *sqlite.Stmt) { job, bad = jobAt(r) }, name)
		if err == nil {
			err = bad
		}
		return err
	})
	if err == nil && !found {
		err = ledger.ErrNoJob
	}
	if err != nil {
		return ledger.Job{}, fmt.Errorf("look for job %s: %w", name, err)
	}
	return job, nil
}

// jobAt reads a row of jobColumns.
func jobAt(r *sqlite.Stmt) (ledger.Job, error) {
	j := ledger.Job{ID: r.ColumnInt64(0), Name: r.ColumnText(1), Created: instantAt(r, 3), Total: r.ColumnInt64(4),
		Listing: r.ColumnBool(5), Cursor: r.ColumnText(6)}
	after, _ := rangeOf(j.ID)
	j.First = after + 1
	return j, json.Unmarshal([]byte(r.ColumnText(2)), &j.Settings)
}

// Jobs are all jobs, in the order in which they were made.
func (s *Store) Jobs(ctx context.Context) iter.Seq2[ledger.Job, error] {
	return func(yield func(ledger.Job, error) bool) {
		after := int64(0)
		stream(ctx, s, "read jobs", yield, func(c conn) (block []ledger.Job, err error) {
			var bad error
			err = c.rows(readJobs, func(r *sqlite.Stmt) {
				j, err := jobAt(r)
				if err != nil {
					bad = err
				}
				after = j.ID
				block = append(block, j)
			}, after, blockRows)
			if err == nil {
				err = bad
			}
			return block, err
		})
	}
}

// jobName is the name of a job, or ErrNoJob.
func (tx *tx) jobName(job int64) (string, error) {
	var name string
	found, err := tx.conn.row(readJobName, func(r *sqlite.Stmt) { name = r.ColumnText(0) }, job)
	if err == nil && !found {
		err = ledger.ErrNoJob
	}
	return name, err
}

// SetSettings replaces what the job keeps.
func (s *Store) SetSettings(ctx context.Context, job int64, set ledger.Settings) error {
	kept, err := json.Marshal(set)
	if err == nil {
		err = s.do(ctx, func(tx *tx) error {
			if err := tx.conn.exec(setSettings, job, string(kept), set.Sink); err != nil {
				return err
			}
			if tx.changed() == 0 {
				return ledger.ErrNoJob
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("keep the settings of job %d: %w", job, err)
	}
	return nil
}

// SinkJob names the job that saves into the folder, or "".
func (s *Store) SinkJob(ctx context.Context, sink string) (name string, err error) {
	err = s.read(ctx, func(c conn) error {
		_, err := c.row(findSink, func(r *sqlite.Stmt) { name = r.ColumnText(0) }, sink)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("look for the job of a sink: %w", err)
	}
	return name, nil
}
