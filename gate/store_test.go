package gate

import (
	"context"
	"sync"
	"time"

	"github.com/dogear/dogear"
)

// memory is a ledger without a disk, for tests of the gate alone: several processes share
// it, and every decision is one transaction.
type memory struct {
	mu      sync.Mutex
	scopes  map[string]*dogear.Scope
	open    map[int64]flying
	next    int64
	sent    map[int64]int64 // by job
	grants  []dogear.Request
	ends    map[int64]dogear.End
	changed chan struct{} // closed and made anew with every commit
	refuse  error         // the next commits fail with it
	decided int
}

type flying struct {
	scopes []string
	holder *process
}

func newMemory() *memory {
	return &memory{scopes: map[string]*dogear.Scope{}, open: map[int64]flying{}, next: 1, sent: map[int64]int64{},
		ends: map[int64]dogear.End{}, changed: make(chan struct{})}
}

// process is one of the processes that share a memory.
type process struct {
	m    *memory
	dead bool
}

func (m *memory) process() *process { return &process{m: m} }

// die ends a process: its requests are nobody's any more.
func (p *process) die() {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	p.dead = true
}

// confirm changes a scope as a person would.
func (m *memory) set(key string, f func(*dogear.Scope)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.scopes[key] == nil {
		m.scopes[key] = &dogear.Scope{Key: key}
	}
	f(m.scopes[key])
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memory) scope(key string) dogear.Scope {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.scopes[key]; s != nil {
		return *s
	}
	return dogear.Scope{Key: key}
}

func (p *process) Now() time.Time { return time.Now() }

func (p *process) Renew(context.Context, map[string]int) error { return nil }

func (p *process) Await(ctx context.Context) error {
	p.m.mu.Lock()
	changed := p.m.changed
	p.m.mu.Unlock()
	t := time.NewTimer(50 * time.Millisecond) // as often as a real one looks
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *process) Decide(_ context.Context, keys []string, decide func(*dogear.Docket)) error {
	m := p.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		return m.refuse
	}
	m.decided++
	d := &dogear.Docket{Now: time.Now(), Wall: time.Now(), Next: m.next, Scopes: map[string]*dogear.Scope{},
		Live:    func(n int64) bool { f, ok := m.open[n]; return ok && !f.holder.dead },
		JobSent: func(job int64) int64 { return m.sent[job] },
	}
	for _, k := range keys {
		s := dogear.Scope{Key: k}
		if m.scopes[k] != nil {
			s = *m.scopes[k]
		}
		s.InFlight = 0
		for _, f := range m.open {
			for _, o := range f.scopes {
				if o == k && !f.holder.dead {
					s.InFlight++
				}
			}
		}
		d.Scopes[k] = &s
	}
	decide(d)
	for k, s := range d.Scopes {
		c := *s // the gate goes on reading its own
		m.scopes[k] = &c
	}
	for _, e := range d.Ends {
		delete(m.open, e.Request)
		m.ends[e.Request] = e
	}
	for _, r := range d.Grants {
		m.open[r.N] = flying{r.Scopes, p}
		m.next = r.N + 1
		m.sent[r.Job]++
		m.grants = append(m.grants, r)
	}
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}
