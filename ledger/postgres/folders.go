package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear/ledger"
)

const (
	// nameRows is how many documents get the names of their folders in one transaction.
	nameRows = 4096
	// foldersMost bounds the folders that are remembered meanwhile.
	foldersMost = 1 << 15
	// deepest is how many folders may be in one another.
	deepest = 1000
)

const (
	readUnnamed = `SELECT seq, lane, id, name, parent FROM dogear.documents
		WHERE seq > $1 AND seq <= $2 AND parent IS NOT NULL ORDER BY seq LIMIT $3`

	setNames = `UPDATE dogear.documents d SET name = u.name, parent = NULL
		FROM unnest($1::bigint[], $2::text[]) AS u(seq, name) WHERE d.seq = u.seq`

	readFolders = `SELECT id, parent, name, outside FROM dogear.folders WHERE job = $1 AND id = ANY($2)`

	setShorter = `UPDATE dogear.jobs SET total = total - $2 WHERE id = $1`

	setComplete = `UPDATE dogear.jobs SET listing = false WHERE id = $1`

	dropFolders = `DELETE FROM dogear.folders WHERE job = $1`
)

// complete puts the names of folders before those of their documents, leaves out what is
// outside the listing, and lets the listing be complete.
func (s *Store) complete(ctx context.Context, job int64, got *ledger.Paged) error {
	n := &naming{job: job, folders: map[string]folder{}}
	next, last := rangeOf(job)
	for {
		after, dropped, rows := next, int64(0), 0
		err := s.actAlone(ctx, listPen, func(ctx context.Context, tx *tx) (err error) {
			next, dropped, rows, err = n.part(ctx, tx, after, last)
			if err != nil {
				return err
			}
			b := tx.batch()
			b.Queue(setShorter, job, dropped)
			if rows < nameRows {
				b.Queue(dropFolders, job)
				b.Queue(setComplete, job)
			}
			return tx.send(ctx, b)
		})
		if err != nil {
			return err
		}
		if got.Dropped += dropped; rows < nameRows {
			return nil
		}
	}
}

// naming is the giving of names in one listing.
type naming struct {
	job     int64
	folders map[string]folder
}

// A folder is a row of folders, and what its documents are named after it.
type folder struct {
	parent, name string
	outside      bool
	known        bool // the listing knows it
	path         *folderPath
}

// A folderPath is a folder as its documents are named after it: "Reports/2026/".
type folderPath struct {
	path    string
	outside bool
}

type unnamed struct {
	known
	name, parent string
}

// part names documents behind a number, in one transaction.
func (n *naming) part(ctx context.Context, tx *tx, after, last int64) (next, dropped int64, rows int, err error) {
	next = after
	var docs []unnamed
	var parents []string
	err = tx.rows(ctx, readUnnamed, func(r pgx.Rows) error {
		var u unnamed
		err := r.Scan(&u.Seq, &u.lane, &u.ID, &u.name, &u.parent)
		u.ID, u.name, u.parent = told(u.ID), told(u.name), told(u.parent)
		next = u.Seq
		docs, parents = append(docs, u), append(parents, u.parent)
		return err
	}, after, last, nameRows)
	if err == nil {
		err = n.fetch(ctx, tx, parents)
	}
	if err != nil {
		return 0, 0, 0, err
	}
	var seqs []int64
	var names []string
	var out []known
	for _, u := range docs {
		if in := n.of(u.parent); in.outside {
			out = append(out, u.known)
		} else {
			seqs, names = append(seqs, u.Seq), append(names, kept(in.path+u.name))
		}
	}
	b := tx.batch()
	if len(seqs) > 0 {
		b.Queue(setNames, seqs, names)
	}
	tx.dropListed(b, n.job, out)
	return next, int64(len(out)), len(docs), tx.send(ctx, b)
}

// fetch reads folders and all that they are in, a level at a time.
func (n *naming) fetch(ctx context.Context, tx *tx, ids []string) error {
	if len(n.folders) > foldersMost {
		clear(n.folders)
	}
	for range deepest {
		var missing []string
		for _, id := range sorted(ids) {
			if _, ok := n.folders[id]; !ok && id != "" {
				missing = append(missing, kept(id))
			}
		}
		if len(missing) == 0 {
			return nil
		}
		ids = nil
		err := tx.rows(ctx, readFolders, func(r pgx.Rows) error {
			f := folder{known: true}
			var id string
			err := r.Scan(&id, &f.parent, &f.name, &f.outside)
			f.parent, f.name = told(f.parent), told(f.name)
			n.folders[told(id)] = f
			if !f.outside {
				ids = append(ids, f.parent)
			}
			return err
		}, n.job, missing)
		if err != nil {
			return err
		}
		for _, id := range missing { // what was not found is known to be unknown
			n.folders[told(id)] = n.folders[told(id)]
		}
	}
	return nil
}

// of is the path of a folder. One that the listing does not know, and one that is in itself,
// give no names.
func (n *naming) of(id string) folderPath {
	var chain []string
	var in folderPath
	seen := map[string]bool{}
	for id != "" && len(chain) < deepest {
		f := n.folders[id]
		if seen[id] {
			return folderPath{}
		}
		if f.path != nil {
			in = *f.path
			break
		}
		if !f.known {
			break
		}
		seen[id] = true
		chain = append(chain, id)
		if f.outside {
			in.outside = true
			break
		}
		id = f.parent
	}
	for i := len(chain) - 1; i >= 0; i-- {
		f := n.folders[chain[i]]
		if name := strings.Trim(f.name, "/"); name != "" {
			in.path += name + "/"
		}
		path := in
		f.path = &path
		n.folders[chain[i]] = f
	}
	return in
}
