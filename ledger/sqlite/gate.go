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

const (
	addRequest = `INSERT INTO requests (n, job, run, doc, parent, holder, scopes, kind, granted)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

	readAttempts = `SELECT attempts FROM documents WHERE seq = ?`

	setAttempts = `UPDATE documents SET attempts = ?2 WHERE seq = ?1`
)

// grant records a request that may leave.
func (tx *tx) grant(r dogear.Request) error {
	set, err := tx.setOf(r.Scopes)
	if err != nil {
		return err
	}
	granted := r.Granted
	if granted.IsZero() {
		granted = tx.wall
	}
	err = tx.conn.exec(addRequest, r.N, r.Job, r.Run, r.Doc, r.Parent, tx.me.Load().n, set, int(r.Kind), granted)
	if err != nil {
		return err
	}
	tx.gate.next = max(tx.gate.next, r.N+1)
	if r.Kind != dogear.Item {
		if err := tx.fly(tx.gate, set, 1); err != nil {
			return err
		}
		tx.requests(r.Job, r.Run, 1)
	}
	if r.Doc == 0 || r.Kind != dogear.Read && r.Kind != dogear.Item {
		return nil
	}
	paid, err := tx.conn.number(readAttempts, r.Doc)
	if err != nil {
		return err
	}
	tx.paid(r.Doc, paid, paid+1)
	tx.count(jobOf(r.Doc), countTotal, totalAttempts, 1)
	return tx.conn.exec(setAttempts, r.Doc, paid+1)
}

// requests counts n requests of a job and its run.
func (tx *tx) requests(job, run, n int64) {
	if job != 0 {
		tx.count(job, countTotal, totalSent, n)
	}
	tx.inRun(run, runCounts{sent: n})
}

const (
	readRequest = `SELECT job, run, scopes, kind, holder FROM requests WHERE n = ? AND ended = 0`

	endRequest = `UPDATE requests SET sent = ?2, ended = ?3, status = ?4, outcome = ?5, hint = ?6, until = ?7, bytes = ?8
		WHERE n = ?1`
)

// end records how a request ended. One that has ended stays as it is, and so does its
// document.
func (tx *tx) end(e dogear.End) error {
	var job, run, set, holder int64
	var kind dogear.Kind
	found, err := tx.conn.row(readRequest, func(r *sqlite.Stmt) {
		job, run, set = r.ColumnInt64(0), r.ColumnInt64(1), r.ColumnInt64(2)
		kind, holder = dogear.Kind(r.ColumnInt(3)), r.ColumnInt64(4)
	}, e.Request)
	if err != nil || !found {
		return err
	}
	ended := e.Ended
	if ended.IsZero() {
		ended = tx.wall
	}
	err = tx.conn.exec(endRequest, e.Request, e.Sent, ended, e.Status, int(e.Outcome), textOr(e.Hint), e.Until, e.Bytes)
	if err != nil {
		return err
	}
	if kind != dogear.Item {
		if tx.gate.live[holder] {
			if err := tx.fly(tx.gate, set, -1); err != nil {
				return err
			}
		}
		tx.ended(job, run, e)
	}
	if e.Fate == nil {
		return nil
	}
	free := e.Outcome == dogear.NotSent || e.Outcome == dogear.Unprocessed
	return tx.fate(*e.Fate, free)
}

// ended counts the end of a request that is no item.
func (tx *tx) ended(job, run int64, e dogear.End) {
	add := runCounts{bytes: e.Bytes}
	if !e.Outcome.Sent() {
		tx.requests(job, run, -1)
	}
	if e.Outcome == dogear.Throttled {
		add.throttled = 1
	}
	tx.inRun(run, add)
	if job == 0 {
		return
	}
	tx.count(job, countTotal, totalThrottled, add.throttled)
	if e.Status > 0 {
		tx.count(job, countStatus, int64(e.Status), 1)
	}
}

const (
	readFate = `SELECT state, lane, attempts, holder FROM documents WHERE seq = ?`

	// setFate keeps the reason of an earlier attempt where there is no new one.
	setFate = `UPDATE documents SET state = ?2, attempts = ?3, not_before = ?4, holder = NULL,
		reason = CASE WHEN ?2 = 0 THEN coalesce(?5, reason) ELSE ?5 END, found = ?6 WHERE seq = ?1`
)

// fate moves a document out of flight. Free says that its attempt was none. A document that
// this holder does not have in flight stays where it is.
func (tx *tx) fate(f dogear.Fate, free bool) error {
	if f.State == dogear.Done {
		return fmt.Errorf("document %d is done without a result", f.Doc)
	}
	var state dogear.State
	var lane, attempts, holder int64
	found, err := tx.conn.row(readFate, func(r *sqlite.Stmt) {
		state, lane, attempts, holder = dogear.State(r.ColumnInt(0)), r.ColumnInt64(1), r.ColumnInt64(2), r.ColumnInt64(3)
	}, f.Doc)
	if err != nil || !found || state != dogear.InFlight || holder != tx.me.Load().n {
		return err
	}
	refund := min(int64(f.Refund), attempts)
	tx.paid(f.Doc, attempts, attempts-refund)
	if free {
		tx.count(jobOf(f.Doc), countTotal, totalAttempts, -refund)
	}
	if f.State == dogear.InFlight {
		if refund == 0 {
			return nil
		}
		return tx.conn.exec(setAttempts, f.Doc, attempts-refund)
	}
	tx.moved(f.Doc, lane, dogear.InFlight, f.State)
	tx.delayed = tx.delayed || !f.NotBefore.IsZero()
	return tx.conn.exec(setFate, f.Doc, int(f.State), attempts-refund, f.NotBefore, textOr(f.Reason), textOr(f.Version))
}

// Return moves documents out of flight that no request's end moves.
func (s *Store) Return(ctx context.Context, fates []dogear.Fate) error {
	err := s.act(ctx, func(tx *tx) error {
		for _, f := range fates {
			if err := tx.fate(f, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("return %d documents: %w", len(fates), err)
	}
	return nil
}
