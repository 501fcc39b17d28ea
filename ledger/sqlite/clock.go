package sqlite

import (
	"math"
	"time"

	"zombiezen.com/go/sqlite"
)

// A machine is where clocks come from. Tests have their own.
type machine struct {
	// boot is different after each start of the machine; empty where that cannot be told.
	boot string
	// since is a clock that nobody can set and that runs while the machine sleeps. Its zero
	// is anywhere, but the same for all processes within one boot.
	since func() time.Duration
	wall  func() time.Time
}

// A clock is the ledger's: an anchor, which is kept in the ledger for each boot, and the time
// since boot. All processes of one boot agree on it, whatever is done to the wall clock.
type clock struct {
	machine
	anchor int64
}

func (c *clock) now() int64 { return c.anchor + int64(c.since()) }

// skew is how far the wall clock is ahead of the ledger's.
func (c *clock) skew() time.Duration { return time.Duration(nanos(c.wall()) - c.now()) }

// toWall is the wall time of an instant on the ledger's clock.
func (c *clock) toWall(ns int64) time.Time { return instant(later(ns, c.skew())) }

const (
	readClock = `SELECT boot, anchor, skew FROM clock`

	setClock = `INSERT INTO clock (one, boot, anchor, skew) VALUES (1, ?, ?, 0)
		ON CONFLICT (one) DO UPDATE SET boot = excluded.boot, anchor = excluded.anchor, skew = 0`

	// moveDelays takes documents' delays over from the clock of an earlier boot.
	// The second parameter keeps the sum within what an instant can be.
	moveDelays = `UPDATE documents INDEXED BY documents_delayed SET not_before = max(1, min(not_before, ?2) + ?1)
		WHERE state = 0 AND not_before > 0`
)

// startClock reads the ledger's clock, or begins it anew in the first transaction after a
// boot: the wall clock is all that lasts from boot to boot.
func startClock(c conn, m machine) (*clock, error) {
	k := &clock{machine: m}
	if m.boot == "" { // one clock for ever
		return k, nil
	}
	var boot string
	var anchor, skew int64
	found, err := c.row(readClock, func(r *sqlite.Stmt) {
		boot, anchor, skew = r.ColumnText(0), r.ColumnInt64(1), r.ColumnInt64(2)
	})
	if err != nil {
		return nil, err
	}
	if found && boot == m.boot {
		k.anchor = anchor
		return k, nil
	}
	k.anchor = nanos(m.wall()) - int64(m.since())
	if found && skew != 0 {
		if err := c.exec(moveDelays, skew, math.MaxInt64-max(skew, 0)); err != nil {
			return nil, err
		}
	}
	return k, c.exec(setClock, m.boot, k.anchor)
}
