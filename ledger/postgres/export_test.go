package postgres

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
)

// Kill ends the store as a crash would: nothing is written down or tidied up. It returns the
// holder's number, whose lease runs on.
func (s *Store) Kill() (holder int64) {
	s.once.Do(func() {
		close(s.quit)
		s.end()
		for _, p := range s.pens {
			<-p.stopped
		}
		s.release()
	})
	return s.me.Load()
}

// Holder is the store's number as a holder.
func (s *Store) Holder() int64 { return s.me.Load() }

// SetSilent makes the store believe that nothing was heard of the database for so long.
func (s *Store) SetSilent(d time.Duration) { s.absent.begin(d) }

// Look looks at the ledger's clock.
func (s *Store) Look(ctx context.Context) error {
	return s.read(ctx, func(ctx context.Context, c conn) error { return s.look(ctx, c) })
}

// Docs are n documents as a list names them.
func Docs(n int) iter.Seq2[dogear.Document, error] {
	scopes := []string{"host:docs.example.com"}
	return func(yield func(dogear.Document, error) bool) {
		for i := range n {
			id := fmt.Sprintf("https://docs.example.com/area/%03d/page-%d.html", i%997, i)
			d := dogear.Document{
				ID: id, Address: id, Name: id[len("https://docs.example.com/"):], Size: -1, Fingerprint: uint64(i),
				Line: int64(i + 1), Offset: int64(i) * 50, Scopes: scopes,
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// checks are queries that find what contradicts itself: each row is one contradiction.
var checks = map[string]string{
	"states that are counted otherwise": `
		WITH seen AS (SELECT seq >> 32 AS job, state::bigint AS key, count(*) AS n FROM dogear.documents GROUP BY 1, 2),
		counted AS (SELECT job, key, sum(n) AS n FROM dogear.counts WHERE what = 1 GROUP BY 1, 2 HAVING sum(n) <> 0)
		SELECT * FROM (SELECT * FROM seen EXCEPT SELECT * FROM counted) a WHERE job IN (SELECT id FROM dogear.jobs WHERE stage = 1)
		UNION ALL SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM seen) b`,
	"attempts that are counted otherwise": `
		WITH seen AS (SELECT seq >> 32 AS job, attempts::bigint AS key, count(*) AS n FROM dogear.documents WHERE attempts > 0 GROUP BY 1, 2),
		counted AS (SELECT job, key, sum(n) AS n FROM dogear.counts WHERE what = 3 GROUP BY 1, 2 HAVING sum(n) <> 0)
		SELECT * FROM (SELECT * FROM seen EXCEPT SELECT * FROM counted) a UNION ALL SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM seen) b`,
	"answers that are counted otherwise": `
		WITH seen AS (SELECT job, status::bigint AS key, count(*) AS n FROM dogear.requests WHERE job > 0 AND status > 0 AND kind <> 5 GROUP BY 1, 2),
		counted AS (SELECT job, key, sum(n) AS n FROM dogear.counts WHERE what = 2 GROUP BY 1, 2 HAVING sum(n) <> 0)
		SELECT * FROM (SELECT * FROM seen EXCEPT SELECT * FROM counted) a UNION ALL SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM seen) b`,
	"attempts of a job that are counted otherwise": `
		WITH seen AS (SELECT doc >> 32 AS job, count(*) AS n FROM dogear.requests
			WHERE doc > 0 AND kind IN (0, 5) AND outcome NOT IN (11, 12) GROUP BY 1),
		counted AS (SELECT job, sum(n) AS n FROM dogear.counts WHERE what = 0 AND key = 2 GROUP BY 1 HAVING sum(n) <> 0)
		SELECT * FROM (SELECT * FROM seen EXCEPT SELECT * FROM counted) a UNION ALL SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM seen) b`,
	"requests that are counted otherwise": `
		WITH seen AS (SELECT job, count(*) AS n FROM dogear.requests WHERE job > 0 AND kind <> 5 AND outcome <> 11 GROUP BY 1),
		counted AS (SELECT job, sum(n) AS n FROM dogear.counts WHERE what = 0 AND key = 0 GROUP BY 1 HAVING sum(n) <> 0)
		SELECT * FROM (SELECT * FROM seen EXCEPT SELECT * FROM counted) a UNION ALL SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM seen) b`,
	"requests that a run counts otherwise": `
		SELECT r.id FROM dogear.runs r WHERE coalesce((SELECT sum(sent) FROM dogear.run_counts c WHERE c.run = r.id), 0)
			<> (SELECT count(*) FROM dogear.requests q WHERE q.run = r.id AND q.kind <> 5 AND q.outcome <> 11)`,
	"documents that a run counts otherwise": `
		SELECT r.id FROM dogear.runs r WHERE coalesce((SELECT sum(done) FROM dogear.run_counts c WHERE c.run = r.id), 0)
			< (SELECT count(*) FROM dogear.results s WHERE s.run = r.id)`,
	"pending documents that a lane counts otherwise": `
		SELECT l.id FROM dogear.lanes l JOIN dogear.jobs j ON j.id = l.job AND j.stage = 1
		WHERE coalesce((SELECT sum(n) FROM dogear.counts c WHERE c.job = l.job AND c.what = 4 AND c.key = l.id), 0)
			<> (SELECT count(*) FROM dogear.documents d WHERE d.lane = l.id AND d.state = 0)`,
	"documents that are done without a result, or not done with one": `
		SELECT seq FROM dogear.documents WHERE (state = 2) <> (seq IN (SELECT doc FROM dogear.results))`,
	"documents in flight of nobody, or held and not in flight": `
		SELECT seq FROM dogear.documents WHERE (state = 1) <> (holder IS NOT NULL AND holder IN (SELECT n FROM dogear.holders))`,
	"unplaced results of nothing": `SELECT doc FROM dogear.unplaced WHERE doc NOT IN (SELECT doc FROM dogear.results)`,
	"open requests of nobody":     `SELECT n FROM dogear.requests WHERE ended = 0 AND holder NOT IN (SELECT n FROM dogear.holders)`,
	"open runs of nobody":         `SELECT id FROM dogear.runs WHERE ended = 0 AND holder NOT IN (SELECT n FROM dogear.holders)`,
	"documents that their id does not find": `
		SELECT d.seq FROM dogear.documents d JOIN dogear.jobs j ON j.id = d.seq >> 32 AND j.stage = 1
		WHERE d.seq NOT IN (SELECT seq FROM dogear.ids)`,
	"ids of nothing": `
		SELECT i.seq FROM dogear.ids i JOIN dogear.jobs j ON j.id = i.job AND j.stage = 1
		WHERE i.seq NOT IN (SELECT seq FROM dogear.documents)`,
	"jobs with another number of documents": `
		SELECT id FROM dogear.jobs j WHERE stage = 1 AND total <> (SELECT count(*) FROM dogear.documents d WHERE d.seq > j.id << 32 AND d.seq < (j.id + 1) << 32)`,
	"counts of pens that are gone": `SELECT pen FROM dogear.counts WHERE pen <> 0 AND pen NOT IN (SELECT id FROM dogear.pens)
		UNION SELECT pen FROM dogear.run_counts WHERE pen <> 0 AND pen NOT IN (SELECT id FROM dogear.pens)`,
	"pens of nobody": `SELECT id FROM dogear.pens WHERE id / 4 NOT IN (SELECT n FROM dogear.holders)`,
}

// Contradictions reads a whole ledger and says what in it contradicts itself.
func Contradictions(ctx context.Context, dsn string) (found []string, err error) {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	for what, query := range checks {
		rows, err := c.Query(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		for rows.Next() {
			values, _ := rows.Values()
			found = append(found, fmt.Sprintf("%s: %v", what, values))
		}
		if rows.Err() != nil {
			return nil, fmt.Errorf("%s: %w", what, rows.Err())
		}
	}
	return found, nil
}
