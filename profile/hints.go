package profile

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/dogear/dogear/hint"
)

// A Form is how a moment or a wait is written.
type Form uint8

// The forms.
const (
	_ Form = iota
	// RetryAfter is Retry-After as RFC 9110 has it: seconds or a date.
	RetryAfter
	// Seconds is a whole number of seconds from the receipt of the answer.
	Seconds
	// Decimal is seconds that may have a fraction. Waits are rounded up to a second. In
	// Retry-After a date is read as well.
	Decimal
	// Milliseconds is a whole number of milliseconds.
	Milliseconds
	// HTTPDate is one of the three dates of RFC 9110.
	HTTPDate
	// EpochSeconds is a moment in seconds since 1970, by the server's clock.
	EpochSeconds
	// EpochMilliseconds is the same in milliseconds.
	EpochMilliseconds
	// ISO8601 is a moment such as 2026-11-29T20:02:00Z; its seconds may be left out.
	ISO8601
	// Draft03 is RateLimit-Reset of draft-ietf-httpapi-ratelimit-headers-03.
	Draft03
	// Structured is RateLimit of the later drafts.
	Structured
	// StructuredPartial is the same where a policy may leave out what remains of it (r), as
	// long as that is much.
	StructuredPartial
	// Pairs is a list such as "total=100; remaining=0; resets=41": seconds, where nothing
	// remains.
	Pairs
	nForms_
)

var formNames = [nForms_]string{"", "retry-after", "seconds", "decimal", "milliseconds", "http-date", "epoch-seconds",
	"epoch-milliseconds", "iso8601", "draft03", "structured", "structured-partial", "pairs"}

func (f Form) String() string {
	if f < nForms_ {
		return formNames[f]
	}
	return "unknown"
}

const maxWait = math.MaxInt64 / time.Second * time.Second

// A reading is what one declared hint says in one answer.
type reading struct {
	hint.Hint
	kind string // how it came, as people read it: "epoch-seconds", "body"
	from string // the field or the path
}

// read takes all the hints of an answer that refused, and keeps the latest.
func (p *Profile) read(a Answer) reading {
	now := serverNow(a)
	best := reading{Hint: hint.RetryAfter(a.Header, a.Received), from: "Retry-After"}
	best.kind = best.Kind.String()
	for _, h := range p.Hints {
		if h.When.holds(a) {
			best = later(best, h.read(a, now))
		}
	}
	return best
}

// serverNow is the moment of receipt by the server's clock, where the answer tells it.
func serverNow(a Answer) time.Time {
	if h := hint.RetryAfter(a.Header, a.Received); h.HasSkew {
		return a.Received.Add(h.Skew)
	}
	return a.Received
}

// later joins two readings: the later wait wins, a valid one always over an invalid one, and
// the first of two that agree. What the losing one asked for at least is kept.
func later(a, b reading) reading {
	win, lose := a, b
	switch {
	case b.Kind == hint.None:
	case a.Kind == hint.None,
		b.Valid() && !a.Valid(),
		b.Valid() && b.Wait > a.Wait,
		!a.Valid() && !b.Valid() && b.AtLeast > a.AtLeast:
		win, lose = b, a
	}
	win.AtLeast = max(win.AtLeast, lose.AtLeast)
	if win.Valid() {
		win.Wait, win.AtLeast = max(win.Wait, win.AtLeast), 0
	}
	win.Skew, win.HasSkew = a.Skew, a.HasSkew
	return win
}

func (h Hint) read(a Answer, now time.Time) reading {
	if h.Field == "" {
		return h.fromBody(a, now)
	}
	var r reading
	if prefix, open := strings.CutSuffix(h.Field, "*"); open {
		for name, values := range a.Header {
			if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
				got := h.values(values, a, now)
				got.from = name
				r = later(r, got)
			}
		}
		return r
	}
	r = h.values(a.Header.Values(h.Field), a, now)
	r.from = h.Field
	return r
}

// fromBody reads a value out of a JSON body.
func (h Hint) fromBody(a Answer, now time.Time) reading {
	values, present := lookup(a.Body, h.Path)
	r := reading{kind: "body", from: "body " + strings.Join(h.Path, "/")}
	if len(values) > 0 {
		r.Hint = h.values(values, a, now).Hint
	} else if h.Default > 0 && !present {
		r.Hint = hint.Hint{Kind: hint.DeltaSeconds, Wait: h.Default}
	}
	if !r.Valid() {
		r.kind = r.Kind.String()
	}
	return r
}

// values reads the lines of one field in the declared form.
func (h Hint) values(lines []string, a Answer, now time.Time) reading {
	// The parsers of package hint read headers: the lines are put under the names that they
	// look at, beside the Date and the Age that tell the server's clock.
	as := func(name string) http.Header {
		return http.Header{name: lines, "Date": a.Header.Values("Date"), "Age": a.Header.Values("Age")}
	}
	r := reading{kind: "delta-seconds"}
	switch h.Form {
	case Draft03:
		r.Hint = hint.RateLimitDraft03(as("Ratelimit-Reset"))
	case Structured:
		r.Hint = hint.RateLimitStructured(as("Ratelimit"))
	case StructuredPartial:
		lines = withoutFar(lines)
		r.Hint = hint.RateLimitStructured(as("Ratelimit"))
	case Pairs:
		r.Hint = pairs(lines)
	case EpochSeconds, EpochMilliseconds, ISO8601:
		r.Hint, r.kind = h.moment(lines, now), h.Form.String()
	default:
		r.Hint = hint.RetryAfter(as("Retry-After"), a.Received)
		r.Hint = h.wait(r.Hint, lines)
		if r.Kind == hint.HTTPDate {
			r.kind = "http-date"
		}
	}
	if h.Over != "" {
		r.Hint = divided(r.Hint, a.Header.Get(h.Over))
	}
	if !r.Valid() {
		r.kind = r.Kind.String()
	}
	return r
}

var decimals = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(, [0-9]+(\.[0-9]+)?)*$`)

// wait holds what was read as Retry-After to the declared form.
func (h Hint) wait(got hint.Hint, lines []string) hint.Hint {
	switch {
	case h.Form == Decimal && got.Kind == hint.Invalid && allDecimal(lines):
		// What is at least to be waited is the longest of the lines, rounded up.
		got.Kind, got.Wait, got.AtLeast = hint.DeltaSeconds, got.AtLeast, 0
	case h.Form == Milliseconds && got.Kind == hint.DeltaSeconds:
		got.Wait = (got.Wait + 999) / 1000
	case h.Form == HTTPDate && got.Kind == hint.DeltaSeconds,
		(h.Form == Seconds || h.Form == Milliseconds || h.Form == Decimal && h.Field != "Retry-After") && got.Kind == hint.HTTPDate:
		got.Kind, got.Wait, got.AtLeast = hint.Invalid, 0, got.Wait
		if h.Form == HTTPDate {
			got.AtLeast = 0 // a number where a date belongs is of no known unit
		}
	}
	if h.Form == Milliseconds && got.Kind == hint.Invalid {
		got.AtLeast = 0
	}
	return got
}

func allDecimal(lines []string) bool {
	for _, l := range lines {
		if l = strings.Trim(l, " \t"); l != "" && !decimals.MatchString(l) {
			return false
		}
	}
	return true
}

// divided is a number of seconds over another number, rounded up. Over zero it says nothing.
func divided(h hint.Hint, by string) hint.Hint {
	n, err := strconv.ParseUint(strings.Trim(by, " \t"), 10, 31)
	if h.Kind != hint.DeltaSeconds {
		return h
	}
	if err != nil || n == 0 {
		return hint.Hint{Raw: h.Raw}
	}
	h.Wait = time.Duration(math.Ceil(h.Wait.Seconds()/float64(n))) * time.Second
	return h
}

// tooOld is how long a moment may have passed and still be meant: a reset of zero is "not
// set", and seconds where milliseconds belong are in January 1970.
const tooOld = 24 * time.Hour

var digits = regexp.MustCompile(`^[0-9]+$`)

// moment reads the lines of a field that names a moment by the server's clock.
func (h Hint) moment(lines []string, now time.Time) hint.Hint {
	var best reading
	for _, line := range lines {
		if line = strings.Trim(line, " \t"); line == "" {
			continue
		}
		one := reading{Hint: hint.Hint{Kind: hint.Invalid, Raw: printable(line)}}
		if t, ok := h.parse(line); ok && now.Sub(t) <= tooOld {
			one.Kind, one.Wait = hint.HTTPDate, min(max(t.Sub(now), 0), maxWait)
		}
		best = later(best, one)
	}
	return best.Hint
}

// farFuture is later than any wait can be told.
var farFuture = time.Unix(1<<36, 0)

func (h Hint) parse(v string) (time.Time, bool) {
	if h.Form == ISO8601 {
		return parseISO(v)
	}
	if !digits.MatchString(v) {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err != nil:
		return farFuture, true
	case h.Form == EpochMilliseconds:
		return time.UnixMilli(n), true
	case n > farFuture.Unix():
		return farFuture, true
	}
	return time.Unix(n, 0), true
}

var iso = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})$`)

// parseISO reads the profile of ISO 8601 in RFC 3339, with or without its seconds. The zone
// must be there: a wall clock without one is nobody's.
func parseISO(v string) (time.Time, bool) {
	m := iso.FindStringSubmatch(v)
	if m == nil {
		return time.Time{}, false
	}
	if m[1] == "" {
		v = strings.TrimSuffix(v, m[3]) + ":00" + m[3]
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	return t, err == nil
}

// withoutFar drops the policies that do not say what remains of them. What is malformed is
// kept as it is.
func withoutFar(lines []string) []string {
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return lines
	}
	var kept httpsfv.List
	for _, member := range list {
		if item, ok := member.(httpsfv.Item); ok {
			if _, has := item.Params.Get("r"); !has {
				if _, named := item.Value.(string); named {
					continue
				}
			}
		}
		kept = append(kept, member)
	}
	if len(kept) == 0 {
		return nil
	}
	text, err := httpsfv.Marshal(kept)
	if err != nil {
		return lines
	}
	return []string{text}
}

// pairs reads lists such as "total=100; remaining=0; resets=41".
func pairs(lines []string) hint.Hint {
	var h hint.Hint
	for _, line := range lines {
		got := map[string]int64{}
		for pair := range strings.SplitSeq(line, ";") {
			name, value, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
			if n, err := strconv.ParseUint(strings.Trim(value, " \t"), 10, 63); err == nil {
				got[strings.Trim(name, " \t")] = int64(min(n, uint64(maxWait/time.Second)))
			}
		}
		remaining, ok1 := got["remaining"]
		resets, ok2 := got["resets"]
		if ok1 && ok2 && remaining == 0 {
			h.Kind = hint.DeltaSeconds
			h.Wait = max(h.Wait, time.Duration(resets)*time.Second)
			h.Raw = printable(line)
		}
	}
	return h
}

// printable is a value as people may see it, as package hint has it for its own.
func printable(v string) string {
	const most = 128
	v = strings.Trim(strconv.Quote(v), `"`)
	if len(v) > most {
		v = v[:most] + "…"
	}
	return v
}
