package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// importRows is how many records are taken in one transaction.
const importRows = 8192

const (
	addImported = `INSERT INTO jobs (name, stage, holder, settings, sink, created, total, listing, cursor) VALUES (?, 0, ?, ?, ?, ?, 0, ?, ?)`

	addListedLane = `INSERT INTO lanes (job, listed, scopes, pending) VALUES (?, ?, ?, 0)`

	addOldRun = `INSERT INTO runs (job, number, holder, pid, reason, started, ended, deadline, sent, throttled, done, bytes)
		VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	setImported = `UPDATE documents SET state = ?2, done = ?3, attempts = ?4, not_before = ?5, reason = ?6, found = ?7, partial = ?8 WHERE seq = ?1`

	// addOldRelease leaves alone what is there already: a ledger may come back.
	addOldRelease = `INSERT INTO releases (key, by, reason, at, not_before) SELECT ?1, ?2, ?3, ?4, ?5
		WHERE NOT EXISTS (SELECT 1 FROM releases WHERE key = ?1 AND by = ?2 AND at = ?4)`

	addOldRequest = `INSERT INTO requests (n, job, run, doc, parent, holder, scopes, kind, granted, sent, ended, status, outcome, hint, until, bytes)
		VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// An importing is a ledger that is being taken in. Nothing of it is seen before its end.
type importing struct {
	*Store
	ctx  context.Context
	fold func(string) string

	rows []ledger.Record
	jobs []*imported
	last struct {
		scopes   []*ledger.ScopeRecord
		releases []*ledger.Release
	}
	numbers ledger.Numbers // of the present job's requests
}

// An imported is a job of it.
type imported struct {
	id    int64
	name  string
	total int64
	lanes []int64
	runs  map[int64]int64 // by number
}

// Import takes what another ledger has.
func (s *Store) Import(ctx context.Context, records iter.Seq2[ledger.Record, error], fold func(string) string) error {
	im := &importing{Store: s, ctx: ctx, fold: fold}
	if err := im.all(records); err != nil {
		im.abandon()
		return fmt.Errorf("import a ledger: %w", err)
	}
	return nil
}

func (im *importing) all(records iter.Seq2[ledger.Record, error]) error {
	if err := im.join(im.ctx); err != nil {
		return err
	}
	for r, err := range ledger.Checked(records) {
		if err != nil {
			return err
		}
		switch {
		case r.Scope != nil:
			im.last.scopes = append(im.last.scopes, r.Scope)
			continue
		case r.Release != nil:
			im.last.releases = append(im.last.releases, r.Release)
			continue
		}
		if im.rows = append(im.rows, r); len(im.rows) == importRows {
			if err := im.flush(); err != nil {
				return err
			}
		}
	}
	if err := im.flush(); err != nil {
		return err
	}
	return im.finish()
}

// act does work in a transaction of its own, once.
func (im *importing) act(work func(*tx) error) error {
	return im.doAlone(im.ctx, func(tx *tx) error {
		if err := tx.acts(); err != nil {
			return err
		}
		return work(tx)
	})
}

func (im *importing) flush() error {
	rows := im.rows
	im.rows = im.rows[:0]
	return im.act(func(tx *tx) error {
		for _, r := range rows {
			if err := im.take(tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (im *importing) take(tx *tx, r ledger.Record) error {
	if r.Job != nil {
		return im.job(tx, r.Job)
	}
	if len(im.jobs) == 0 {
		return nil // a record without anything, as below
	}
	j := im.jobs[len(im.jobs)-1]
	switch {
	case r.Run != nil:
		return j.run(tx, r.Run)
	case r.Document != nil:
		return im.document(tx, j, r.Document)
	case r.Folder != nil:
		return tx.conn.exec(setFolder, j.id, r.Folder.ID, r.Folder.Parent, r.Folder.Name, r.Folder.Outside)
	case r.Request != nil:
		return im.request(tx, j, r.Request)
	}
	return nil // of a newer dogear: it can be done without
}

func (im *importing) job(tx *tx, r *ledger.JobRecord) error {
	if err := tx.nameFree(r.Name); err != nil {
		return fmt.Errorf("job %s: %w", r.Name, err)
	}
	kept, err := json.Marshal(r.Settings)
	if err != nil {
		return err
	}
	if err := tx.conn.exec(addImported, r.Name, tx.me.Load().n, string(kept), r.Settings.Sink, r.Created, r.Listing, r.Cursor); err != nil {
		return err
	}
	j := &imported{id: tx.conn.LastInsertRowID(), name: r.Name, runs: map[int64]int64{}}
	im.jobs = append(im.jobs, j)
	im.numbers = ledger.Numbers{}
	for _, l := range r.Lanes {
		listed, err := tx.setOf(l.Listed)
		if err != nil {
			return err
		}
		read, err := tx.setOf(l.Scopes)
		if err != nil {
			return err
		}
		if err := tx.conn.exec(addListedLane, j.id, listed, read); err != nil {
			return err
		}
		j.lanes = append(j.lanes, tx.conn.LastInsertRowID())
	}
	tx.count(j.id, countTotal, totalAttempts, r.Attempts)
	return nil
}

func (j *imported) run(tx *tx, r *ledger.RunRecord) error {
	err := tx.conn.exec(addOldRun, j.id, r.Number, r.PID, string(r.Reason), r.Started, r.Ended, r.Deadline, r.Sent, r.Throttled, r.Done, r.Bytes)
	j.runs[r.Number] = tx.conn.LastInsertRowID()
	return err
}

func (im *importing) document(tx *tx, j *imported, r *ledger.DocumentRecord) error {
	after, _ := rangeOf(j.id)
	d := dogear.Document{Seq: after + 1 + r.Place, ID: r.ID, Address: r.Address, Secret: r.Secret, List: r.List, Line: r.Line, Offset: r.Offset,
		Name: r.Name, Parent: r.Parent, Version: r.Version, SHA256: r.SHA256, Digest: r.Digest, Size: -1}
	if d.Address == "" {
		d.Address = d.ID
	}
	if r.Size != nil {
		d.Size = *r.Size
	}
	lane := j.lanes[r.Lane]
	if err := tx.addDocument(d, lane); err != nil {
		return err
	}
	if err := tx.conn.exec(addID, j.id, hash([]byte(d.ID)), d.Seq); err != nil {
		return err
	}
	j.total++
	tx.count(j.id, countState, int64(r.State), 1)
	if r.State == dogear.Pending {
		tx.pending[lane]++
	}
	tx.paid(d.Seq, 0, int64(r.Attempts))
	if err := im.fate(tx, d.Seq, r); err != nil || r.Result == nil {
		return err
	}
	return im.result(tx, j, d.Seq, r.Result)
}

// fate puts a document where it stood.
func (im *importing) fate(tx *tx, seq int64, r *ledger.DocumentRecord) error {
	var partial any
	if r.Partial != nil {
		kept, err := json.Marshal(r.Partial)
		if err != nil {
			return err
		}
		partial = string(kept)
	}
	var notBefore int64
	if r.Delay > 0 {
		notBefore, tx.delayed = nanos(instant(tx.now).Add(r.Delay)), true
	}
	return tx.conn.exec(setImported, seq, int(r.State), r.State == dogear.Done, r.Attempts, notBefore, textOr(r.Reason), textOr(r.Found), partial)
}

func (im *importing) result(tx *tx, j *imported, seq int64, r *ledger.ResultRecord) error {
	folded := im.fold(r.Path)
	err := tx.conn.exec(addResult, seq, j.runs[r.Run], foldedHash(j.id, folded), r.Size, r.ReadAt, r.Version, r.Path, digest(r.SHA256), r.ContentType)
	if err == nil && r.Temp != "" {
		err = tx.conn.exec(addUnplaced, seq, r.Temp, folded)
	}
	return err
}

func (im *importing) request(tx *tx, j *imported, r *ledger.RequestRecord) error {
	g, err := tx.openGate()
	if err != nil {
		return err
	}
	set, err := tx.setOf(r.Scopes)
	if err != nil {
		return err
	}
	var doc int64
	if r.Place != nil {
		after, _ := rangeOf(j.id)
		doc = after + 1 + *r.Place
	}
	ended, outcome := r.Ended, r.Outcome
	if ended.IsZero() {
		ended, outcome = r.Granted, dogear.Doubtful
	}
	n := g.next
	g.next++
	im.numbers.Put(r.N, n)
	if r.Kind != dogear.Item && outcome.Sent() {
		tx.count(j.id, countTotal, totalSent, 1)
	}
	if outcome == dogear.Throttled && r.Kind != dogear.Item {
		tx.count(j.id, countTotal, totalThrottled, 1)
	}
	if r.Status != 0 && r.Kind != dogear.Item {
		tx.count(j.id, countStatus, int64(r.Status), 1)
	}
	return tx.conn.exec(addOldRequest, n, j.id, j.runs[r.Run], doc, im.numbers.Of(r.Parent), set, int(r.Kind), r.Granted, r.Sent, ended,
		r.Status, int(outcome), textOr(r.Hint), r.Until, r.Bytes)
}

// finish lets all of it be seen, with the waits of its scopes.
func (im *importing) finish() error {
	return im.act(func(tx *tx) error {
		for _, j := range im.jobs {
			if err := tx.nameFree(j.name); err != nil {
				return fmt.Errorf("job %s: %w", j.name, err)
			}
			if err := tx.conn.exec(finishJob, j.id, j.total); err != nil {
				return err
			}
		}
		for _, r := range im.last.releases {
			if err := tx.conn.exec(addOldRelease, r.Key, r.By, r.Reason, r.At, r.NotBefore); err != nil {
				return err
			}
		}
		if _, err := tx.openGate(); err != nil {
			return err
		}
		for _, r := range im.last.scopes {
			sc, err := tx.scope(r.Key)
			if err != nil {
				return err
			}
			r.Into(sc, instant(tx.now))
		}
		return nil
	})
}

// abandon leaves nothing of an import that failed.
func (im *importing) abandon() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(im.ctx), 5*time.Second)
	defer cancel()
	for _, j := range im.jobs {
		_ = im.do(ctx, func(tx *tx) error { return tx.conn.exec(abandonJob, j.id) }) // what stays is invisible, and swept later
	}
	_ = im.sweep(ctx, 1<<20)
}
