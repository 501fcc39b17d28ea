// Package dogear holds the words that the rest of the program speaks: documents,
// scopes, requests, waits and the ways in which a run can end.
//
// Think of it as the vocabulary and nothing else. It imports the standard library only
// and does no I/O: every other package points towards this one.
//
//	document   one thing to read: a stable id, a version, a name
//	job        a fixed list of documents
//	run        one bounded round over a job; it ends with exactly one StopReason
//	request    one HTTP request that was handed to the wire
//	attempt    one try of one document
//	scope      the requests that a service counts against one quota
//	wait       the state of a scope that is closed until its NotBefore
//	permit     the gate's leave to send one request now
//
// Two clocks appear. Moments that are history (a request was sent, a result was saved)
// are wall times. Moments that decide (NotBefore) are on the ledger's clock, which no step
// of the wall clock moves; ledger.Store.Now tells it.
package dogear
