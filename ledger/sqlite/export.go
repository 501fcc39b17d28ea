package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	findAnyRunning = `SELECT j.name, r.pid, h.host FROM runs r INDEXED BY runs_open JOIN holders h ON h.n = r.holder
		JOIN jobs j ON j.id = r.job WHERE r.ended = 0 LIMIT 1`

	exportRuns = `SELECT number, reason, started, ended, deadline, sent, throttled, done, bytes, pid FROM runs WHERE job = ? ORDER BY number`

	exportDocuments = `SELECT d.seq, d.lane, d.state, d.attempts, d.not_before, d.reason, d.found, d.partial, d.id, d.address,
			d.secret, d.list, d.line, d.offset, d.name, d.parent, d.version, d.size, d.sha256, d.digest,
			r.doc, r.version, r.path, r.size, r.sha256, r.content_type, r.read_at,
			(SELECT number FROM runs WHERE id = r.run), u.temp
		FROM documents d LEFT JOIN results r ON r.doc = d.seq LEFT JOIN unplaced u ON u.doc = d.seq
		WHERE d.seq > ? AND d.seq <= ? ORDER BY d.seq LIMIT ?`

	exportRequests = `SELECT q.n, q.parent, (SELECT number FROM runs WHERE id = q.run), q.doc, q.scopes, q.kind, q.granted, q.sent,
			q.ended, q.status, q.outcome, q.hint, q.until, q.bytes
		FROM requests q INDEXED BY requests_job WHERE q.job = ? AND q.n > ? ORDER BY q.n LIMIT ?`

	exportFolders = `SELECT id, parent, name, outside FROM folders WHERE job = ? ORDER BY id`

	exportReleases = `SELECT key, by, reason, at, not_before FROM releases ORDER BY id`
)

// An export is one reading of the whole ledger, as it is at one moment.
type export struct {
	*Store
	conn  conn
	now   int64
	yield func(ledger.Record) error
}

var errEnough = errors.New("whoever reads has enough")

// Export is all of the ledger.
func (s *Store) Export(ctx context.Context) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		err := s.act(ctx, func(tx *tx) error {
			if err := tx.reapDead(); err != nil {
				return err
			}
			return tx.nothingRuns()
		})
		if err == nil {
			err = s.snapshot(ctx, func(c conn) error {
				e := &export{s, c, s.clock.now(), func(r ledger.Record) error {
					if !yield(r, nil) {
						return errEnough
					}
					return ctx.Err()
				}}
				return e.all()
			})
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(ledger.Record{}, fmt.Errorf("export the ledger: %w", err))
		}
	}
}

// nothingRuns refuses while a job is being run. The dead are reaped.
func (tx *tx) nothingRuns() error {
	running := &ledger.RunningError{}
	found, err := tx.conn.row(findAnyRunning, func(r *sqlite.Stmt) {
		running.Job, running.PID, running.Host = r.ColumnText(0), r.ColumnInt(1), r.ColumnText(2)
	})
	if err == nil && found {
		err = running
	}
	return err
}

func (e *export) all() error {
	var jobs []ledger.Job
	var bad error
	err := e.conn.rows(readJobs, func(r *sqlite.Stmt) {
		j, err := jobAt(r)
		bad = errors.Join(bad, err)
		jobs = append(jobs, j)
	}, 0, 1<<31)
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	for _, j := range jobs {
		if err := e.job(j); err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
	}
	return e.scopes()
}

// job exports a job with all that belongs to it.
func (e *export) job(j ledger.Job) error {
	rec := &ledger.JobRecord{Name: j.Name, Settings: j.Settings, Created: j.Created, Listing: j.Listing, Cursor: j.Cursor}
	lanes := map[int64]int{}
	var listed, read []int64
	err := e.conn.rows(readLanes, func(r *sqlite.Stmt) {
		lanes[r.ColumnInt64(0)] = len(lanes)
		read, listed = append(read, r.ColumnInt64(1)), append(listed, r.ColumnInt64(2))
	}, j.ID)
	if err != nil {
		return err
	}
	for i := range listed {
		var l ledger.LaneRecord
		if l.Listed, err = e.keysOf(e.conn, listed[i]); err == nil {
			l.Scopes, err = e.keysOf(e.conn, read[i])
		}
		if err != nil {
			return err
		}
		rec.Lanes = append(rec.Lanes, l)
	}
	rec.Attempts, err = e.conn.number(`SELECT n FROM counts WHERE job = ? AND what = ? AND key = ?`, j.ID, countTotal, totalAttempts)
	if err == nil {
		err = e.yield(ledger.Record{Job: rec})
	}
	for _, part := range []func(int64) error{e.runs, func(job int64) error { return e.documents(job, lanes) }, e.folders, e.requests} {
		if err == nil {
			err = part(j.ID)
		}
	}
	return err
}

func (e *export) runs(job int64) error {
	var all []ledger.RunRecord
	err := e.conn.rows(exportRuns, func(r *sqlite.Stmt) {
		all = append(all, ledger.RunRecord{Number: r.ColumnInt64(0), Reason: dogear.StopReason(r.ColumnText(1)), Started: instantAt(r, 2),
			Ended: instantAt(r, 3), Deadline: instantAt(r, 4), Sent: r.ColumnInt64(5), Throttled: r.ColumnInt64(6),
			Done: r.ColumnInt64(7), Bytes: r.ColumnInt64(8), PID: r.ColumnInt(9)})
	}, job)
	for i := range all {
		if err == nil {
			err = e.yield(ledger.Record{Run: &all[i]})
		}
	}
	return err
}

func (e *export) documents(job int64, lanes map[int64]int) error {
	first, last := rangeOf(job)
	after := first
	for {
		var block []*ledger.DocumentRecord
		var bad error
		err := e.conn.rows(exportDocuments, func(r *sqlite.Stmt) {
			d, err := e.document(r, lanes)
			bad = errors.Join(bad, err)
			after = r.ColumnInt64(0)
			d.Place = after - first - 1
			block = append(block, d)
		}, after, last, blockRows)
		if err = errors.Join(err, bad); err != nil {
			return err
		}
		for _, d := range block {
			if err := e.yield(ledger.Record{Document: d}); err != nil {
				return err
			}
		}
		if len(block) < blockRows {
			return nil
		}
	}
}

// document reads a row of exportDocuments.
func (e *export) document(r *sqlite.Stmt, lanes map[int64]int) (*ledger.DocumentRecord, error) {
	d := &ledger.DocumentRecord{
		Lane: lanes[r.ColumnInt64(1)], State: dogear.State(r.ColumnInt(2)), Attempts: r.ColumnInt(3),
		Reason: r.ColumnText(5), Found: r.ColumnText(6), ID: r.ColumnText(8), Address: r.ColumnText(9), Secret: r.ColumnBool(10),
		List: r.ColumnInt(11), Line: r.ColumnInt64(12), Offset: r.ColumnInt64(13), Name: r.ColumnText(14), Parent: r.ColumnText(15),
		Version: r.ColumnText(16), SHA256: digestAt(r, 18), Digest: r.ColumnText(19),
	}
	if at := r.ColumnInt64(4); at > e.now {
		d.Delay = time.Duration(at - e.now)
	}
	if d.State == dogear.InFlight { // claimed by who begins to run now: it takes it again
		d.State = dogear.Pending
	}
	if !r.ColumnIsNull(17) {
		size := r.ColumnInt64(17)
		d.Size = &size
	}
	if !r.ColumnIsNull(20) {
		d.Result = &ledger.ResultRecord{Version: r.ColumnText(21), Path: r.ColumnText(22), Size: r.ColumnInt64(23),
			SHA256: digestAt(r, 24), ContentType: r.ColumnText(25), ReadAt: instantAt(r, 26), Run: r.ColumnInt64(27), Temp: r.ColumnText(28)}
	}
	if r.ColumnIsNull(7) {
		return d, nil
	}
	d.Partial = &ledger.Partial{}
	return d, json.Unmarshal([]byte(r.ColumnText(7)), d.Partial)
}

func (e *export) folders(job int64) error {
	var all []dogear.Folder
	err := e.conn.rows(exportFolders, func(r *sqlite.Stmt) {
		all = append(all, dogear.Folder{ID: r.ColumnText(0), Parent: r.ColumnText(1), Name: r.ColumnText(2), Outside: r.ColumnBool(3)})
	}, job)
	for i := range all {
		if err == nil {
			err = e.yield(ledger.Record{Folder: &all[i]})
		}
	}
	return err
}

func (e *export) requests(job int64) error {
	first, _ := rangeOf(job)
	for after := int64(0); ; {
		var block []*ledger.RequestRecord
		var sets []int64
		err := e.conn.rows(exportRequests, func(r *sqlite.Stmt) {
			after = r.ColumnInt64(0)
			q := &ledger.RequestRecord{N: after, Parent: r.ColumnInt64(1), Run: r.ColumnInt64(2), Kind: dogear.Kind(r.ColumnInt(5)),
				Granted: instantAt(r, 6), Sent: instantAt(r, 7), Ended: instantAt(r, 8), Status: r.ColumnInt(9),
				Outcome: dogear.Outcome(r.ColumnInt(10)), Hint: r.ColumnText(11), Until: instantAt(r, 12), Bytes: r.ColumnInt64(13)}
			if doc := r.ColumnInt64(3); doc != 0 {
				place := doc - first - 1
				q.Place = &place
			}
			block, sets = append(block, q), append(sets, r.ColumnInt64(4))
		}, job, after, blockRows)
		for i, q := range block {
			if err == nil {
				q.Scopes, err = e.keysOf(e.conn, sets[i])
			}
			if err == nil {
				err = e.yield(ledger.Record{Request: q})
			}
		}
		if err != nil || len(block) < blockRows {
			return err
		}
	}
}

func (e *export) scopes() error {
	var all []dogear.Scope
	err := e.conn.rows(readScopes, func(r *sqlite.Stmt) { all = append(all, e.scopeAt(r)) }, "", 1<<31)
	for _, s := range all {
		if err != nil {
			return err
		}
		rec := &ledger.ScopeRecord{Key: s.Key, Confirmed: s.Confirmed, Rate: s.Rate, Burst: s.Burst, Concurrency: s.Concurrency,
			Probing: s.Probing, Streak: s.Streak, Hinted: s.Hinted, Cause: s.Cause, SetBy: s.SetBy, Pace: s.Pace}
		if at := nanos(s.NotBefore); at > e.now {
			rec.Wait = time.Duration(at - e.now)
		}
		err = e.yield(ledger.Record{Scope: rec})
	}
	var releases []ledger.Release
	if err == nil {
		err = e.conn.rows(exportReleases, func(r *sqlite.Stmt) {
			releases = append(releases, ledger.Release{Key: r.ColumnText(0), By: r.ColumnText(1), Reason: r.ColumnText(2), At: instantAt(r, 3), NotBefore: instantAt(r, 4)})
		})
	}
	for i := range releases {
		if err == nil {
			err = e.yield(ledger.Record{Release: &releases[i]})
		}
	}
	return err
}
