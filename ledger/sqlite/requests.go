package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
)

const (
	addRequest = `INSERT INTO requests (n, job, run, doc, parent, holder, scopes, kind, granted)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

	readAttempts = `SELECT attempts FROM documents WHERE seq = ?`

	setAttempts = `UPDATE documents SET attempts = ?2 WHERE seq = ?1`
)

// grant records a request that may leave.
func (tx *tx) grant(r dogear.Request) error {
	set, err := tx.setOf(r.Scopes)
	if err != nil {
		return err
	}
	granted := r.Granted
	if granted.IsZero() {
		granted = tx.wall
	}
	err = tx.conn.exec(addRequest, r.N, r.Job, r.Run, r.Doc, r.Parent, tx.me.Load().n, set, int(r.Kind), granted)
	if err != nil {
		return err
	}
	tx.gate.next = max(tx.gate.next, r.N+1)
	if r.Kind != dogear.Item {
		if err := tx.fly(tx.gate, set, 1); err != nil {
			return err
		}
		tx.requests(r.Job, r.Run, 1)
	}
	if !attempts(r.Kind, r.Doc) {
		return nil
	}
	paid, err := tx.conn.number(readAttempts, r.Doc)
	if err != nil {
		return err
	}
	tx.paid(r.Doc, paid, paid+1)
	tx.count(jobOf(r.Doc), countTotal, totalAttempts, 1)
	return tx.conn.exec(setAttempts, r.Doc, paid+1)
}

// attempts reports whether a request is an attempt of its document.
func attempts(kind dogear.Kind, doc int64) bool {
	return doc != 0 && (kind == dogear.Read || kind == dogear.Item)
}

// requests counts n requests of a job and its run.
func (tx *tx) requests(job, run, n int64) {
	if job != 0 {
		tx.count(job, countTotal, totalSent, n)
	}
	tx.inRun(run, runCounts{sent: n})
}

const (
	readRequest = `SELECT job, run, scopes, kind, holder, doc FROM requests WHERE n = ? AND ended = 0`

	endRequest = `UPDATE requests SET sent = ?2, ended = ?3, status = ?4, outcome = ?5, hint = ?6, until = ?7, bytes = ?8
		WHERE n = ?1`
)

// end records how a request ended. One that has ended stays as it is, and so does its
// document.
func (tx *tx) end(e dogear.End) error {
	var job, run, set, holder, doc int64
	var kind dogear.Kind
	found, err := tx.conn.row(readRequest, func(r *sqlite.Stmt) {
		job, run, set = r.ColumnInt64(0), r.ColumnInt64(1), r.ColumnInt64(2)
		kind, holder = dogear.Kind(r.ColumnInt(3)), r.ColumnInt64(4)
		doc = r.ColumnInt64(5)
	}, e.Request)
	if err != nil || !found {
		return err
	}
	ended := e.Ended
	if ended.IsZero() {
		ended = tx.wall
	}
	err = tx.conn.exec(endRequest, e.Request, e.Sent, ended, e.Status, int(e.Outcome), textOr(e.Hint), e.Until, e.Bytes)
	if err != nil {
		return err
	}
	if kind != dogear.Item {
		if tx.gate.live[holder] {
			if err := tx.fly(tx.gate, set, -1); err != nil {
				return err
			}
		}
		tx.ended(job, run, e)
	}
	var fate dogear.Fate
	if e.Fate != nil {
		fate = *e.Fate
	}
	if none := e.Outcome == dogear.NotSent || e.Outcome == dogear.Unprocessed; none && attempts(kind, doc) {
		tx.count(jobOf(doc), countTotal, totalAttempts, -1)
		fate.Doc, fate.Refund = doc, max(1, fate.Refund)
	}
	// What the request was charged is given back wherever its document is by now.
	if err := tx.refund(fate.Doc, fate.Refund); err != nil || e.Fate == nil {
		return err
	}
	fate.Refund = 0
	return tx.fate(fate)
}

// ended counts the end of a request that is no item.
func (tx *tx) ended(job, run int64, e dogear.End) {
	add := runCounts{bytes: e.Bytes}
	if !e.Outcome.Sent() {
		tx.requests(job, run, -1)
	}
	if e.Outcome == dogear.Throttled {
		add.throttled = 1
	}
	tx.inRun(run, add)
	if job == 0 {
		return
	}
	tx.count(job, countTotal, totalThrottled, add.throttled)
	if e.Status > 0 {
		tx.count(job, countStatus, int64(e.Status), 1)
	}
}

// refund gives a document back up to n attempts of what it has paid.
func (tx *tx) refund(doc int64, n int) error {
	if n <= 0 {
		return nil
	}
	paid, err := tx.conn.number(readAttempts, doc)
	if err != nil || paid == 0 {
		return err
	}
	left := max(0, paid-int64(n))
	tx.paid(doc, paid, left)
	return tx.conn.exec(setAttempts, doc, left)
}

const (
	readFate = `SELECT state, lane, holder FROM documents WHERE seq = ?`

	// setFate keeps the reason of an earlier attempt where there is no new one.
	setFate = `UPDATE documents SET state = ?2, not_before = ?3, holder = NULL,
		reason = CASE WHEN ?2 = 0 THEN coalesce(?4, reason) ELSE ?4 END, found = ?5 WHERE seq = ?1`
)

// fate moves a document out of flight. One that this holder does not have in flight stays as
// it is.
func (tx *tx) fate(f dogear.Fate) error {
	if f.State == dogear.Done {
		return fmt.Errorf("document %d is done without a result", f.Doc)
	}
	var state dogear.State
	var lane, holder int64
	found, err := tx.conn.row(readFate, func(r *sqlite.Stmt) {
		state, lane, holder = dogear.State(r.ColumnInt(0)), r.ColumnInt64(1), r.ColumnInt64(2)
	}, f.Doc)
	if err != nil || !found || state != dogear.InFlight || holder != tx.me.Load().n {
		return err
	}
	if err := tx.refund(f.Doc, f.Refund); err != nil || f.State == dogear.InFlight {
		return err
	}
	tx.moved(f.Doc, lane, dogear.InFlight, f.State)
	tx.delayed = tx.delayed || !f.NotBefore.IsZero()
	return tx.conn.exec(setFate, f.Doc, int(f.State), f.NotBefore, textOr(f.Reason), textOr(f.Version))
}

// Return moves documents out of flight that no request's end moves.
func (s *Store) Return(ctx context.Context, fates []dogear.Fate) error {
	err := s.act(ctx, func(tx *tx) error {
		for _, f := range fates {
			if err := tx.fate(f); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("return %d documents: %w", len(fates), err)
	}
	return nil
}
