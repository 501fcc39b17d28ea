package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear/ledger"
)

const (
	jobColumns = `id, name, settings, created, total, listing, cursor`

	readJob = `SELECT ` + jobColumns + ` FROM dogear.jobs WHERE name = $1 AND stage = 1`

	readJobs = `SELECT ` + jobColumns + ` FROM dogear.jobs WHERE stage = 1 AND id > $1 ORDER BY id LIMIT $2`

	// takeJob keeps others from running, listing or dropping the job meanwhile.
	takeJob = `SELECT name, listing FROM dogear.jobs WHERE id = $1 AND stage = 1 FOR UPDATE`

	setSettings = `UPDATE dogear.jobs SET settings = $2, sink = $3 WHERE id = $1 AND stage = 1`

	findSink = `SELECT name FROM dogear.jobs WHERE sink = $1 AND stage = 1 ORDER BY id LIMIT 1`
)

// Job is the job of a name.
func (s *Store) Job(ctx context.Context, name string) (job ledger.Job, err error) {
	found := false
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		return c.rows(ctx, readJob, func(r pgx.Rows) (err error) {
			found = true
			job, err = jobAt(r)
			return err
		}, kept(name))
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
func jobAt(r pgx.Rows) (j ledger.Job, err error) {
	var settings string
	var created int64
	if err := r.Scan(&j.ID, &j.Name, &settings, &created, &j.Total, &j.Listing, &j.Cursor); err != nil {
		return j, err
	}
	j.Name, j.Cursor, j.Created = told(j.Name), told(j.Cursor), instant(created)
	after, _ := rangeOf(j.ID)
	j.First = after + 1
	return j, json.Unmarshal([]byte(settings), &j.Settings)
}

// Jobs are all jobs, in the order in which they were made.
func (s *Store) Jobs(ctx context.Context) iter.Seq2[ledger.Job, error] {
	return func(yield func(ledger.Job, error) bool) {
		after := int64(0)
		stream(ctx, s, "read jobs", yield, func(ctx context.Context, c conn) (block []ledger.Job, err error) {
			err = c.rows(ctx, readJobs, func(r pgx.Rows) error {
				j, err := jobAt(r)
				after = j.ID
				block = append(block, j)
				return err
			}, after, blockRows)
			return block, err
		})
	}
}

// takeJob is the name of a job, which nobody else begins, lists or drops before the
// transaction ends, and whether its listing goes on; or ErrNoJob.
func (tx *tx) takeJob(ctx context.Context, job int64) (name string, listing bool, err error) {
	found, err := row(ctx, tx, takeJob, []any{&name, &listing}, job)
	if err == nil && !found {
		err = ledger.ErrNoJob
	}
	return told(name), listing, err
}

// SetSettings replaces what the job keeps.
func (s *Store) SetSettings(ctx context.Context, job int64, set ledger.Settings) error {
	settings, err := json.Marshal(set)
	if err == nil {
		err = s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
			n, err := tx.exec(ctx, setSettings, job, string(settings), kept(set.Sink))
			if err == nil && n == 0 {
				err = ledger.ErrNoJob
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("keep the settings of job %d: %w", job, err)
	}
	return nil
}

// SinkJob names the job that saves into the folder, or "".
func (s *Store) SinkJob(ctx context.Context, sink string) (name string, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		_, err := row(ctx, c, findSink, []any{&name}, kept(sink))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("look for the job of a sink: %w", err)
	}
	return told(name), nil
}
