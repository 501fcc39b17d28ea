package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

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

// matters reports whether what became of a scope matters to who waits elsewhere: it closes
// or opens, was released or confirmed otherwise, or its probe has ended.
func (r scopeRow) matters(was scopeRow) bool {
	ended := was.probe != 0 && r.probe != was.probe
	was.probe, was.pace, was.streak, was.hinted, was.setBy = r.probe, r.pace, r.streak, r.hinted, r.setBy
	return ended || r != was
}

const (
	scopeColumns = `key, confirmed_by, confirmed_from, confirmed_at, rate, burst, concurrency,
		not_before, probing, probe, generation, streak, hinted, cause, set_by, pace`

	// takeScopes locks scopes in key order, so that nobody waits crosswise, and reads them
	// as the last who had them left them.
	takeScopes = `SELECT ` + scopeColumns + ` FROM dogear.scopes WHERE key = ANY($1) ORDER BY key FOR UPDATE`

	makeScopes = `INSERT INTO dogear.scopes (key) SELECT key FROM unnest($1::text[]) AS u(key) ORDER BY key
		ON CONFLICT DO NOTHING RETURNING key`

	readScopes = `SELECT ` + scopeColumns + ` FROM dogear.scopes WHERE key > $1 ORDER BY key LIMIT $2`

	setScope = `UPDATE dogear.scopes SET confirmed_by = $2, confirmed_from = $3, confirmed_at = $4, rate = $5, burst = $6,
			concurrency = $7, not_before = $8, probing = $9, probe = $10, generation = $11, streak = $12,
			hinted = $13, cause = $14, set_by = $15, pace = $16
		WHERE key = $1`
)

// scopeAt reads a row of scopeColumns.
func scopeAt(r pgx.Rows) (sc dogear.Scope, err error) {
	var confirmed, notBefore int64
	var cause int16
	err = r.Scan(&sc.Key, &sc.Confirmed.By, &sc.Confirmed.Source, &confirmed, &sc.Rate, &sc.Burst, &sc.Concurrency,
		&notBefore, &sc.Probing, &sc.Probe, &sc.Generation, &sc.Streak, &sc.Hinted, &cause, &sc.SetBy, &sc.Pace)
	sc.Confirmed.By, sc.Confirmed.Source, sc.SetBy = told(sc.Confirmed.By), told(sc.Confirmed.Source), told(sc.SetBy)
	sc.Confirmed.At, sc.NotBefore, sc.Cause = instant(confirmed), instant(notBefore), dogear.Cause(cause)
	return sc, err
}

func (r scopeRow) put(b *pgx.Batch) {
	var pace []byte
	if r.pace != "" {
		pace = []byte(r.pace)
	}
	b.Queue(setScope, r.key, kept(r.by), kept(r.from), r.confirmed, r.rate, r.burst, r.flights, r.notBefore,
		r.probing, r.probe, r.generation, r.streak, r.hinted, int16(r.cause), kept(r.setBy), pace)
}

// Scopes are all scopes, in key order.
func (s *Store) Scopes(ctx context.Context) iter.Seq2[dogear.Scope, error] {
	return func(yield func(dogear.Scope, error) bool) {
		var inFlight, waiting map[string]int
		after := ""
		stream(ctx, s, "read scopes", yield, func(ctx context.Context, c conn) (block []dogear.Scope, err error) {
			if inFlight == nil {
				if inFlight, waiting, err = s.crowd(ctx, c); err != nil {
					return nil, err
				}
			}
			err = c.rows(ctx, readScopes, func(r pgx.Rows) error {
				sc, err := scopeAt(r)
				sc.InFlight, sc.Waiting = inFlight[sc.Key], waiting[sc.Key]
				block = append(block, sc)
				return err
			}, after, blockRows)
			if len(block) > 0 {
				after = block[len(block)-1].Key
			}
			return block, err
		})
	}
}

// crowd counts the open requests and the waiting ones of all live holders, by scope.
func (s *Store) crowd(ctx context.Context, c conn) (inFlight, waiting map[string]int, err error) {
	inFlight, waiting = map[string]int{}, map[string]int{}
	holders, err := s.holders(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range holders {
		if h.live {
			for key, n := range h.waits() {
				waiting[key] += n
			}
		}
	}
	err = c.rows(ctx, countOpen, flying(inFlight), s.me.Load())
	return inFlight, waiting, err
}

// Confirm records who knows which requests share the quota, and what pace was agreed.
func (s *Store) Confirm(ctx context.Context, key string, c dogear.Confirmation, rate float64, burst, concurrency int) error {
	err := s.decideOn(ctx, key, func(ctx context.Context, tx *tx, st *scopeState) error {
		sc := &st.scope
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

// decideOn changes one scope in a transaction of the gate's pen.
func (s *Store) decideOn(ctx context.Context, key string, change func(context.Context, *tx, *scopeState) error) error {
	return s.submit(ctx, gatePen, &call{keys: []string{key}, work: func(ctx context.Context, tx *tx) error {
		g, err := tx.openGate(ctx)
		if err != nil {
			return err
		}
		return change(ctx, tx, g.scopes[key])
	}})
}

const (
	addRelease = `INSERT INTO dogear.releases (key, by, reason, at, not_before) VALUES ($1, $2, $3, $4, $5)`

	readReleases = `SELECT id, by, reason, at, not_before FROM dogear.releases WHERE key = $1 AND id > $2 ORDER BY id LIMIT $3`
)

// Release ends a scope's wait. One probe goes first.
func (s *Store) Release(ctx context.Context, key, by, reason string) error {
	err := s.decideOn(ctx, key, func(ctx context.Context, tx *tx, st *scopeState) error {
		if st.made {
			return ledger.ErrNoScope
		}
		sc, g := &st.scope, tx.gate
		if !sc.NotBefore.After(instant(g.now)) {
			return ledger.ErrNoWait
		}
		_, err := tx.exec(ctx, addRelease, key, kept(by), kept(reason), g.wall, later(nanos(sc.NotBefore), g.wall-g.now))
		sc.NotBefore = instant(g.now)
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
		stream(ctx, s, "read releases", yield, func(ctx context.Context, c conn) (block []ledger.Release, err error) {
			err = c.rows(ctx, readReleases, func(r pgx.Rows) error {
				rel := ledger.Release{Key: key}
				var at, notBefore int64
				err := r.Scan(&after, &rel.By, &rel.Reason, &at, &notBefore)
				rel.By, rel.Reason, rel.At, rel.NotBefore = told(rel.By), told(rel.Reason), instant(at), instant(notBefore)
				block = append(block, rel)
				return err
			}, key, after, blockRows)
			return block, err
		})
	}
}
