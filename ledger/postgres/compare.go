package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
)

const (
	// movesMax is how many moves are kept before they are written for their own sake.
	movesMax = 8192
	// aheadRows is how many documents are read at once: lists keep their order, so the next
	// questions are likely to be for the next documents.
	aheadRows = 512
	// aheadLife is how long what was read ahead is believed.
	aheadLife = 10 * time.Second
)

// moves are places in lists that Compare has found to be others. They go into the next
// transaction that moves documents: a list that got a line at its top moves all, and losing
// them in a crash costs no more than comparing again.
type moves struct {
	mu   sync.Mutex
	kept []move
	jobs map[int64]*ahead
}

type move struct {
	seq          int64
	list         int
	line, offset int64
}

// ahead is a part of a job's documents, in the order of the list.
type ahead struct {
	read time.Time
	docs map[string]dogear.Document // by id
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

// known looks for a document in what was read ahead.
func (m *moves) known(job int64, id string) (d dogear.Document, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.jobs[job]; a != nil && time.Since(a.read) < aheadLife {
		d, found = a.docs[id]
	}
	return d, found
}

func (m *moves) learn(job int64, docs []dogear.Document) {
	a := &ahead{read: time.Now(), docs: make(map[string]dogear.Document, len(docs))}
	for _, d := range docs {
		a.docs[d.ID] = d
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs == nil {
		m.jobs = map[int64]*ahead{}
	}
	m.jobs[job] = a
}

const (
	readAhead = `SELECT ` + documentColumns + `, l.scopes FROM dogear.documents d JOIN dogear.lanes l ON l.id = d.lane
		WHERE d.seq > $1 AND d.seq <= $2 ORDER BY d.seq LIMIT $3`

	findID = `SELECT d.seq FROM dogear.ids i JOIN dogear.documents d ON d.seq = i.seq
		WHERE i.job = $1 AND i.hash = $2 AND d.id = $3`

	moveDocuments = `UPDATE dogear.documents d SET list = u.list, line = u.line, place = u.place
		FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[]) AS u(seq, list, line, place) WHERE d.seq = u.seq`
)

// Compare looks a listed document up in the job by its id, and moves the stored one to where
// it is listed now.
func (s *Store) Compare(ctx context.Context, job int64, d dogear.Document) (stored dogear.Document, found bool, err error) {
	stored, found = s.moves.known(job, d.ID)
	if !found {
		stored, found, err = s.find(ctx, job, d.ID)
	}
	if err == nil && found && (stored.List != d.List || stored.Line != d.Line || stored.Offset != d.Offset) {
		stored.List, stored.Line, stored.Offset = d.List, d.Line, d.Offset
		if s.moves.add(move{stored.Seq, d.List, d.Line, d.Offset}) {
			err = s.act(ctx, workPen, func(ctx context.Context, tx *tx) error { return tx.send(ctx, tx.batch()) })
		}
	}
	if err != nil {
		return dogear.Document{}, false, fmt.Errorf("look for a listed document in job %d: %w", job, err)
	}
	return stored, found, nil
}

// find reads the document of this id, if there is one, and those that follow it.
func (s *Store) find(ctx context.Context, job int64, id string) (d dogear.Document, found bool, err error) {
	_, last := rangeOf(job)
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		hash, _ := keyOf(id)
		seq, err := number(ctx, c, findID, job, hash, kept(id))
		if err == nil && seq != 0 {
			d, found, err = s.ahead(ctx, c, job, id, seq-1, last)
		}
		return err
	})
	return d, found, err
}

// ahead reads documents behind a number and looks for one among them.
func (s *Store) ahead(ctx context.Context, c conn, job int64, id string, after, last int64) (d dogear.Document, found bool, err error) {
	var docs []dogear.Document
	var sets []int64
	err = c.rows(ctx, readAhead, func(r pgx.Rows) error {
		var set int64
		d, err := documentAt(r, &set)
		docs, sets = append(docs, d), append(sets, set)
		return err
	}, after, last, aheadRows)
	for i := range docs {
		if err != nil {
			return d, false, err
		}
		docs[i].Scopes, err = s.keysOf(ctx, c, sets[i])
		if docs[i].ID == id {
			d, found = docs[i], true
		}
	}
	if found {
		s.moves.learn(job, docs)
	}
	return d, found, err
}

// writeMoves writes what Compare has found.
func (tx *tx) writeMoves(b *pgx.Batch) {
	tx.kept = tx.moves.take()
	if len(tx.kept) == 0 {
		return
	}
	n := len(tx.kept)
	seqs, lists, lines, places := make([]int64, n), make([]int32, n), make([]int64, n), make([]int64, n)
	for i, m := range tx.kept {
		seqs[i], lists[i], lines[i], places[i] = m.seq, int32(m.list), m.line, m.offset
	}
	b.Queue(lockDocuments, seqs)
	b.Queue(moveDocuments, seqs, lists, lines, places)
}
