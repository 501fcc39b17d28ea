package gate

import (
	"slices"
	"time"

	"github.com/dogear/dogear"
)

// An op is one settlement on its way to the ledger.
type op struct {
	permit *Permit
	reply  reply
	end    *dogear.End       // nil: the request is still in flight
	said   map[string][]left // what the answer tells is left of the scopes' quotas
	closes []string          // a throttle: of the permit's scopes, those that it closes; nil: all
	keys   []string          // for a closing that no single request met; permit is nil then
	since  map[string]int64
	row    time.Time     // an outage: when the row of failures began, on the ledger's clock
	alone  bool          // others have had answers since: nothing was closed
	done   chan struct{} // closed when committed or failed; nil if nobody waits
	err    error
}

// shuts reports whether a throttle closes a scope of its request: the profile says which
// scope a reason closes (W10).
func (o *op) shuts(key string) bool { return o.closes == nil || slices.Contains(o.closes, key) }
