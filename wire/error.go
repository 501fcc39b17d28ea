package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"

	"github.com/dogear/dogear"
)

// A Fate says what surely became of a request that failed.
type Fate uint8

const (
	// Unknown: it left, or may have, and may have been acted on.
	Unknown Fate = iota
	// NotSent: surely no byte of it left.
	NotSent
	// Unprocessed: it left and was surely not acted on, because an HTTP/2 server said so.
	Unprocessed
)

func (f Fate) String() string {
	switch f {
	case NotSent:
		return "not_sent"
	case Unprocessed:
		return "unprocessed"
	default:
		return "unknown"
	}
}

// An Error is what every failure of a [Wire], a [Slot] and the body of an answer is. Its text
// may be shown and stored.
type Error struct {
	Op      string // "connect to", "send to" or "read from"
	Address string // without credentials
	Fate    Fate
	// Err matches the errors of this package, [io.ErrUnexpectedEOF] for an answer that was
	// cut, the cause of a cancelled context, and errors of package net.
	Err error
}

func (e *Error) Error() string { return e.Op + " " + e.Address + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// What callers may ask for with [errors.Is].
var (
	// ErrClosed: the Wire was closed.
	ErrClosed = errors.New("the connections were closed")
	// ErrStale: the slot was held for so long that its connection is not tried any more.
	ErrStale = errors.New("the connection sat idle for too long")
	// ErrIdle: nothing moved for Config.IdleTimeout.
	ErrIdle = errors.New("no progress")
	// ErrDialTimeout: no connection came about within Config.DialTimeout.
	ErrDialTimeout = errors.New("no connection in time")
	// ErrNotHTTP: what answers is no HTTP server.
	ErrNotHTTP = errors.New("the server does not speak HTTP")
	// ErrMalformed: the answer breaks the protocol, or its head is too large.
	ErrMalformed = errors.New("the answer is malformed")
	// ErrCalm: an HTTP/2 server ended a request or the connection with ENHANCE_YOUR_CALM.
	ErrCalm = errors.New("the server asks for fewer requests (HTTP/2 ENHANCE_YOUR_CALM)")
)

// Calm reports whether an HTTP/2 server asked for fewer requests: a throttle without a hint.
func Calm(err error) bool { return errors.Is(err, ErrCalm) }

// errCut is an answer, or the lack of one, that ended with the connection.
var errCut = fmt.Errorf("the connection was cut: %w", io.ErrUnexpectedEOF)

// errUnwritten is a request that net/http would not write, such as one for an impossible host.
var errUnwritten = errors.New("the request could not be written")

// shown is the part of an error of net/http whose text holds nothing but addresses and
// numbers; nil if there is none. net/http's own errors quote what the server sent.
func shown(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op
	}
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return no
	}
	for _, known := range []error{net.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return known
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return nil
}

// address is the address as errors show it.
func address(u *url.URL) string {
	if u == nil || u.Opaque != "" {
		return "(no address)"
	}
	s, _ := dogear.StripSecrets(u)
	return s
}
