package dogear

import "time"

// Cause says why a scope is closed.
type Cause uint8

// The causes of a wait. Their numbers are stored: add, never renumber.
const (
	NoCause Cause = iota
	ByHint
	ByBackoff
	ByOutage
	nCauses_
)

var causeNames = [nCauses_]string{"", "hint", "backoff", "outage"}

func (c Cause) String() string {
	if c < nCauses_ {
		return causeNames[c]
	}
	return "unknown"
}

// A Scope is the durable state of the requests that share one quota. Only the gate's
// decision changes it; a store loads it and writes it back in one transaction.
type Scope struct {
	Key       string
	Confirmed Confirmation
	// Rate is the agreed pace in requests a second. Zero means that it is learnt.
	Rate float64
	// Burst is how many requests may leave at once under an agreed Rate. Zero means 1.
	Burst int
	// Concurrency bounds the requests in flight over all processes. Zero means
	// DefaultConcurrency.
	Concurrency int

	// NotBefore is the earliest moment at which the next request may leave, on the
	// ledger's clock. It is never moved earlier but by a person's release.
	NotBefore time.Time
	// Probing says that after NotBefore one request must succeed before others follow.
	Probing bool
	// Probe is the request that is probing now; zero if none is out.
	Probe int64
	// Generation rises with every throttle event.
	Generation int64
	// Streak counts the throttle events since the last success.
	Streak int
	// Hinted says that the last event had a valid hint.
	Hinted bool
	Cause  Cause
	SetBy  string // who met the wait, such as "job policies"
	// Pace is what the gate has learnt. Stores keep it and never read it.
	Pace []byte
	// Rebooted is set by the store when the row was last written in another boot of the
	// machine, so that short-lived instants in Pace mean nothing.
	Rebooted bool
	// InFlight counts the requests of live holders that have no recorded end.
	InFlight int
	// Waiting counts the requests that wait at the gates of live holders, as they last
	// said it.
	Waiting int
}

// DefaultConcurrency is how many requests may be in flight in a scope that says nothing.
const DefaultConcurrency = 16

// A Confirmation says who knows which requests share the quota. The zero value means that
// nobody does.
type Confirmation struct {
	By     string // a user, or a profile
	Source string // how they know: a flag, a document's address, an answer at the terminal
	At     time.Time
}

// OK reports whether anybody confirmed the scope.
func (c Confirmation) OK() bool { return !c.At.IsZero() }

// A Docket is one transaction of the gate: what it may look at and what it decided.
type Docket struct {
	// Now is the moment of the decision on the ledger's clock; Wall is the same by the
	// wall clock.
	Now, Wall time.Time
	// Next is the first free request number: the gate numbers its grants from here.
	Next int64
	// Scopes holds every scope that was asked for. The decision changes them in place.
	Scopes map[string]*Scope
	// Live reports whether a request is open and its holder alive. For the probe.
	Live func(request int64) bool
	// JobSent tells how many requests a job has sent so far, for its cap.
	JobSent func(job int64) int64

	Grants []Request
	Ends   []End
}
