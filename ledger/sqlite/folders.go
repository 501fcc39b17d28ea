package sqlite

import (
	"context"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear/ledger"
)

const (
	// nameRows is how many documents get the names of their folders in one transaction.
	nameRows = 4096
	// foldersMost bounds the folders' paths that are remembered meanwhile.
	foldersMost = 4096
	// longest is about how long the names of folders may be together.
	longest = 4096
	// deepest is how many folders may be in one another.
	deepest = 1000
)

const (
	readUnnamed = `SELECT seq, lane, id, name, parent FROM documents
		WHERE seq > ? AND seq <= ? AND parent IS NOT NULL ORDER BY seq LIMIT ?`

	setName = `UPDATE documents SET name = ?2, parent = NULL WHERE seq = ?1`

	readFolder = `SELECT parent, name, outside FROM folders WHERE job = ? AND id = ?`

	lessDocuments = `UPDATE jobs SET total = total - ?2 WHERE id = ?1`

	setComplete = `UPDATE jobs SET listing = 0 WHERE id = ?`

	dropFolders = `DELETE FROM folders WHERE job = ?`
)

// complete puts the names of folders before those of their documents, leaves out what is
// outside the listing, and lets the listing be complete.
func (s *Store) complete(ctx context.Context, job int64, got *ledger.Paged) error {
	n := &naming{job: job, paths: map[string]folderPath{}}
	next, last := rangeOf(job)
	for {
		after, dropped, rows := next, int64(0), 0
		err := s.act(ctx, func(tx *tx) (err error) {
			next, dropped, rows, err = n.part(tx, after, last)
			if err == nil {
				err = tx.conn.exec(lessDocuments, job, dropped)
			}
			if err == nil && rows < nameRows {
				err = tx.conn.exec(dropFolders, job)
			}
			if err == nil && rows < nameRows {
				err = tx.conn.exec(setComplete, job)
			}
			return err
		})
		if err != nil {
			return err
		}
		if n.dropped += dropped; rows < nameRows {
			got.Dropped += n.dropped
			return nil
		}
	}
}

// naming is the giving of names in one listing.
type naming struct {
	job     int64
	paths   map[string]folderPath
	dropped int64
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
func (n *naming) part(tx *tx, after, last int64) (next, dropped int64, rows int, err error) {
	next = after
	var docs []unnamed
	err = tx.conn.rows(readUnnamed, func(r *sqlite.Stmt) {
		u := unnamed{name: r.ColumnText(3), parent: r.ColumnText(4)}
		u.Seq, u.lane, u.ID = r.ColumnInt64(0), r.ColumnInt64(1), r.ColumnText(2)
		docs = append(docs, u)
	}, after, last, nameRows)
	for _, u := range docs {
		if err != nil {
			return 0, 0, 0, err
		}
		next = u.Seq
		var in folderPath
		if in, err = n.of(tx, u.parent); err != nil {
			return 0, 0, 0, err
		}
		if in.outside {
			dropped++
			err = tx.dropListed(n.job, u.known)
			continue
		}
		err = tx.conn.exec(setName, u.Seq, in.path+u.name)
	}
	return next, dropped, len(docs), err
}

// of is the path of a folder. One that the listing does not know, and one that is in itself,
// give no names.
func (n *naming) of(tx *tx, id string) (folderPath, error) {
	var chain, names []string
	var in folderPath
	for id != "" && len(chain) < deepest {
		if slices.Contains(chain, id) { // in itself: it gives no names
			names = make([]string, len(chain))
			break
		}
		if known, ok := n.paths[id]; ok {
			in = known
			break
		}
		var parent, name string
		found, err := tx.conn.row(readFolder, func(r *sqlite.Stmt) {
			parent, name, in.outside = r.ColumnText(0), r.ColumnText(1), r.ColumnBool(2)
		}, n.job, id)
		if err != nil {
			return folderPath{}, err
		}
		if !found {
			break
		}
		chain, names = append(chain, id), append(names, name)
		if in.outside {
			break
		}
		id = parent
	}
	if len(n.paths) > foldersMost {
		clear(n.paths)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if name := strings.Trim(names[i], "/"); name != "" && len(in.path) < longest {
			in.path += name + "/"
		}
		n.paths[chain[i]] = in
	}
	return in, nil
}
