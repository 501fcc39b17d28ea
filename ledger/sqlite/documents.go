package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const readLanes = `SELECT l.id, l.scopes, l.listed, l.pending FROM lanes l JOIN jobs j ON j.id = l.job AND j.stage = 1
	WHERE l.job = ? ORDER BY l.id`

// Lanes are the sets of scopes that the job's documents are read under.
func (s *Store) Lanes(ctx context.Context, job int64) (lanes []ledger.Lane, err error) {
	err = s.snapshot(ctx, func(c conn) (err error) {
		lanes, err = s.lanes(c, job)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the lanes of job %d: %w", job, err)
	}
	return lanes, nil
}

func (s *Store) lanes(c conn, job int64) ([]ledger.Lane, error) {
	var lanes []ledger.Lane
	var sets []int64
	err := c.rows(readLanes, func(r *sqlite.Stmt) {
		lanes = append(lanes, ledger.Lane{ID: r.ColumnInt64(0), Pending: r.ColumnInt64(3)})
		sets = append(sets, r.ColumnInt64(1))
	}, job)
	for i := range lanes {
		if err != nil {
			return nil, err
		}
		lanes[i].Scopes, err = s.keysOf(c, sets[i])
	}
	return lanes, err
}

const setLane = `UPDATE lanes SET scopes = ?2 WHERE id = ?1`

// Rescope gives each lane new scopes.
func (s *Store) Rescope(ctx context.Context, job int64, scopes func(listed []string) []string) error {
	err := s.do(ctx, func(tx *tx) error {
		type lane struct{ id, listed int64 }
		var lanes []lane
		err := tx.conn.rows(readLanes, func(r *sqlite.Stmt) {
			lanes = append(lanes, lane{r.ColumnInt64(0), r.ColumnInt64(2)})
		}, job)
		if err != nil {
			return err
		}
		for _, l := range lanes {
			listed, err := tx.keysOf(l.listed)
			if err != nil {
				return err
			}
			set, err := tx.setOf(sorted(scopes(listed)))
			if err != nil {
				return err
			}
			if err := tx.conn.exec(setLane, l.id, set); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("give the lanes of job %d new scopes: %w", job, err)
	}
	return nil
}

const (
	// matureDocuments lets those go on whose time has come.
	matureDocuments = `UPDATE documents INDEXED BY documents_delayed SET not_before = 0
		WHERE lane = ? AND state = 0 AND not_before > 0 AND not_before <= ?`

	documentColumns = `seq, id, address, secret, list, line, offset, name, version, sha256, size, attempts, partial, digest`

	// findClaims reads no further than it claims: the index has the order of claiming.
	findClaims = `SELECT ` + documentColumns + ` FROM documents INDEXED BY documents_claim
		WHERE lane = ? AND state = 0 AND not_before = 0 AND attempts < ? ORDER BY attempts, seq LIMIT ?`

	claimDocument = `UPDATE documents SET state = 1, holder = ?2 WHERE seq = ?1`

	readLaneSet = `SELECT scopes FROM lanes WHERE id = ?`
)

// Claim takes up to n pending documents of a lane.
func (s *Store) Claim(ctx context.Context, lane int64, n, attempts int) ([]dogear.Document, error) {
	var docs []dogear.Document
	err := s.act(ctx, func(tx *tx) error {
		docs = docs[:0]
		if err := tx.conn.exec(matureDocuments, lane, tx.now); err != nil {
			return err
		}
		set, err := tx.conn.number(readLaneSet, lane)
		if err != nil || set == 0 {
			return err
		}
		scopes, err := tx.keysOf(set)
		if err != nil {
			return err
		}
		err = tx.conn.rows(findClaims, func(r *sqlite.Stmt) {
			d := documentAt(r)
			d.Scopes = scopes
			docs = append(docs, d)
		}, lane, attempts, n)
		if err != nil {
			return err
		}
		me := tx.me.Load().n
		for _, d := range docs {
			if err := tx.conn.exec(claimDocument, d.Seq, me); err != nil {
				return err
			}
			tx.moved(d.Seq, lane, dogear.Pending, dogear.InFlight)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim documents: %w", err)
	}
	return docs, nil
}

// documentAt reads a row of documentColumns.
func documentAt(r *sqlite.Stmt) dogear.Document {
	d := dogear.Document{
		Seq: r.ColumnInt64(0), ID: r.ColumnText(1), Secret: r.ColumnBool(3),
		List: r.ColumnInt(4), Line: r.ColumnInt64(5), Offset: r.ColumnInt64(6),
		Name: r.ColumnText(7), Version: r.ColumnText(8), SHA256: digestAt(r, 9), Size: -1,
		Attempts: r.ColumnInt(11), Partial: !r.ColumnIsNull(12), Digest: r.ColumnText(13),
	}
	switch {
	case d.Secret:
	case r.ColumnIsNull(2):
		d.Address = d.ID
	default:
		d.Address = r.ColumnText(2)
	}
	if !r.ColumnIsNull(10) {
		d.Size = r.ColumnInt64(10)
	}
	return d
}

const nextDue = `SELECT not_before FROM documents INDEXED BY documents_delayed
	WHERE lane = ? AND state = 0 AND not_before > 0 AND not_before > ? AND attempts < ?
	ORDER BY not_before LIMIT 1`

// NextDue is the earliest moment at which a document of the lane may go on that may not now.
func (s *Store) NextDue(ctx context.Context, lane int64, attempts int) (time.Time, error) {
	var at int64
	err := s.read(ctx, func(c conn) (err error) {
		at, err = c.number(nextDue, lane, s.clock.now(), attempts)
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("look for delayed documents: %w", err)
	}
	return instant(at), nil
}

const (
	readState = `SELECT state, lane FROM documents WHERE seq = ?`

	reopenDocument = `UPDATE documents SET state = 0, done = 0, not_before = 0, holder = NULL, reason = ?2, found = NULL
		WHERE seq = ?1`

	dropResult = `DELETE FROM results WHERE doc = ?`
)

// Reopen makes documents pending again and forgets their results. Those in flight are
// passed over.
func (s *Store) Reopen(ctx context.Context, docs []int64, reason string) error {
	err := s.act(ctx, func(tx *tx) error {
		for _, doc := range docs {
			if err := tx.reopen(doc, reason); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reopen %d documents: %w", len(docs), err)
	}
	return nil
}

func (tx *tx) reopen(doc int64, reason string) error {
	var state dogear.State
	var lane int64
	found, err := tx.conn.row(readState, func(r *sqlite.Stmt) {
		state, lane = dogear.State(r.ColumnInt(0)), r.ColumnInt64(1)
	}, doc)
	if err != nil || !found || state == dogear.InFlight {
		return err
	}
	if state == dogear.Done {
		if err := tx.conn.exec(dropResult, doc); err != nil {
			return err
		}
		if err := tx.conn.exec(dropUnplaced, doc); err != nil {
			return err
		}
	}
	tx.moved(doc, lane, state, dogear.Pending)
	return tx.conn.exec(reopenDocument, doc, textOr(reason))
}

// Refund gives documents back one attempt each.
func (s *Store) Refund(ctx context.Context, docs []int64) error {
	err := s.act(ctx, func(tx *tx) error {
		for _, doc := range docs {
			if err := tx.refund(doc, 1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("refund %d documents: %w", len(docs), err)
	}
	return nil
}

const (
	setPartial = `UPDATE documents SET partial = ?2 WHERE seq = ?1`

	readPartial = `SELECT partial FROM documents WHERE seq = ? AND partial IS NOT NULL`
)

// SavePartial remembers the durable first bytes of a body that broke.
func (s *Store) SavePartial(ctx context.Context, doc int64, p ledger.Partial) error {
	var kept any
	if p.Size > 0 {
		b, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("keep what came of document %d: %w", doc, err)
		}
		kept = string(b)
	}
	if err := s.act(ctx, func(tx *tx) error { return tx.conn.exec(setPartial, doc, kept) }); err != nil {
		return fmt.Errorf("keep what came of document %d: %w", doc, err)
	}
	return nil
}

// Partial is what SavePartial remembers, or zero.
func (s *Store) Partial(ctx context.Context, doc int64) (p ledger.Partial, err error) {
	var kept string
	err = s.read(ctx, func(c conn) error {
		_, err := c.row(readPartial, func(r *sqlite.Stmt) { kept = r.ColumnText(0) }, doc)
		return err
	})
	if err == nil && kept != "" {
		err = json.Unmarshal([]byte(kept), &p)
	}
	if err != nil {
		return ledger.Partial{}, fmt.Errorf("look for what is kept of document %d: %w", doc, err)
	}
	return p, nil
}

const readChanged = `SELECT ` + documentColumns + `, found FROM documents INDEXED BY documents_ended
	WHERE state > 2 AND state = 3 AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`

// ChangedDocuments are the job's documents of which the source has another version.
func (s *Store) ChangedDocuments(ctx context.Context, job int64) iter.Seq2[ledger.ChangedDocument, error] {
	return func(yield func(ledger.ChangedDocument, error) bool) {
		after, last := rangeOf(job)
		stream(ctx, s, "read changed documents", yield, func(c conn) (block []ledger.ChangedDocument, err error) {
			err = c.rows(readChanged, func(r *sqlite.Stmt) {
				d := documentAt(r)
				after = d.Seq
				block = append(block, ledger.ChangedDocument{Document: d, Found: r.ColumnText(14)})
			}, after, last, blockRows)
			return block, err
		})
	}
}
