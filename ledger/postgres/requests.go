package postgres

import (
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
)

const (
	// lockDocuments takes documents in order: two pens of one process may want the same.
	lockDocuments = `SELECT FROM dogear.documents WHERE seq = ANY($1) ORDER BY seq FOR UPDATE`

	// addRequests records requests that may leave, charges their documents (kind 0 a read, 5
	// an item of a batch), and counts both. Parameters: pen, holder, and a list a column.
	addRequests = `WITH g AS (
			SELECT * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
				$9::smallint[], $10::bigint[]) AS g(n, job, run, doc, parent, scopes, kind, granted)
		), added AS (
			INSERT INTO dogear.requests (n, job, run, doc, parent, holder, scopes, kind, granted)
			SELECT n, job, run, doc, parent, $2::bigint, scopes, kind, granted FROM g
		), paid AS (
			SELECT doc AS seq, count(*)::integer AS n FROM g WHERE doc <> 0 AND kind IN (0, 5) GROUP BY doc
		), old AS (
			SELECT d.seq, d.attempts, d.attempts + p.n AS now FROM paid p JOIN dogear.documents d ON d.seq = p.seq
			FOR UPDATE OF d
		), charged AS (
			UPDATE dogear.documents d SET attempts = old.now FROM old WHERE d.seq = old.seq
		), run_counted AS (
			INSERT INTO dogear.run_counts AS c (run, pen, sent, throttled, done, bytes)
			SELECT run, $1::bigint, count(*), 0, 0, 0 FROM g WHERE run <> 0 AND kind <> 5 GROUP BY run
			ON CONFLICT (run, pen) DO UPDATE SET sent = c.sent + excluded.sent
		), counted AS (
			SELECT job, 0 AS what, 0::bigint AS key, 1 AS n FROM g WHERE job <> 0 AND kind <> 5
			UNION ALL SELECT seq >> 32, 0, 2, n FROM paid
			UNION ALL SELECT seq >> 32, 3, attempts, -1 FROM old WHERE attempts > 0
			UNION ALL SELECT seq >> 32, 3, now, 1 FROM old
		)
		INSERT INTO dogear.counts AS c (job, what, key, pen, n)
		SELECT job, what, key, $1::bigint, sum(n) FROM counted GROUP BY job, what, key HAVING sum(n) <> 0
		ON CONFLICT (job, what, key, pen) DO UPDATE SET n = c.n + excluded.n`

	// endRequests records how requests ended, and what that means for their documents, and
	// counts it. A request that has ended stays as it is, and so does its document. What was
	// no attempt (outcome 11 was not sent, 12 not acted on) is given back wherever the
	// document is by now; a fate moves only what this holder has in flight. Parameters: pen,
	// holder, and a list a column; a doc of 0 is no fate, and state 1 moves nothing.
	endRequests = `WITH said AS (
			SELECT * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::integer[],
				$9::smallint[], $10::text[], $11::bigint[], $12::integer[], $13::smallint[], $14::bigint[], $15::text[], $16::text[])
				WITH ORDINALITY AS s(n, sent, ended, until, bytes, status, outcome, hint,
					doc, refund, state, not_before, reason, found, place)
		), was AS (
			SELECT s.*, q.job, q.run, q.kind, q.doc AS own,
				s.outcome IN (11, 12) AND q.kind IN (0, 5) AND q.doc <> 0 AS spared
			FROM said s JOIN dogear.requests q ON q.n = s.n WHERE q.ended = 0 FOR UPDATE OF q
		), ended AS (
			UPDATE dogear.requests q SET sent = w.sent, ended = w.ended, until = w.until, bytes = w.bytes,
				status = w.status, outcome = w.outcome, hint = w.hint
			FROM was w WHERE q.n = w.n
		), back AS (
			SELECT CASE WHEN spared THEN own ELSE doc END AS seq,
				sum(CASE WHEN spared THEN greatest(1, refund) ELSE refund END)::integer AS n
			FROM was WHERE spared OR doc <> 0 GROUP BY 1
		), fates AS (
			SELECT DISTINCT ON (doc) doc AS seq, state, not_before, reason, found FROM was
			WHERE doc <> 0 AND state <> 1 ORDER BY doc, place
		), touched AS (
			SELECT seq FROM back UNION SELECT seq FROM fates
		), old AS (
			SELECT d.seq, d.lane, d.attempts, greatest(0, d.attempts - coalesce(b.n, 0)) AS now,
				f.seq IS NOT NULL AND d.state = 1 AND d.holder = $2 AS moves, f.state, f.not_before, f.reason, f.found
			FROM touched t JOIN dogear.documents d ON d.seq = t.seq
			LEFT JOIN back b ON b.seq = t.seq LEFT JOIN fates f ON f.seq = t.seq FOR UPDATE OF d
		), moved AS (
			UPDATE dogear.documents d SET attempts = o.now,
				state = CASE WHEN moves THEN o.state ELSE d.state END,
				not_before = CASE WHEN moves THEN o.not_before ELSE d.not_before END,
				holder = CASE WHEN moves THEN NULL ELSE d.holder END,
				reason = CASE WHEN moves AND (o.state <> 0 OR o.reason <> '') THEN o.reason ELSE d.reason END,
				found = CASE WHEN moves THEN o.found ELSE d.found END
			FROM old o WHERE d.seq = o.seq AND (moves OR o.now <> o.attempts)
		), run_counted AS (
			INSERT INTO dogear.run_counts AS c (run, pen, sent, throttled, done, bytes)
			SELECT run, $1::bigint, -count(*) FILTER (WHERE outcome = 11), count(*) FILTER (WHERE outcome = 2), 0, sum(bytes)
			FROM was WHERE run <> 0 AND kind <> 5 GROUP BY run
			ON CONFLICT (run, pen) DO UPDATE SET sent = c.sent + excluded.sent, throttled = c.throttled + excluded.throttled,
				bytes = c.bytes + excluded.bytes
		), counted AS (
			SELECT job, 0 AS what, 0::bigint AS key, -1 AS n FROM was WHERE job <> 0 AND kind <> 5 AND outcome = 11
			UNION ALL SELECT job, 0, 1, 1 FROM was WHERE job <> 0 AND kind <> 5 AND outcome = 2
			UNION ALL SELECT job, 2, status, 1 FROM was WHERE job <> 0 AND kind <> 5 AND status > 0
			UNION ALL SELECT own >> 32, 0, 2, -1 FROM was WHERE spared
			UNION ALL SELECT seq >> 32, 1, 1, -1 FROM old WHERE moves
			UNION ALL SELECT seq >> 32, 1, state, 1 FROM old WHERE moves
			UNION ALL SELECT seq >> 32, 4, lane, 1 FROM old WHERE moves AND state = 0
			UNION ALL SELECT seq >> 32, 3, attempts, -1 FROM old WHERE now <> attempts
			UNION ALL SELECT seq >> 32, 3, now, 1 FROM old WHERE now <> attempts AND now > 0
		)
		INSERT INTO dogear.counts AS c (job, what, key, pen, n)
		SELECT job, what, key, $1::bigint, sum(n) FROM counted GROUP BY job, what, key HAVING sum(n) <> 0
		ON CONFLICT (job, what, key, pen) DO UPDATE SET n = c.n + excluded.n`
)

// writeGrants records the requests that decisions granted.
func (tx *tx) writeGrants(b *pgx.Batch, g *gateState) {
	if len(g.grants) == 0 {
		return
	}
	n := len(g.grants)
	ns, jobs, runs, docs := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	parents, granted, kinds := make([]int64, n), make([]int64, n), make([]int16, n)
	var charged []int64
	for i, r := range g.grants {
		ns[i], jobs[i], runs[i], docs[i] = r.N, r.Job, r.Run, r.Doc
		parents[i], granted[i], kinds[i] = r.Parent, nanos(r.Granted), int16(r.Kind)
		if r.Doc != 0 && (r.Kind == dogear.Read || r.Kind == dogear.Item) {
			charged = append(charged, r.Doc)
		}
	}
	if len(g.ends) == 0 && len(charged) > 0 { // else writeEnds has locked them
		b.Queue(lockDocuments, charged)
	}
	b.Queue(addRequests, tx.id(), tx.me.Load(), ns, jobs, runs, docs, parents, g.sets, kinds, granted)
}

// writeEnds records how requests ended, after it has locked all documents that decisions of
// this transaction touch.
func (tx *tx) writeEnds(b *pgx.Batch, g *gateState) {
	if len(g.ends) == 0 {
		return
	}
	n := len(g.ends)
	ns, sent, ended, until, bytes := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	status, outcome, hint := make([]int32, n), make([]int16, n), make([]string, n)
	doc, refund, state, notBefore := make([]int64, n), make([]int32, n), make([]int16, n), make([]int64, n)
	reason, found := make([]string, n), make([]string, n)
	var touched []int64
	for i, e := range g.ends {
		ns[i], sent[i], ended[i], until[i], bytes[i] = e.Request, nanos(e.Sent), nanos(e.Ended), nanos(e.Until), e.Bytes
		status[i], outcome[i], hint[i] = int32(e.Status), int16(e.Outcome), kept(e.Hint)
		if f := e.Fate; f != nil {
			doc[i], refund[i], state[i], notBefore[i] = f.Doc, int32(max(0, f.Refund)), int16(f.State), nanos(f.NotBefore)
			reason[i], found[i] = kept(f.Reason), kept(f.Version)
			touched = append(touched, f.Doc)
		}
		touched = append(touched, tx.mine.of(e.Request).doc)
	}
	for _, r := range g.grants {
		touched = append(touched, r.Doc)
	}
	slices.Sort(touched)
	b.Queue(lockDocuments, slices.Compact(touched))
	b.Queue(endRequests, tx.id(), tx.me.Load(), ns, sent, ended, until, bytes, status, outcome, hint,
		doc, refund, state, notBefore, reason, found)
}

// openRequests are this process's requests that have not ended, as far as it knows. The
// ledger knows better; this spares it questions.
type openRequests struct {
	mu  sync.Mutex
	all map[int64]flight
}

type flight struct {
	job  int64
	doc  int64
	keys []string // of scopes that it is in flight in: none for an item of a batch
}

// of is what is known of a request; zero if nothing is.
func (o *openRequests) of(n int64) flight {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[n]
}

// flown takes what a transaction has ended and granted.
func (o *openRequests) flown(g *gateState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[int64]flight{}
	}
	for _, r := range g.grants {
		f := flight{job: r.Job, doc: r.Doc, keys: r.Scopes}
		if r.Kind == dogear.Item {
			f.keys = nil
		}
		o.all[r.N] = f
	}
	for _, e := range g.ends {
		delete(o.all, e.Request)
	}
}

// forget forgets all: the ledger may have forgotten some.
func (o *openRequests) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.all)
}
