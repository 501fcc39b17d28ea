package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// blockRows is how many rows a stream reads at once. Between blocks it holds no connection
// and no snapshot, so that whoever reads slowly keeps no checkpoint from its work.
const blockRows = 512

// read lends work a connection that reads.
func (s *Store) read(ctx context.Context, work func(conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.quit:
		return ErrClosed
	default:
	}
	var c conn
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.quit:
		return ErrClosed
	}
	defer func() { s.readers <- c }()
	if c.Conn == nil {
		var err error
		if c, err = connect(s.path, sqlite.OpenReadOnly); err != nil {
			return err
		}
	}
	return work(c)
}

// snapshot is read for work of several statements that have to agree.
func (s *Store) snapshot(ctx context.Context, work func(conn) error) error {
	return s.read(ctx, func(c conn) (err error) {
		if err := c.exec(`BEGIN`); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.exec(`COMMIT`)) }()
		return work(c)
	})
}

// stream yields what block reads, a block at a time, until one is not full.
func stream[T any](ctx context.Context, s *Store, what string, yield func(T, error) bool, block func(conn) ([]T, error)) {
	for {
		var rows []T
		err := s.snapshot(ctx, func(c conn) (err error) {
			rows, err = block(c)
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

const readResults = `SELECT r.doc, d.id, r.version, r.path, r.size, r.sha256, r.content_type, r.read_at,
		COALESCE((SELECT number FROM runs WHERE id = r.run), 0)
	FROM results r JOIN documents d ON d.seq = r.doc
	WHERE r.doc > ? AND r.doc <= ? ORDER BY r.doc LIMIT ?`

// Results are the documents that are done, in the order of the list.
func (s *Store) Results(ctx context.Context, job int64) iter.Seq2[dogear.Result, error] {
	return func(yield func(dogear.Result, error) bool) {
		after, last := rangeOf(job)
		stream(ctx, s, "read results", yield, func(c conn) (block []dogear.Result, err error) {
			err = c.rows(readResults, func(r *sqlite.Stmt) {
				after = r.ColumnInt64(0)
				block = append(block, dogear.Result{
					Doc: after, ID: r.ColumnText(1), Version: r.ColumnText(2), Path: r.ColumnText(3),
					Size: r.ColumnInt64(4), SHA256: digestAt(r, 5), ContentType: r.ColumnText(6),
					ReadAt: instantAt(r, 7), Run: r.ColumnInt64(8),
				})
			}, after, last, blockRows)
			return block, err
		})
	}
}

const readRemaining = `SELECT seq, id, version, found, state, attempts, not_before, reason, lane, name
	FROM documents INDEXED BY documents_left
	WHERE done = 0 AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`

// Remaining are the documents that are not done, in the order of the list.
func (s *Store) Remaining(ctx context.Context, job int64) iter.Seq2[ledger.Remaining, error] {
	return func(yield func(ledger.Remaining, error) bool) {
		after, last := rangeOf(job)
		var waits map[int64]int64
		stream(ctx, s, "read what remains", yield, func(c conn) (block []ledger.Remaining, err error) {
			if waits == nil {
				if waits, err = s.laneWaits(c, job); err != nil {
					return nil, err
				}
			}
			now := s.clock.now()
			err = c.rows(readRemaining, func(r *sqlite.Stmt) {
				after = r.ColumnInt64(0)
				rem := ledger.Remaining{
					Seq: after, ID: r.ColumnText(1), Version: r.ColumnText(2), Found: r.ColumnText(3),
					State: dogear.State(r.ColumnInt(4)), Attempts: r.ColumnInt(5), Reason: r.ColumnText(7), Name: r.ColumnText(9),
				}
				if rem.State == dogear.Pending || rem.State == dogear.InDoubt {
					if at := max(r.ColumnInt64(6), waits[r.ColumnInt64(8)]); at > now {
						rem.NotBefore = s.clock.toWall(at)
					}
				}
				block = append(block, rem)
			}, after, last, blockRows)
			return block, err
		})
	}
}

// laneWaits are the moments, on the ledger's clock, before which the lanes of a job are
// closed.
func (s *Store) laneWaits(c conn, job int64) (map[int64]int64, error) {
	lanes, err := s.lanes(c, job)
	if err != nil {
		return nil, err
	}
	waits := map[int64]int64{}
	scopes := map[string]int64{}
	for _, l := range lanes {
		for _, key := range l.Scopes {
			if _, ok := scopes[key]; !ok {
				if _, err := c.row(readScope, func(r *sqlite.Stmt) { scopes[key] = nanos(s.scopeAt(r).NotBefore) }, key); err != nil {
					return nil, err
				}
			}
			waits[l.ID] = max(waits[l.ID], scopes[key])
		}
	}
	return waits, nil
}

const readRequests = `SELECT q.n, q.parent, q.job, COALESCE((SELECT number FROM runs WHERE id = q.run), 0), q.doc, d.id, q.scopes, q.kind, q.granted, q.sent, q.ended,
		q.status, q.outcome, q.hint, q.until, q.bytes
	FROM requests q INDEXED BY requests_job LEFT JOIN documents d ON d.seq = q.doc
	WHERE q.job = ? AND q.n > ? ORDER BY q.n LIMIT ?`

// Requests are all requests of the job, in the order in which they were granted.
func (s *Store) Requests(ctx context.Context, job int64) iter.Seq2[dogear.Request, error] {
	return func(yield func(dogear.Request, error) bool) {
		after := int64(0)
		stream(ctx, s, "read requests", yield, func(c conn) ([]dogear.Request, error) {
			var block []dogear.Request
			var sets []int64
			err := c.rows(readRequests, func(r *sqlite.Stmt) {
				after = r.ColumnInt64(0)
				sets = append(sets, r.ColumnInt64(6))
				block = append(block, dogear.Request{
					N: after, Parent: r.ColumnInt64(1), Job: r.ColumnInt64(2), Run: r.ColumnInt64(3),
					Doc: r.ColumnInt64(4), DocID: r.ColumnText(5), Kind: dogear.Kind(r.ColumnInt(7)),
					Granted: instantAt(r, 8), Sent: instantAt(r, 9), Ended: instantAt(r, 10),
					Status: r.ColumnInt(11), Outcome: dogear.Outcome(r.ColumnInt(12)), Hint: r.ColumnText(13),
					Until: instantAt(r, 14), Bytes: r.ColumnInt64(15),
				})
			}, job, after, blockRows)
			for i := range block {
				if err != nil {
					break
				}
				block[i].Scopes, err = s.keysOf(c, sets[i])
			}
			return block, err
		})
	}
}

const readUnplaced = `SELECT u.doc, d.id, r.version, r.path, r.size, r.sha256, r.content_type, r.read_at, r.run, u.temp, u.folded
	FROM unplaced u JOIN results r ON r.doc = u.doc JOIN documents d ON d.seq = u.doc
	WHERE u.doc > ? AND u.doc <= ? ORDER BY u.doc LIMIT ?`

// Unplaced are the job's results that may not have their final name yet.
func (s *Store) Unplaced(ctx context.Context, job int64) iter.Seq2[ledger.Settlement, error] {
	return func(yield func(ledger.Settlement, error) bool) {
		after, last := rangeOf(job)
		stream(ctx, s, "read unplaced results", yield, func(c conn) (block []ledger.Settlement, err error) {
			err = c.rows(readUnplaced, func(r *sqlite.Stmt) {
				after = r.ColumnInt64(0)
				block = append(block, ledger.Settlement{
					Result: dogear.Result{
						Doc: after, ID: r.ColumnText(1), Version: r.ColumnText(2), Path: r.ColumnText(3),
						Size: r.ColumnInt64(4), SHA256: digestAt(r, 5), ContentType: r.ColumnText(6),
						ReadAt: instantAt(r, 7), Run: r.ColumnInt64(8),
					},
					Temp: r.ColumnText(9), Folded: r.ColumnText(10),
				})
			}, after, last, blockRows)
			return block, err
		})
	}
}

// rangeOf is the range of a job's document numbers: more than after, at most last.
func rangeOf(job int64) (after, last int64) { return job << 32, job<<32 | (1<<32 - 1) }

func jobOf(seq int64) int64 { return seq >> 32 }
