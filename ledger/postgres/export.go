package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// exportRows is how many rows an export reads at once.
const exportRows = 2048

const (
	// readUnclosed finds what a dead holder leaves that an export has to have closed.
	readUnclosed = `SELECT pid, pg_is_in_recovery() FROM dogear.holders h WHERE n <> $1 AND expires <= dogear.now()
		AND (EXISTS (SELECT FROM dogear.runs WHERE ended = 0 AND holder = h.n)
			OR EXISTS (SELECT FROM dogear.requests WHERE ended = 0 AND holder = h.n)
			OR EXISTS (SELECT FROM dogear.documents WHERE holder = h.n)) LIMIT 1`

	// rowByRow has everything found by an index, a row at a time: a block then costs what it
	// has, however large the ledger is.
	rowByRow = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
		set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`

	findAnyRunning = `SELECT j.name, r.pid, coalesce(h.host, '') FROM dogear.runs r JOIN dogear.jobs j ON j.id = r.job
		LEFT JOIN dogear.holders h ON h.n = r.holder WHERE r.ended = 0 LIMIT 1`

	exportLanes = `SELECT l.id, a.keys, b.keys FROM dogear.lanes l JOIN dogear.sets a ON a.id = l.listed
		JOIN dogear.sets b ON b.id = l.scopes WHERE l.job = $1 ORDER BY l.id`

	exportAttempts = `SELECT coalesce(sum(n), 0)::bigint FROM dogear.counts WHERE job = $1 AND what = 0 AND key = 2`

	exportDocuments = `SELECT d.seq, d.lane, d.state, d.attempts, d.not_before, d.reason, d.found, d.partial, d.id, d.address,
			d.secret, d.list, d.line, d.place, d.name, d.parent, d.version, d.size, d.sha256, d.digest,
			r.doc, r.version, r.path, r.size, r.sha256, r.content_type, r.read_at,
			(SELECT number FROM dogear.runs WHERE id = r.run), u.temp
		FROM dogear.documents d LEFT JOIN dogear.results r ON r.doc = d.seq LEFT JOIN dogear.unplaced u ON u.doc = d.seq
		WHERE d.seq > $1 AND d.seq <= $2 ORDER BY d.seq LIMIT $3`

	exportFolders = `SELECT id, parent, name, outside FROM dogear.folders WHERE job = $1 AND id > $2 ORDER BY id LIMIT $3`

	exportRequests = `SELECT q.n, q.parent, coalesce((SELECT number FROM dogear.runs WHERE id = q.run), 0), q.doc, s.keys, q.kind,
			q.granted, q.sent, q.ended, q.status, q.outcome, q.hint, q.until, q.bytes, q.run
		FROM dogear.requests q JOIN dogear.sets s ON s.id = q.scopes
		WHERE q.job = $1 AND (q.run, q.n) > ($2, $3) ORDER BY q.run, q.n LIMIT $4`

	exportReleases = `SELECT id, key, by, reason, at, not_before FROM dogear.releases WHERE id > $1 ORDER BY id LIMIT $2`
)

// An export is one reading of the whole ledger, as it is at one moment.
type export struct {
	*Store
	conn  conn
	now   int64
	yield func(ledger.Record) error
}

var (
	errEnough  = errors.New("whoever reads has enough")
	errHalfway = errors.New("the connection broke in the middle; try: again")
)

// Export is all of the ledger. It writes nothing, unless a process died and nobody has closed
// yet what it left.
func (s *Store) Export(ctx context.Context) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		err := s.closeDead(ctx)
		if err == nil {
			begun, enough := false, false
			err = s.snapshot(ctx, func(ctx context.Context, c conn) error {
				if begun { // on another connection: its snapshot is of another moment
					return errHalfway
				}
				e := &export{Store: s, conn: c, yield: func(r ledger.Record) error {
					begun = true
					if enough = !yield(r, nil); enough {
						return errEnough
					}
					return ctx.Err()
				}}
				return e.all(ctx)
			})
			if enough {
				return
			}
		}
		if err != nil {
			yield(ledger.Record{}, fmt.Errorf("export the ledger: %w", err))
		}
	}
}

// closeDead closes what dead holders left, if they left anything.
func (s *Store) closeDead(ctx context.Context) error {
	var pid int
	var standby, found bool
	err := s.read(ctx, func(ctx context.Context, c conn) (err error) {
		found, err = row(ctx, c, readUnclosed, []any{&pid, &standby}, s.me.Load())
		return err
	})
	if err != nil || !found {
		return err
	}
	if standby {
		return fmt.Errorf("process %d died and nobody has closed yet what it left, and the server is a standby; try: the primary", pid)
	}
	if err = s.reapDead(ctx); errors.Is(err, ErrRights) {
		err = fmt.Errorf("process %d died and nobody has closed yet what it left, which takes the rights of a worker: %w", pid, err)
	}
	return err
}

func (e *export) all(ctx context.Context) error {
	if _, err := e.conn.exec(ctx, rowByRow); err != nil {
		return err
	}
	running := &ledger.RunningError{}
	found, err := row(ctx, e.conn, findAnyRunning, []any{&running.Job, &running.PID, &running.Host})
	if err != nil {
		return err
	}
	if found {
		running.Job, running.Host = told(running.Job), told(running.Host)
		return running
	}
	if e.now, err = number(ctx, e.conn, readClock); err != nil {
		return err
	}
	for after, n := int64(0), blockRows; n == blockRows; {
		var jobs []ledger.Job
		err := e.conn.rows(ctx, readJobs, func(r pgx.Rows) error {
			j, err := jobAt(r)
			jobs = append(jobs, j)
			return err
		}, after, blockRows)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if err := e.job(ctx, j); err != nil {
				return fmt.Errorf("job %s: %w", j.Name, explain(err))
			}
			after = j.ID
		}
		n = len(jobs)
	}
	if err := e.scopes(ctx); err != nil {
		return err
	}
	return e.releases(ctx)
}

// blocks tells the rows of a query, a block at a time. Its arguments are asked for before
// each block, and read moves them on.
func (e *export) blocks(ctx context.Context, query string, args func() []any, read func(pgx.Rows) (ledger.Record, error)) error {
	var block []ledger.Record
	for {
		block = block[:0]
		err := e.conn.rows(ctx, query, func(r pgx.Rows) error {
			rec, err := read(r)
			block = append(block, rec)
			return err
		}, append(args(), exportRows)...)
		if err != nil {
			return err
		}
		for _, r := range block {
			if err := e.yield(r); err != nil {
				return err
			}
		}
		if len(block) < exportRows {
			return nil
		}
	}
}

// job tells a job with all that belongs to it.
func (e *export) job(ctx context.Context, j ledger.Job) error {
	rec := &ledger.JobRecord{Name: j.Name, Settings: j.Settings, Created: j.Created, Listing: j.Listing, Cursor: j.Cursor}
	lanes := map[int64]int{}
	err := e.conn.rows(ctx, exportLanes, func(r pgx.Rows) error {
		var id int64
		var listed, scopes string
		err := r.Scan(&id, &listed, &scopes)
		lanes[id] = len(rec.Lanes)
		rec.Lanes = append(rec.Lanes, ledger.LaneRecord{Listed: split(listed), Scopes: split(scopes)})
		return err
	}, j.ID)
	if err == nil {
		rec.Attempts, err = number(ctx, e.conn, exportAttempts, j.ID)
	}
	if err == nil {
		err = e.yield(ledger.Record{Job: rec})
	}
	if err == nil {
		err = e.runs(ctx, j.ID)
	}
	if err == nil {
		err = e.documents(ctx, j.ID, lanes)
	}
	if err == nil {
		err = e.folders(ctx, j.ID)
	}
	if err == nil {
		err = e.requests(ctx, j.ID)
	}
	return err
}

func (e *export) runs(ctx context.Context, job int64) error {
	after := int64(0)
	return e.blocks(ctx, exportRuns, func() []any { return []any{job, after} }, func(r pgx.Rows) (ledger.Record, error) {
		run := &ledger.RunRecord{}
		var reason string
		var started, ended, deadline int64
		err := r.Scan(&run.Number, &reason, &started, &ended, &deadline, &run.PID, &run.Sent, &run.Throttled, &run.Done, &run.Bytes)
		run.Reason = dogear.StopReason(reason)
		run.Started, run.Ended, run.Deadline = instant(started), instant(ended), instant(deadline)
		after = run.Number
		return ledger.Record{Run: run}, err
	})
}

const exportRuns = `SELECT r.number, r.reason, r.started, r.ended, r.deadline, r.pid,
		coalesce(sum(c.sent), 0)::bigint, coalesce(sum(c.throttled), 0)::bigint, coalesce(sum(c.done), 0)::bigint,
		coalesce(sum(c.bytes), 0)::bigint
	FROM dogear.runs r LEFT JOIN dogear.run_counts c ON c.run = r.id
	WHERE r.job = $1 AND r.number > $2 GROUP BY r.id ORDER BY r.number LIMIT $3`

func (e *export) documents(ctx context.Context, job int64, lanes map[int64]int) error {
	first, last := rangeOf(job)
	after := first
	return e.blocks(ctx, exportDocuments, func() []any { return []any{after, last} }, func(r pgx.Rows) (ledger.Record, error) {
		d, err := e.document(r, &after, lanes)
		d.Place = after - first - 1
		return ledger.Record{Document: d}, err
	})
}

// document reads a row of exportDocuments.
func (e *export) document(r pgx.Rows, seq *int64, lanes map[int64]int) (*ledger.DocumentRecord, error) {
	d := &ledger.DocumentRecord{}
	var lane, notBefore, size int64
	var state int16
	var partial string
	var address, parent *string
	var sum, readSum []byte
	var doc, readSize, readAt, run *int64
	var version, path, kind, temp *string
	err := r.Scan(seq, &lane, &state, &d.Attempts, &notBefore, &d.Reason, &d.Found, &partial, &d.ID, &address,
		&d.Secret, &d.List, &d.Line, &d.Offset, &d.Name, &parent, &d.Version, &size, &sum, &d.Digest,
		&doc, &version, &path, &readSize, &readSum, &kind, &readAt, &run, &temp)
	if err != nil {
		return d, err
	}
	d.Lane, d.State, d.Delay = lanes[lane], dogear.State(state), e.left(notBefore)
	if d.State == dogear.InFlight { // claimed outside a run: who begins one takes it again
		d.State = dogear.Pending
	}
	d.ID, d.Name, d.Version, d.Digest = told(d.ID), told(d.Name), told(d.Version), told(d.Digest)
	d.Reason, d.Found, d.SHA256 = told(d.Reason), told(d.Found), digestOf(sum)
	d.Address, d.Parent = tellAny(address), tellAny(parent)
	if size >= 0 {
		d.Size = &size
	}
	if doc != nil {
		d.Result = &ledger.ResultRecord{Version: tellAny(version), Path: tellAny(path), Size: *readSize, SHA256: digestOf(readSum),
			ContentType: tellAny(kind), ReadAt: instant(*readAt), Temp: tellAny(temp)}
		if run != nil {
			d.Result.Run = *run
		}
	}
	if partial == "" {
		return d, nil
	}
	d.Partial = &ledger.Partial{}
	return d, json.Unmarshal([]byte(partial), d.Partial)
}

// tellAny is told for a column that may be NULL.
func tellAny(s *string) string {
	if s == nil {
		return ""
	}
	return told(*s)
}

// left is what is left of a wait.
func (e *export) left(notBefore int64) time.Duration { return time.Duration(max(0, notBefore-e.now)) }

func (e *export) folders(ctx context.Context, job int64) error {
	after := ""
	return e.blocks(ctx, exportFolders, func() []any { return []any{job, after} }, func(r pgx.Rows) (ledger.Record, error) {
		f := &dogear.Folder{}
		err := r.Scan(&after, &f.Parent, &f.Name, &f.Outside)
		f.ID, f.Parent, f.Name = told(after), told(f.Parent), told(f.Name)
		return ledger.Record{Folder: f}, err
	})
}

func (e *export) requests(ctx context.Context, job int64) error {
	first, _ := rangeOf(job)
	run, after := int64(-1), int64(0)
	return e.blocks(ctx, exportRequests, func() []any { return []any{job, run, after} }, func(r pgx.Rows) (ledger.Record, error) {
		q := &ledger.RequestRecord{}
		var doc, granted, sent, ended, until int64
		var keys string
		var kind, outcome int16
		err := r.Scan(&q.N, &q.Parent, &q.Run, &doc, &keys, &kind, &granted, &sent, &ended, &q.Status, &outcome, &q.Hint,
			&until, &q.Bytes, &run)
		q.Scopes, q.Kind, q.Outcome, q.Hint = split(keys), dogear.Kind(kind), dogear.Outcome(outcome), told(q.Hint)
		q.Granted, q.Sent, q.Ended, q.Until = instant(granted), instant(sent), instant(ended), instant(until)
		if after = q.N; doc != 0 {
			place := doc - first - 1
			q.Place = &place
		}
		return ledger.Record{Request: q}, err
	})
}

func (e *export) scopes(ctx context.Context) error {
	inFlight, _, err := e.crowd(ctx, e.conn)
	if err != nil {
		return err
	}
	after := ""
	return e.blocks(ctx, readScopes, func() []any { return []any{after} }, func(r pgx.Rows) (ledger.Record, error) {
		s, err := scopeAt(r)
		after = s.Key
		// What is in flight, as through a gateway, is not moved, and nor is its answer.
		probing := s.Probing || inFlight[s.Key] > 0
		return ledger.Record{Scope: &ledger.ScopeRecord{Key: s.Key, Confirmed: s.Confirmed, Rate: s.Rate, Burst: s.Burst,
			Concurrency: s.Concurrency, Wait: e.left(nanos(s.NotBefore)), Probing: probing, Streak: s.Streak, Hinted: s.Hinted,
			Cause: s.Cause, SetBy: s.SetBy, Pace: s.Pace}}, err
	})
}

func (e *export) releases(ctx context.Context) error {
	after := int64(0)
	return e.blocks(ctx, exportReleases, func() []any { return []any{after} }, func(r pgx.Rows) (ledger.Record, error) {
		rel := &ledger.Release{}
		var at, notBefore int64
		err := r.Scan(&after, &rel.Key, &rel.By, &rel.Reason, &at, &notBefore)
		rel.By, rel.Reason, rel.At, rel.NotBefore = told(rel.By), told(rel.Reason), instant(at), instant(notBefore)
		return ledger.Record{Release: rel}, err
	})
}
