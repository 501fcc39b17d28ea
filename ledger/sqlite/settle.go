package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	// finishDocument finds only what this holder has in flight.
	finishDocument = `UPDATE documents SET state = 2, done = 1, holder = NULL, reason = NULL, not_before = 0, partial = NULL
		WHERE seq = ? AND state = 1 AND holder = ?`

	addResult = `INSERT INTO results (doc, run, folded, size, read_at, version, path, sha256, content_type)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

	addUnplaced = `INSERT INTO unplaced (doc, temp, folded) VALUES (?, ?, ?)`

	dropUnplaced = `DELETE FROM unplaced WHERE doc = ?`
)

// Settle marks documents done, each with its result, and others as placed.
func (s *Store) Settle(ctx context.Context, run int64, done []ledger.Settlement, placed []int64) error {
	err := s.act(ctx, func(tx *tx) error {
		for _, d := range done {
			if err := tx.settle(run, d); err != nil {
				return fmt.Errorf("document %d: %w", d.Doc, err)
			}
		}
		for _, doc := range placed {
			if err := tx.conn.exec(dropUnplaced, doc); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("settle %d documents: %w", len(done), err)
	}
	return nil
}

func (tx *tx) settle(run int64, d ledger.Settlement) error {
	if err := tx.conn.exec(finishDocument, d.Doc, tx.me.Load().n); err != nil {
		return err
	}
	if tx.changed() == 0 {
		return ledger.ErrLeaseLost
	}
	job := jobOf(d.Doc)
	tx.count(job, countState, int64(dogear.InFlight), -1)
	tx.count(job, countState, int64(dogear.Done), 1)
	tx.inRun(run, runCounts{done: 1})
	err := tx.conn.exec(addResult, d.Doc, run, foldedHash(job, d.Folded), d.Size, d.ReadAt,
		d.Version, d.Path, digest(d.SHA256), d.ContentType)
	if err != nil {
		return err
	}
	return tx.conn.exec(addUnplaced, d.Doc, d.Temp, d.Folded)
}

const (
	renameResult = `UPDATE results SET path = ?2, folded = ?3 WHERE doc = ?1`

	renameUnplaced = `UPDATE unplaced SET folded = ?2 WHERE doc = ?1`
)

// Rename gives an unplaced result another path.
func (s *Store) Rename(ctx context.Context, doc int64, path, folded string) error {
	err := s.act(ctx, func(tx *tx) error {
		if err := tx.conn.exec(renameUnplaced, doc, folded); err != nil {
			return err
		}
		if tx.changed() == 0 {
			return errors.New("it has its final name")
		}
		return tx.conn.exec(renameResult, doc, path, foldedHash(jobOf(doc), folded))
	})
	if err != nil {
		return fmt.Errorf("rename the result of document %d: %w", doc, err)
	}
	return nil
}

const findFolded = `SELECT 1 FROM results INDEXED BY results_folded WHERE folded = ? LIMIT 1`

// Taken reports which of the folded paths documents of the job have. Paths are known by a
// hash: a free one may be called taken, once in 2^64.
func (s *Store) Taken(ctx context.Context, job int64, folded []string) (map[string]bool, error) {
	taken := map[string]bool{}
	err := s.read(ctx, func(c conn) error {
		for _, f := range folded {
			found, err := c.row(findFolded, func(*sqlite.Stmt) {}, foldedHash(job, f))
			if err != nil {
				return err
			}
			if found {
				taken[f] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for taken names: %w", err)
	}
	return taken, nil
}

// foldedHash stands for a folded path of a job.
func foldedHash(job int64, folded string) int64 {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 256), uint64(job))
	return hash(append(b, folded...))
}

// hash is the first eight bytes of the SHA-256.
func hash(b []byte) int64 {
	sum := sha256.Sum256(b)
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
