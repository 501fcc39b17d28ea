package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	// finishDocuments finds only what this holder has in flight.
	finishDocuments = `UPDATE dogear.documents SET state = 2, holder = NULL, reason = '', not_before = 0, partial = ''
		WHERE seq = ANY($1) AND state = 1 AND holder = $2 RETURNING seq`

	addResults = `INSERT INTO dogear.results (doc, run, folded, size, read_at, version, path, sha256, content_type)
		SELECT doc, $1::bigint, folded, size, read_at, version, path, sha256, content_type
		FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::bytea[], $9::text[])
			AS u(doc, folded, size, read_at, version, path, sha256, content_type)`

	addUnplaced = `INSERT INTO dogear.unplaced (doc, temp, folded)
		SELECT doc, temp, folded FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u(doc, temp, folded)`
)

// Settle marks documents done, each with its result, and others as placed.
func (s *Store) Settle(ctx context.Context, run int64, done []ledger.Settlement, placed []int64) error {
	err := s.act(ctx, workPen, func(ctx context.Context, tx *tx) error { return tx.settle(ctx, run, done, placed) })
	if err != nil {
		return fmt.Errorf("settle %d documents: %w", len(done), err)
	}
	return nil
}

func (tx *tx) settle(ctx context.Context, run int64, done []ledger.Settlement, placed []int64) error {
	b := tx.batch()
	left := make(map[int64]bool, len(done))
	docs := make([]int64, len(done))
	for i, d := range done {
		docs[i], left[d.Doc] = d.Doc, true
	}
	if len(done) > 0 {
		b.Queue(lockDocuments, docs)
		each(b, finishDocuments, func(r pgx.Rows) error {
			var seq int64
			err := r.Scan(&seq)
			delete(left, seq)
			return err
		}, docs, tx.me.Load())
		queueResults(b, run, docs, done)
	}
	if len(placed) > 0 {
		b.Queue(dropUnplaced, placed)
	}
	err := tx.send(ctx, b)
	if len(left) > 0 && (err == nil || codeOf(err) == "23505") { // the result of another is there
		for doc := range left {
			return fmt.Errorf("document %d: %w", doc, ledger.ErrLeaseLost)
		}
	}
	for _, doc := range docs {
		job := jobOf(doc)
		tx.count(job, countState, int64(dogear.InFlight), -1)
		tx.count(job, countState, int64(dogear.Done), 1)
	}
	if len(docs) > 0 {
		tx.inRun(run, runCounts{done: int64(len(docs))})
	}
	return err
}

func queueResults(b *pgx.Batch, run int64, docs []int64, done []ledger.Settlement) {
	n := len(done)
	folds, sizes, reads := make([]int64, n), make([]int64, n), make([]int64, n)
	versions, paths, types := make([]string, n), make([]string, n), make([]string, n)
	temps, folded, sums := make([]string, n), make([]string, n), make([][]byte, n)
	for i, d := range done {
		folds[i], sizes[i], reads[i] = foldedHash(jobOf(d.Doc), d.Folded), d.Size, nanos(d.ReadAt)
		versions[i], paths[i], types[i], sums[i] = kept(d.Version), kept(d.Path), kept(d.ContentType), digest(d.SHA256)
		temps[i], folded[i] = kept(d.Temp), kept(d.Folded)
	}
	b.Queue(addResults, run, docs, folds, sizes, reads, versions, paths, sums, types)
	b.Queue(addUnplaced, docs, temps, folded)
}

const (
	renameUnplaced = `UPDATE dogear.unplaced SET folded = $2 WHERE doc = $1`

	renameResult = `UPDATE dogear.results SET path = $2, folded = $3 WHERE doc = $1`
)

// Rename gives an unplaced result another path.
func (s *Store) Rename(ctx context.Context, doc int64, path, folded string) error {
	err := s.act(ctx, workPen, func(ctx context.Context, tx *tx) error {
		n, err := tx.exec(ctx, renameUnplaced, doc, kept(folded))
		if err == nil && n == 0 {
			err = errors.New("it has its final name")
		}
		if err == nil {
			_, err = tx.exec(ctx, renameResult, doc, kept(path), foldedHash(jobOf(doc), folded))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("rename the result of document %d: %w", doc, err)
	}
	return nil
}

const findFolded = `SELECT folded FROM dogear.results WHERE folded = ANY($1)`

// Taken reports which of the folded paths documents of the job have. Paths are known by a
// hash: a free one may be called taken, once in 2^64.
func (s *Store) Taken(ctx context.Context, job int64, folded []string) (map[string]bool, error) {
	hashes, of := make([]int64, len(folded)), make(map[int64]string, len(folded))
	for i, f := range folded {
		hashes[i] = foldedHash(job, f)
		of[hashes[i]] = f
	}
	taken := map[string]bool{}
	err := s.read(ctx, func(ctx context.Context, c conn) error {
		return c.rows(ctx, findFolded, func(r pgx.Rows) error {
			var h int64
			err := r.Scan(&h)
			taken[of[h]] = true
			return err
		}, hashes)
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
