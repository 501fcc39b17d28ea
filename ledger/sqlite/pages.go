package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	addPaged = `INSERT INTO jobs (name, stage, holder, settings, sink, created, total, listing) VALUES (?, 1, ?, ?, ?, ?, 0, 1)`

	readListing = `SELECT listing FROM jobs WHERE id = ? AND stage = 1`

	setCursor = `UPDATE jobs SET cursor = ?2, total = total + ?3 WHERE id = ?1`

	lastSeq = `SELECT coalesce(max(seq), ?1) FROM documents WHERE seq > ?1 AND seq <= ?2`

	findLane = `SELECT id FROM lanes WHERE job = ? AND listed = ?`

	setFolder = `INSERT INTO folders (job, id, parent, name, outside) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (job, id) DO UPDATE SET parent = ?3, name = ?4, outside = ?5`

	findListed = `SELECT d.seq, d.state, d.lane, d.version, d.sha256, d.digest FROM ids i JOIN documents d ON d.seq = i.seq
		WHERE i.job = ? AND i.hash = ? AND d.id = ?`

	setListed = `UPDATE documents SET address = ?2, name = ?3, parent = ?4, version = ?5, size = ?6, sha256 = ?7, digest = ?8
		WHERE seq = ?1`

	dropDocument = `DELETE FROM documents WHERE seq = ?`

	dropID = `DELETE FROM ids WHERE job = ? AND hash = ? AND seq = ?`

	setChanged = `UPDATE documents SET state = ?2, reason = ?3, found = ?4 WHERE seq = ?1`
)

// CreatePaged makes a job that is listed in pages.
func (s *Store) CreatePaged(ctx context.Context, name string, set ledger.Settings) (job ledger.Job, err error) {
	kept, err := json.Marshal(set)
	if err == nil {
		err = s.act(ctx, func(tx *tx) error {
			if err := tx.nameFree(name); err != nil {
				return err
			}
			err := tx.conn.exec(addPaged, name, tx.me.Load().n, string(kept), set.Sink, tx.wall)
			job = ledger.Job{ID: tx.conn.LastInsertRowID(), Name: name, Settings: set, Created: instant(nanos(tx.wall)), Listing: true}
			after, _ := rangeOf(job.ID)
			job.First = after + 1
			return err
		})
	}
	if err != nil {
		return ledger.Job{}, fmt.Errorf("make job %s: %w", name, err)
	}
	return job, nil
}

// AddPage takes a page of a listing.
func (s *Store) AddPage(ctx context.Context, job int64, p dogear.Page) (ledger.Paged, error) {
	var got ledger.Paged
	listing := false
	err := s.act(ctx, func(tx *tx) error {
		got = ledger.Paged{}
		found, err := tx.conn.row(readListing, func(r *sqlite.Stmt) { listing = r.ColumnBool(0) }, job)
		switch {
		case err != nil:
			return err
		case !found:
			return ledger.ErrNoJob
		case listing:
			err = tx.listed(job, p, &got)
		default:
			err = tx.told(job, p, &got)
		}
		if err != nil {
			return err
		}
		return tx.conn.exec(setCursor, job, p.Cursor, got.New-got.Dropped)
	})
	if err == nil && listing && p.Last {
		err = s.complete(ctx, job, &got)
	}
	if err != nil {
		return ledger.Paged{}, fmt.Errorf("add a page to the listing of job %d: %w", job, err)
	}
	return got, nil
}

// listed takes a page of a listing that is not complete.
func (tx *tx) listed(job int64, p dogear.Page, got *ledger.Paged) error {
	for _, f := range p.Folders {
		if err := tx.conn.exec(setFolder, job, f.ID, f.Parent, f.Name, f.Outside); err != nil {
			return err
		}
	}
	after, last := rangeOf(job)
	seq, err := tx.conn.number(lastSeq, after, last)
	if err != nil {
		return err
	}
	for _, d := range p.Documents {
		was, err := tx.known(job, d.ID)
		if err != nil {
			return err
		}
		if was.Seq != 0 {
			if err := tx.replace(was.Seq, d); err != nil {
				return err
			}
			continue
		}
		if seq++; seq > last {
			return fmt.Errorf("a job has at most %d documents", last-after)
		}
		d.Seq = seq
		if err := tx.addListed(job, d); err != nil {
			return err
		}
		got.New++
	}
	for _, id := range p.Gone {
		was, err := tx.known(job, id)
		if err != nil {
			return err
		}
		if was.Seq == 0 {
			continue
		}
		if err := tx.dropListed(job, was); err != nil {
			return err
		}
		got.Dropped++
	}
	return nil
}

// A known document is what a later page is compared with.
type known struct {
	dogear.Document
	state dogear.State
	lane  int64
}

// known is the document of that id; its Seq is zero if there is none.
func (tx *tx) known(job int64, id string) (k known, err error) {
	_, err = tx.conn.row(findListed, func(r *sqlite.Stmt) {
		k.Seq, k.state, k.lane = r.ColumnInt64(0), dogear.State(r.ColumnInt(1)), r.ColumnInt64(2)
		k.ID, k.Version, k.SHA256, k.Digest = id, r.ColumnText(3), digestAt(r, 4), r.ColumnText(5)
	}, job, hash([]byte(id)), id)
	return k, err
}

func (tx *tx) addListed(job int64, d dogear.Document) error {
	set, err := tx.setOf(d.Scopes)
	if err != nil {
		return err
	}
	lane, err := tx.conn.number(findLane, job, set)
	if err == nil && lane == 0 {
		err = tx.conn.exec(addLane, job, set)
		lane = tx.conn.LastInsertRowID()
	}
	if err != nil {
		return err
	}
	if err := tx.addDocument(d, lane); err != nil {
		return err
	}
	tx.pending[lane]++
	tx.count(job, countState, int64(dogear.Pending), 1)
	return tx.conn.exec(addID, job, hash([]byte(d.ID)), d.Seq)
}

// replace lets the last word on a document count.
func (tx *tx) replace(seq int64, d dogear.Document) error {
	address, size := stored(d)
	return tx.conn.exec(setListed, seq, address, d.Name, textOr(d.Parent), d.Version, size, digest(d.SHA256), textOr(d.Digest))
}

func (tx *tx) dropListed(job int64, k known) error {
	if err := tx.conn.exec(dropDocument, k.Seq); err != nil {
		return err
	}
	tx.pending[k.lane]--
	tx.count(job, countState, int64(dogear.Pending), -1)
	return tx.conn.exec(dropID, job, hash([]byte(k.ID)), k.Seq)
}

// told takes what a complete listing's service says of changes: the job never grows.
func (tx *tx) told(job int64, p dogear.Page, got *ledger.Paged) error {
	for _, d := range p.Documents {
		was, err := tx.known(job, d.ID)
		if err != nil {
			return err
		}
		switch same := was.Same(d); {
		case was.state == dogear.Changed && same:
			if err := tx.reopen(was.Seq, "the service has the listed version again"); err != nil {
				return err
			}
			got.Back++
			continue
		case was.Seq == 0, was.state != dogear.Pending, same:
			continue
		}
		if err := tx.moveTo(was, dogear.Changed, "the service has another version than was listed", d.Version); err != nil {
			return err
		}
		got.Changed++
	}
	for _, id := range p.Gone {
		was, err := tx.known(job, id)
		if err != nil {
			return err
		}
		if was.state != dogear.Pending || was.Seq == 0 {
			continue
		}
		if err := tx.moveTo(was, dogear.Gone, "the service says that it was deleted", ""); err != nil {
			return err
		}
		got.Gone++
	}
	return nil
}

func (tx *tx) moveTo(k known, to dogear.State, reason, found string) error {
	tx.moved(k.Seq, k.lane, k.state, to)
	return tx.conn.exec(setChanged, k.Seq, int64(to), reason, textOr(found))
}
