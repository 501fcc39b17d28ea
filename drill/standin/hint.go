package standin

import (
	"fmt"
	"net/http"
	"net/textproto"
	"regexp"
	"strconv"
	"time"
)

// A Template is a hint about when sending is allowed again. Values of its fields may hold
// placeholders for the wait, each rounded up to what its form can say:
//
//	{seconds} {decimal} {ms}     3, 2.100, 2100
//	{date} {rfc850} {asctime}    the three forms of an HTTP-date
//	{epoch} {epoch_ms} {iso}     seconds and milliseconds since 1970, RFC 3339
//
// {seconds:1} tells a wait of its own, of one second. Whatever else is in a value is sent as
// it is: "soon", "-5", "". A field without a value is left out of the answer, though it be
// Date. The zero Template hints nothing.
type Template struct {
	Fields map[string][]string
	// Skew is by how much the service's clock is wrong: its Date, which is sent along, and
	// every moment that is told.
	Skew time.Duration
	// Invalid says that no client has to keep what it says.
	Invalid bool
}

// The usual hints.
var (
	// Seconds hints with delay-seconds, rounded up.
	Seconds = Template{Fields: map[string][]string{"Retry-After": {"{seconds}"}}}
	// Contradicting hints twice, with the wait and with a shorter one. The later counts.
	Contradicting = Template{Fields: map[string][]string{"Retry-After": {"{seconds:1}", "{seconds}"}}}
	// None hints nothing.
	None = Template{}
)

// Placeholders for the forms of an HTTP-date (RFC 9110, section 5.6.7).
const (
	IMFDate = "{date}"
	RFC850  = "{rfc850}"
	ASCTime = "{asctime}"
)

// Date hints with a placeholder for a moment, by a clock that is wrong by skew.
func Date(placeholder string, skew time.Duration) Template {
	return Template{Fields: map[string][]string{"Retry-After": {placeholder}}, Skew: skew}
}

// Text hints with a text of its own: "soon", "-5", "2.5", "0".
func Text(value string) Template {
	return Template{Fields: map[string][]string{"Retry-After": {value}}}
}

var placeholder = regexp.MustCompile(`\{(seconds|decimal|ms|date|rfc850|asctime|epoch|epoch_ms|iso)(?::([0-9]+(?:\.[0-9]+)?))?\}`)

// A telling fills placeholders for one answer, and remembers the latest of what it told.
type telling struct {
	now   time.Time
	wait  time.Duration
	skew  time.Duration
	until time.Time // zero: nothing was told
	moved bool      // a moment was told
}

// fill fills the placeholders of a text.
func (t *telling) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string {
		m := placeholder.FindStringSubmatch(s)
		wait := t.wait
		if m[2] != "" {
			f, _ := strconv.ParseFloat(m[2], 64) // the expression lets nothing else through
			wait = saturate(f)
		}
		switch m[1] {
		case "seconds":
			return strconv.FormatInt(int64(t.span(wait, time.Second)/time.Second), 10)
		case "ms":
			return strconv.FormatInt(int64(t.span(wait, time.Millisecond)/time.Millisecond), 10)
		case "decimal":
			ms := t.span(wait, time.Millisecond) / time.Millisecond
			return fmt.Sprintf("%d.%03d", ms/1000, ms%1000)
		case "epoch_ms":
			return strconv.FormatInt(t.moment(wait, time.Millisecond).UnixMilli(), 10)
		case "epoch":
			return strconv.FormatInt(t.moment(wait, time.Second).Unix(), 10)
		}
		return t.moment(wait, time.Second).Format(layouts[m[1]])
	})
}

var layouts = map[string]string{"date": http.TimeFormat, "rfc850": "Monday, 02-Jan-06 15:04:05 GMT", "asctime": time.ANSIC, "iso": time.RFC3339}

// longest is what a wait may be, in seconds: about a hundred years, which can still be added
// to now.
const longest = 100 * 366 * 24 * 3600

func saturate(seconds float64) time.Duration {
	return time.Duration(min(seconds, longest) * float64(time.Second))
}

// span tells a wait in whole units.
func (t *telling) span(wait, unit time.Duration) time.Duration {
	wait = up(wait, unit)
	t.told(t.now.Add(wait))
	return wait
}

// moment tells the end of a wait by the service's clock. Whoever knows the right time may
// come then. With a clock that is wrong, only the time since Date can be meant.
func (t *telling) moment(wait, unit time.Duration) time.Time {
	t.moved = true
	now := t.now.Add(t.skew)
	end := now.Add(wait)
	if rest := end.Sub(end.Truncate(unit)); rest > 0 {
		end = end.Add(unit - rest)
	}
	if t.skew == 0 {
		t.told(end)
	} else {
		t.told(t.now.Add(end.Sub(now.Truncate(time.Second))))
	}
	return end.UTC()
}

func (t *telling) told(until time.Time) {
	if until.After(t.until) {
		t.until = until
	}
}

func up(d, unit time.Duration) time.Duration {
	if rest := d % unit; rest > 0 {
		d += unit - rest
	}
	return d
}

// put writes the template's fields into h, and returns them as they are sent.
func (t Template) put(h http.Header, say *telling) http.Header {
	say.skew = t.Skew
	sent := http.Header{}
	for name, values := range t.Fields {
		name = textproto.CanonicalMIMEHeaderKey(name)
		h[name] = nil
		for _, v := range values {
			sent.Add(name, say.fill(v))
		}
		h[name] = sent[name]
	}
	return sent
}

// date sends the service's own Date along where a moment is told or its clock is wrong.
func (say *telling) date(h, sent http.Header) {
	if _, set := h["Date"]; !set && (say.moved || say.skew != 0) {
		sent.Set("Date", say.now.Add(say.skew).UTC().Format(http.TimeFormat))
		h["Date"] = sent["Date"]
	}
}
