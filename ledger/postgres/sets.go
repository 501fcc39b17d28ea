package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// sets remembers rows of the table sets, which never change.
type sets struct {
	mu   sync.Mutex
	ids  map[string]int64
	keys map[int64][]string
}

func (s *sets) id(joined string) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[joined]
	return id, ok
}

func (s *sets) of(id int64) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys, ok := s.keys[id]
	return keys, ok
}

func (s *sets) know(id int64, joined string) []string {
	keys := split(joined)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids, s.keys = map[string]int64{}, map[int64][]string{}
	}
	s.ids[joined], s.keys[id] = id, keys
	return keys
}

func join(keys []string) string {
	if len(keys) == 1 {
		return keys[0]
	}
	return strings.Join(keys, "\n")
}

func split(joined string) []string {
	if joined == "" {
		return nil
	}
	return strings.Split(joined, "\n")
}

const (
	// addSets waits for whoever adds the same sets; what it does is done even where the
	// transaction that wants the sets fails.
	addSets = `INSERT INTO dogear.sets (keys) SELECT keys FROM unnest($1::text[]) AS u(keys) ORDER BY keys ON CONFLICT DO NOTHING`

	findSets = `SELECT id, keys FROM dogear.sets WHERE keys = ANY($1)`

	readSet = `SELECT keys FROM dogear.sets WHERE id = $1`
)

// setOf is the number of a set of scope keys.
func (s *Store) setOf(ctx context.Context, keys []string) (int64, error) {
	if !slices.IsSorted(keys) {
		keys = sorted(keys)
	}
	joined := join(keys)
	if id, ok := s.sets.id(joined); ok {
		return id, nil
	}
	if err := s.learnSets(ctx, [][]string{keys}); err != nil {
		return 0, err
	}
	id, _ := s.sets.id(joined)
	return id, nil
}

// learnSets makes and remembers sets of scope keys, each in key order.
func (s *Store) learnSets(ctx context.Context, sets [][]string) error {
	joined := []string{}
	for _, keys := range sets {
		for _, k := range keys {
			if strings.Contains(k, "\n") || kept(k) != k {
				return fmt.Errorf("scope key %q holds a line feed or is no text", k)
			}
		}
		if j := join(keys); !s.sets.has(j) {
			joined = append(joined, j)
		}
	}
	if len(joined) == 0 {
		return nil
	}
	return s.read(ctx, func(ctx context.Context, c conn) error {
		found := 0
		find := func() error {
			return c.rows(ctx, findSets, func(r pgx.Rows) error {
				var id int64
				var keys string
				err := r.Scan(&id, &keys)
				s.sets.know(id, keys)
				found++
				return err
			}, joined)
		}
		if err := find(); err != nil || found == len(joined) {
			return err
		}
		if _, err := c.exec(ctx, addSets, joined); err != nil {
			return err
		}
		return find()
	})
}

func (s *sets) has(joined string) bool {
	_, ok := s.id(joined)
	return ok
}

// keysOf are the scope keys of a set. The caller does not change them.
func (s *Store) keysOf(ctx context.Context, a asker, id int64) ([]string, error) {
	if keys, ok := s.sets.of(id); ok {
		return keys, nil
	}
	var joined string
	found, err := row(ctx, a, readSet, []any{&joined}, id)
	if err == nil && !found {
		err = fmt.Errorf("set of scopes %d is missing", id)
	}
	if err != nil {
		return nil, err
	}
	return s.sets.know(id, joined), nil
}
