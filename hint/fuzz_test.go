package hint

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzRetryAfter(f *testing.F) {
	for _, v := range []string{"120", "00120", "9223372037", "-1", "1.5", "120, 60", "1,000", "soon", in2min,
		"Sunday, 29-Nov-26 20:02:00 GMT", "Sun Nov 29 20:02:00 2026", "Thu, 31 Dec 2026 23:59:60 GMT", in2min + ", " + in5min} {
		f.Add(v, "7", "Sun, 29 Nov 2026 19:00:00 GMT", "20")
	}
	f.Fuzz(func(t *testing.T, v, second, date, age string) {
		h := http.Header{"Retry-After": {v}, "Date": {date}, "Age": {age}}
		got := RetryAfter(h, received)
		switch {
		case got.Wait < 0 || got.Wait > maxWait || got.AtLeast < 0 || got.AtLeast > maxWait:
			t.Errorf("%q: out of range: %+v", v, got)
		case got.Valid() && got.AtLeast != 0, !got.Valid() && got.Wait != 0:
			t.Errorf("%q: neither one nor the other: %+v", v, got)
		case (got.Kind == None) != (strings.Trim(v, blanks) == ""):
			t.Errorf("%q: kind %v", v, got.Kind)
		case !utf8.ValidString(got.Raw) || strings.ContainsAny(got.Raw, "\r\n\x00\x1b") || len(got.Raw) > maxRaw+16:
			t.Errorf("%q: raw %q", v, got.Raw)
		}
		// W3: a delay is never waited less, whatever the clocks say.
		if n, err := strconv.ParseUint(strings.Trim(v, blanks), 10, 32); err == nil {
			if want := time.Duration(n) * time.Second; got.Kind != DeltaSeconds || got.Wait != want {
				t.Errorf("%q: got %+v, want a wait of %v", v, got, want)
			}
		}
		// One more member, a line of its own or joined, never shortens what is waited.
		for _, more := range [][]string{{v, second}, {second, v}, {v + ", " + second}} {
			longer := RetryAfter(http.Header{"Retry-After": more, "Date": {date}, "Age": {age}}, received)
			if floor(longer) < floor(got) {
				t.Errorf("%q waits %v; with %q it waits %v", v, floor(got), second, floor(longer))
			}
		}
	})
}

// floor is the least that a caller waits, back-off aside.
func floor(h Hint) time.Duration { return max(h.Wait, h.AtLeast) }

// What both take for a date in the preferred form, they read the same way; and all that Go
// writes is read.
func FuzzDate(f *testing.F) {
	f.Add(in2min, int64(1795982520))
	f.Add("Sunday, 29-Nov-26 20:02:00 GMT", int64(0))
	f.Add("Sun Nov  9 20:02:00 2026", int64(-1))
	f.Fuzz(func(t *testing.T, v string, unix int64) {
		ours, ok := parseDate(v, received)
		theirs, err := http.ParseTime(v)
		if ok && err == nil && !strings.Contains(v, "-") && !ours.Equal(theirs) {
			t.Errorf("%q: %v, and to http.ParseTime %v", v, ours, theirs)
		}
		const years9999 = 253402300800
		want := time.Unix(unix%years9999, 0).UTC()
		if want.Year() < 0 {
			return
		}
		for _, layout := range []string{http.TimeFormat, time.ANSIC} {
			s := want.Format(layout)
			if got, ok := parseDate(s, received); !ok || !got.Equal(want) {
				t.Errorf("%q is read as %v, %v", s, got, ok)
			}
		}
	})
}
