// Package sqlite keeps the ledger in one SQLite file, for the processes of one machine.
//
// Think of it as one queue in front of one pen. Every call that writes hands its work to the
// writer, a goroutine that owns the only connection that writes; what waits at the same
// moment is written in one transaction, and nobody is told before it is durable. Processes
// take turns by a lock file. Readers have connections of their own and wait for nobody; what
// they stream is read in blocks, so that a slow reader holds nothing up either.
//
// Beside the file "x" are SQLite's x-wal and x-shm, the lock file x.lock, and in x.holders a
// lock file for each holder, by which the kernel says who lives, and for a while what a
// listing puts in order: hashes and numbers. A process that has a store
// open must not open the file x by other means: closing it would take SQLite's locks away.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear/ledger"
)

// Options are what a caller may want otherwise. Zero fields mean the documented defaults.
type Options struct {
	// Now is the ledger's clock. Nil means the machine's: on Linux the boot clock, tied to
	// the wall time at which the ledger was first opened in this boot; elsewhere the wall
	// clock, kept from running backwards.
	Now func() time.Time
}

// A Store is a ledger in a SQLite file. Opened twice it is two holders.
type Store struct {
	path  string
	clock *clock
	probe probes

	writer  *writer
	queue   chan *call
	quit    chan struct{} // closed by Close: nobody is let in any more
	stopped chan struct{} // closed when the writing goroutine is gone

	readers chan conn // idle connections that read; the zero conn is one not opened yet

	me   atomic.Pointer[self] // this process as a holder; nil until one is needed
	lost atomic.Bool          // this process was taken for dead

	sets    sets
	moves   moves
	foreign foreign

	once   sync.Once
	closed error // what Close reports
}

var _ ledger.Portable = (*Store)(nil)

// readConns is how many calls may read at once.
const readConns = 4

// Open opens the ledger at path, and makes it where there is none. It refuses, with an error
// that matches one of this package's and says what to try, what is not its own, what others
// can read, what is damaged or newer, and what is on a network file system.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	m, err := thisMachine()
	if opts.Now != nil {
		m, err = machine{
			since: func() time.Duration { return time.Duration(opts.Now().UnixNano()) },
			wall:  time.Now,
		}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	return open(ctx, path, m)
}

func open(ctx context.Context, path string, m machine) (*Store, error) {
	s, err := build(ctx, path, m)
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	return s, nil
}

func build(ctx context.Context, path string, m machine) (_ *Store, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := prepareFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := examine(path); err != nil {
		return nil, err
	}
	lock, err := openWriteLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.close())
		}
	}()
	// One process at a time looks at the file and changes its schema.
	if err := lock.lock(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.unlock()) }()
	c, k, err := ready(path, m)
	if err != nil {
		return nil, advise(err, path)
	}
	s := &Store{
		path:    path,
		clock:   k,
		queue:   make(chan *call, groupMax),
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),
		readers: make(chan conn, readConns),
	}
	for range readConns {
		s.readers <- conn{}
	}
	at, err := newPlace(path)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	s.writer = &writer{conn: c, lock: lock, at: at}
	if err := s.look(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	go s.run() // ends with Close, which waits for it
	return s, nil
}

// prepareFolder makes the ledger's folder, or refuses the one that is there.
func prepareFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if err := private(folder, info); err != nil {
		return err
	}
	return local(folder)
}

// examine looks at the file's outside. It does not open one that is there: closing it again
// would take SQLite's locks from every connection that this process has to it. A missing one
// is made, for SQLite gives its other files the same mode.
func examine(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) { // another process was faster
			return nil
		}
		if err != nil {
			return err
		}
		return f.Close()
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w; try: --store with another path", ErrForeign)
	}
	if err := private(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o200 == 0 || !writable(path) {
		return fmt.Errorf("%w; try: chmod 600 %s", ErrReadOnly, path)
	}
	return nil
}

// ready opens the connection that writes and sees to it that the file can be relied on.
func ready(path string, m machine) (_ conn, _ *clock, err error) {
	c, err := connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return conn{}, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if err := migrate(c); err != nil {
		return conn{}, nil, err
	}
	if err := c.set(writePragmas); err != nil {
		return conn{}, nil, err
	}
	if err := sound(c); err != nil {
		return conn{}, nil, err
	}
	k, err := startClock(c, m)
	return c, k, err
}

// advise adds the next step to an error of ready's.
func advise(err error, path string) error {
	switch {
	case errors.Is(err, ErrCorrupt):
		return fmt.Errorf("%w; try: move %s away, or put a copy of it back", err, path)
	case errors.Is(err, ErrForeign):
		return fmt.Errorf("%w; try: --store with another path", err)
	}
	return err
}

// Where is the ledger's path.
func (s *Store) Where() string { return s.path }

// Name is the file's path.
func (s *Store) Name() string { return s.path }

// Now is the moment on the ledger's clock.
func (s *Store) Now() time.Time { return instant(s.clock.now()) }

// Ahead is zero: the ledger dates by this machine's wall clock.
func (s *Store) Ahead() time.Duration { return 0 }

// Close ends this process's holder: its open requests are in doubt, its claims are free, its
// runs interrupted. Calls that still wait fail with ErrClosed.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.quit)
		<-s.stopped
		var errs []error
		for range readConns {
			if c := <-s.readers; c.Conn != nil {
				errs = append(errs, c.Close())
			}
		}
		errs = append(errs, s.leave(), s.writer.conn.Close(), s.writer.lock.close())
		if err := errors.Join(errs...); err != nil {
			s.closed = fmt.Errorf("close ledger %s: %w", s.path, err)
		}
	})
	return s.closed
}
