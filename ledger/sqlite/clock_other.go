//go:build !linux

package sqlite

import (
	"sync"
	"time"
)

// thisMachine has the wall clock, kept from running backwards in this process. It runs while
// the machine sleeps, which Go's monotonic clock does not everywhere; and all processes have
// it in common.
func thisMachine() (machine, error) {
	var mu sync.Mutex
	var last time.Duration
	return machine{
		since: func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			last = max(last, time.Duration(time.Now().UnixNano()))
			return last
		},
		wall: time.Now,
	}, nil
}
