package sqlite

import (
	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	addID = `INSERT INTO ids (job, hash, seq) VALUES (?, ?, ?)`

	dropRepeat = `DELETE FROM documents WHERE seq = ? RETURNING lane`

	readListed = `SELECT ` + documentColumns + ` FROM documents WHERE seq = ?`
)

// index writes the index of ids in the order of its keys, in which what names one id is
// next to each other, and collects the repeats. Of several conflicts it reports the one that
// the list comes to first.
func (l *listing) index(repeats *entries) error {
	var first entry // of its id
	var clash [2]uint32
	var part []entry
	some := false
	for e, err := range l.met.sorted() {
		switch {
		case err != nil:
			return err
		case !some || e.hash != first.hash || e.rest != first.rest:
			some, first = true, e
			part = append(part, e)
		case e.print == first.print:
			l.repeats++
			if err := repeats.add(entry{n: e.n}); err != nil {
				return err
			}
		case clash[1] == 0 || e.n < clash[1]:
			clash = [2]uint32{first.n, e.n}
		}
		if len(part) == listRows {
			if clash[1] == 0 { // else nobody needs them
				if err := l.addIDs(part); err != nil {
					return err
				}
			}
			part = make([]entry, 0, listRows)
		}
	}
	if clash[1] != 0 {
		return l.conflict(clash)
	}
	if err := l.addIDs(part); err != nil {
		return err
	}
	return l.wait()
}

func (l *listing) addIDs(part []entry) error {
	return l.behind(func(tx *tx) error {
		for _, e := range part {
			if err := tx.conn.exec(addID, l.job.ID, e.hash, l.seq(e.n)); err != nil {
				return err
			}
		}
		return nil
	})
}

// conflict is the error of two documents with one id and two addresses.
func (l *listing) conflict(clash [2]uint32) error {
	c := &ledger.ConflictError{}
	for i, n := range clash {
		var d dogear.Document
		err := l.read(l.ctx, func(c conn) error {
			_, err := c.row(readListed, func(r *sqlite.Stmt) { d = documentAt(r) }, l.seq(n))
			return err
		})
		if err != nil {
			return err
		}
		c.ID, c.Lines[i], c.Secret = d.ID, d.Line, c.Secret || d.Secret
	}
	return c
}

// drop deletes the repeats, in the order of the list.
func (l *listing) drop(repeats *entries) error {
	var part []int64
	for e, err := range repeats.sorted() {
		if err != nil {
			return err
		}
		if part = append(part, l.seq(e.n)); len(part) == listRows {
			if err := l.dropPart(part); err != nil {
				return err
			}
			part = part[:0]
		}
	}
	return l.dropPart(part)
}

func (l *listing) dropPart(part []int64) error {
	if len(part) == 0 {
		return nil
	}
	dropped := map[int64]int64{}
	err := l.doAlone(l.ctx, func(tx *tx) error {
		clear(dropped)
		if err := tx.acts(); err != nil {
			return err
		}
		for _, seq := range part {
			if err := tx.conn.rows(dropRepeat, func(r *sqlite.Stmt) { dropped[r.ColumnInt64(0)]++ }, seq); err != nil {
				return err
			}
		}
		return nil
	})
	for lane, n := range dropped {
		l.dropped[lane] += n
	}
	return err
}
