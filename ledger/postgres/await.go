package postgres

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

const (
	// notify tells those who listen which holder has changed a scope. Commits that notify
	// wait for each other, so it is done only where it matters to who waits.
	notify = `SELECT pg_notify('dogear', $1)`

	listen = `LISTEN dogear`
)

const (
	// glance is the least time between two returns of Await: 20 times a second.
	glance = 50 * time.Millisecond
	// poll is how long a notification that never comes is waited for, as behind a pooler.
	poll = time.Second
)

// An ear is the connection on which notifications come. It is one goroutine's at a time.
type ear struct {
	mu   sync.Mutex // held for as long as somebody listens
	conn conn
	told time.Time // when Await last returned
}

// Await returns when another process has said that it changed a scope, and after a second at
// the latest. It is for one goroutine of a process.
func (s *Store) Await(ctx context.Context) error {
	s.ear.mu.Lock()
	defer s.ear.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with this call
		select {
		case <-s.quit:
			cancel(fmt.Errorf("await: %w", ErrClosed))
		case <-ctx.Done():
		}
	}()
	s.hear(ctx)
	if wait := glance - time.Since(s.ear.told); wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	s.ear.told = time.Now()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// hear waits for another holder's notification, a poll long. That the connection breaks is
// no error: whoever decides finds out.
func (s *Store) hear(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, poll)
	defer cancel()
	for {
		if s.ear.conn.Conn == nil || s.ear.conn.IsClosed() {
			c, err := s.dial(ctx)
			if err == nil {
				_, err = c.exec(ctx, listen)
			}
			if err != nil {
				c.drop()
				<-ctx.Done()
				return
			}
			s.ear.conn = c
			return // something may have been said meanwhile
		}
		n, err := s.ear.conn.WaitForNotification(ctx)
		if err != nil {
			if ctx.Err() == nil {
				continue // it is closed
			}
			return
		}
		if n.Payload != strconv.FormatInt(s.me.Load(), 10) {
			return
		}
	}
}

// close gives the connection back when nobody listens any more.
func (e *ear) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conn.drop()
}
