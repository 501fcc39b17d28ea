package gate

import (
	"slices"
	"strings"
	"time"
)

// enqueue puts a waiter at the end of the queue of its scopes.
func (g *Gate) enqueue(w *waiter) error {
	keys := slices.Clone(w.request.Scopes)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	w.request.Scopes = keys
	id := strings.Join(keys, "\x00")
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return g.closedErr()
	}
	q := g.queues[id]
	if q == nil {
		q = &queue{keys: keys}
		g.queues[id] = q
	}
	g.order++
	w.order = g.order
	if len(q.waiters) == 0 { // a queue that has waiters knows when it is due
		q.due = time.Time{}
	}
	q.waiters = append(q.waiters, w)
	g.poke()
	return nil
}

// leave takes a waiter out of its queue; it reports false if the waiter is being decided.
func (g *Gate) leave(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queues[strings.Join(w.request.Scopes, "\x00")]
	if q == nil {
		return false
	}
	i := slices.Index(q.waiters, w)
	if i < 0 {
		return false
	}
	q.waiters = slices.Delete(q.waiters, i, i+1)
	return true
}

// settle queues a settlement. Throttles are known to this process at once.
func (g *Gate) settle(o *op) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		o.err = g.closedErr()
		if o.done != nil {
			close(o.done)
		}
		return
	}
	if o.permit != nil && o.reply.kind == throttling {
		for key, st := range o.permit.stakes {
			if !o.shuts(key) {
				continue
			}
			h := g.heard[key]
			h.generation = max(h.generation, st.generation+1)
			g.heard[key] = h
		}
	}
	g.ops = append(g.ops, o)
	g.poke()
}

func (g *Gate) poke() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *Gate) closedErr() error {
	if g.failed != nil {
		return g.failed
	}
	return ErrClosed
}
