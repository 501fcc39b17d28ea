package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// listRows is how many documents are added in one transaction. All that it touches is at
// the ends of tables and indexes, so that larger ones are hardly faster, and others wait
// less for smaller ones.
const listRows = 8192

const (
	addJob = `INSERT INTO jobs (name, stage, holder, settings, sink, created, total) VALUES (?, 0, ?, ?, ?, ?, 0)`

	finishJob = `UPDATE jobs SET stage = 1, total = ?2 WHERE id = ?1 AND stage = 0`

	abandonJob = `UPDATE jobs SET stage = 2 WHERE id = ? AND stage = 0`

	addLane = `INSERT INTO lanes (job, listed, scopes, pending) VALUES (?1, ?2, ?2, 0)`

	addDocument = `INSERT INTO documents (seq, lane, state, done, attempts, not_before, id, address, secret,
			list, line, offset, name, version, size, sha256, parent, digest)
		VALUES (?, ?, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// A listing is a job in the making. Its rows are in the ledger, but no job is.
type listing struct {
	*Store
	ctx context.Context // of Create
	key func(id string) (hash int64, rest uint64)
	job ledger.Job

	met     entries  // all that was listed
	n       uint32   // how many that is, with the repeats
	rows    []listed // the next part
	writing []listed // the part before it
	call    *call    // what is being written
	repeats int64

	lanes   map[string]int // by joined scopes; an index of the two below
	sets    [][]string
	ids     []int64         // of lanes; shorter than sets while some are not made
	sizes   []int64         // documents, with the repeats
	dropped map[int64]int64 // repeats, by lane
}

// A listed is a document with the index of its lane.
type listed struct {
	dogear.Document
	lane int
}

// Create lists documents into a new job.
func (s *Store) Create(ctx context.Context, name string, set ledger.Settings, docs iter.Seq2[dogear.Document, error]) (ledger.Job, int64, error) {
	l := s.newListing(ctx, name, set)
	if err := l.list(docs); err != nil {
		return ledger.Job{}, 0, fmt.Errorf("list documents into job %s: %w", name, err)
	}
	return l.job, l.repeats, nil
}

func (s *Store) newListing(ctx context.Context, name string, set ledger.Settings) *listing {
	return &listing{
		Store: s, ctx: ctx, key: keyOf, job: ledger.Job{Name: name, Settings: set},
		met: newEntries(s.holders()), lanes: map[string]int{}, dropped: map[int64]int64{},
	}
}

// list makes the job, or leaves nothing.
func (l *listing) list(docs iter.Seq2[dogear.Document, error]) (err error) {
	defer l.met.close()
	if err := l.start(); err != nil {
		return err
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
			return err
		}
	}
	return l.finish()
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

// keyOf is what stands for an id: the hash that the index has, and as much again, so that
// nobody finds two ids of one key.
func keyOf(id string) (hash int64, rest uint64) {
	sum := sha256.Sum256([]byte(id))
	return int64(binary.BigEndian.Uint64(sum[:8])), binary.BigEndian.Uint64(sum[8:16])
}

// add takes the next document. Whether it is a repeat shows at the end.
func (l *listing) add(d dogear.Document) error {
	if l.n == math.MaxUint32 {
		return fmt.Errorf("a list has at most %d documents", l.n)
	}
	hash, rest := l.key(d.ID)
	if err := l.met.add(entry{hash, rest, d.Fingerprint, l.n}); err != nil {
		return err
	}
	d.Seq = l.seq(l.n)
	l.n++
	l.rows = append(l.rows, listed{d, l.lane(d.Scopes)})
	if len(l.rows) < listRows {
		return nil
	}
	return l.flush()
}

// seq is the number of the list's nth document.
func (l *listing) seq(n uint32) int64 { return l.job.First + int64(n) }

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
	return l.behind(func(tx *tx) error { return l.write(tx, rows) })
}

// behind has work done in a transaction of its own while the caller goes on, once the work
// before it is done.
func (l *listing) behind(work func(*tx) error) error {
	if err := l.wait(); err != nil {
		return err
	}
	l.call = l.submit(l.ctx, &call{alone: true, work: func(tx *tx) error {
		if err := tx.acts(); err != nil {
			return err
		}
		return work(tx)
	}})
	return nil
}

// wait waits for what is being written.
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

// stored is an address and a size as the table has them.
func stored(d dogear.Document) (address, size any) {
	if !d.Secret && d.Address != d.ID {
		address = d.Address
	}
	if d.Size >= 0 {
		size = d.Size
	}
	return address, size
}

func (tx *tx) addDocument(d dogear.Document, lane int64) error {
	address, size := stored(d)
	return tx.conn.exec(addDocument, d.Seq, lane, d.ID, address, d.Secret, d.List, d.Line, d.Offset,
		d.Name, d.Version, size, digest(d.SHA256), textOr(d.Parent), textOr(d.Digest))
}

// finish writes what is left and the index of ids, without the repeats, and lets the job be
// seen.
func (l *listing) finish() error {
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.wait(); err != nil {
		return err
	}
	l.rows, l.writing = nil, nil
	repeats := entries{folder: l.met.folder, max: l.met.max, fan: l.met.fan}
	defer repeats.close()
	if err := l.index(&repeats); err != nil {
		return err
	}
	l.met.close()
	if err := l.drop(&repeats); err != nil {
		return err
	}
	l.job.Total = int64(l.n) - l.repeats
	return l.act(l.ctx, func(tx *tx) error {
		if err := tx.nameFree(l.job.Name); err != nil {
			return err
		}
		for i, lane := range l.ids {
			tx.pending[lane] += l.sizes[i] - l.dropped[lane]
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
