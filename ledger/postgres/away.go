package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// An absence is how long the database has not answered, to any of a store's calls.
type absence struct {
	mu    sync.Mutex
	since time.Time     // zero: it answers
	quiet time.Duration // how long nothing had been heard of it by then
	owed  time.Duration // an absence that is over and for which other holders are not spared yet
}

// begin says that the database did not answer, and that it was last heard of quiet ago. It
// returns since when it is away.
func (a *absence) begin(quiet time.Duration) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() {
		a.since, a.quiet = time.Now(), quiet
	}
	return a.since
}

func (a *absence) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owed = max(a.owed, a.silence())
	a.since = time.Time{}
}

// silence is how long nothing was heard of the database; zero while it answers.
func (a *absence) silence() time.Duration {
	if a.since.IsZero() {
		return 0
	}
	return a.quiet + time.Since(a.since)
}

func (a *absence) length() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() {
		return 0
	}
	return time.Since(a.since)
}

// mercy is how long other holders may have been unable to renew their leases; zero where
// that was too short to cost one.
func (a *absence) mercy() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d := max(a.owed, a.silence()); d > shortest {
		return d
	}
	return 0
}

func (a *absence) spared() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owed = 0
}

// shortest is the least absence in which a lease can run out that its holder renews.
const shortest = 20 * time.Second

// spare gives a lease to those who had one when the database was last heard of: they could
// not renew it either. Who comes back first takes nobody for dead.
const spare = `UPDATE dogear.holders SET expires = dogear.now() + interval '30 s'
	WHERE expires > dogear.now() - make_interval(secs => $1) AND expires < dogear.now() + interval '15 s'`

// overdue is when a look at the clock is: who works on a ledger renews its lease every five
// seconds.
const overdue = 8 * time.Second

// Away is how long the database has not answered, and how much longer that is borne. Both
// are zero while it answers. It is for a process that renews its lease.
func (s *Store) Away() (since, left time.Duration) {
	since = s.absent.length()
	if age := s.clock.age(); since == 0 && age > overdue { // it hangs: no call has failed yet
		since = age
	}
	if since == 0 {
		return 0, 0
	}
	return since, max(0, s.timeout-since)
}

// A patience is how long a database that does not answer is borne by a call.
type patience struct {
	store *Store
	least time.Time // until then it is tried whatever others have met
	until time.Time
	pause time.Duration
	quit  <-chan struct{} // the store is to be closed: it is borne no longer than Close bears it
}

func (s *Store) patience() *patience {
	now := time.Now()
	return &patience{store: s, least: now.Add(min(s.timeout, time.Second)), until: now.Add(s.timeout), quit: s.quit}
}

// borne waits before the next try after an error, longer each time. It returns the error that
// ends the trying: when the database has been away for as long as is borne, ctx is done, or
// trying cannot help.
func (p *patience) borne(ctx context.Context, err error) error {
	if hopeless(err) {
		return explain(err)
	}
	if end := p.store.absent.begin(p.store.clock.age()).Add(p.store.timeout); end.Before(p.until) {
		p.until = end
		if end.Before(p.least) {
			p.until = p.least
		}
	}
	p.pause = min(max(2*p.pause, 10*time.Millisecond), 250*time.Millisecond)
	if time.Now().Add(p.pause).After(p.until) {
		return fmt.Errorf("%w: %w", ErrUnreachable, explain(err))
	}
	t := time.NewTimer(p.pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.quit:
		if end := time.Now().Add(leavingAbsent); end.Before(p.until) {
			p.until = end
		}
		p.quit = nil
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", context.Cause(ctx), explain(err))
	}
}
