package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// listRows is how many documents are added in one transaction. All that it touches is at
// the ends of tables and indexes, so that larger ones are hardly faster, and others wait
// less for smaller ones.
const listRows = 16384

const (
	addJob = `INSERT INTO jobs (name, stage, holder, settings, sink, created, total) VALUES (?, 0, ?, ?, ?, ?, 0)`

	finishJob = `UPDATE jobs SET stage = 1, total = ?2 WHERE id = ?1 AND stage = 0`

	abandonJob = `UPDATE jobs SET stage = 2 WHERE id = ? AND stage = 0`

	addLane = `INSERT INTO lanes (job, listed, scopes, pending) VALUES (?1, ?2, ?2, 0)`

	addDocument = `INSERT INTO documents (seq, lane, state, done, attempts, not_before, id, address, secret,
			list, line, offset, name, version, size, sha256)
		VALUES (?, ?, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	addID = `INSERT INTO ids (job, hash, seq) VALUES (?, ?, ?)`
)

// A listing is a job in the making. Its rows are in the ledger, but no job is.
type listing struct {
	*Store
	ctx  context.Context // of Create
	hash func([]byte) int64
	job  ledger.Job

	seen    seen
	rows    []listed // the next part
	writing []listed // the part before it, and the call that writes it
	call    *call
	repeats int64

	lanes map[string]int // by joined scopes; an index of the two below
	sets  [][]string
	ids   []int64 // of lanes; shorter than sets while some are not made
	sizes []int64 // documents
}

// A listed is a document with the index of its lane.
type listed struct {
	dogear.Document
	lane int
}

// Create lists documents into a new job.
func (s *Store) Create(ctx context.Context, name string, set ledger.Settings, docs iter.Seq2[dogear.Document, error]) (ledger.Job, int64, error) {
	job, repeats, err := s.create(ctx, name, set, docs, hash)
	if err != nil {
		return ledger.Job{}, 0, fmt.Errorf("list documents into job %s: %w", name, err)
	}
	return job, repeats, nil
}

func (s *Store) create(ctx context.Context, name string, set ledger.Settings, docs iter.Seq2[dogear.Document, error], hash func([]byte) int64) (_ ledger.Job, repeats int64, err error) {
	l := &listing{Store: s, ctx: ctx, hash: hash, lanes: map[string]int{}, job: ledger.Job{Name: name, Settings: set}}
	if err := l.start(); err != nil {
		return ledger.Job{}, 0, err
	}
	defer func() {
		if err != nil {
			l.abandon()
		}
	}()
	for d, err := range docs {
		if err == nil {
			err = l.add(d)
		}
		if err != nil {
			return ledger.Job{}, 0, err
		}
	}
	if err := l.finish(); err != nil {
		return ledger.Job{}, 0, err
	}
	return l.job, l.repeats, nil
}

// start makes the job's row, which nobody sees.
func (l *listing) start() error {
	kept, err := json.Marshal(l.job.Settings)
	if err != nil {
		return err
	}
	return l.act(l.ctx, func(tx *tx) error {
		if err := tx.nameFree(l.job.Name); err != nil {
			return err
		}
		if err := tx.reapDead(); err != nil {
			return err
		}
		err := tx.conn.exec(addJob, l.job.Name, tx.me.Load().n, string(kept), l.job.Settings.Sink, tx.wall)
		if err != nil {
			return err
		}
		l.job.ID = tx.conn.LastInsertRowID()
		l.job.Created = instant(nanos(tx.wall))
		after, _ := rangeOf(l.job.ID)
		l.job.First = after + 1
		return nil
	})
}

func (tx *tx) nameFree(name string) error {
	taken, err := tx.conn.row(readJob, func(*sqlite.Stmt) {}, name)
	if err == nil && taken {
		err = ledger.ErrJobExists
	}
	return err
}

// add takes the next document, unless it is a repeat.
func (l *listing) add(d dogear.Document) error {
	h := l.hash([]byte(d.ID))
	m := newMet(l.job.Total, d.Fingerprint)
	if first, twins, ok := l.seen.at(h); ok {
		for _, other := range append([]met{first}, twins...) {
			if repeat, err := l.same(d, m, other); repeat || err != nil {
				return err
			}
		}
	}
	if l.job.Total >= 1<<32-1 {
		return fmt.Errorf("a job has at most %d documents", l.job.Total)
	}
	l.seen.add(h, m)
	d.Seq = l.job.First + l.job.Total
	l.job.Total++
	l.rows = append(l.rows, listed{d, l.lane(d.Scopes)})
	if len(l.rows) < listRows {
		return nil
	}
	return l.flush()
}

// same reports whether a document is one that was met before. Its id with another address is
// an error.
func (l *listing) same(d dogear.Document, m, other met) (bool, error) {
	first, err := l.document(int64(other.n))
	switch {
	case err != nil || first.ID != d.ID:
		return false, err
	case m.print != other.print:
		return false, &ledger.ConflictError{ID: d.ID, Lines: [2]int64{first.Line, d.Line}, Secret: first.Secret || d.Secret}
	}
	l.repeats++
	return true, nil
}

// lane is the index of the lane with these scopes, which has one document more.
func (l *listing) lane(scopes []string) int {
	if !slices.IsSorted(scopes) {
		scopes = sorted(scopes)
	}
	key := join(scopes)
	i, ok := l.lanes[key]
	if !ok {
		i = len(l.sets)
		l.lanes[key] = i
		l.sets = append(l.sets, slices.Clone(scopes))
		l.sizes = append(l.sizes, 0)
	}
	l.sizes[i]++
	return i
}

// document is the nth document of the job, from wherever it is by now.
func (l *listing) document(n int64) (dogear.Document, error) {
	seq := l.job.First + n
	for _, part := range [][]listed{l.rows, l.writing} {
		if len(part) > 0 && seq >= part[0].Seq && seq <= part[len(part)-1].Seq {
			return part[seq-part[0].Seq].Document, nil
		}
	}
	var d dogear.Document
	err := l.read(l.ctx, func(c conn) error {
		_, err := c.row(readListed, func(r *sqlite.Stmt) { d = documentAt(r) }, seq)
		return err
	})
	return d, err
}

const readListed = `SELECT ` + documentColumns + ` FROM documents WHERE seq = ?`

// flush has the part written that is full, while the next one is filled.
func (l *listing) flush() error {
	if err := l.wait(); err != nil {
		return err
	}
	// What an earlier listing left is deleted at the pace of this one.
	if err := l.sweep(l.ctx, 1); err != nil {
		return err
	}
	l.rows, l.writing = l.writing[:0], l.rows
	rows := l.writing
	l.call = l.submit(l.ctx, &call{alone: true, work: func(tx *tx) error { return l.write(tx, rows) }})
	return nil
}

// wait waits for the part that is being written.
func (l *listing) wait() error {
	if l.call == nil {
		return nil
	}
	err := l.await(l.ctx, l.call)
	l.call = nil
	return err
}

// write adds documents, and the lanes that they are the first of.
func (l *listing) write(tx *tx, rows []listed) error {
	if err := tx.acts(); err != nil {
		return err
	}
	for _, r := range rows {
		for len(l.ids) <= r.lane {
			set, err := tx.setOf(l.sets[len(l.ids)])
			if err != nil {
				return err
			}
			if err := tx.conn.exec(addLane, l.job.ID, set); err != nil {
				return err
			}
			l.ids = append(l.ids, tx.conn.LastInsertRowID())
		}
		if err := tx.addDocument(r.Document, l.ids[r.lane]); err != nil {
			return err
		}
	}
	return nil
}

func (tx *tx) addDocument(d dogear.Document, lane int64) error {
	var address, size any
	if !d.Secret && d.Address != d.ID {
		address = d.Address
	}
	if d.Size >= 0 {
		size = d.Size
	}
	return tx.conn.exec(addDocument, d.Seq, lane, d.ID, address, d.Secret, d.List, d.Line, d.Offset,
		d.Name, d.Version, size, digest(d.SHA256))
}

// finish writes what is left and the index of ids, and lets the job be seen.
func (l *listing) finish() error {
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.wait(); err != nil {
		return err
	}
	for part := range l.seen.sorted(listRows) {
		err := l.doAlone(l.ctx, func(tx *tx) error {
			if err := tx.acts(); err != nil {
				return err
			}
			for _, id := range part {
				if err := tx.conn.exec(addID, l.job.ID, id.hash, l.job.First+int64(id.n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return l.act(l.ctx, func(tx *tx) error {
		if err := tx.nameFree(l.job.Name); err != nil {
			return err
		}
		for i, lane := range l.ids {
			tx.pending[lane] += l.sizes[i]
		}
		tx.count(l.job.ID, countState, int64(dogear.Pending), l.job.Total)
		return tx.conn.exec(finishJob, l.job.ID, l.job.Total)
	})
}

// abandon leaves no trace of a listing that failed, at once where nobody is in a hurry.
func (l *listing) abandon() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), 5*time.Second)
	defer cancel()
	if l.call != nil {
		_ = l.await(ctx, l.call) // the listing has failed anyway
	}
	err := l.do(ctx, func(tx *tx) error { return tx.conn.exec(abandonJob, l.job.ID) })
	if err == nil {
		// What stays is invisible: the next listing or run deletes it.
		_ = l.sweep(l.ctx, 1<<30)
	}
}
