package sqlite

import (
	"fmt"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
)

const (
	interruptRuns = `UPDATE runs INDEXED BY runs_open SET ended = ?2, reason = 'interrupted'
		WHERE ended = 0 AND holder = ?1`

	readOpen = `SELECT doc, scopes FROM requests INDEXED BY requests_open WHERE ended = 0 AND holder = ?`

	doubtOpen = `UPDATE requests INDEXED BY requests_open SET ended = ?2, outcome = ?3 WHERE ended = 0 AND holder = ?1`

	readHeld = `SELECT seq, lane FROM documents INDEXED BY documents_held WHERE holder = ?`

	freeDocument = `UPDATE documents SET state = ?2, holder = NULL, reason = coalesce(?3, reason) WHERE seq = ?1`

	dropListings = `UPDATE jobs INDEXED BY jobs_unready SET stage = 2 WHERE stage <> 1 AND stage = 0 AND holder = ?`
)

// reap ends a holder and all that ends with it: runs, requests, claims and listings.
func (tx *tx) reap(h holder) error {
	if err := tx.closeGate(); err != nil {
		return err
	}
	if err := tx.conn.exec(interruptRuns, h.n, tx.wall); err != nil {
		return err
	}
	doubted, sets := map[int64]bool{}, map[int64]bool{}
	err := tx.conn.rows(readOpen, func(r *sqlite.Stmt) {
		doubted[r.ColumnInt64(0)] = true
		sets[r.ColumnInt64(1)] = true
	}, h.n)
	if err != nil {
		return err
	}
	if err := tx.conn.exec(doubtOpen, h.n, tx.wall, int(dogear.Doubtful)); err != nil {
		return err
	}
	for set := range sets {
		keys, err := tx.keysOf(set)
		if err != nil {
			return err
		}
		for _, key := range keys {
			// One of them may have been answered by a throttle that nobody wrote down.
			if err := tx.conn.exec(doubtScope, key); err != nil {
				return err
			}
		}
	}
	if err := tx.free(h.n, 0, doubted); err != nil {
		return err
	}
	if err := tx.conn.exec(dropListings, h.n); err != nil {
		return err
	}
	if err := tx.conn.exec(removeHolder, h.n); err != nil {
		return err
	}
	if h.lock != "" {
		tx.after = append(tx.after, func() { _ = os.Remove(filepath.Join(tx.holders(), h.lock)) })
	}
	return nil
}

// free takes a holder's documents out of flight, those of one job or, with job 0, of all.
// Where a request is open its document is in doubt, else it is pending.
func (tx *tx) free(holder, job int64, doubted map[int64]bool) error {
	type held struct{ seq, lane int64 }
	var docs []held
	err := tx.conn.rows(readHeld, func(r *sqlite.Stmt) {
		if d := (held{r.ColumnInt64(0), r.ColumnInt64(1)}); job == 0 || jobOf(d.seq) == job {
			docs = append(docs, d)
		}
	}, holder)
	if err != nil {
		return err
	}
	for _, d := range docs {
		state, reason := dogear.Pending, any(nil)
		if doubted[d.seq] {
			state, reason = dogear.InDoubt, "interrupted"
		}
		if err := tx.conn.exec(freeDocument, d.seq, int(state), reason); err != nil {
			return err
		}
		tx.moved(d.seq, d.lane, dogear.InFlight, state)
	}
	return nil
}

// reapDead ends all holders that are dead.
func (tx *tx) reapDead() error {
	all, err := allHolders(tx.conn)
	if err != nil {
		return err
	}
	for _, h := range all {
		if tx.alive(h, true) {
			continue
		}
		if err := tx.reap(h); err != nil {
			return fmt.Errorf("close what process %d left: %w", h.pid, err)
		}
	}
	tx.after = append(tx.after, func() { sweepLocks(tx.holders(), all) })
	return nil
}
