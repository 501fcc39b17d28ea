package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// What the table counts counts. The numbers are stored: add, never renumber.
const (
	countTotal    = iota // key is one of the totals below
	countState           // documents; key is their dogear.State
	countStatus          // requests; key is the answer's status
	countAttempts        // documents; key is how many attempts they have paid, if any
)

// The totals.
const (
	totalSent = iota
	totalThrottled
	totalAttempts
)

type countKey struct {
	job  int64
	what int
	key  int64
}

type runCounts struct{ sent, throttled, done, bytes int64 }

func (tx *tx) count(job int64, what int, key, n int64) {
	tx.counts[countKey{job, what, key}] += n
}

// moved counts a document's way from one state to another.
func (tx *tx) moved(seq, lane int64, from, to dogear.State) {
	job := jobOf(seq)
	tx.count(job, countState, int64(from), -1)
	tx.count(job, countState, int64(to), 1)
	if from == dogear.Pending {
		tx.pending[lane]--
	}
	if to == dogear.Pending {
		tx.pending[lane]++
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
	if run == 0 {
		return
	}
	c := tx.runs[run]
	c.sent += add.sent
	c.throttled += add.throttled
	c.done += add.done
	c.bytes += add.bytes
	tx.runs[run] = c
}

const (
	addCount = `INSERT INTO counts (job, what, key, n) VALUES (?, ?, ?, ?)
		ON CONFLICT (job, what, key) DO UPDATE SET n = n + excluded.n`

	addToRun = `UPDATE runs SET sent = sent + ?2, throttled = throttled + ?3, done = done + ?4, bytes = bytes + ?5
		WHERE id = ?1`

	addToLane = `UPDATE lanes SET pending = pending + ?2 WHERE id = ?1`
)

// flushCounts adds what the transaction's calls have counted.
func (tx *tx) flushCounts() error {
	for k, n := range tx.counts {
		if n == 0 {
			continue
		}
		if err := tx.conn.exec(addCount, k.job, k.what, k.key, n); err != nil {
			return err
		}
	}
	for run, c := range tx.runs {
		if err := tx.conn.exec(addToRun, run, c.sent, c.throttled, c.done, c.bytes); err != nil {
			return err
		}
	}
	for lane, n := range tx.pending {
		if n == 0 {
			continue
		}
		if err := tx.conn.exec(addToLane, lane, n); err != nil {
			return err
		}
	}
	return nil
}

// Few requests are open, whatever the job's size: the index holds those alone.
const openDocuments = `SELECT count(DISTINCT doc) FROM requests INDEXED BY requests_open WHERE ended = 0 AND job = ? AND doc <> 0`

const readCounts = `SELECT what, key, n FROM counts WHERE job = ?`

// Counts are what the job has come to.
func (s *Store) Counts(ctx context.Context, job int64) (ledger.Counts, error) {
	c := ledger.Counts{Documents: map[dogear.State]int64{}, ByStatus: map[int]int64{}}
	err := s.read(ctx, func(conn conn) error {
		_, err := conn.row(openDocuments, func(r *sqlite.Stmt) { c.Open = r.ColumnInt64(0) }, job)
		if err != nil {
			return err
		}
		return conn.rows(readCounts, func(r *sqlite.Stmt) {
			what, key, n := r.ColumnInt(0), r.ColumnInt64(1), r.ColumnInt64(2)
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
		}, job)
	})
	if err != nil {
		return ledger.Counts{}, fmt.Errorf("read the counts of job %d: %w", job, err)
	}
	return c, nil
}
