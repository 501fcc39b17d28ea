package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
)

// A standing is where a document stands, locked for as long as the transaction lasts.
type standing struct {
	lane, holder, paid int64
	state              dogear.State
}

const (
	// takeDocuments locks documents in order, so that nobody waits crosswise.
	takeDocuments = `SELECT seq, lane, coalesce(holder, 0), attempts, state FROM dogear.documents
		WHERE seq = ANY($1) ORDER BY seq FOR UPDATE`

	// setFate keeps the reason of an earlier attempt where there is no new one.
	setFate = `UPDATE dogear.documents SET state = $2::smallint, not_before = $3, holder = NULL,
			reason = CASE WHEN $2::smallint <> 0 OR $4 <> '' THEN $4 ELSE reason END, found = $5
		WHERE seq = $1`

	setAttempts = `UPDATE dogear.documents SET attempts = $2 WHERE seq = $1`
)

// take locks documents and says where they stand. Those that are not there are left out.
func (tx *tx) take(ctx context.Context, docs []int64) (map[int64]*standing, error) {
	at := make(map[int64]*standing, len(docs))
	err := tx.rows(ctx, takeDocuments, func(r pgx.Rows) error {
		var seq int64
		var state int16
		st := &standing{}
		err := r.Scan(&seq, &st.lane, &st.holder, &st.paid, &state)
		st.state = dogear.State(state)
		at[seq] = st
		return err
	}, docs)
	return at, err
}

// Return moves documents out of flight that no request's end moves.
func (s *Store) Return(ctx context.Context, fates []dogear.Fate) error {
	docs := make([]int64, len(fates))
	for i, f := range fates {
		docs[i] = f.Doc
	}
	err := s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
		at, err := tx.take(ctx, docs)
		if err != nil {
			return err
		}
		b := tx.batch()
		for _, f := range fates {
			if err := tx.fate(b, at[f.Doc], f); err != nil {
				return err
			}
		}
		return tx.send(ctx, b)
	})
	if err != nil {
		return fmt.Errorf("return %d documents: %w", len(fates), err)
	}
	return nil
}

// fate moves a document out of flight. One that this holder does not have in flight stays as
// it is.
func (tx *tx) fate(b *pgx.Batch, st *standing, f dogear.Fate) error {
	if f.State == dogear.Done {
		return fmt.Errorf("document %d is done without a result", f.Doc)
	}
	if st == nil || st.state != dogear.InFlight || st.holder != tx.me.Load() {
		return nil
	}
	tx.refund(b, st, f.Doc, f.Refund)
	if f.State == dogear.InFlight {
		return nil
	}
	tx.moved(f.Doc, st.lane, dogear.InFlight, f.State)
	st.state, st.holder = f.State, 0
	b.Queue(setFate, f.Doc, int16(f.State), nanos(f.NotBefore), kept(f.Reason), kept(f.Version))
	return nil
}

// refund gives a document back up to n attempts of what it has paid.
func (tx *tx) refund(b *pgx.Batch, st *standing, doc int64, n int) {
	left := max(0, st.paid-int64(max(0, n)))
	if left == st.paid {
		return
	}
	tx.paid(doc, st.paid, left)
	st.paid = left
	b.Queue(setAttempts, doc, left)
}

// Refund gives documents back one attempt each.
func (s *Store) Refund(ctx context.Context, docs []int64) error {
	err := s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
		at, err := tx.take(ctx, docs)
		if err != nil {
			return err
		}
		b := tx.batch()
		for _, doc := range docs {
			if st := at[doc]; st != nil {
				tx.refund(b, st, doc, 1)
			}
		}
		return tx.send(ctx, b)
	})
	if err != nil {
		return fmt.Errorf("refund %d documents: %w", len(docs), err)
	}
	return nil
}

const (
	reopenDocuments = `UPDATE dogear.documents SET state = 0, not_before = 0, holder = NULL, reason = $2, found = ''
		WHERE seq = ANY($1)`

	dropResults = `DELETE FROM dogear.results WHERE doc = ANY($1)`

	dropUnplaced = `DELETE FROM dogear.unplaced WHERE doc = ANY($1)`
)

// Reopen makes documents pending again and forgets their results. Those in flight are
// passed over.
func (s *Store) Reopen(ctx context.Context, docs []int64, reason string) error {
	err := s.act(ctx, workPen, func(ctx context.Context, tx *tx) error { return tx.reopen(ctx, docs, reason) })
	if err != nil {
		return fmt.Errorf("reopen %d documents: %w", len(docs), err)
	}
	return nil
}

func (tx *tx) reopen(ctx context.Context, docs []int64, reason string) error {
	at, err := tx.take(ctx, docs)
	if err != nil {
		return err
	}
	some, done := []int64{}, []int64{}
	for doc, st := range at {
		if st.state == dogear.InFlight {
			continue
		}
		if st.state == dogear.Done {
			done = append(done, doc)
		}
		some = append(some, doc)
		tx.moved(doc, st.lane, st.state, dogear.Pending)
	}
	b := tx.batch()
	b.Queue(reopenDocuments, some, kept(reason))
	b.Queue(dropResults, done)
	b.Queue(dropUnplaced, done)
	return tx.send(ctx, b)
}

// recheckRows is how many documents Recheck looks at in one transaction.
const recheckRows = 4096

const readEnded = `SELECT seq, attempts FROM dogear.documents
	WHERE state > 2 AND state = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`

// Recheck makes the job's documents in these states pending again that have paid less than
// attempts. It takes a transaction for each part of them, so that nobody has to wait for all.
func (s *Store) Recheck(ctx context.Context, job int64, attempts int, states ...dogear.State) (int64, error) {
	var all int64
	for _, state := range states {
		n, err := s.recheck(ctx, job, state, attempts)
		if err != nil {
			return 0, fmt.Errorf("check the documents of job %d again: %w", job, err)
		}
		all += n
	}
	return all, nil
}

// recheck is Recheck for the documents in one state.
func (s *Store) recheck(ctx context.Context, job int64, state dogear.State, attempts int) (all int64, err error) {
	next, last := rangeOf(job)
	for {
		after := next
		var looked int
		var docs []int64
		err := s.act(ctx, listPen, func(ctx context.Context, tx *tx) error {
			looked, docs = 0, []int64{}
			err := tx.rows(ctx, readEnded, func(r pgx.Rows) error {
				looked++
				var paid int
				err := r.Scan(&next, &paid)
				if paid < attempts {
					docs = append(docs, next)
				}
				return err
			}, int16(state), after, last, recheckRows)
			if err != nil {
				return err
			}
			return tx.reopen(ctx, docs, "checked again")
		})
		if err != nil {
			return 0, err
		}
		if all += int64(len(docs)); looked < recheckRows {
			return all, nil
		}
	}
}
