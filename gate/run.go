package gate

import (
	"context"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
)

// lastWords is how long the ledger may take for what was settled when the gate is told to end.
const lastWords = time.Second / 2

// Run admits and settles until ctx is done, or the ledger fails. What was settled before is
// committed when it returns, unless the ledger took longer than half a second for it; whoever
// still waits gets an error.
func (g *Gate) Run(ctx context.Context) error {
	defer close(g.done)
	eg, ctx := errgroup.WithContext(ctx)
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		t := time.AfterFunc(lastWords, cancel)
		context.AfterFunc(writing, func() { t.Stop() })
	})()
	eg.Go(func() error { return g.admitting(ctx, writing) })
	eg.Go(func() error { return g.listening(ctx) })
	eg.Go(func() error { return g.renewing(ctx, writing) })
	err := eg.Wait()
	g.shut(err)
	if err == nil {
		_, _, err = g.round(writing) // what was settled last
	}
	g.abandon(err)
	return err
}

// admitting makes one transaction after the other while there is something to decide. One
// that has begun is not ended by ctx, but by writing.
func (g *Gate) admitting(ctx, writing context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		due, did, err := g.round(writing)
		if err != nil {
			return fmt.Errorf("ask the ledger for admission: %w", err)
		}
		if did {
			continue
		}
		sleep := time.Hour
		if !due.IsZero() { // timers may stop while a machine sleeps: look again
			sleep = min(max(0, due.Sub(g.cfg.Store.Now())), lookEvery)
		}
		timer.Reset(sleep)
		select {
		case <-g.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// listening makes the queues ask again when another process has changed the ledger.
func (g *Gate) listening(ctx context.Context) error {
	for {
		switch err := g.cfg.Store.Await(ctx); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("watch the ledger: %w", err)
		}
		g.mu.Lock()
		waits := false
		for _, q := range g.queues {
			if len(q.waiters) > 0 {
				q.due, q.blocked, waits = time.Time{}, false, true
			}
		}
		g.mu.Unlock()
		if waits {
			g.poke()
		}
	}
}

// renewing keeps the lease and tells other processes how many wait here.
func (g *Gate) renewing(ctx, writing context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var told map[string]int
	var at time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		waiting := g.Waiting()
		if time.Since(at) < renewEvery && maps.Equal(waiting, told) {
			continue
		}
		if err := g.cfg.Store.Renew(writing, waiting); err != nil {
			return fmt.Errorf("renew this process's lease: %w", err)
		}
		told, at = waiting, time.Now()
	}
}

// shut turns away whoever waits or comes.
func (g *Gate) shut(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.failed = true, err
	for _, q := range g.queues {
		for _, w := range q.waiters {
			w.err = g.closedErr()
			close(w.done)
		}
		q.waiters = nil
	}
}

// abandon tells those who settled too late that nothing was stored.
func (g *Gate) abandon(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && g.failed == nil {
		g.failed = err
	}
	for _, o := range g.ops {
		if o.err = g.closedErr(); o.done != nil {
			close(o.done)
		}
	}
	g.ops = nil
}

// Flush returns when everything that was settled before the call is in the ledger.
func (g *Gate) Flush(ctx context.Context) error {
	o := &op{reply: reply{kind: headOnly}, done: make(chan struct{})}
	g.settle(o)
	return o.wait(ctx)
}

func (o *op) wait(ctx context.Context) error {
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
