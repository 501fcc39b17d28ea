package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
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
	findSet = `SELECT id FROM sets WHERE keys = ?`

	addSet = `INSERT INTO sets (keys) VALUES (?)`

	readSet = `SELECT keys FROM sets WHERE id = ?`
)

// setOf is the number of a set of scope keys.
func (tx *tx) setOf(keys []string) (int64, error) {
	if !slices.IsSorted(keys) {
		keys = sorted(keys)
	}
	joined := join(keys)
	if id, ok := tx.sets.id(joined); ok {
		return id, nil
	}
	if id, ok := tx.interns[joined]; ok {
		return id, nil
	}
	for _, k := range keys {
		if strings.Contains(k, "\n") {
			return 0, fmt.Errorf("scope key %q holds a line feed", k)
		}
	}
	id, err := tx.conn.number(findSet, joined)
	if err != nil {
		return 0, err
	}
	if id == 0 {
		if err := tx.conn.exec(addSet, joined); err != nil {
			return 0, err
		}
		id = tx.conn.LastInsertRowID()
	}
	tx.interns[joined] = id
	tx.after = append(tx.after, func() { tx.sets.know(id, joined) })
	return id, nil
}

// keysOf are the scope keys of a set. The caller does not change them.
func (s *Store) keysOf(c conn, id int64) ([]string, error) {
	if keys, ok := s.sets.of(id); ok {
		return keys, nil
	}
	joined, err := setAt(c, id)
	if err != nil {
		return nil, err
	}
	return s.sets.know(id, joined), nil
}

// keysOf is the same for a set that may not be committed yet.
func (tx *tx) keysOf(id int64) ([]string, error) {
	if keys, ok := tx.sets.of(id); ok {
		return keys, nil
	}
	joined, err := setAt(tx.conn, id)
	if err != nil {
		return nil, err
	}
	tx.after = append(tx.after, func() { tx.sets.know(id, joined) })
	return split(joined), nil
}

func setAt(c conn, id int64) (string, error) {
	var joined string
	found, err := c.row(readSet, func(r *sqlite.Stmt) { joined = r.ColumnText(0) }, id)
	if err == nil && !found {
		err = fmt.Errorf("%w: set of scopes %d is missing", ErrCorrupt, id)
	}
	return joined, err
}

// sorted is a set of keys in key order.
func sorted(keys []string) []string {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	return slices.Compact(keys)
}
