package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	// roomy lets what reads a whole list sort it and scan tables.
	roomy = `SELECT set_config('work_mem', '64MB', true), set_config('enable_seqscan', 'on', true),
		set_config('enable_bitmapscan', 'on', true)`

	// findRepeats counts the documents that have the id of an earlier one of the list and its
	// fingerprint, and finds the first that has its id and another fingerprint.
	findRepeats = `SELECT count(*) FILTER (WHERE seq <> first AND print = first_print),
			coalesce(min(seq) FILTER (WHERE print <> first_print), 0)
		FROM (SELECT seq, print, first_value(seq) OVER same AS first, first_value(print) OVER same AS first_print
			FROM dogear.ids WHERE job = $1 WINDOW same AS (PARTITION BY hash, rest ORDER BY seq)) listed`

	// dropRepeats deletes all of one id but the first.
	dropRepeats = `WITH listed AS (
			SELECT seq, hash, first_value(seq) OVER (PARTITION BY hash, rest ORDER BY seq) AS first FROM dogear.ids WHERE job = $1
		), repeats AS MATERIALIZED (
			SELECT seq, hash FROM listed WHERE seq <> first
		), unknown AS (
			DELETE FROM dogear.ids i USING repeats r WHERE i.job = $1 AND i.hash = r.hash AND i.seq = r.seq
		), gone AS (
			DELETE FROM dogear.documents d USING repeats r WHERE d.seq = r.seq RETURNING d.lane
		)
		SELECT lane, count(*) FROM gone GROUP BY lane`

	// readListed reads all documents of a hash, in the order of the list.
	readListed = `SELECT ` + documentColumns + ` FROM dogear.ids i JOIN dogear.documents d ON d.seq = i.seq
		WHERE i.job = $1 AND i.hash = $2 AND i.rest = $3 ORDER BY i.seq`

	readSeq = `SELECT ` + documentColumns + ` FROM dogear.documents d WHERE d.seq = $1`
)

// drop deletes the repeats, or reports the conflict that the list comes to first. It returns
// how many went, by lane.
func (l *listing) drop(ctx context.Context, tx *tx) (map[int64]int64, error) {
	dropped := map[int64]int64{}
	if _, err := tx.exec(ctx, roomy); err != nil {
		return nil, err
	}
	var repeats, clash int64
	if _, err := row(ctx, tx, findRepeats, []any{&repeats, &clash}, l.job.ID); err != nil {
		return nil, err
	}
	if clash != 0 {
		return nil, l.conflict(ctx, tx, clash)
	}
	if repeats == 0 {
		return dropped, nil
	}
	err := tx.rows(ctx, dropRepeats, func(r pgx.Rows) error {
		var lane, n int64
		err := r.Scan(&lane, &n)
		dropped[lane] = n
		return err
	}, l.job.ID)
	return dropped, err
}

// conflict is the error of a document with the id of an earlier one and another address.
func (l *listing) conflict(ctx context.Context, tx *tx, seq int64) error {
	var second dogear.Document
	one := func(d *dogear.Document) func(pgx.Rows) error {
		return func(r pgx.Rows) (err error) {
			if d.Seq == 0 {
				*d, err = documentAt(r)
			}
			return err
		}
	}
	if err := tx.rows(ctx, readSeq, one(&second), seq); err != nil {
		return err
	}
	var first dogear.Document
	hash, rest := l.key(second.ID)
	if err := tx.rows(ctx, readListed, one(&first), l.job.ID, hash, rest); err != nil {
		return err
	}
	return &ledger.ConflictError{
		ID: first.ID, Lines: [2]int64{first.Line, second.Line}, Secret: first.Secret || second.Secret,
	}
}
