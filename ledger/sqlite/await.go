package sqlite

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// glance is how often Await looks: 20 times a second.
const glance = 50 * time.Millisecond

// foreign counts the commits of others that the writer has noticed. SQLite's data_version
// changes for a connection when another one commits, and not when it does itself, so the
// connection that writes is the one to ask.
type foreign struct {
	seen atomic.Int64
	told atomic.Int64 // what seen was when Await last returned
}

// look notices commits of others since the last look. The writing goroutine calls it.
func (s *Store) look() error {
	v, err := s.writer.conn.number(`PRAGMA data_version`)
	if err != nil {
		return err
	}
	if s.writer.data != 0 && v != s.writer.data {
		s.foreign.seen.Add(1)
	}
	s.writer.data = v
	return nil
}

// Await returns when another process has committed since it last returned. It is for one
// goroutine of a process.
func (s *Store) Await(ctx context.Context) error {
	t := time.NewTicker(glance)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.quit:
			return fmt.Errorf("await: %w", ErrClosed)
		}
		if err := s.do(ctx, nil); err != nil {
			return fmt.Errorf("await: %w", err)
		}
		if seen := s.foreign.seen.Load(); s.foreign.told.Swap(seen) != seen {
			return nil
		}
	}
}
