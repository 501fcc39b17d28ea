package profile

import (
	"net/url"
	"time"

	"github.com/dogear/dogear"
)

// Known says how well a fact is known.
type Known uint8

// The degrees of knowledge. What is only recalled is no fact, and in no profile.
const (
	_ Known = iota
	// Documented is a fact that the service itself writes, in its manual or its source.
	Documented
	// Reported is a fact that others observed or quoted.
	Reported
	nKnown_
)

var knownNames = [nKnown_]string{"", "documented", "reported"}

func (k Known) String() string {
	if k < nKnown_ {
		return knownNames[k]
	}
	return "unknown"
}

// A Fact says where something is written and how well it is known. Every statement of a
// profile about its service has one.
type Fact struct {
	Source string // an address
	Known  Known
	Note   string // what a reader should know beside it
	Line   int    // of the profile's file
}

// A Profile is what one service documents. Its fields are for reading.
type Profile struct {
	Name  string // what users type, and the beginning of its scope keys
	Title string
	// Prefix begins its scope keys. It is the name, but for a service that shares its quotas
	// with another profile's.
	Prefix string
	// Generic says that nothing was found about how the service limits its callers: it is
	// read as one without a profile. Its file has an address, perhaps, and open questions.
	Generic bool
	// Base is where the service is, unless the user says another address; nil if each
	// deployment has its own.
	Base *Base
	// Hosts are the names and patterns ("*.zendesk.com") by which [ForHost] finds it.
	Hosts     []string
	UserAgent *UserAgent // nil: nothing is asked for
	Parts     []Part
	// Scopes are the quotas. A request belongs to each whose match holds.
	Scopes    []Scope
	Costs     []Cost // the first that matches a request says what it costs
	Throttles []Throttle
	Statuses  []Status
	Hints     []Hint
	Budgets   []BudgetField
	Batch     *Batch
	Version   *Version
	SDKs      []SDK
	Facts     []Statement
	// Unknown are the open questions: what nobody found written.
	Unknown []string

	at *url.URL // another base address
}

// A Base is the address of a service.
type Base struct {
	Fact
	URL      *url.URL
	Override string // how clients of the service are told another address
}

// A UserAgent is how the service wants to be called.
type UserAgent struct {
	Fact
	Want     string
	Send     string // what dogear sends; {version} is its own. Empty: the user has to say it
	Required bool   // it refuses what does not
}

// A Part is one part of scope keys. Two more need no declaration: "host", the host of the
// request in lower case, and "verb", its method.
type Part struct {
	Name string
	// Given says what the caller has to give; empty if the request tells it.
	Given string
	// OrIdentity says that the user's name of the credential stands in for what was not
	// given.
	OrIdentity bool
	paths      []pattern // what they capture
	classes    []class
	other      string // where no path matches
}

type class struct {
	name  string
	paths []pattern
}

// A Scope is one quota.
type Scope struct {
	Fact
	Name string
	// Class, if set, is the first part of its keys. It tells quotas apart that are counted
	// by the same parts.
	Class  string
	Key    []string // parts, in their order
	Match  *Match   // nil: every request of the service
	Limits []Limit
}

// Confirmed reports whether the service's own documents say which requests share this
// quota (W6).
func (s *Scope) Confirmed() bool { return s != nil && s.Known == Documented }

// A Unit is what a limit counts.
type Unit uint8

// The units.
const (
	Requests   Unit = iota
	Units           // what requests cost, by [Profile.Costs]
	Bytes           // of bodies that were sent to us
	Concurrent      // requests at a time
	nUnits_
)

var unitNames = [nUnits_]string{"requests", "units", "bytes", "concurrent"}

func (u Unit) String() string {
	if u < nUnits_ {
		return unitNames[u]
	}
	return "unknown"
}

// A Limit is how much of something a quota lets through.
type Limit struct {
	Fact
	// Plan names the customers or credentials to which it applies; empty: all. Of the plans
	// of a profile the first is the one to assume.
	Plan   string
	Unit   Unit
	Amount float64
	Per    time.Duration // zero for Concurrent
	Burst  int           // how many at once, where that is written; zero if it is not
}

// Rate is the limit in its unit a second; zero for Concurrent.
func (l Limit) Rate() float64 {
	if l.Per <= 0 {
		return 0
	}
	return l.Amount / l.Per.Seconds()
}

// A Cost is what a request costs in units.
type Cost struct {
	Fact
	Match *Match // nil: every request
	Units float64
}

// A Throttle is a kind of answer that refuses for want of quota. The first that matches an
// answer decides.
type Throttle struct {
	Fact
	When When
	// Closes are the names of the scopes that it closes; none: all that the request belongs
	// to.
	Closes []string
	// Waits is what the service documents to wait where the answer has no hint: after the
	// first such event in a row, the second and so on; the last one repeats.
	Waits []time.Duration
}

// A Status is a kind of answer whose meaning is not the plain one of its status.
type Status struct {
	Fact
	When  When
	Means dogear.Outcome
	// Delays says that a Retry-After in it speaks of this one document.
	Delays bool
}

// A Hint is where throttles say until when, and in which form. The latest of several wins.
// Retry-After as RFC 9110 has it is read in every profile, declared or not.
type Hint struct {
	Fact
	Field   string   // of the header; ends in * for all that begin so
	Path    []string // into a JSON body, if Field is empty
	Form    Form
	Over    string // a field by whose number the value is divided
	Default time.Duration
	When    When
}

// A Batch is the service's batch call.
type Batch struct {
	Fact
	Form    string // "graph" (JSON) or "multipart"
	Method  string
	Path    string
	Most    int    // items
	Charged string // "each": every item is counted as a request of its own; "once": the batch is one
	NoMedia bool   // contents of documents cannot be read through it
	// Media tells which requests are for contents; with NoMedia and without it all may be.
	Media  []*Match
	MaxURL int // letters of an item's address; zero: not said
	// CaseBlindIDs says that two ids that differ in case only are the same.
	CaseBlindIDs bool
}

// A Version is how a document's version is known and checked.
type Version struct {
	Fact
	Field string
	Also  []string // further fields that tell a change
	// Check is the cheap check: "if-none-match" (a read that gives 304), "field" (its
	// metadata is asked for), or "none".
	Check   string
	Request string // what to ask for that, in words
	Most    int    // documents in one such request; zero: one
}

// An SDK is a client of the service that retries by itself.
type SDK struct {
	Fact
	Name string
	Does string
	Off  string // how that is switched off; empty: no way was found, or nothing is to do
}

// A Statement is a fact for people.
type Statement struct {
	Fact
	Says string
}
