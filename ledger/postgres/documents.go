package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const readLanes = `SELECT l.id, l.scopes, l.listed, coalesce((SELECT sum(n) FROM dogear.counts c
		WHERE c.job = l.job AND c.what = 4 AND c.key = l.id), 0)::bigint
	FROM dogear.lanes l JOIN dogear.jobs j ON j.id = l.job AND j.stage = 1 WHERE l.job = $1 ORDER BY l.id`

// Lanes are the sets of scopes that the job's documents are read under.
func (s *Store) Lanes(ctx context.Context, job int64) (lanes []ledger.Lane, err error) {
	err = s.snapshot(ctx, func(ctx context.Context, c conn) (err error) {
		lanes, err = s.lanes(ctx, c, job)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the lanes of job %d: %w", job, err)
	}
	return lanes, nil
}

// A lane is a row of readLanes.
type lane struct{ id, scopes, listed, pending int64 }

func readLanesOf(ctx context.Context, a asker, job int64) (all []lane, err error) {
	err = a.rows(ctx, readLanes, func(r pgx.Rows) error {
		var l lane
		err := r.Scan(&l.id, &l.scopes, &l.listed, &l.pending)
		all = append(all, l)
		return err
	}, job)
	return all, err
}

func (s *Store) lanes(ctx context.Context, a asker, job int64) ([]ledger.Lane, error) {
	all, err := readLanesOf(ctx, a, job)
	var lanes []ledger.Lane
	for _, l := range all {
		if err != nil {
			return nil, err
		}
		var keys []string
		keys, err = s.keysOf(ctx, a, l.scopes)
		lanes = append(lanes, ledger.Lane{ID: l.id, Scopes: keys, Pending: l.pending})
	}
	return lanes, err
}

const setLane = `UPDATE dogear.lanes SET scopes = $2 WHERE id = $1`

// Rescope gives each lane new scopes.
func (s *Store) Rescope(ctx context.Context, job int64, scopes func(listed []string) []string) error {
	err := s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
		all, err := readLanesOf(ctx, tx, job)
		for _, l := range all {
			if err != nil {
				break
			}
			err = tx.rescope(ctx, l, scopes)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("give the lanes of job %d new scopes: %w", job, err)
	}
	return nil
}

func (tx *tx) rescope(ctx context.Context, l lane, scopes func(listed []string) []string) error {
	listed, err := tx.keysOf(ctx, tx, l.listed)
	if err != nil {
		return err
	}
	set, err := tx.setOf(ctx, sorted(scopes(listed)))
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, setLane, l.id, set)
	return err
}

const (
	readLaneSet = `SELECT scopes FROM dogear.lanes WHERE id = $1`

	// matureDocuments lets those go on whose time has come. What another claim is at is
	// left to it.
	matureDocuments = `UPDATE dogear.documents SET not_before = 0 WHERE seq IN (
		SELECT seq FROM dogear.documents WHERE lane = $1 AND state = 0 AND not_before > 0
			AND not_before <= (SELECT dogear.nanos(dogear.now())) FOR UPDATE SKIP LOCKED)`

	documentColumns = `d.seq, d.id, d.address, d.secret, d.list, d.line, d.place, d.name, d.version, d.sha256, d.size,
		d.attempts, d.partial <> '', d.digest`

	// claimDocuments reads no further than it claims: the index has the order of claiming.
	// What another claim is at is left to it.
	claimDocuments = `WITH next AS MATERIALIZED (
			SELECT seq FROM dogear.documents WHERE lane = $1 AND state = 0 AND not_before = 0 AND attempts < $3
			ORDER BY attempts, seq LIMIT $4 FOR UPDATE SKIP LOCKED
		)
		UPDATE dogear.documents d SET state = 1, holder = $2 FROM next WHERE d.seq = next.seq
		RETURNING ` + documentColumns
)

// Claim takes up to n pending documents of a lane.
func (s *Store) Claim(ctx context.Context, lane int64, n, attempts int) ([]dogear.Document, error) {
	var docs []dogear.Document
	err := s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
		docs = nil
		set := int64(0)
		b := tx.batch()
		each(b, readLaneSet, func(r pgx.Rows) error { return r.Scan(&set) }, lane)
		b.Queue(matureDocuments, lane)
		each(b, claimDocuments, func(r pgx.Rows) error {
			d, err := documentAt(r)
			docs = append(docs, d)
			return err
		}, lane, tx.me.Load(), attempts, n)
		if err := tx.send(ctx, b); err != nil || len(docs) == 0 {
			return err
		}
		scopes, err := tx.keysOf(ctx, tx, set)
		for i := range docs {
			docs[i].Scopes = scopes
			tx.moved(docs[i].Seq, lane, dogear.Pending, dogear.InFlight)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim documents: %w", err)
	}
	slices.SortFunc(docs, func(a, b dogear.Document) int {
		return cmp.Or(cmp.Compare(a.Attempts, b.Attempts), cmp.Compare(a.Seq, b.Seq))
	})
	return docs, nil
}

// documentAt reads a row that begins with documentColumns.
func documentAt(r pgx.Rows, more ...any) (d dogear.Document, err error) {
	var address *string
	var sum []byte
	dest := append([]any{&d.Seq, &d.ID, &address, &d.Secret, &d.List, &d.Line, &d.Offset, &d.Name, &d.Version, &sum, &d.Size,
		&d.Attempts, &d.Partial, &d.Digest}, more...)
	err = r.Scan(dest...)
	d.ID, d.Name, d.Version, d.Digest, d.SHA256 = told(d.ID), told(d.Name), told(d.Version), told(d.Digest), digestOf(sum)
	switch {
	case d.Secret:
	case address == nil:
		d.Address = d.ID
	default:
		d.Address = told(*address)
	}
	return d, err
}

const nextDue = `SELECT not_before FROM dogear.documents
	WHERE lane = $1 AND state = 0 AND not_before > 0 AND not_before > (SELECT dogear.nanos(dogear.now())) AND attempts < $2
	ORDER BY not_before LIMIT 1`

// NextDue is the earliest moment at which a document of the lane may go on that may not now.
func (s *Store) NextDue(ctx context.Context, lane int64, attempts int) (time.Time, error) {
	var at int64
	err := s.read(ctx, func(ctx context.Context, c conn) (err error) {
		at, err = number(ctx, c, nextDue, lane, attempts)
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("look for delayed documents: %w", err)
	}
	return instant(at), nil
}

const (
	setPartial = `UPDATE dogear.documents SET partial = $2 WHERE seq = $1`

	readPartial = `SELECT partial FROM dogear.documents WHERE seq = $1`
)

// SavePartial remembers the durable first bytes of a body that broke.
func (s *Store) SavePartial(ctx context.Context, doc int64, p ledger.Partial) error {
	var said []byte
	var err error
	if p.Size > 0 {
		said, err = json.Marshal(p)
	}
	if err == nil {
		err = s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
			_, err := tx.exec(ctx, setPartial, doc, string(said))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("keep what came of document %d: %w", doc, err)
	}
	return nil
}

// Partial is what SavePartial remembers, or zero.
func (s *Store) Partial(ctx context.Context, doc int64) (p ledger.Partial, err error) {
	var said string
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		_, err := row(ctx, c, readPartial, []any{&said}, doc)
		return err
	})
	if err == nil && said != "" {
		err = json.Unmarshal([]byte(said), &p)
	}
	if err != nil {
		return ledger.Partial{}, fmt.Errorf("look for what is kept of document %d: %w", doc, err)
	}
	return p, nil
}

const readChanged = `SELECT ` + documentColumns + `, d.found FROM dogear.documents d
	WHERE d.state > 2 AND d.state = 3 AND d.seq > $1 AND d.seq <= $2 ORDER BY d.seq LIMIT $3`

// ChangedDocuments are the job's documents of which the source has another version.
func (s *Store) ChangedDocuments(ctx context.Context, job int64) iter.Seq2[ledger.ChangedDocument, error] {
	return func(yield func(ledger.ChangedDocument, error) bool) {
		after, last := rangeOf(job)
		stream(ctx, s, "read changed documents", yield, func(ctx context.Context, c conn) (block []ledger.ChangedDocument, err error) {
			err = c.rows(ctx, readChanged, func(r pgx.Rows) error {
				var found string
				d, err := documentAt(r, &found)
				after = d.Seq
				block = append(block, ledger.ChangedDocument{Document: d, Found: told(found)})
				return err
			}, after, last, blockRows)
			return block, err
		})
	}
}
