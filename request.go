package dogear

import "time"

// A Kind says what a request was for.
type Kind uint8

// The kinds of requests. Their numbers are stored: add, never renumber.
const (
	Read Kind = iota
	Redirect
	List
	Check
	Batch
	Item // an item of a batch: an attempt, no request
	Token
	nKinds_
)

var kindNames = [nKinds_]string{"read", "redirect", "list", "check", "batch", "item", "token"}

func (k Kind) String() string {
	if k < nKinds_ {
		return kindNames[k]
	}
	return "unknown"
}

// An Outcome is the judgement of one request.
type Outcome uint8

// The outcomes. Their numbers are stored: add, never renumber.
const (
	// Unsettled is a request whose end is not recorded.
	Unsettled Outcome = iota
	OK
	Throttled
	OtherVersion // the answer is of another version than the listed one
	Refused      // 403 and the like: this document is denied
	Missing      // 404, 410
	Unauthorized
	Transient
	Invalid // an answer that is no document: cut, of a wrong digest, a login page
	Rejected
	Redirected
	NotSent     // surely never left: neither a request nor an attempt
	Unprocessed // left, and surely not acted on: a request and no attempt
	Doubtful    // left, and nobody saw its end
	nOutcomes_
)

var outcomeNames = [nOutcomes_]string{"", "ok", "throttled", "changed", "denied", "gone", "unauthorized",
	"transient", "invalid", "failed", "redirected", "not_sent", "unprocessed", "in_doubt"}

// String is the word that the outside knows; empty for Unsettled.
func (o Outcome) String() string {
	if o < nOutcomes_ {
		return outcomeNames[o]
	}
	return "unknown"
}

// Sent reports whether a request with this outcome left, or may have.
func (o Outcome) Sent() bool { return o != NotSent }

// A Request is one HTTP request as the ledger records it.
type Request struct {
	N      int64 // unique in the ledger
	Parent int64 // the request whose redirect this one follows; zero if none
	Job    int64 // zero for a request that belongs to no job
	Run    int64 // a ledger tells its number in the job
	Doc    int64 // the document's Seq; zero if it is for none
	DocID  string
	Scopes []string
	// Costs is what it takes from the scopes that it does not take 1 from. It is not stored.
	Costs map[string]float64
	// Items are the requests in a batch, which are granted with it. They are numbered after
	// it, and are rows of their own.
	Items   []Request
	Kind    Kind
	Granted time.Time // wall time
	Sent    time.Time // wall time just before the first byte; zero until it is settled
	Ended   time.Time // wall time; zero while in flight
	Status  int       // zero if no answer came
	Outcome Outcome
	Hint    string    // the raw hint, as received
	Until   time.Time // wall time until which the answer closed a scope; zero if it did not
	Bytes   int64     // of body, as they came over the wire
}

// Cost is what the request takes from one of its scopes.
func (r Request) Cost(key string) float64 {
	if c, said := r.Costs[key]; said {
		return c
	}
	return 1
}

// An End is how a request ended, and what that means for its document.
type End struct {
	Request int64
	Sent    time.Time // wall time
	Ended   time.Time // wall time
	Status  int
	Outcome Outcome
	Hint    string
	Until   time.Time // wall time
	Bytes   int64
	// Fate is nil where the document stays in flight: a redirect that is followed, a body
	// that waits to be saved.
	Fate *Fate
}

// A Fate moves a document out of flight.
type Fate struct {
	Doc int64
	// State is where it goes. InFlight leaves it where it is: only Refund counts then.
	State  State
	Reason string // short, for `remaining`; no credential
	// NotBefore delays this document alone. On the ledger's clock; zero for at once.
	NotBefore time.Time
	// Refund gives back this many attempts that were charged when requests were granted.
	Refund int
	// Version is what was found instead of the job's; for Changed.
	Version string
}
