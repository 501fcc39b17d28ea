package postgres_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/wire"
)

// W1, W5: one 429 stops both holders, and after the wait one probe goes before the others.
func TestGatesWaitTogether(t *testing.T) {
	const wait, grace = 3 * time.Second, 500 * time.Millisecond
	var mu sync.Mutex
	var refused time.Time
	early, after, before := 0, 0, 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch now := time.Now(); {
		case !refused.IsZero() && now.Before(refused.Add(grace)): // admitted before
		case !refused.IsZero() && now.Before(refused.Add(wait)):
			early++
		case !refused.IsZero():
			after++
		default:
			if before++; before == 60 {
				refused = now
				w.Header().Set("Retry-After", "3")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}
	}))
	defer service.Close()

	dsn := newDatabase(t)
	ctx, cancel := context.WithCancel(t.Context())
	var all, gates sync.WaitGroup
	for range 2 {
		s := openStore(t, dsn)
		defer func() { must(t, s.Close()) }()
		client := newClient(t, ctx, &gates, s)
		for range 8 {
			all.Go(func() {
				for ctx.Err() == nil {
					resp, err := client.Get(service.URL)
					if err != nil {
						return // it is over
					}
					_ = resp.Body.Close()
				}
			})
		}
	}
	for enough := false; !enough; time.Sleep(20 * time.Millisecond) {
		mu.Lock()
		enough = after > 50
		mu.Unlock()
	}
	cancel()
	all.Wait()
	gates.Wait()
	if early != 0 {
		t.Errorf("%d requests arrived in the wait", early)
	}
}

// newClient is a client behind a gate of its own on a store.
func newClient(t *testing.T, ctx context.Context, gates *sync.WaitGroup, s *postgres.Store) *http.Client {
	t.Helper()
	w, err := wire.New(wire.Config{})
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	g, err := gate.New(gate.Config{Store: s, Wire: w, By: "a test"})
	must(t, err)
	gates.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return &http.Client{Transport: &gate.Transport{Gate: g}}
}
