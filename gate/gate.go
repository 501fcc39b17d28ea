// Package gate admits requests: every request that shares a quota waits together.
//
// Think of it as a door with a book beside it. A request names its scopes and queues. When
// all of them are open and the pace allows it, one transaction of the shared ledger grants
// a permit and writes the request down, and the permit is good for one sending within two
// seconds. What comes back is settled: a throttle closes the scope for everybody who shares
// the ledger, and after the wait one probe goes before the others follow at a pace.
//
// The decision is made of pure functions over a [dogear.Scope] and a moment (scope.go, pace.go, steer.go);
// gate.go queues and shares transactions around them; send.go puts requests on the wire.
// [Transport] is all of it as an http.RoundTripper for any Go client.
package gate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
	"github.com/dogear/dogear/wire"
)

// Store is what the gate needs of a ledger; ledger.Store says what each method promises.
type Store interface {
	Now() time.Time
	Decide(ctx context.Context, keys []string, decide func(*dogear.Docket)) error
	Await(ctx context.Context) error
	Renew(ctx context.Context, waiting map[string]int) error
}

// Config configures a [Gate]. Zero fields mean the defaults that are named.
type Config struct {
	Store Store
	Wire  *wire.Wire // nil: a gate that only admits
	// Profile is the profile of the service at an address: what its answers mean and what its
	// requests cost. Nil, or one that returns nil: 429, and 503 and 529 with a valid hint, are
	// throttles, and every request costs 1.
	Profile func(*url.URL) *profile.Profile
	// Parts are the parts of scope keys that the user gave, such as identity.
	Parts map[string]string
	// By names who meets a wait, such as "job policies". Empty means "a client".
	By string
	// Deadline is when, by this machine's wall clock, nothing is admitted any more. A wait
	// that ends later fails at once. Zero means none.
	Deadline time.Time
	// RequireConfirmed fails requests whose scope was closed and that nobody confirmed.
	RequireConfirmed bool
	// MaxThrottles is how many throttle events in a row without a valid hint, or failed
	// probes of an origin that is down, are borne. Zero means 10.
	MaxThrottles int
	// MaxRequests caps the requests that a job may send over all its runs. Zero means none.
	MaxRequests int64
	// BackoffBase and BackoffMax bound waits without a valid hint. Zero means 1 s and 5 min.
	BackoffBase, BackoffMax time.Duration
}

const (
	permitLife   = 2 * time.Second
	renewEvery   = 5 * time.Second
	lookEvery    = time.Second // a sleeping machine's timers stop; its ledger's clock does not
	grantsAtOnce = 256         // grants in one transaction
)

// What ends a wait at the gate.
var (
	// ErrRequests says that the job's cap of requests is used up.
	ErrRequests = errors.New("the job's cap of requests is used up")
	// ErrClosed says that the gate has stopped.
	ErrClosed = errors.New("the gate is closed")
)

// A WaitError says that a scope stays closed until or past the deadline.
type WaitError struct {
	Key       string
	NotBefore time.Time // wall time
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("scope %s may send again at %s, which is not before the deadline",
		e.Key, e.NotBefore.UTC().Format(time.RFC3339))
}

// An ExhaustedError says that a scope was refused as often in a row as is borne.
type ExhaustedError struct {
	Key    string
	Streak int
	Down   bool // the origin did not answer, rather than throttle
}

func (e *ExhaustedError) Error() string {
	if e.Down {
		return fmt.Sprintf("the origin of scope %s did not answer %d probes", e.Key, e.Streak)
	}
	return fmt.Sprintf("scope %s was throttled %d times in a row without a valid hint", e.Key, e.Streak)
}

// An UnconfirmedError says that a scope was throttled of which nobody has said which
// requests share it.
type UnconfirmedError struct{ Key string }

func (e *UnconfirmedError) Error() string {
	return fmt.Sprintf("scope %s was throttled, and nobody has confirmed which requests share its quota", e.Key)
}

// A Gate admits requests. Its methods may be called at once from many goroutines while
// [Gate.Run] runs.
type Gate struct {
	cfg    Config
	policy policy
	self   uint32 // tells this gate from others that share the ledger

	mu     sync.Mutex
	queues map[string]*queue
	ops    []*op // settlements that wait to be committed
	heard  map[string]heard
	first  map[string]int64 // the generation in which this gate met the scope
	order  int64            // of waiters, to tell who waited longest
	wake   chan struct{}    // holds one; there is something to do
	done   chan struct{}    // closed when Run has returned
	closed bool
	failed error
}

// heard is what this process knows of a scope, at once and without asking the ledger.
type heard struct {
	scope      dogear.Scope // as last seen in the ledger
	generation int64        // may be ahead of scope's: a throttle that is not committed yet
	pace       pace         // as last seen in the ledger
}

// queue holds the waiters of one set of scopes, in order.
type queue struct {
	keys    []string
	waiters []*waiter
	due     time.Time // the earliest moment to ask again, on the ledger's clock
	blocked bool      // a settlement may make it due before
}

type waiter struct {
	request dogear.Request
	order   int64
	permit  *Permit
	err     error
	done    chan struct{} // closed when permit or err is set
}

// New returns a gate that does nothing until [Gate.Run] is called.
func New(cfg Config) (*Gate, error) {
	if cfg.Store == nil {
		return nil, errors.New("gate: a store is needed")
	}
	if cfg.MaxThrottles == 0 {
		cfg.MaxThrottles = 10
	}
	if cfg.BackoffBase == 0 {
		cfg.BackoffBase = time.Second
	}
	if cfg.BackoffMax == 0 {
		cfg.BackoffMax = 5 * time.Minute
	}
	if cfg.By == "" {
		cfg.By = "a client"
	}
	if cfg.BackoffBase < 0 || cfg.BackoffMax < cfg.BackoffBase || cfg.MaxThrottles < 0 || cfg.MaxRequests < 0 {
		return nil, errors.New("gate: a negative bound, or a largest back-off below the smallest")
	}
	return &Gate{
		cfg:    cfg,
		self:   rand.Uint32(),
		policy: policy{base: cfg.BackoffBase, max: cfg.BackoffMax, jitter: rand.Float64},
		queues: map[string]*queue{},
		heard:  map[string]heard{},
		first:  map[string]int64{},
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
	}, nil
}

// A Permit is leave to send one request.
type Permit struct {
	N       int64 // the request's number in the ledger
	gate    *Gate
	request dogear.Request
	stakes  map[string]stake
	granted time.Time // ledger's clock
	used    time.Time // ledger's clock
	settled bool
	items   []*Permit // of a batch: they hold nothing of a scope
}

// Admit waits until the request may be sent and writes it down. It returns a [*WaitError],
// an [*ExhaustedError], an [*UnconfirmedError] or [ErrRequests] when that will not be, and
// the ledger's error when it fails. Every permit has to be settled.
func (g *Gate) Admit(ctx context.Context, r dogear.Request) (*Permit, error) {
	w := &waiter{request: r, done: make(chan struct{})}
	if err := g.enqueue(w); err != nil {
		return nil, err
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if g.leave(w) {
			return nil, context.Cause(ctx)
		}
		<-w.done // it is being decided
	}
	return w.permit, w.err
}

// Use looks once more, just before the first byte: it reports whether the permit may be
// used. A permit that may not has to be settled as not sent (W1).
func (p *Permit) Use() bool {
	g := p.gate
	now := g.cfg.Store.Now()
	if now.Sub(p.granted) >= permitLife {
		return false
	}
	if !g.cfg.Deadline.IsZero() && !time.Now().Before(g.cfg.Deadline) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, st := range p.stakes {
		h := g.heard[key]
		if h.generation > st.generation || now.Before(h.scope.NotBefore) {
			return false
		}
	}
	p.used = now
	return true
}

// Waiting counts the requests that wait in each scope.
func (g *Gate) Waiting() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := map[string]int{}
	for _, q := range g.queues {
		if len(q.waiters) > 0 {
			for _, k := range q.keys {
				n[k] += len(q.waiters)
			}
		}
	}
	return n
}

// A View is a scope as this process knows it, for people.
type View struct {
	dogear.Scope
	Left    time.Duration // of the wait
	Rate    float64       // requests a second that the pace allows now; 0 is unbounded
	Waiting int           // in this process
}

// View lists the scopes that this process has met.
func (g *Gate) View() []View {
	waiting := g.Waiting()
	now := g.cfg.Store.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]View, 0, len(g.heard))
	for key, h := range g.heard {
		if h.scope.Key == "" {
			continue
		}
		out = append(out, View{Scope: h.scope, Left: max(0, h.scope.NotBefore.Sub(now)),
			Rate: h.pace.rateAt(now.UnixNano(), h.scope.Rate), Waiting: waiting[key]})
	}
	return out
}

// Rate is the pace that a scope has agreed or learnt, in requests a second, or the lower one
// to which its service's word of what is left held it when it was last heard of or used; 0 is
// unbounded.
func Rate(s dogear.Scope) float64 {
	p := paceOf(&s)
	return p.rateAt(max(p.Last, p.Steer.At), s.Rate)
}
