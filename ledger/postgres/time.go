package postgres

import (
	"math"
	"time"
)

// nanos is how an instant is stored. What does not fit is the last instant that does: for a
// wait, later is never wrong.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.After(lastInstant):
		return math.MaxInt64
	}
	return t.UnixNano()
}

var lastInstant = time.Unix(0, math.MaxInt64)

// instant is the time that nanos stored.
func instant(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// later is ns moved by d without running over the last instant; none stays none.
func later(ns int64, d int64) int64 {
	switch {
	case ns == 0:
		return 0
	case d > 0 && ns > math.MaxInt64-d:
		return math.MaxInt64
	case ns == math.MaxInt64:
		return ns
	}
	return ns + d
}
