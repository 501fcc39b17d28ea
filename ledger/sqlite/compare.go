package sqlite

import (
	"context"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
)

// movesMax is how many moves are kept before they are written for their own sake.
const movesMax = 8192

// moves are places in lists that Compare has found to be others. They go into the next
// transaction, whatever it is for: a list that got a line at its top moves all documents,
// and losing them in a crash costs no more than comparing again.
type moves struct {
	mu   sync.Mutex
	kept []move
	// next is where the job's next document is likely to be: lists keep their order.
	next map[int64]int64
}

type move struct {
	seq          int64
	list         int
	line, offset int64
}

func (m *moves) add(v move) (full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = append(m.kept, v)
	return len(m.kept) >= movesMax
}

func (m *moves) take() []move {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.kept
	m.kept = nil
	return kept
}

func (m *moves) giveBack(kept []move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = append(kept, m.kept...)
}

func (m *moves) guess(job int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seq, ok := m.next[job]; ok {
		return seq
	}
	after, _ := rangeOf(job)
	return after + 1
}

func (m *moves) found(seq int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == nil {
		m.next = map[int64]int64{}
	}
	m.next[jobOf(seq)] = seq + 1
}

const (
	readDocument = `SELECT ` + documentColumns + `, lane FROM documents WHERE seq = ? AND id = ?`

	findID = `SELECT seq FROM ids WHERE job = ? AND hash = ?`

	moveDocument = `UPDATE documents SET list = ?2, line = ?3, offset = ?4 WHERE seq = ?1`
)

// Compare looks a listed document up in the job by its id, and moves the stored one to where
// it is listed now.
func (s *Store) Compare(ctx context.Context, job int64, d dogear.Document) (stored dogear.Document, found bool, err error) {
	err = s.read(ctx, func(c conn) (err error) {
		stored, found, err = s.find(c, job, d.ID)
		return err
	})
	if err == nil && found {
		s.moves.found(stored.Seq)
		if stored.List != d.List || stored.Line != d.Line || stored.Offset != d.Offset {
			stored.List, stored.Line, stored.Offset = d.List, d.Line, d.Offset
			if s.moves.add(move{stored.Seq, d.List, d.Line, d.Offset}) {
				err = s.do(ctx, func(*tx) error { return nil })
			}
		}
	}
	if err != nil {
		return dogear.Document{}, false, fmt.Errorf("look for a listed document in job %d: %w", job, err)
	}
	return stored, found, nil
}

// find reads a document by its id: where it is likely to be, else where the index says.
func (s *Store) find(c conn, job int64, id string) (d dogear.Document, found bool, err error) {
	try := func(seq int64) bool {
		var lane int64
		found, err = c.row(readDocument, func(r *sqlite.Stmt) { d, lane = documentAt(r), r.ColumnInt64(14) }, seq, id)
		if found && err == nil {
			var set int64
			if set, err = c.number(readLaneSet, lane); err == nil {
				d.Scopes, err = s.keysOf(c, set)
			}
		}
		return found || err != nil
	}
	if try(s.moves.guess(job)) {
		return d, found, err
	}
	var seqs []int64
	if err := c.rows(findID, func(r *sqlite.Stmt) { seqs = append(seqs, r.ColumnInt64(0)) }, job, hash([]byte(id))); err != nil {
		return d, false, err
	}
	for _, seq := range seqs {
		if try(seq) {
			break
		}
	}
	return d, found, err
}

// writeMoves writes what Compare has found.
func (tx *tx) writeMoves(kept []move) error {
	for _, m := range kept {
		if err := tx.conn.exec(moveDocument, m.seq, m.list, m.line, m.offset); err != nil {
			return err
		}
	}
	return nil
}
