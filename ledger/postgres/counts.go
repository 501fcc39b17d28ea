package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// What the table counts counts. The numbers are stored: add, never renumber. They are
// written out in endRequests and addRequests.
const (
	countTotal    = 0 // key is one of the totals below
	countState    = 1 // documents; key is their dogear.State
	countStatus   = 2 // requests; key is the answer's status
	countAttempts = 3 // documents; key is how many attempts they have paid, if any
	countLane     = 4 // pending documents; key is their lane
)

// The totals.
const (
	totalSent      = 0
	totalThrottled = 1
	totalAttempts  = 2
)

type countKey struct {
	job  int64
	what int16
	key  int64
}

type runCounts struct{ sent, throttled, done, bytes int64 }

func (tx *tx) count(job int64, what int16, key, n int64) {
	tx.counts[countKey{job, what, key}] += n
}

// moved counts a document's way from one state to another.
func (tx *tx) moved(seq, lane int64, from, to dogear.State) {
	job := jobOf(seq)
	tx.count(job, countState, int64(from), -1)
	tx.count(job, countState, int64(to), 1)
	if from == dogear.Pending {
		tx.count(job, countLane, lane, -1)
	}
	if to == dogear.Pending {
		tx.count(job, countLane, lane, 1)
	}
}

// paid counts a document's way from one number of attempts to another.
func (tx *tx) paid(seq int64, from, to int64) {
	job := jobOf(seq)
	if from > 0 {
		tx.count(job, countAttempts, from, -1)
	}
	if to > 0 {
		tx.count(job, countAttempts, to, 1)
	}
}

func (tx *tx) inRun(run int64, add runCounts) {
	c := tx.runs[run]
	c.sent += add.sent
	c.throttled += add.throttled
	c.done += add.done
	c.bytes += add.bytes
	tx.runs[run] = c
}

const (
	// addCounts changes rows of this pen's alone; in order, should they be nobody's.
	addCounts = `INSERT INTO dogear.counts AS c (job, what, key, pen, n)
		SELECT job, what, key, $1::bigint, n FROM unnest($2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[]) AS u(job, what, key, n)
		ORDER BY job, what, key ON CONFLICT (job, what, key, pen) DO UPDATE SET n = c.n + excluded.n`

	addToRun = `INSERT INTO dogear.run_counts AS c (run, pen, sent, throttled, done, bytes) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (run, pen) DO UPDATE SET sent = c.sent + excluded.sent, throttled = c.throttled + excluded.throttled,
			done = c.done + excluded.done, bytes = c.bytes + excluded.bytes`

	// foldRuns keeps what a holder's pens have counted of runs.
	foldRuns = `WITH gone AS (
			DELETE FROM dogear.run_counts WHERE pen >= $1::bigint * 4 AND pen < $1::bigint * 4 + 4 RETURNING run, sent, throttled, done, bytes
		)
		INSERT INTO dogear.run_counts AS c (run, pen, sent, throttled, done, bytes)
		SELECT run, 0, sum(sent), sum(throttled), sum(done), sum(bytes) FROM gone GROUP BY run ORDER BY run
		ON CONFLICT (run, pen) DO UPDATE SET sent = c.sent + excluded.sent, throttled = c.throttled + excluded.throttled,
			done = c.done + excluded.done, bytes = c.bytes + excluded.bytes`
)

// writeCounts adds what the transaction's calls have counted.
func (tx *tx) writeCounts(b *pgx.Batch) {
	id := tx.id()
	if tx.last {
		id = 0
	}
	var jobs, keys, ns []int64
	var whats []int16
	for k, n := range tx.counts {
		if n != 0 {
			jobs, whats, keys, ns = append(jobs, k.job), append(whats, k.what), append(keys, k.key), append(ns, n)
		}
	}
	if len(jobs) > 0 {
		b.Queue(addCounts, id, jobs, whats, keys, ns)
	}
	for run, c := range tx.runs {
		b.Queue(addToRun, run, id, c.sent, c.throttled, c.done, c.bytes)
	}
}

const (
	readCounts = `SELECT what, key, sum(n)::bigint FROM dogear.counts WHERE job = $1 AND what < 4 GROUP BY what, key`

	// openDocuments looks at the open requests, which are few whatever the job's size.
	openDocuments = `SELECT count(DISTINCT doc) FROM dogear.requests WHERE ended = 0 AND job = $1 AND doc <> 0`
)

// Counts are what the job has come to.
func (s *Store) Counts(ctx context.Context, job int64) (c ledger.Counts, err error) {
	err = s.snapshot(ctx, func(ctx context.Context, conn conn) (err error) {
		c = ledger.Counts{Documents: map[dogear.State]int64{}, ByStatus: map[int]int64{}}
		if c.Open, err = number(ctx, conn, openDocuments, job); err != nil {
			return err
		}
		return conn.rows(ctx, readCounts, func(r pgx.Rows) error {
			var what int16
			var key, n int64
			err := r.Scan(&what, &key, &n)
			sum(&c, what, key, n)
			return err
		}, job)
	})
	if err != nil {
		return ledger.Counts{}, fmt.Errorf("read the counts of job %d: %w", job, err)
	}
	return c, nil
}

// sum puts a sum of the table counts where it belongs.
func sum(c *ledger.Counts, what int16, key, n int64) {
	switch {
	case n == 0:
	case what == countState:
		c.Documents[dogear.State(key)] = n
	case what == countStatus:
		c.ByStatus[int(key)] = n
	case what == countAttempts:
		c.Most = max(c.Most, int(key))
	case key == totalSent:
		c.Sent = n
	case key == totalThrottled:
		c.Throttled = n
	case key == totalAttempts:
		c.Attempts = n
	}
}
