package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// importRows is how many records are taken in one transaction. Each may be a request, and has
// to find a number.
const importRows = docketMax / 2

const (
	// addImported looks for the name too; that it is free at the end is for an index to say.
	addImported = `INSERT INTO dogear.jobs (name, stage, holder, settings, sink, created, total, listing, cursor)
		SELECT $1::text, 0, $2::bigint, $3::text, $4::text, $5::bigint, 0, $6::boolean, $7::text
		WHERE NOT EXISTS (SELECT FROM dogear.jobs WHERE name = $1::text AND stage = 1) RETURNING id`

	addListedLanes = `INSERT INTO dogear.lanes (job, listed, scopes)
		SELECT $1::bigint, listed, scopes FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS u(listed, scopes, place)
		ORDER BY place RETURNING id`

	addOldRuns = `INSERT INTO dogear.runs (job, number, holder, pid, reason, started, ended, deadline)
		SELECT $1::bigint, number, 0, pid, reason, started, ended, deadline
		FROM unnest($2::bigint[], $3::integer[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
			AS u(number, pid, reason, started, ended, deadline)
		ORDER BY number RETURNING number, id`

	// addOldRelease leaves alone what is there already: a ledger may come back.
	addOldRelease = `INSERT INTO dogear.releases (key, by, reason, at, not_before)
		SELECT $1::text, $2::text, $3::text, $4::bigint, $5::bigint
		WHERE NOT EXISTS (SELECT FROM dogear.releases WHERE key = $1::text AND by = $2::text AND at = $4::bigint)`

	copyImported = `COPY dogear.documents (seq, lane, id, address, secret, list, line, place, name, version, size, sha256, digest, parent,
		state, attempts, not_before, reason, found, partial) FROM STDIN (FORMAT binary)`

	copyResults = `COPY dogear.results (doc, run, folded, size, read_at, version, path, sha256, content_type) FROM STDIN (FORMAT binary)`

	copyUnplaced = `COPY dogear.unplaced (doc, temp, folded) FROM STDIN (FORMAT binary)`

	copyRequests = `COPY dogear.requests (n, job, run, doc, parent, holder, scopes, granted, sent, ended, until, bytes, status, kind,
		outcome, hint) FROM STDIN (FORMAT binary)`
)

// An importing is a ledger that is being taken in, in many transactions. Nothing of it is seen
// before the last: until then its jobs are none, as in a listing, and whatever ends this
// process leaves rows that are swept.
type importing struct {
	*Store
	fold func(string) string

	jobs     []*imported
	next     batch
	scopes   []*ledger.ScopeRecord
	releases []*ledger.Release

	documents, ids, results, unplaced, requests copying
}

// An imported is a job of it.
type imported struct {
	id      int64
	name    string
	total   int64
	lanes   []int64
	runs    map[int64]int64 // by number
	numbers ledger.Numbers
}

// A batch is records of one job that are written together.
type batch struct {
	runs      []*ledger.RunRecord
	documents []*ledger.DocumentRecord
	folders   []dogear.Folder
	requests  []*ledger.RequestRecord
}

func (b *batch) rows() int { return len(b.runs) + len(b.documents) + len(b.folders) + len(b.requests) }

// Import takes what another ledger has.
func (s *Store) Import(ctx context.Context, records iter.Seq2[ledger.Record, error], fold func(string) string) error {
	im := &importing{Store: s, fold: fold}
	err := im.all(ctx, records)
	if err == nil {
		return nil
	}
	im.abandon(ctx)
	if errors.Is(err, ErrRights) {
		err = fmt.Errorf("it takes the rights of a worker: %w", err)
	}
	return fmt.Errorf("import a ledger: %w", err)
}

func (im *importing) all(ctx context.Context, records iter.Seq2[ledger.Record, error]) error {
	if err := im.reapDead(ctx); err != nil {
		return err
	}
	for r, err := range ledger.Checked(records) {
		if err == nil {
			err = im.take(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	if err := im.flush(ctx); err != nil {
		return err
	}
	return im.finish(ctx)
}

// take takes the next record.
func (im *importing) take(ctx context.Context, r ledger.Record) error {
	switch b := &im.next; {
	case r.Job != nil:
		if err := im.flush(ctx); err != nil {
			return err
		}
		return im.job(ctx, r.Job)
	case r.Run != nil:
		b.runs = append(b.runs, r.Run)
	case r.Document != nil:
		b.documents = append(b.documents, r.Document)
	case r.Folder != nil:
		b.folders = append(b.folders, *r.Folder)
	case r.Request != nil:
		b.requests = append(b.requests, r.Request)
	case r.Scope != nil:
		im.scopes = append(im.scopes, r.Scope)
	case r.Release != nil:
		im.releases = append(im.releases, r.Release)
	}
	if im.next.rows() < importRows {
		return nil
	}
	return im.flush(ctx)
}

// job makes a job's row, which nobody sees, and its lanes.
func (im *importing) job(ctx context.Context, r *ledger.JobRecord) error {
	settings, err := json.Marshal(r.Settings)
	if err != nil {
		return err
	}
	j := &imported{name: r.Name}
	err = im.actAlone(ctx, listPen, func(ctx context.Context, tx *tx) error {
		*j = imported{name: r.Name, runs: map[int64]int64{}}
		found, err := row(ctx, tx, addImported, []any{&j.id}, kept(r.Name), tx.me.Load(), string(settings), kept(r.Settings.Sink),
			nanos(r.Created), r.Listing, kept(r.Cursor))
		if err == nil && !found {
			err = ledger.ErrJobExists
		}
		if err != nil {
			return err
		}
		listed, scopes := make([]int64, len(r.Lanes)), make([]int64, len(r.Lanes))
		for i, l := range r.Lanes {
			if listed[i], err = tx.setOf(ctx, l.Listed); err == nil {
				scopes[i], err = tx.setOf(ctx, l.Scopes)
			}
			if err != nil {
				return err
			}
		}
		tx.count(j.id, countTotal, totalAttempts, r.Attempts)
		return tx.rows(ctx, addListedLanes, func(r pgx.Rows) error {
			var id int64
			err := r.Scan(&id)
			j.lanes = append(j.lanes, id)
			return err
		}, j.id, listed, scopes)
	})
	if err != nil {
		return fmt.Errorf("job %s: %w", r.Name, err)
	}
	im.jobs = append(im.jobs, j)
	return nil
}

// flush writes what was taken.
func (im *importing) flush(ctx context.Context) error {
	b := &im.next
	if b.rows() == 0 {
		return nil
	}
	j := im.jobs[len(im.jobs)-1]
	err := im.actAlone(ctx, listPen, func(ctx context.Context, tx *tx) error {
		var now, wall int64
		if _, err := row(ctx, tx, readMoment, []any{&now, &wall}); err != nil {
			return err
		}
		if err := j.addRuns(ctx, tx, b.runs); err != nil {
			return err
		}
		if err := im.addDocuments(ctx, tx, j, b.documents, instant(now)); err != nil {
			return err
		}
		if err := tx.setFolders(ctx, j.id, b.folders); err != nil {
			return err
		}
		return im.addRequests(ctx, tx, j, b.requests)
	})
	if err != nil {
		return fmt.Errorf("job %s: %w", j.name, err)
	}
	j.total += int64(len(b.documents))
	*b = batch{b.runs[:0], b.documents[:0], b.folders[:0], b.requests[:0]}
	return nil
}

func (j *imported) addRuns(ctx context.Context, tx *tx, runs []*ledger.RunRecord) error {
	if len(runs) == 0 {
		return nil
	}
	n := len(runs)
	numbers, pids, reasons := make([]int64, n), make([]int32, n), make([]string, n)
	started, ended, deadlines := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, r := range runs {
		numbers[i], pids[i], reasons[i] = r.Number, int32(r.PID), kept(string(r.Reason))
		started[i], ended[i], deadlines[i] = nanos(r.Started), nanos(r.Ended), nanos(r.Deadline)
	}
	err := tx.rows(ctx, addOldRuns, func(r pgx.Rows) error {
		var number, id int64
		err := r.Scan(&number, &id)
		j.runs[number] = id
		return err
	}, j.id, numbers, pids, reasons, started, ended, deadlines)
	for _, r := range runs {
		tx.inRun(j.runs[r.Number], runCounts{r.Sent, r.Throttled, r.Done, r.Bytes})
	}
	return err
}

func (im *importing) addDocuments(ctx context.Context, tx *tx, j *imported, docs []*ledger.DocumentRecord, now time.Time) error {
	if len(docs) == 0 {
		return nil
	}
	im.documents.reset()
	im.ids.reset()
	im.results.reset()
	im.unplaced.reset()
	after, _ := rangeOf(j.id)
	for _, r := range docs {
		seq, lane := after+1+r.Place, j.lanes[r.Lane]
		if err := im.documents.imported(r, seq, lane, now); err != nil {
			return err
		}
		hash, rest := keyOf(r.ID)
		im.ids.id(j.id, hash, seq, rest, 0)
		if r.Result != nil {
			folded := im.fold(r.Result.Path)
			im.results.result(seq, j.runs[r.Result.Run], foldedHash(j.id, folded), r.Result)
			if r.Result.Temp != "" {
				im.unplaced.unplaced(seq, r.Result.Temp, folded)
			}
		}
		tx.count(j.id, countState, int64(r.State), 1)
		if r.State == dogear.Pending {
			tx.count(j.id, countLane, lane, 1)
		}
		tx.paid(seq, 0, int64(r.Attempts))
	}
	err := im.documents.copy(ctx, tx, copyImported)
	if err == nil {
		err = im.ids.copy(ctx, tx, copyIDs)
	}
	if err == nil && im.results.rows > 0 {
		err = im.results.copy(ctx, tx, copyResults)
	}
	if err == nil && im.unplaced.rows > 0 {
		err = im.unplaced.copy(ctx, tx, copyUnplaced)
	}
	return err
}

func (im *importing) addRequests(ctx context.Context, tx *tx, j *imported, requests []*ledger.RequestRecord) error {
	if len(requests) == 0 {
		return nil
	}
	if err := tx.numbers(ctx); err != nil {
		return err
	}
	im.requests.reset()
	for _, r := range requests {
		set, err := tx.setOf(ctx, r.Scopes)
		if err != nil {
			return err
		}
		q := *r
		if q.Ended.IsZero() {
			q.Ended, q.Outcome = q.Granted, dogear.Doubtful
		}
		q.N, q.Parent, q.Run = tx.next.first, j.numbers.Of(r.Parent), j.runs[r.Run]
		if err := tx.next.use(q.N); err != nil {
			return err
		}
		j.numbers.Put(r.N, q.N)
		im.requests.request(j.id, set, &q)
		j.count(tx, &q)
	}
	return im.requests.copy(ctx, tx, copyRequests)
}

// count counts a request as endRequests does.
func (j *imported) count(tx *tx, q *ledger.RequestRecord) {
	if q.Kind == dogear.Item {
		return
	}
	if q.Outcome.Sent() {
		tx.count(j.id, countTotal, totalSent, 1)
	}
	if q.Outcome == dogear.Throttled {
		tx.count(j.id, countTotal, totalThrottled, 1)
	}
	if q.Status != 0 {
		tx.count(j.id, countStatus, int64(q.Status), 1)
	}
}

// finish lets all of it be seen, with the waits of its scopes.
func (im *importing) finish(ctx context.Context) error {
	var keys []string
	for _, r := range im.scopes {
		keys = append(keys, r.Key)
	}
	return im.submit(ctx, gatePen, &call{keys: keys, alone: true, work: func(ctx context.Context, tx *tx) error {
		for _, j := range im.jobs {
			n, err := tx.exec(ctx, finishJob, j.id, j.total)
			if err == nil && n == 0 {
				err = ledger.ErrLeaseLost
			}
			if err != nil {
				return fmt.Errorf("job %s: %w", j.name, explain(err))
			}
		}
		b := tx.batch()
		for _, r := range im.releases {
			b.Queue(addOldRelease, r.Key, kept(r.By), kept(r.Reason), nanos(r.At), nanos(r.NotBefore))
		}
		if err := tx.send(ctx, b); err != nil {
			return err
		}
		g, err := tx.openGate(ctx)
		if err != nil {
			return err
		}
		for _, r := range im.scopes {
			r.Into(&g.scopes[r.Key].scope, instant(g.now))
		}
		return nil
	}})
}

// abandon leaves nothing of an import that failed.
func (im *importing) abandon(ctx context.Context) {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := im.act(short, listPen, func(ctx context.Context, tx *tx) error {
		for _, j := range im.jobs {
			if _, err := tx.exec(ctx, abandonJob, j.id); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		// What stays is invisible: the next listing or run deletes it.
		_ = im.sweep(ctx, math.MaxInt)
	}
}
