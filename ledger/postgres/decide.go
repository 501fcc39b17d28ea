package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear"
)

// A gateState is what the decisions of one transaction share: each scope is read once and
// written once, however many decide on it.
type gateState struct {
	now, wall int64
	scopes    map[string]*scopeState
	live      map[int64]bool // by request
	inFlight  map[string]int // by scope; open requests of live holders
	waiting   map[string]int // by scope; of other live holders
	sent      map[int64]int64

	grants []dogear.Request
	sets   []int64 // of grants
	ends   []dogear.End
}

type scopeState struct {
	scope dogear.Scope
	was   scopeRow // as it is stored
	made  bool     // by this transaction
}

const (
	readMoment = `SELECT dogear.nanos(dogear.now()), dogear.nanos(clock_timestamp())`

	// countOpen looks at the open requests only: they are few. An item of a batch (kind 5)
	// is in flight with its batch.
	countOpen = `SELECT s.keys, count(*) FROM dogear.requests q
		JOIN dogear.holders h ON h.n = q.holder AND (h.n = $1 OR h.expires > (SELECT dogear.now()))
		JOIN dogear.sets s ON s.id = q.scopes
		WHERE q.ended = 0 AND q.kind <> 5 GROUP BY s.keys`

	// readProbes are the probes of scopes that are out.
	readProbes = `SELECT q.n FROM dogear.scopes s JOIN dogear.requests q ON q.n = s.probe AND q.ended = 0
		JOIN dogear.holders h ON h.n = q.holder AND (h.n = $1 OR h.expires > dogear.now())
		WHERE s.key = ANY($2) AND s.probe <> 0`

	readLive = `SELECT 1 FROM dogear.requests q JOIN dogear.holders h ON h.n = q.holder
		WHERE q.n = $2 AND q.ended = 0 AND (h.n = $1 OR h.expires > dogear.now())`

	readSent = `SELECT job, sum(n)::bigint FROM dogear.counts WHERE job = ANY($1) AND what = 0 AND key = 0 GROUP BY job`

	nextBlock = `SELECT nextval('dogear.blocks')`
)

// Decide runs the gate's decision in one transaction: a question that takes the scopes and
// reads what a decision may look at, the decision, and an answer that writes what it left.
func (s *Store) Decide(ctx context.Context, keys []string, decide func(*dogear.Docket)) error {
	keys = sorted(keys)
	err := s.submit(ctx, gatePen, &call{keys: keys, work: func(ctx context.Context, tx *tx) error {
		return tx.decide(ctx, keys, decide)
	}})
	if err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	return nil
}

func (tx *tx) decide(ctx context.Context, keys []string, decide func(*dogear.Docket)) error {
	g, err := tx.openGate(ctx)
	if err != nil {
		return err
	}
	if err := tx.numbers(ctx); err != nil {
		return err
	}
	d := &dogear.Docket{
		Now: instant(g.now), Wall: instant(g.wall), Next: tx.next.first,
		Scopes: make(map[string]*dogear.Scope, len(keys)),
		Live: func(request int64) bool {
			live, e := tx.isLive(ctx, request)
			err = errors.Join(err, e)
			return live
		},
		JobSent: func(job int64) int64 {
			n, e := tx.jobSent(ctx, job)
			err = errors.Join(err, e)
			return n
		},
	}
	for _, key := range keys {
		sc := &g.scopes[key].scope
		sc.InFlight, sc.Waiting = g.inFlight[key], g.waiting[key]
		d.Scopes[key] = sc
	}
	decide(d)
	if err != nil {
		return err
	}
	return tx.leaves(ctx, d)
}

// leaves keeps what a decision left, to be written with the commit.
func (tx *tx) leaves(ctx context.Context, d *dogear.Docket) error {
	g := tx.gate
	for _, e := range d.Ends {
		if e.Fate != nil && e.Fate.State == dogear.Done {
			return fmt.Errorf("end request %d: document %d is done without a result", e.Request, e.Fate.Doc)
		}
		if live, looked := g.live[e.Request]; looked && !live {
			continue // an end that is said twice is one end
		}
		if e.Ended.IsZero() {
			e.Ended = instant(g.wall)
		}
		g.live[e.Request] = false
		g.ends = append(g.ends, e)
		f := tx.mine.of(e.Request)
		for _, key := range f.keys {
			g.inFlight[key]--
		}
		if f.keys != nil && !e.Outcome.Sent() {
			g.sent[f.job]--
		}
	}
	for _, r := range d.Grants {
		set, err := tx.setOf(ctx, r.Scopes)
		if err != nil {
			return err
		}
		if err := tx.next.use(r.N); err != nil {
			return fmt.Errorf("record request %d: %w", r.N, err)
		}
		if r.Granted.IsZero() {
			r.Granted = instant(g.wall)
		}
		g.live[r.N] = true
		g.grants, g.sets = append(g.grants, r), append(g.sets, set)
		if r.Kind != dogear.Item {
			for _, key := range r.Scopes {
				g.inFlight[key]++
			}
			g.sent[r.Job]++
		}
	}
	return nil
}

// openGate takes the scopes that this transaction's calls decide on, and reads what their
// decisions share. What is read after the scopes were taken is as whoever had them left it.
func (tx *tx) openGate(ctx context.Context) (*gateState, error) {
	if tx.gate != nil {
		return tx.gate, nil
	}
	g := &gateState{
		scopes: map[string]*scopeState{}, live: map[int64]bool{},
		inFlight: map[string]int{}, waiting: map[string]int{}, sent: map[int64]int64{},
	}
	b := tx.batch()
	each(b, takeScopes, g.taken, tx.keys)
	tx.survey(b, g)
	if err := tx.send(ctx, b); err != nil {
		return nil, err
	}
	if len(g.scopes) < len(tx.keys) {
		if err := tx.makeScopes(ctx, g); err != nil {
			return nil, err
		}
	}
	tx.gate = g
	return g, nil
}

func (g *gateState) taken(r pgx.Rows) error {
	sc, err := scopeAt(r)
	g.scopes[sc.Key] = &scopeState{scope: sc, was: rowOf(&sc)}
	return err
}

// survey reads what decisions may look at beside scopes.
func (tx *tx) survey(b *pgx.Batch, g *gateState) {
	me := tx.me.Load()
	b.Queue(readMoment).QueryRow(func(r pgx.Row) error { return r.Scan(&g.now, &g.wall) })
	each(b, countOpen, flying(g.inFlight), me)
	each(b, readHolders, func(r pgx.Rows) error {
		h, err := readHolder(r)
		if h.live && h.n != me {
			for key, n := range h.waits() {
				g.waiting[key] += n
			}
		}
		return err
	}, me)
	each(b, readProbes, func(r pgx.Rows) error {
		var n int64
		err := r.Scan(&n)
		g.live[n] = true
		return err
	}, me, tx.keys)
	if len(tx.jobs) > 0 {
		var jobs []int64
		for job := range tx.jobs {
			jobs, g.sent[job] = append(jobs, job), 0
		}
		each(b, readSent, g.readSent, jobs)
	}
	if tx.next.low() {
		b.Queue(nextBlock).QueryRow(tx.next.renew)
	}
}

// flying adds rows of countOpen to what is in flight in each scope.
func flying(inFlight map[string]int) func(pgx.Rows) error {
	return func(r pgx.Rows) error {
		var keys string
		var n int
		err := r.Scan(&keys, &n)
		for _, key := range split(keys) {
			inFlight[key] += n
		}
		return err
	}
}

// makeScopes makes the scopes that are missing. Another process may be doing the same.
func (tx *tx) makeScopes(ctx context.Context, g *gateState) error {
	var missing []string
	for _, key := range tx.keys {
		if g.scopes[key] == nil {
			missing = append(missing, key)
		}
	}
	made := map[string]bool{}
	b := tx.batch()
	each(b, makeScopes, func(r pgx.Rows) error {
		var key string
		err := r.Scan(&key)
		made[key] = true
		return err
	}, missing)
	each(b, takeScopes, g.taken, missing)
	b.Queue(readMoment).QueryRow(func(r pgx.Row) error { return r.Scan(&g.now, &g.wall) })
	if err := tx.send(ctx, b); err != nil {
		return err
	}
	for key := range made {
		g.scopes[key].made = true
	}
	return nil
}

// closeGate writes what the decisions have changed.
func (tx *tx) closeGate(b *pgx.Batch) {
	g := tx.gate
	if g == nil {
		return
	}
	tx.writeEnds(b, g)
	tx.writeGrants(b, g)
	for _, key := range tx.keys {
		st := g.scopes[key]
		if row := rowOf(&st.scope); row != st.was {
			row.put(b)
			tx.tell = tx.tell || row.matters(st.was)
		}
	}
	tx.after = append(tx.after, func() { tx.mine.flown(g) })
}

// isLive reports whether a request is open and its holder alive. Probes are known already.
func (tx *tx) isLive(ctx context.Context, request int64) (bool, error) {
	g := tx.gate
	if live, looked := g.live[request]; looked {
		return live, nil
	}
	n, err := number(ctx, tx, readLive, tx.me.Load(), request)
	if err != nil {
		return true, err
	}
	if n == 1 { // else it may be granted in this transaction yet
		g.live[request] = true
	}
	return n == 1, nil
}

// jobSent is how many requests a job has sent. A job that was asked for once is asked for
// again, so later transactions read it with the scopes.
func (tx *tx) jobSent(ctx context.Context, job int64) (int64, error) {
	g := tx.gate
	if n, ok := g.sent[job]; ok && tx.jobs[job] {
		return n, nil
	}
	granted := g.sent[job]
	g.sent[job] = 0
	if err := tx.rows(ctx, readSent, g.readSent, []int64{job}); err != nil {
		return math.MaxInt64, err
	}
	g.sent[job] += granted
	if len(tx.jobs) > 64 {
		clear(tx.jobs)
	}
	tx.jobs[job] = true
	return g.sent[job], nil
}

func (g *gateState) readSent(r pgx.Rows) error {
	var job, n int64
	err := r.Scan(&job, &n)
	g.sent[job] = n
	return err
}
