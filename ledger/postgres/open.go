package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear/ledger"
)

// Options are what a caller may want otherwise. Zero fields mean the documented defaults.
type Options struct {
	// Timeout is how long a database that does not answer is waited for, by all calls
	// together: one that comes late waits no longer than those before, but for a second at
	// least. Zero means 60 s.
	Timeout time.Duration
	// Waiting is called once if Open has to wait for the database, with the reason. Nil: it
	// is not told.
	Waiting func(error)
}

// A Store is a ledger in a PostgreSQL database. Opened twice it is two holders.
type Store struct {
	cfg     *pgx.ConnConfig
	timeout time.Duration
	clock   clock
	absent  absence
	name    string

	pens    [nPens]*pen
	readers chan conn     // idle connections that read; the zero conn is one not opened yet
	quit    chan struct{} // closed by Close: nobody is let in any more
	end     context.CancelFunc
	writing sync.WaitGroup // the pens' goroutines

	joining sync.Mutex
	me      atomic.Int64 // this process's number as a holder; zero until it is one
	lost    atomic.Bool  // this process was taken for dead

	sets  sets
	mine  openRequests
	moves moves
	ear   ear

	once   sync.Once
	closed error // what Close reports
}

var _ ledger.Portable = (*Store)(nil)

// readConns is how many calls may read at once.
const readConns = 4

// Open opens the ledger in the database that dsn names, as pgx reads it: a URL or a list of
// keywords, with several hosts where the database may move. It makes the schema where it is
// missing, and brings an older one up to date; a role that may not do that finds it done, or
// is refused. Errors match one of this package's, say what to try, and hold no password.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	cfg, err := parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w; try: postgres://user@host/database", err)
	}
	s, err := open(ctx, cfg, o)
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", where(cfg), err)
	}
	return s, nil
}

func open(ctx context.Context, cfg *pgx.ConnConfig, o Options) (*Store, error) {
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	cfg.ConnectTimeout = min(cfg.ConnectTimeout, o.Timeout)
	s := &Store{
		cfg: cfg, timeout: o.Timeout, clock: clock{since: sinceBoot},
		readers: make(chan conn, readConns), quit: make(chan struct{}),
	}
	c, err := s.first(ctx, o.Waiting)
	if err != nil {
		return nil, err
	}
	s.readers <- c
	for range readConns - 1 {
		s.readers <- conn{}
	}
	ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	for kind := range s.pens {
		p := newPen(s, kind)
		s.pens[kind] = p
		s.writing.Go(func() { p.run(ctx) })
	}
	return s, nil
}

// first opens the first connection. It waits for a server that is not there yet.
func (s *Store) first(ctx context.Context, waiting func(error)) (conn, error) {
	for p := s.patience(); ; {
		c, err := s.dial(ctx)
		if err == nil {
			if err = s.ready(ctx, c); err == nil {
				s.absent.end()
				return c, nil
			}
			if !c.IsClosed() {
				c.drop()
				return conn{}, explain(err)
			}
			c.drop()
		}
		if ctx.Err() != nil || !mayCome(err) {
			return conn{}, explain(err)
		}
		if waiting != nil && s.absent.length() == 0 {
			waiting(explain(err))
		}
		if err := p.borne(ctx, err); err != nil {
			return conn{}, err
		}
	}
}

// mayCome reports whether a server that could not be reached may only not be there yet. A
// name that nobody has and a certificate that nobody trusts stay what they are.
func mayCome(err error) bool {
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return false
	}
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || codeOf(err) != "" && broken(err)
}

const readName = `SELECT ledger::text FROM dogear.schema`

// readClock is a look at the ledger's clock.
const readClock = `SELECT dogear.nanos(dogear.now())`

// ready sees to it that the database can be relied on.
func (s *Store) ready(ctx context.Context, c conn) error {
	if err := fit(ctx, c); err != nil {
		return err
	}
	if err := migrate(ctx, c); err != nil {
		return err
	}
	if _, err := row(ctx, c, readName, []any{&s.name}); err != nil {
		return err
	}
	return s.look(ctx, c)
}

// look looks at the ledger's clock.
func (s *Store) look(ctx context.Context, c conn) error {
	sent := s.clock.since()
	now, err := number(ctx, c, readClock)
	if err == nil {
		s.clock.look(sent, now)
	}
	return err
}

// Where is the database's address, without user and password.
func (s *Store) Where() string { return where(s.cfg) }

// Name is what the ledger was called when it was made: servers and poolers may have other
// addresses.
func (s *Store) Name() string { return "PostgreSQL ledger " + s.name }

// Now is the moment on the ledger's clock, rather late than early. It asks nobody.
func (s *Store) Now() time.Time { return instant(s.clock.now()) }

// Ahead is how far the database's clock is ahead of this machine's, to the second: what is
// less may be the way to the database.
func (s *Store) Ahead() time.Duration { return time.Until(s.Now()).Round(time.Second) }

// Close ends this process's holder: its open requests are in doubt, its claims are free, its
// runs interrupted. Calls that still wait fail with ErrClosed.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.quit)
		for _, p := range s.pens {
			<-p.stopped
		}
		most := leaving
		if s.absent.length() > 0 {
			most = leavingAbsent
		}
		ctx, cancel := context.WithTimeout(context.Background(), most)
		defer cancel()
		err := s.leave(ctx)
		s.release()
		if err != nil && !errors.Is(err, ledger.ErrLeaseLost) { // else all this was done for it
			s.closed = fmt.Errorf("close ledger %s: %w", s.Where(), err)
		}
	})
	return s.closed
}

// leaving is how long Close tries to tidy up, and leavingAbsent how long where the database
// does not answer as it is. What it does not, the lease's end does.
const (
	leaving       = time.Second / 2
	leavingAbsent = time.Second / 4
)

// release gives all connections back.
func (s *Store) release() {
	s.end()
	s.writing.Wait()
	for _, p := range s.pens {
		p.conn.drop()
	}
	for range readConns {
		(<-s.readers).drop()
	}
	s.ear.close()
}
