package sqlite

import (
	"context"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// A scopeRow is what is stored of a scope, in a form that can be compared.
type scopeRow struct {
	key            string
	by, from       string
	confirmed      int64
	rate           float64
	burst, flights int
	notBefore      int64
	probing        bool
	probe          int64
	generation     int64
	streak         int
	hinted         bool
	cause          dogear.Cause
	setBy, pace    string
}

func rowOf(s *dogear.Scope) scopeRow {
	return scopeRow{
		key: s.Key, by: s.Confirmed.By, from: s.Confirmed.Source, confirmed: nanos(s.Confirmed.At),
		rate: s.Rate, burst: s.Burst, flights: s.Concurrency,
		notBefore: nanos(s.NotBefore), probing: s.Probing, probe: s.Probe,
		generation: s.Generation, streak: s.Streak, hinted: s.Hinted, cause: s.Cause,
		setBy: s.SetBy, pace: string(s.Pace),
	}
}

const (
	scopeColumns = `key, confirmed_by, confirmed_from, confirmed_at, rate, burst, concurrency,
		not_before, not_before_wall, boot, probing, probe, generation, streak, hinted, cause, set_by, pace`

	readScope = `SELECT ` + scopeColumns + ` FROM scopes WHERE key = ?`

	readScopes = `SELECT ` + scopeColumns + ` FROM scopes WHERE key > ? ORDER BY key LIMIT ?`

	putScope = `INSERT INTO scopes (` + scopeColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET confirmed_by = excluded.confirmed_by, confirmed_from = excluded.confirmed_from,
			confirmed_at = excluded.confirmed_at, rate = excluded.rate, burst = excluded.burst,
			concurrency = excluded.concurrency, not_before = excluded.not_before,
			not_before_wall = excluded.not_before_wall, boot = excluded.boot, probing = excluded.probing,
			probe = excluded.probe, generation = excluded.generation, streak = excluded.streak,
			hinted = excluded.hinted, cause = excluded.cause, set_by = excluded.set_by, pace = excluded.pace`

	// doubtScope makes a scope prove itself: what it answered was not seen.
	doubtScope = `UPDATE scopes SET probing = 1, probe = 0 WHERE key = ?`
)

// scopeAt reads a row of readScope. A row of another boot counts by the wall clock.
func (s *Store) scopeAt(r *sqlite.Stmt) dogear.Scope {
	sc := dogear.Scope{
		Key:       r.ColumnText(0),
		Confirmed: dogear.Confirmation{By: r.ColumnText(1), Source: r.ColumnText(2), At: instantAt(r, 3)},
		Rate:      r.ColumnFloat(4), Burst: r.ColumnInt(5), Concurrency: r.ColumnInt(6),
		NotBefore: instantAt(r, 7), Rebooted: r.ColumnText(9) != s.clock.boot,
		Probing: r.ColumnBool(10), Probe: r.ColumnInt64(11),
		Generation: r.ColumnInt64(12), Streak: r.ColumnInt(13), Hinted: r.ColumnBool(14),
		Cause: dogear.Cause(r.ColumnInt(15)), SetBy: r.ColumnText(16),
	}
	if sc.Rebooted {
		sc.NotBefore = instant(later(r.ColumnInt64(8), -s.clock.skew()))
	}
	if n := r.ColumnLen(17); n > 0 {
		sc.Pace = make([]byte, n)
		r.ColumnBytes(17, sc.Pace)
	}
	return sc
}

// putScope writes a scope. Until a decision has looked at a row of another boot it stays one:
// what its pace says of instants means nothing.
func (tx *tx) putScope(r scopeRow, rebooted bool) error {
	boot := tx.clock.boot
	if rebooted {
		boot = ""
	}
	return tx.conn.exec(putScope, r.key, r.by, r.from, r.confirmed, r.rate, r.burst, r.flights,
		r.notBefore, later(r.notBefore, tx.clock.skew()), boot, r.probing, r.probe,
		r.generation, r.streak, r.hinted, int(r.cause), r.setBy, []byte(r.pace))
}

// Scopes are all scopes, in key order.
func (s *Store) Scopes(ctx context.Context) iter.Seq2[dogear.Scope, error] {
	return func(yield func(dogear.Scope, error) bool) {
		var inFlight, waiting map[string]int
		after := ""
		stream(ctx, s, "read scopes", yield, func(c conn) (block []dogear.Scope, err error) {
			if after == "" { // the first block
				if inFlight, waiting, err = s.crowd(c); err != nil {
					return nil, err
				}
			}
			err = c.rows(readScopes, func(r *sqlite.Stmt) {
				sc := s.scopeAt(r)
				sc.InFlight, sc.Waiting = inFlight[sc.Key], waiting[sc.Key]
				block = append(block, sc)
				after = sc.Key
			}, after, blockRows)
			return block, err
		})
	}
}

// crowd counts the open requests and the waiting ones of all live holders, by scope.
func (s *Store) crowd(c conn) (inFlight, waiting map[string]int, err error) {
	inFlight, waiting = map[string]int{}, map[string]int{}
	holders, err := allHolders(c)
	if err != nil {
		return nil, nil, err
	}
	live := map[int64]bool{}
	for _, h := range holders {
		if live[h.n] = s.alive(h, false); live[h.n] {
			for key, n := range h.waits() {
				waiting[key] += n
			}
		}
	}
	open, err := openOf(c)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range open {
		if !live[o.holder] {
			continue
		}
		keys, err := s.keysOf(c, o.set)
		if err != nil {
			return nil, nil, err
		}
		for _, key := range keys {
			inFlight[key] += o.n
		}
	}
	return inFlight, waiting, nil
}

// Confirm records who knows which requests share the quota, and what pace was agreed.
func (s *Store) Confirm(ctx context.Context, key string, c dogear.Confirmation, rate float64, burst, concurrency int) error {
	err := s.do(ctx, func(tx *tx) error {
		if _, err := tx.openGate(); err != nil {
			return err
		}
		sc, err := tx.scope(key)
		if err != nil {
			return err
		}
		if c.OK() {
			sc.Confirmed = c
		}
		if rate != 0 {
			sc.Rate = rate
		}
		if burst != 0 {
			sc.Burst = burst
		}
		if concurrency != 0 {
			sc.Concurrency = concurrency
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("confirm scope %s: %w", key, err)
	}
	return nil
}

const (
	addRelease = `INSERT INTO releases (key, by, reason, at, not_before) VALUES (?, ?, ?, ?, ?)`

	readReleases = `SELECT id, key, by, reason, at, not_before FROM releases WHERE key = ? AND id > ? ORDER BY id LIMIT ?`
)

// Release ends a scope's wait. One probe goes first.
func (s *Store) Release(ctx context.Context, key, by, reason string) error {
	err := s.do(ctx, func(tx *tx) error {
		if _, err := tx.openGate(); err != nil {
			return err
		}
		sc, err := tx.scope(key)
		if err != nil {
			return err
		}
		if tx.gate.scopes[key].was.key == "" {
			return ledger.ErrNoScope
		}
		if !sc.NotBefore.After(instant(tx.now)) {
			return ledger.ErrNoWait
		}
		err = tx.conn.exec(addRelease, key, by, reason, tx.wall, tx.clock.toWall(nanos(sc.NotBefore)))
		sc.NotBefore = instant(tx.now)
		sc.Probing = true
		return err
	})
	if err != nil {
		return fmt.Errorf("release scope %s: %w", key, err)
	}
	return nil
}

// Releases are the waits of a scope that a person ended, in order.
func (s *Store) Releases(ctx context.Context, key string) iter.Seq2[ledger.Release, error] {
	return func(yield func(ledger.Release, error) bool) {
		after := int64(0)
		stream(ctx, s, "read releases", yield, func(c conn) (block []ledger.Release, err error) {
			err = c.rows(readReleases, func(r *sqlite.Stmt) {
				after = r.ColumnInt64(0)
				block = append(block, ledger.Release{
					Key: r.ColumnText(1), By: r.ColumnText(2), Reason: r.ColumnText(3),
					At: instantAt(r, 4), NotBefore: instantAt(r, 5),
				})
			}, key, after, blockRows)
			return block, err
		})
	}
}
