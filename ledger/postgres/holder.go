package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear/ledger"
)

const (
	// addHolder makes a holder and its pens. If the answer is lost another is made: nobody
	// misses the first, and its lease runs out.
	addHolder = `WITH h AS (
			INSERT INTO dogear.holders (pid, host, started, expires, waiting)
			VALUES ($1, $2, dogear.nanos(clock_timestamp()), dogear.now() + interval '30 s', '{}') RETURNING n
		), p AS (
			INSERT INTO dogear.pens (id, tick) SELECT n * 4 + kind, 0 FROM h, generate_series(0, $3 - 1) AS kind
		) SELECT n FROM h`

	// renewHolder may be done twice, so it needs no pen.
	renewHolder = `UPDATE dogear.holders SET expires = dogear.now() + interval '30 s', waiting = $2 WHERE n = $1
		RETURNING dogear.nanos(dogear.now())`

	readHolders = `SELECT n, pid, waiting, n = $1 OR expires > dogear.now() FROM dogear.holders`
)

// join makes this process a holder if it is none.
func (s *Store) join(ctx context.Context) error {
	if s.me.Load() != 0 {
		return nil
	}
	s.joining.Lock() // the first calls of a process wait for one of them
	defer s.joining.Unlock()
	if s.me.Load() != 0 {
		return nil
	}
	host, _ := os.Hostname() // for people only
	var n int64
	err := s.read(ctx, func(ctx context.Context, c conn) (err error) {
		n, err = number(ctx, c, addHolder, os.Getpid(), kept(host), nPens)
		return err
	})
	if err != nil {
		return fmt.Errorf("make this process a holder: %w", err)
	}
	s.me.Store(n)
	return nil
}

// Renew keeps this process's lease and says how many requests wait in each scope.
func (s *Store) Renew(ctx context.Context, waiting map[string]int) error {
	if err := s.renew(ctx, waiting); err != nil {
		return fmt.Errorf("renew the lease: %w", err)
	}
	return nil
}

func (s *Store) renew(ctx context.Context, waiting map[string]int) error {
	if s.lost.Load() {
		return ledger.ErrLeaseLost
	}
	said, err := json.Marshal(waiting)
	if err != nil || waiting == nil {
		said = []byte("{}")
	}
	if err := s.join(ctx); err != nil {
		return err
	}
	return s.read(ctx, func(ctx context.Context, c conn) error {
		var now int64
		sent := s.clock.since()
		found, err := row(ctx, c, renewHolder, []any{&now}, s.me.Load(), string(said))
		if err != nil {
			return err
		}
		if !found {
			s.lost.Store(true)
			return ledger.ErrLeaseLost
		}
		s.clock.look(sent, now)
		return nil
	})
}

// A holder is a row of holders.
type holder struct {
	n       int64
	pid     int
	waiting string
	live    bool // its lease has not run out, or it is this process: act knows better
}

// readHolder reads a row of readHolders.
func readHolder(r pgx.Rows) (h holder, err error) {
	err = r.Scan(&h.n, &h.pid, &h.waiting, &h.live)
	return h, err
}

func (s *Store) holders(ctx context.Context, a asker) (all []holder, err error) {
	err = a.rows(ctx, readHolders, func(r pgx.Rows) error {
		h, err := readHolder(r)
		all = append(all, h)
		return err
	}, s.me.Load())
	return all, err
}

// waits are the requests that a holder says wait in each scope.
func (h holder) waits() map[string]int {
	var w map[string]int
	_ = json.Unmarshal([]byte(h.waiting), &w) // what cannot be read waits for nothing
	return w
}
