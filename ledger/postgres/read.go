package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// blockRows is how many rows a stream reads at once. Between blocks it holds no connection
// and no snapshot, so that whoever reads slowly keeps no vacuum from its work.
const blockRows = 512

// stream yields what block reads, a block at a time, until one is not full.
func stream[T any](ctx context.Context, s *Store, what string, yield func(T, error) bool, block func(context.Context, conn) ([]T, error)) {
	for {
		var rows []T
		err := s.snapshot(ctx, func(ctx context.Context, c conn) (err error) {
			rows, err = block(ctx, c)
			return err
		})
		if err != nil {
			var none T
			yield(none, fmt.Errorf("%s: %w", what, err))
			return
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if len(rows) < blockRows {
			return
		}
	}
}

const (
	resultColumns = `r.doc, d.id, r.version, r.path, r.size, r.sha256, r.content_type, r.read_at`

	readResults = `SELECT ` + resultColumns + `, coalesce((SELECT number FROM dogear.runs WHERE id = r.run), 0)
		FROM dogear.results r JOIN dogear.documents d ON d.seq = r.doc
		WHERE r.doc > $1 AND r.doc <= $2 ORDER BY r.doc LIMIT $3`

	readUnplaced = `SELECT ` + resultColumns + `, r.run, u.temp, u.folded
		FROM dogear.unplaced u JOIN dogear.results r ON r.doc = u.doc JOIN dogear.documents d ON d.seq = u.doc
		WHERE u.doc > $1 AND u.doc <= $2 ORDER BY u.doc LIMIT $3`
)

// resultAt reads a row that begins with resultColumns and the run.
func resultAt(r pgx.Rows, more ...any) (d dogear.Result, err error) {
	var sum []byte
	var readAt int64
	dest := append([]any{&d.Doc, &d.ID, &d.Version, &d.Path, &d.Size, &sum, &d.ContentType, &readAt, &d.Run}, more...)
	err = r.Scan(dest...)
	d.ID, d.Version, d.Path, d.ContentType = told(d.ID), told(d.Version), told(d.Path), told(d.ContentType)
	d.SHA256, d.ReadAt = digestOf(sum), instant(readAt)
	return d, err
}

// Results are the documents that are done, in the order of the list.
func (s *Store) Results(ctx context.Context, job int64) iter.Seq2[dogear.Result, error] {
	return func(yield func(dogear.Result, error) bool) {
		after, last := rangeOf(job)
		stream(ctx, s, "read results", yield, func(ctx context.Context, c conn) (block []dogear.Result, err error) {
			err = c.rows(ctx, readResults, func(r pgx.Rows) error {
				d, err := resultAt(r)
				block = append(block, d)
				return err
			}, after, last, blockRows)
			if len(block) > 0 {
				after = block[len(block)-1].Doc
			}
			return block, err
		})
	}
}

// Unplaced are the job's results that may not have their final name yet.
func (s *Store) Unplaced(ctx context.Context, job int64) iter.Seq2[ledger.Settlement, error] {
	return func(yield func(ledger.Settlement, error) bool) {
		after, last := rangeOf(job)
		stream(ctx, s, "read unplaced results", yield, func(ctx context.Context, c conn) (block []ledger.Settlement, err error) {
			err = c.rows(ctx, readUnplaced, func(r pgx.Rows) (err error) {
				var u ledger.Settlement
				u.Result, err = resultAt(r, &u.Temp, &u.Folded)
				u.Temp, u.Folded = told(u.Temp), told(u.Folded)
				block = append(block, u)
				return err
			}, after, last, blockRows)
			if len(block) > 0 {
				after = block[len(block)-1].Doc
			}
			return block, err
		})
	}
}

const readRemaining = `SELECT seq, id, version, found, state, attempts, not_before, reason, lane, name
	FROM dogear.documents WHERE state <> 2 AND seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3`

// Remaining are the documents that are not done, in the order of the list.
func (s *Store) Remaining(ctx context.Context, job int64) iter.Seq2[ledger.Remaining, error] {
	return func(yield func(ledger.Remaining, error) bool) {
		after, last := rangeOf(job)
		var waits map[int64]int64
		stream(ctx, s, "read what remains", yield, func(ctx context.Context, c conn) (block []ledger.Remaining, err error) {
			if waits == nil {
				if waits, err = s.laneWaits(ctx, c, job); err != nil {
					return nil, err
				}
			}
			var now, wall int64
			if _, err := row(ctx, c, readMoment, []any{&now, &wall}); err != nil {
				return nil, err
			}
			err = c.rows(ctx, readRemaining, func(r pgx.Rows) error {
				var rem ledger.Remaining
				var at, lane int64
				var state int16
				err := r.Scan(&rem.Seq, &rem.ID, &rem.Version, &rem.Found, &state, &rem.Attempts, &at, &rem.Reason, &lane, &rem.Name)
				rem.Name = told(rem.Name)
				rem.ID, rem.Version, rem.Found, rem.Reason = told(rem.ID), told(rem.Version), told(rem.Found), told(rem.Reason)
				if rem.State = dogear.State(state); rem.State == dogear.Pending || rem.State == dogear.InDoubt {
					if at = max(at, waits[lane]); at > now {
						rem.NotBefore = instant(later(at, wall-now))
					}
				}
				after = rem.Seq
				block = append(block, rem)
				return err
			}, after, last, blockRows)
			return block, err
		})
	}
}

const readWaits = `SELECT key, not_before FROM dogear.scopes WHERE key = ANY($1)`

// laneWaits are the moments, on the ledger's clock, before which the lanes of a job are
// closed.
func (s *Store) laneWaits(ctx context.Context, c conn, job int64) (map[int64]int64, error) {
	lanes, err := s.lanes(ctx, c, job)
	if err != nil {
		return nil, err
	}
	keys := []string{}
	for _, l := range lanes {
		keys = append(keys, l.Scopes...)
	}
	scopes, waits := map[string]int64{}, map[int64]int64{}
	err = c.rows(ctx, readWaits, func(r pgx.Rows) error {
		var key string
		var at int64
		err := r.Scan(&key, &at)
		scopes[key] = at
		return err
	}, sorted(keys))
	for _, l := range lanes {
		for _, key := range l.Scopes {
			waits[l.ID] = max(waits[l.ID], scopes[key])
		}
	}
	return waits, err
}

// readRequests reads in the order of granting: runs are numbered in order, each is one
// process's, and a process numbers its requests in order.
const readRequests = `SELECT q.n, q.parent, q.job, coalesce((SELECT number FROM dogear.runs WHERE id = q.run), 0), q.doc,
		coalesce(d.id, ''), q.scopes, q.kind, q.granted, q.sent, q.ended, q.status, q.outcome, q.hint, q.until, q.bytes, q.run
	FROM dogear.requests q LEFT JOIN dogear.documents d ON d.seq = q.doc
	WHERE q.job = $1 AND (q.run, q.n) > ($2, $3) ORDER BY q.run, q.n LIMIT $4`

// Requests are all requests of the job, in the order in which they were granted.
func (s *Store) Requests(ctx context.Context, job int64) iter.Seq2[dogear.Request, error] {
	return func(yield func(dogear.Request, error) bool) {
		run, after := int64(-1), int64(0)
		stream(ctx, s, "read requests", yield, func(ctx context.Context, c conn) (block []dogear.Request, err error) {
			var sets []int64
			err = c.rows(ctx, readRequests, func(r pgx.Rows) error {
				var q dogear.Request
				var set, granted, sent, ended, until int64
				var kind, outcome int16
				err := r.Scan(&q.N, &q.Parent, &q.Job, &q.Run, &q.Doc, &q.DocID, &set, &kind, &granted, &sent, &ended,
					&q.Status, &outcome, &q.Hint, &until, &q.Bytes, &run)
				q.Kind, q.Outcome, q.DocID, q.Hint = dogear.Kind(kind), dogear.Outcome(outcome), told(q.DocID), told(q.Hint)
				q.Granted, q.Sent, q.Ended, q.Until = instant(granted), instant(sent), instant(ended), instant(until)
				after = q.N
				block, sets = append(block, q), append(sets, set)
				return err
			}, job, run, after, blockRows)
			for i := range block {
				if err != nil {
					break
				}
				block[i].Scopes, err = s.keysOf(ctx, c, sets[i])
			}
			return block, err
		})
	}
}

// rangeOf is the range of a job's document numbers: more than after, at most last.
func rangeOf(job int64) (after, last int64) { return job << 32, job<<32 | (1<<32 - 1) }

func jobOf(seq int64) int64 { return seq >> 32 }
