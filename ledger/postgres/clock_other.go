//go:build !linux

package postgres

import "time"

var began = time.Now()

// sinceBoot is Go's monotonic clock, which nobody sets. It may stand still while the machine
// sleeps: whoever slept longer than a lease has to look again anyway.
func sinceBoot() time.Duration { return time.Since(began) }
