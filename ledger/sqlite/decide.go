package sqlite

import (
	"context"
	"fmt"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
)

// A gateState is what the decisions of one transaction share: each scope is read once and
// written once, however many decide on it.
type gateState struct {
	next     int64 // request number
	first    int64 // what it was
	scopes   map[string]*scopeState
	live     map[int64]bool // by holder
	inFlight map[string]int // by scope; open requests of live holders
	waiting  map[string]int // by scope; of other live holders
	sent     map[int64]int64
}

type scopeState struct {
	scope   dogear.Scope
	was     scopeRow // as it is stored
	decided bool     // a decision has seen it
}

const (
	readNext = `SELECT request FROM next`

	setNext = `UPDATE next SET request = ?`

	// countOpen looks at the open requests only: they are few. An item of a batch (kind 5)
	// is in flight with its batch.
	countOpen = `SELECT holder, scopes, count(*) FROM requests INDEXED BY requests_open
		WHERE ended = 0 AND kind <> 5 GROUP BY holder, scopes`

	readSent = `SELECT n FROM counts WHERE job = ? AND what = 0 AND key = 0`

	readHolderOf = `SELECT holder FROM requests WHERE n = ? AND ended = 0`
)

// Decide runs the gate's decision in one transaction.
func (s *Store) Decide(ctx context.Context, keys []string, decide func(*dogear.Docket)) error {
	err := s.act(ctx, func(tx *tx) error { return tx.decide(keys, decide) })
	if err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	return nil
}

func (tx *tx) decide(keys []string, decide func(*dogear.Docket)) error {
	g, err := tx.openGate()
	if err != nil {
		return err
	}
	d := &dogear.Docket{
		Now: instant(tx.now), Wall: tx.wall, Next: g.next,
		Scopes: make(map[string]*dogear.Scope, len(keys)),
		Live: func(request int64) bool {
			live, e := tx.live(request)
			if e != nil {
				err = e
			}
			return live
		},
		JobSent: func(job int64) int64 {
			n, e := tx.sent(job)
			if e != nil {
				err = e
			}
			return n
		},
	}
	for _, key := range keys {
		sc, err := tx.scope(key)
		if err != nil {
			return err
		}
		sc.InFlight, sc.Waiting = g.inFlight[key], g.waiting[key]
		d.Scopes[key] = sc
	}
	decide(d)
	if err != nil {
		return err
	}
	for _, key := range keys {
		g.scopes[key].decided = true
	}
	for _, e := range d.Ends {
		if err := tx.end(e); err != nil {
			return fmt.Errorf("end request %d: %w", e.Request, err)
		}
	}
	for _, r := range d.Grants {
		if err := tx.grant(r); err != nil {
			return fmt.Errorf("record request %d: %w", r.N, err)
		}
	}
	return nil
}

// openGate reads what decisions share.
func (tx *tx) openGate() (*gateState, error) {
	if tx.gate != nil {
		return tx.gate, nil
	}
	g := &gateState{
		scopes: map[string]*scopeState{}, live: map[int64]bool{},
		inFlight: map[string]int{}, waiting: map[string]int{}, sent: map[int64]int64{},
	}
	var err error
	if g.next, err = tx.conn.number(readNext); err != nil {
		return nil, err
	}
	g.first = g.next
	holders, err := allHolders(tx.conn)
	if err != nil {
		return nil, err
	}
	me := tx.me.Load()
	for _, h := range holders {
		if g.live[h.n] = tx.alive(h, false); !g.live[h.n] || me != nil && h.n == me.n {
			continue
		}
		for key, n := range h.waits() {
			g.waiting[key] += n
		}
	}
	open, err := openOf(tx.conn)
	if err != nil {
		return nil, err
	}
	for _, o := range open {
		if g.live[o.holder] {
			if err := tx.fly(g, o.set, o.n); err != nil {
				return nil, err
			}
		}
	}
	tx.gate = g
	return g, nil
}

type openRequests struct {
	holder, set int64
	n           int
}

// openOf counts the open requests of each holder and set of scopes.
func openOf(c conn) ([]openRequests, error) {
	var all []openRequests
	err := c.rows(countOpen, func(r *sqlite.Stmt) {
		all = append(all, openRequests{r.ColumnInt64(0), r.ColumnInt64(1), r.ColumnInt(2)})
	})
	return all, err
}

// fly counts n requests more in flight in the scopes of a set.
func (tx *tx) fly(g *gateState, set int64, n int) error {
	keys, err := tx.keysOf(set)
	for _, key := range keys {
		g.inFlight[key] += n
	}
	return err
}

// scope is the scope under a key as this transaction has it; made where it is missing.
func (tx *tx) scope(key string) (*dogear.Scope, error) {
	if st := tx.gate.scopes[key]; st != nil {
		return &st.scope, nil
	}
	st := &scopeState{scope: dogear.Scope{Key: key}}
	found, err := tx.conn.row(readScope, func(r *sqlite.Stmt) { st.scope = tx.scopeAt(r) }, key)
	if err != nil {
		return nil, err
	}
	if found {
		st.was = rowOf(&st.scope)
	}
	tx.gate.scopes[key] = st
	return &st.scope, nil
}

// closeGate writes what the decisions have changed. Whoever changes scopes, holders or open
// requests otherwise closes the gate first.
func (tx *tx) closeGate() error {
	g := tx.gate
	if g == nil {
		return nil
	}
	tx.gate = nil
	for _, st := range g.scopes {
		if row := rowOf(&st.scope); row != st.was {
			if err := tx.putScope(row, st.scope.Rebooted && !st.decided); err != nil {
				return err
			}
		}
	}
	if g.next != g.first {
		return tx.conn.exec(setNext, g.next)
	}
	return nil
}

// live reports whether a request is open and its holder alive.
func (tx *tx) live(request int64) (bool, error) {
	var holder int64
	found, err := tx.conn.row(readHolderOf, func(r *sqlite.Stmt) { holder = r.ColumnInt64(0) }, request)
	if err != nil {
		return true, err
	}
	return found && tx.gate.live[holder], nil
}

// sent is how many requests a job has sent.
func (tx *tx) sent(job int64) (int64, error) {
	stored, ok := tx.gate.sent[job]
	if !ok {
		var err error
		if stored, err = tx.conn.number(readSent, job); err != nil {
			return math.MaxInt64, err
		}
		tx.gate.sent[job] = stored
	}
	return stored + tx.counts[countKey{job, countTotal, totalSent}], nil
}
