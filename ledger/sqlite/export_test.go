package sqlite

import (
	"context"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
)

// Kill ends the store as a crash would: nothing is written down, and what the kernel gives
// back at the end of a process is given back.
func (s *Store) Kill() {
	s.once.Do(func() {
		close(s.quit)
		<-s.stopped
		for range readConns {
			if c := <-s.readers; c.Conn != nil {
				c.Close()
			}
		}
		s.writer.conn.Close()
		s.writer.lock.close()
		if me := s.me.Load(); me != nil {
			me.lock.Close()
		}
	})
}

// docs are n documents as a list names them.
func docs(n int) iter.Seq2[dogear.Document, error] {
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

// Docs are n documents as a list names them.
func Docs(n int) iter.Seq2[dogear.Document, error] { return docs(n) }

// LimitPages leaves the ledger no more space than n pages, until the function that it
// returns is called.
func (s *Store) LimitPages(ctx context.Context, n int) (free func()) {
	limit := func(n int) {
		err := s.doAlone(ctx, func(tx *tx) error {
			_, err := tx.conn.number(fmt.Sprintf(`PRAGMA max_page_count = %d`, n))
			return err
		})
		if err != nil {
			panic(err)
		}
	}
	limit(n)
	return func() { limit(1 << 30) }
}

// checks are queries that find what contradicts itself: each row is one contradiction.
var checks = map[string]string{
	"states that are counted otherwise": `
		WITH seen AS (SELECT seq >> 32 AS job, 1 AS what, state AS key, count(*) AS n FROM documents GROUP BY 1, 3),
		counted AS (SELECT job, what, key, n FROM counts WHERE what = 1 AND n <> 0)
		SELECT * FROM (SELECT * FROM seen EXCEPT SELECT * FROM counted)
		WHERE job IN (SELECT id FROM jobs WHERE stage = 1)
		UNION ALL SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM seen)`,
	"attempts that are counted otherwise": `
		WITH seen AS (SELECT seq >> 32 AS job, 3 AS what, attempts AS key, count(*) AS n FROM documents WHERE attempts > 0 GROUP BY 1, 3),
		counted AS (SELECT job, what, key, n FROM counts WHERE what = 3 AND n <> 0)
		SELECT * FROM (SELECT * FROM seen EXCEPT SELECT * FROM counted)
		UNION ALL SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM seen)`,
	"answers that are counted otherwise": `
		WITH seen AS (SELECT job, 2 AS what, status AS key, count(*) AS n FROM requests WHERE job > 0 AND status > 0 AND kind <> 5 GROUP BY 1, 3),
		counted AS (SELECT job, what, key, n FROM counts WHERE what = 2 AND n <> 0)
		SELECT * FROM (SELECT * FROM seen EXCEPT SELECT * FROM counted)
		UNION ALL SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM seen)`,
	"attempts of a job that are counted otherwise": `
		WITH seen AS (SELECT doc >> 32 AS job, count(*) AS n FROM requests
			WHERE doc > 0 AND kind IN (0, 5) AND outcome NOT IN (11, 12) GROUP BY 1),
		counted AS (SELECT job, n FROM counts WHERE what = 0 AND key = 2 AND n <> 0)
		SELECT * FROM (SELECT * FROM seen EXCEPT SELECT * FROM counted)
		UNION ALL SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM seen)`,
	"requests that are counted otherwise": `
		WITH seen AS (SELECT job, count(*) AS n FROM requests WHERE job > 0 AND kind <> 5 AND outcome <> 11 GROUP BY 1),
		counted AS (SELECT job, n FROM counts WHERE what = 0 AND key = 0 AND n <> 0)
		SELECT * FROM (SELECT * FROM seen EXCEPT SELECT * FROM counted)
		UNION ALL SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM seen)`,
	"requests that a run counts otherwise": `
		SELECT r.id FROM runs r WHERE r.sent <> (SELECT count(*) FROM requests q WHERE q.run = r.id AND q.kind <> 5 AND q.outcome <> 11)`,
	"documents that a run counts otherwise": `
		SELECT r.id FROM runs r WHERE r.done < (SELECT count(*) FROM results s WHERE s.run = r.id)`,
	"pending documents that a lane counts otherwise": `
		SELECT l.id FROM lanes l JOIN jobs j ON j.id = l.job AND j.stage = 1
		WHERE l.pending <> (SELECT count(*) FROM documents d WHERE d.lane = l.id AND d.state = 0)`,
	"documents that are done without a result, or not done with one": `
		SELECT seq FROM documents WHERE (state = 2) <> (seq IN (SELECT doc FROM results)) OR (state = 2) <> (done = 1)`,
	"documents in flight of nobody, or held and not in flight": `
		SELECT seq FROM documents WHERE (state = 1) <> (holder IS NOT NULL AND holder IN (SELECT n FROM holders))`,
	"unplaced results of nothing": `SELECT doc FROM unplaced WHERE doc NOT IN (SELECT doc FROM results)`,
	"open requests of nobody":     `SELECT n FROM requests WHERE ended = 0 AND holder NOT IN (SELECT n FROM holders)`,
	"open runs of nobody":         `SELECT id FROM runs WHERE ended = 0 AND holder NOT IN (SELECT n FROM holders)`,
	"documents that their id does not find": `
		SELECT d.seq FROM documents d JOIN jobs j ON j.id = d.seq >> 32 AND j.stage = 1
		WHERE d.seq NOT IN (SELECT seq FROM ids WHERE job = seq >> 32)`,
	"jobs with another number of documents": `
		SELECT id FROM jobs j WHERE stage = 1 AND (total <> (SELECT count(*) FROM documents WHERE seq > j.id << 32 AND seq < (j.id + 1) << 32)
			OR total > 0 AND total > (SELECT max(seq) - (j.id << 32) FROM documents WHERE seq > j.id << 32 AND seq < (j.id + 1) << 32))`,
	"numbers that were given out too early": `SELECT n FROM requests WHERE n >= (SELECT request FROM next)`,
}

// Contradictions reads a whole ledger file and says what in it contradicts itself.
func Contradictions(path string) (found []string, err error) {
	c, err := connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for what, query := range checks {
		err := c.rows(query, func(r *sqlite.Stmt) {
			row := what + ":"
			for i := range r.ColumnCount() {
				row += " " + r.ColumnText(i)
			}
			found = append(found, row)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	err = c.rows(`PRAGMA integrity_check`, func(r *sqlite.Stmt) {
		if s := r.ColumnText(0); s != "ok" {
			found = append(found, s)
		}
	})
	return found, err
}
