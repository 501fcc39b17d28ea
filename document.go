package dogear

import (
	"strings"
	"time"
)

// A Document is one thing to read.
type Document struct {
	// Seq is the document's number in the ledger: it follows the order of the list and is
	// never reused. Zero before the ledger has it.
	Seq int64
	// ID is stable over runs and holds no credential.
	ID string
	// Address is where the document is read. In the ledger it is empty when Secret is set.
	Address string
	// Secret says that the address holds a credential or a signature. Such an address is
	// read again from the list when it is needed and is never stored.
	Secret bool
	// List, Line and Offset are where it is named: which of the job's sources, counted from
	// 0, the line counted from 1 and the offset of its record in bytes. Line is zero where
	// the source is no list.
	List         int
	Line, Offset int64
	// Fingerprint tells two addresses of one listing apart without keeping them. It is
	// keyed by the process that listed, so it means nothing to any other.
	Fingerprint uint64
	// Name is what the result is named after.
	Name string
	// Parent is the ID of the [Folder] that it is in; empty where the listing has none. When
	// the listing is complete the names of the folders are in Name.
	Parent string
	// Version is what the list says of the version: see [BindingVersion].
	Version string
	// SHA256 is the digest that the list promises, in lower-case hex; empty if none.
	SHA256 string
	// Digest is another digest that the listing gives: its algorithm, a colon and its value as
	// the service writes it, such as "quickxor:AAAAAAAAAAAAAAAAAAAAAAAAAAA="; empty if none.
	Digest string
	// Size is the size in bytes that the list promises; negative if none.
	Size int64
	// Scopes are the keys of the scopes that its read is counted against, in key order.
	Scopes []string
	// Partial says that the sink keeps the beginning of its body from an earlier attempt.
	Partial bool
	// Attempts is what the document has paid of its cap, over all runs.
	Attempts int
}

// Same reports whether two listings of one document say that its content is the same: by a
// digest that both have, else by their versions. A version may tell more than the content,
// such as a new name.
func (d Document) Same(other Document) bool {
	switch {
	case d.SHA256 != "" && other.SHA256 != "":
		return d.SHA256 == other.SHA256
	case d.Digest != "" && algorithm(d.Digest) == algorithm(other.Digest):
		return d.Digest == other.Digest
	}
	return d.Version == other.Version
}

func algorithm(digest string) string {
	name, _, _ := strings.Cut(digest, ":")
	return name
}

// A Page is one answer of a listing that comes in pages.
type Page struct {
	// Documents are in the order of the answer. Of several with one ID the last counts, in
	// later pages too.
	Documents []Document
	Folders   []Folder
	// Gone are the ids of documents that the service says are deleted: none of them is among
	// Documents.
	Gone []string
	// Cursor is where the listing goes on. Of the last page it is where changes from then on
	// are told. It opens nothing by itself: it holds no credential.
	Cursor string
	// Last says that the listing is complete.
	Last bool
	// Others counts what is there and is no document that could be read.
	Others int
}

// A Folder is where documents of a listing are.
type Folder struct {
	ID     string
	Parent string // empty: the listing's root
	Name   string // empty: it gives its documents no name
	// Outside says that what is in it is no part of the listing.
	Outside bool
}

// A Result is a document that was received whole, checked and saved.
type Result struct {
	Doc         int64 // the document's Seq
	ID          string
	Version     string // the listed one, or that of the answer it was saved from
	Path        string // relative to the sink
	Size        int64
	SHA256      string // of the bytes that were saved, in lower-case hex
	ContentType string
	ReadAt      time.Time // wall time at which the last byte came
	Run         int64     // what saved it; a ledger tells its number in the job
}

// A State is where a document stands.
type State uint8

// The states of a document. Their numbers are stored: add, never renumber.
const (
	Pending State = iota
	InFlight
	Done
	Changed  // the source has another version than the job's
	Denied   // the source refuses this document
	Gone     // the source no longer has it
	Failed   // final: it can never be read as it is
	InDoubt  // a request left and nobody recorded its end
	nStates_ // the number of states
)

var stateNames = [nStates_]string{"pending", "in_flight", "done", "changed", "denied", "gone", "failed", "in_doubt"}

// String is the word that the outside knows: "pending", "in_flight" and so on.
func (s State) String() string {
	if s < nStates_ {
		return stateNames[s]
	}
	return "unknown"
}
