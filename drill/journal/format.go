// Package journal is the record of what reached a stand-in service, one JSON object a line:
// first a [Head], then an [Arrival] for each request, written when it has ended, and a
// [Event] for whatever else happened, such as the end of a client. docs/drill.md tells what
// every field means.
//
// An arrival is stamped with the moment at which its request line came, and says what the
// service had told until then. So a judge needs no parser of hints: what a hint means is
// written by whoever sent it.
package journal

import (
	"net/http"
	"time"
)

// Version is the version of the format that this package writes.
const Version = 1

// A Head says what the service was. It is the first line.
type Head struct {
	Drill     int       `json:"drill"` // the format's Version; marks the line as a head
	Scenario  string    `json:"scenario"`
	About     string    `json:"about,omitempty"`
	StartedAt time.Time `json:"started_at"`
	Documents int       `json:"documents"` // numbered from 1
	Workers   int       `json:"workers,omitempty"`
	Quotas    []Quota   `json:"quotas"`
	Expect    []string  `json:"expect,omitempty"` // what a judge asserts unless told otherwise
}

// A Quota is one origin with documents of its own behind one limit.
type Quota struct {
	Name   string `json:"name"`
	Origin string `json:"origin"` // scheme, host and port
	First  int    `json:"first"`  // the numbers of its documents: First to Last
	Last   int    `json:"last"`
	Limit  *Limit `json:"limit,omitempty"` // nil: none
}

// A Limit is what a limiter lets through at best.
type Limit struct {
	Kind     string  `json:"kind"`            // window, sliding, bucket, leaky or concurrency
	Requests int     `json:"requests"`        // so many each Per; for concurrency: at a time
	Per      float64 `json:"per_s,omitempty"` // seconds
	Burst    int     `json:"burst,omitempty"` // of a bucket: at once
	Queue    int     `json:"queue,omitempty"` // of a leaky bucket: waiting inside the service
}

// The kinds of arrivals.
const (
	Read  = "read"  // of a document, or of a part of it
	Hop   = "hop"   // the answer was or should have been a redirect to a signed link
	Link  = "link"  // a signed link
	List  = "list"  // a page of a listing, a manifest, or what leads to a listing
	Check = "check" // of a document's metadata, such as its version: no read of it, and counted as none
	Batch = "batch" // its items are in Items
	Token = "token"
	Other = "other"
)

// How an answer ended.
const (
	Sent = "sent" // all of it was given to the kernel
	Cut  = "cut"  // by the service, on purpose
	Gone = "gone" // the client went away before
)

// By whom a request was refused.
const (
	ByLimit = "limit"
	ByRule  = "rule"
)

// An Arrival is one request and its answer.
type Arrival struct {
	N        int         `json:"n"`  // from 1, in the order of arrival
	At       time.Time   `json:"at"` // when the first byte of its request line was there; under TLS: when its head was
	Quota    string      `json:"quota,omitempty"`
	Key      string      `json:"key,omitempty"` // of the limit within the quota
	Kind     string      `json:"kind,omitempty"`
	Method   string      `json:"method"`
	Path     string      `json:"path"`
	Document int         `json:"document,omitempty"` // 0: none
	Version  int         `json:"version,omitempty"`  // of the document when it was asked for
	Try      int         `json:"try,omitempty"`      // how many requests came for the same document before; links are counted apart
	Proto    string      `json:"proto,omitempty"`
	Conn     int64       `json:"conn,omitempty"`
	Worker   string      `json:"worker,omitempty"` // what it says in X-Worker
	Header   http.Header `json:"header,omitempty"` // credentials by name alone
	// Leaked names the credentials that it brought to an origin that they are not for.
	Leaked []string `json:"leaked,omitempty"`
	// Told is the latest wait of its quota and key that had been sent whole before At.
	Told *Wait `json:"told,omitempty"`

	Status  int         `json:"status,omitempty"`
	Began   time.Time   `json:"began,omitzero"` // before the first byte of the answer
	Sent    time.Time   `json:"sent,omitzero"`  // when the kernel had taken all of it; of a refusal whose end the client did not read: its head
	Ended   time.Time   `json:"ended,omitzero"` // when the service was done with it
	End     string      `json:"end,omitempty"`
	From    int64       `json:"from,omitempty"` // of the document's bytes: the first that was sent
	Bytes   int64       `json:"bytes"`          // of the body
	Size    int64       `json:"size,omitempty"` // of the whole document, when it was served
	Whole   bool        `json:"whole,omitempty"`
	Fault   string      `json:"fault,omitempty"` // what was done to it on purpose
	Refused string      `json:"refused,omitempty"`
	Hint    http.Header `json:"hint,omitempty"`  // the fields that hint, as they were sent
	Until   time.Time   `json:"until,omitzero"`  // what they mean; zero: no valid wait
	Items   []Item      `json:"items,omitempty"` // of a batch
}

// A Wait is a wait that clients were told.
type Wait struct {
	N     int       `json:"n"` // of the arrival whose answer told it
	Sent  time.Time `json:"sent"`
	Until time.Time `json:"until"`
}

// An Item is one request of a batch.
type Item struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind,omitempty"`
	Path     string    `json:"path,omitempty"`
	Document int       `json:"document,omitempty"`
	Version  int       `json:"version,omitempty"`
	Try      int       `json:"try,omitempty"`
	Status   int       `json:"status"`
	Bytes    int64     `json:"bytes,omitempty"`
	Whole    bool      `json:"whole,omitempty"`
	Refused  string    `json:"refused,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// An Event is what else happened during the drill.
type Event struct {
	Event  string    `json:"event"` // started, killed, ended, timeout; marks the line as an event
	At     time.Time `json:"at"`
	Client int       `json:"client"` // from 1
	Code   int       `json:"code,omitempty"`
}
