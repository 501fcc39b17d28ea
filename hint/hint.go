// Package hint reads what a response says about when sending is allowed again.
//
// Think of it as a reader of one field, Retry-After, that would rather see no hint than a
// wrong one: the grammar of RFC 9110 is written out here, since strconv and time.Parse take
// much that is no hint ("+5", "1e18", another time zone). Fields of the IETF RateLimit
// drafts are read only for a caller that asks for them.
//
//	h := hint.FromResponse(resp.StatusCode, resp.Header, received)
//	if h.Valid() {
//		notBefore = received.Add(h.Wait)
//	}
//
// What a hint closes, and what is waited without one, is the caller's business. Nothing here
// reads a clock, and no time zone of the machine matters.
package hint

import (
	"net/http"
	"strings"
	"time"
)

// A Kind says in which form a hint came, and whether it counts.
type Kind uint8

// The kinds.
const (
	// None is an answer without a hint: the field is absent or blank.
	None Kind = iota
	// DeltaSeconds counts from the moment at which the answer was received.
	DeltaSeconds
	// HTTPDate names a moment on the server's clock.
	HTTPDate
	// Invalid is a field that is there and is no hint.
	Invalid
	nKinds_
)

var kindNames = [nKinds_]string{"none", "delta-seconds", "http-date", "invalid"}

// String is the word that people read: "none", "delta-seconds", "http-date" or "invalid".
func (k Kind) String() string {
	if k < nKinds_ {
		return kindNames[k]
	}
	return "unknown"
}

// A Hint is what one answer says. The zero value says nothing.
type Hint struct {
	Kind Kind
	// Raw is the field as it was received, for people and the ledger: several lines joined
	// with ", ", cut to some 128 bytes, with every unprintable character escaped.
	Raw string
	// Wait is how long nothing may be sent, from the moment at which the answer was
	// received. It is never negative; a moment that has passed gives zero. What is longer
	// than 9223372036 s is that long. Zero unless the hint is valid.
	Wait time.Duration
	// AtLeast bounds the back-off that takes the place of an invalid hint from below: it is
	// the longest wait that can be read out of the field all the same, such as 3 s for
	// "2.5". Zero if there is none, and for a valid hint, whose Wait covers it.
	AtLeast time.Duration
	// Skew is how far the server's clock is ahead of ours, to a second or so and with the
	// time that the answer was under way. It means something only if HasSkew is set, which
	// it is when the answer has a valid Date.
	Skew    time.Duration
	HasSkew bool
}

// Valid reports whether the answer has a hint to follow, be it of zero.
func (h Hint) Valid() bool { return h.Kind == DeltaSeconds || h.Kind == HTTPDate }

// A Field reads a hint from other fields than Retry-After. [RateLimitDraft03] and
// [RateLimitStructured] are such.
type Field func(http.Header) Hint

// FromResponse reads the hint of an answer by its status. A success has none, whatever its
// fields say, but for 202: there, as with every 3xx, Retry-After speaks of this one document
// and not of the quota, which the caller has to tell apart. The other fields are read only
// from an answer that refuses (4xx and 5xx), and only where Retry-After is no valid hint:
// the drafts give it precedence.
func FromResponse(status int, h http.Header, received time.Time, other ...Field) Hint {
	hint := RetryAfter(h, received)
	switch {
	case status == http.StatusAccepted, status >= 300 && status < 400:
		return hint
	case status < 300:
		return Hint{Skew: hint.Skew, HasSkew: hint.HasSkew}
	}
	for _, read := range other {
		if !hint.Valid() {
			hint = later(hint, read(h))
		}
	}
	return hint
}

// RetryAfter reads the field Retry-After (RFC 9110, section 10.2.3): a delay in seconds or
// one of the three forms of an HTTP-date. A date is measured against the answer's own Date
// plus its Age, so that a wrong clock on either side does no harm; without a valid Date
// against received.
//
// The field may be there only once, but it is not. Of several lines those that are hints
// count, and the latest of them wins. Within one line delays that were joined with a comma
// and a space are read the same way; any other list is invalid, and its latest member that
// can be read is the hint's AtLeast: nothing is ever waited less than a hint that was there.
func RetryAfter(h http.Header, received time.Time) Hint {
	now, known := serverNow(h, received)
	hint := readLines(h.Values("Retry-After"), func(v string) (time.Duration, bool) {
		t, ok := parseDate(v, received)
		return until(t, now), ok
	})
	if known {
		hint.Skew, hint.HasSkew = now.Sub(received), true
	}
	return hint
}

// serverNow is the moment of receipt on the server's clock, as its Date and Age tell it; if
// they do not, it is received. A doubtful Age is left out: that makes waits longer.
func serverNow(h http.Header, received time.Time) (now time.Time, known bool) {
	dates, ages := h.Values("Date"), h.Values("Age")
	if len(dates) != 1 {
		return received, false
	}
	now, ok := parseDate(strings.Trim(dates[0], blanks), received)
	if !ok {
		return received, false
	}
	if len(ages) == 1 {
		if age, ok := parseDelay(strings.Trim(ages[0], blanks)); ok {
			now = now.Add(age)
		}
	}
	return now, true
}

// later joins what two fields, or two lines of one field, say: the later hint wins, a valid
// one always over an invalid one. It keeps what the losing one asked for at least.
func later(a, b Hint) Hint {
	switch {
	case a.Kind == None:
		a.Kind = b.Kind
	case b.Kind == None:
	case a.Valid() && b.Valid():
		if b.Wait > a.Wait {
			a.Kind, a.Wait = b.Kind, b.Wait
		}
	case b.Valid():
		a.Kind, a.Wait = b.Kind, b.Wait
	}
	a.Wait, a.AtLeast = max(a.Wait, b.Wait), max(a.AtLeast, b.AtLeast)
	if a.Valid() {
		a.Wait, a.AtLeast = max(a.Wait, a.AtLeast), 0
	}
	a.Raw = show(a.Raw, b.Raw)
	return a
}
