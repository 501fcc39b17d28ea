package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
)

// recheckRows is how many documents Recheck looks at in one transaction.
const recheckRows = 4096

const readEnded = `SELECT seq, attempts FROM documents INDEXED BY documents_ended
	WHERE state > 2 AND state = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`

// Recheck makes the job's documents in these states pending again that have paid less than
// attempts. It takes a transaction for each part of them, so that nobody has to
// wait for all.
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
		err := s.act(ctx, func(tx *tx) error {
			looked, docs = 0, docs[:0]
			err := tx.conn.rows(readEnded, func(r *sqlite.Stmt) {
				looked++
				next = r.ColumnInt64(0)
				if r.ColumnInt(1) < attempts {
					docs = append(docs, next)
				}
			}, int(state), after, last, recheckRows)
			if err != nil {
				return err
			}
			for _, doc := range docs {
				if err := tx.reopen(doc, "checked again"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		if all += int64(len(docs)); looked < recheckRows {
			return all, nil
		}
	}
}
