package hint

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var received = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)

const (
	in2min = "Sun, 29 Nov 2026 20:02:00 GMT"
	in5min = "Sun, 29 Nov 2026 20:05:00 GMT"
)

func header(field string, lines ...string) http.Header {
	return http.Header{http.CanonicalHeaderKey(field): lines}
}

// W2, W3: of several hints the later wins, and what is no hint takes nothing from one.
func TestRetryAfterLines(t *testing.T) {
	tests := []struct {
		lines []string
		want  Hint
	}{
		{nil, Hint{}},
		{[]string{"", " \t "}, Hint{}},
		{[]string{" 7\t"}, Hint{Kind: DeltaSeconds, Wait: 7 * time.Second}},
		{[]string{"60", "120", "30"}, Hint{Kind: DeltaSeconds, Wait: 120 * time.Second}},
		{[]string{"", "60"}, Hint{Kind: DeltaSeconds, Wait: 60 * time.Second}},
		{[]string{in5min, in2min}, Hint{Kind: HTTPDate, Wait: 5 * time.Minute}},
		{[]string{"60", in2min}, Hint{Kind: HTTPDate, Wait: 2 * time.Minute}},
		{[]string{"600", in2min}, Hint{Kind: DeltaSeconds, Wait: 10 * time.Minute}},
		{[]string{"60", "120, 90"}, Hint{Kind: DeltaSeconds, Wait: 120 * time.Second}},
		{[]string{"60", "soon"}, Hint{Kind: DeltaSeconds, Wait: 60 * time.Second}},
		{[]string{"soon", "60"}, Hint{Kind: DeltaSeconds, Wait: 60 * time.Second}},
		// A decimal is no hint, and never shortens or is shortened by one.
		{[]string{"1", "2.5"}, Hint{Kind: DeltaSeconds, Wait: 3 * time.Second}},
		{[]string{"2.5", "4"}, Hint{Kind: DeltaSeconds, Wait: 4 * time.Second}},
		{[]string{"2.5"}, Hint{Kind: Invalid, AtLeast: 3 * time.Second}},
		{[]string{"2.0"}, Hint{Kind: Invalid, AtLeast: 2 * time.Second}},
		{[]string{"0.000000000000000000001"}, Hint{Kind: Invalid, AtLeast: time.Second}},
		{[]string{"9223372036.5"}, Hint{Kind: Invalid, AtLeast: maxWait}},
		{[]string{"-2.5", "2.", ".5", "2.5.1", "1e3", "2.5s"}, Hint{Kind: Invalid}},
		// A list that holds anything but delays is no hint; the back-off is not shorter
		// than what can be read in it.
		{[]string{"120, soon"}, Hint{Kind: Invalid, AtLeast: 120 * time.Second}},
		{[]string{"2.5, 1"}, Hint{Kind: Invalid, AtLeast: 3 * time.Second}},
		{[]string{in2min + ", " + in5min}, Hint{Kind: Invalid, AtLeast: 5 * time.Minute}},
		{[]string{"Sun Nov 29 20:02:00 2026, 60"}, Hint{Kind: Invalid, AtLeast: 2 * time.Minute}},
		{[]string{"120,60", "1,000", ",", ", "}, Hint{Kind: Invalid}},
		// A blank line that was joined to another one.
		{[]string{"120,"}, Hint{Kind: Invalid, AtLeast: 120 * time.Second}},
		{[]string{", 120"}, Hint{Kind: Invalid, AtLeast: 120 * time.Second}},
	}
	for _, test := range tests {
		got := RetryAfter(header("Retry-After", test.lines...), received)
		if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(Hint{}, "Raw")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.lines, diff)
		}
	}
}

func TestRetryAfterDate(t *testing.T) {
	const date = "Sun, 29 Nov 2026 20:00:00 GMT"
	tests := []struct {
		name       string
		header     http.Header
		wait, skew time.Duration
		hasSkew    bool
	}{
		{"no Date", http.Header{"Retry-After": {in2min}}, 2 * time.Minute, 0, false},
		{"their clock is behind", http.Header{"Retry-After": {in2min}, "Date": {"Sun, 29 Nov 2026 19:59:00 GMT"}}, 3 * time.Minute, -time.Minute, true},
		{"from a cache", http.Header{"Retry-After": {in2min}, "Date": {date}, "Age": {"20"}}, 100 * time.Second, 20 * time.Second, true},
		{"doubtful Age", http.Header{"Retry-After": {in2min}, "Date": {date}, "Age": {"-20"}}, 2 * time.Minute, 0, true},
		{"two Ages", http.Header{"Retry-After": {in2min}, "Date": {date}, "Age": {"20", "30"}}, 2 * time.Minute, 0, true},
		{"Age alone", http.Header{"Retry-After": {in2min}, "Age": {"20"}}, 2 * time.Minute, 0, false},
		{"two Dates", http.Header{"Retry-After": {in2min}, "Date": {in2min, in2min}}, 2 * time.Minute, 0, false},
		{"weekday of another day", http.Header{"Retry-After": {"Mon, 29 Nov 2026 20:02:00 GMT"}}, 2 * time.Minute, 0, false},
		{"year 9999", http.Header{"Retry-After": {"Fri, 31 Dec 9999 23:59:59 GMT"}}, maxWait, 0, false},
		{"year 0", http.Header{"Retry-After": {"Sat, 01 Jan 0000 00:00:00 GMT"}}, 0, 0, false},
		{"29 February", http.Header{"Retry-After": {"Tue, 29 Feb 2028 20:00:00 GMT"}}, 457 * 24 * time.Hour, 0, false},
		{"day with a zero in asctime", http.Header{"Retry-After": {"Tue Dec 01 20:00:00 2026"}}, 48 * time.Hour, 0, false},
		{"50 years ahead", http.Header{"Retry-After": {"Sunday, 29-Nov-76 20:00:00 GMT"}}, 18263 * 24 * time.Hour, 0, false},
		{"a second more", http.Header{"Retry-After": {"Sunday, 29-Nov-76 20:00:01 GMT"}}, 0, 0, false},
	}
	for _, test := range tests {
		got := RetryAfter(test.header, received)
		if got.Kind != HTTPDate || got.Wait != test.wait || got.Skew != test.skew || got.HasSkew != test.hasSkew {
			t.Errorf("%s: %q: got %+v, want a wait of %v and a skew of %v, %v", test.name, test.header, got, test.wait, test.skew, test.hasSkew)
		}
	}
}

func TestTwoDigitYearPastTheCentury(t *testing.T) {
	near := time.Date(2099, 12, 31, 23, 59, 0, 0, time.UTC)
	got, ok := parseDate("Friday, 01-Jan-00 00:00:00 GMT", near)
	if want := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC); !ok || !got.Equal(want) {
		t.Errorf("in 2099 the year 00 is read as %v, want %v", got, want)
	}
	if got, ok := parseDate("Monday, 29-Feb-00 00:00:00 GMT", near); ok {
		t.Errorf("29 February of 2100 is read as %v, want no date", got)
	}
}

func TestNoDate(t *testing.T) {
	for _, v := range []string{
		"Sun, 29 Nov 2026 20:02:00", "Sun, 29 Nov 2026 20:02:00 GMT ", "Sun, 29 Nov 2026 20:02:00.5 GMT",
		"Sun,29 Nov 2026 20:02:00 GMT", "Sun, 29  Nov 2026 20:02:00 GMT", "Sun, 9 Nov 2026 20:02:00 GMT",
		"Sun, 00 Nov 2026 20:02:00 GMT", "Sun, 29 Feb 2026 20:02:00 GMT", "Sun, 29 Nov 26 20:02:00 GMT",
		"Sun, 29 Nov 2026 24:00:00 GMT", "Sun, 29 Nov 2026 20:60:00 GMT", "Sun, 29 Nov 2026 20:02:61 GMT",
		"Sun, 29 Nov 2026 2:02:00 GMT", "Sunday, 29 Nov 2026 20:02:00 GMT", "Sun, 29-Nov-26 20:02:00 GMT",
		"Sunday, 29-Nov-2026 20:02:00 GMT", "Sunday, 29-Nov-26 20:02:00 UTC", "SUN, 29 NOV 2026 20:02:00 GMT",
		"Sun Nov 29 20:02:00 2026 GMT", "Sun Nov  29 20:02:00 2026", "Tue Dec 1 20:02:00 2026", "Tue Dec  0 20:02:00 2026",
		"Sun, +9 Nov 2026 20:02:00 GMT", "29 Nov 2026 20:02:00 GMT", "",
	} {
		if got, ok := parseDate(v, received); ok {
			t.Errorf("parseDate(%q) = %v, want none", v, got)
		}
	}
}

// The zone of the machine and of received changes nothing, summer time neither.
func TestTimeZones(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	lines := []string{in5min, "Sunday, 29-Nov-26 20:05:00 GMT", "Sun Nov 29 20:05:00 2026"}
	turns := []time.Time{received, time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC), time.Date(2026, 11, 1, 5, 59, 0, 0, time.UTC)}
	for _, name := range []string{"UTC", "America/New_York", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Kiritimati", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skip("no time zones on this machine:", err)
		}
		time.Local = zone
		for _, line := range lines {
			got := RetryAfter(header("Retry-After", line), received.In(zone))
			if want := 5 * time.Minute; got.Wait != want {
				t.Errorf("%s: %q waits %v, want %v", name, line, got.Wait, want)
			}
		}
		for _, turn := range turns {
			line := turn.Add(2 * time.Hour).Format(http.TimeFormat)
			if got := RetryAfter(header("Retry-After", line), turn.In(zone)); got.Wait != 2*time.Hour {
				t.Errorf("%s: %q at %v waits %v, want 2h", name, line, turn, got.Wait)
			}
		}
	}
}

// W10: what a status says of the quota.
func TestFromResponseStatus(t *testing.T) {
	for status, want := range map[int]Kind{
		200: None, 204: None, 206: None, 202: DeltaSeconds, 301: DeltaSeconds, 304: DeltaSeconds,
		403: DeltaSeconds, 429: DeltaSeconds, 503: DeltaSeconds, 529: DeltaSeconds,
	} {
		h := http.Header{"Retry-After": {"30"}, "Date": {"Sun, 29 Nov 2026 20:00:10 GMT"}}
		got := FromResponse(status, h, received)
		if got.Kind != want || !got.HasSkew || got.Skew != 10*time.Second {
			t.Errorf("%d: got %+v, want %v and a skew of 10s", status, got, want)
		}
	}
	reset := header("RateLimit-Reset", "50")
	for status, want := range map[int]Kind{200: None, 202: None, 302: None, 403: DeltaSeconds, 429: DeltaSeconds} {
		if got := FromResponse(status, reset, received, RateLimitDraft03); got.Kind != want {
			t.Errorf("%d with RateLimit-Reset: %v, want %v", status, got.Kind, want)
		}
	}
}

func TestRetryAfterTakesPrecedence(t *testing.T) {
	tests := []struct {
		retryAfter string
		want       Hint
	}{
		{"5", Hint{Kind: DeltaSeconds, Wait: 5 * time.Second, Raw: "5"}},
		{"", Hint{Kind: DeltaSeconds, Wait: 50 * time.Second, Raw: "50"}},
		{"soon", Hint{Kind: DeltaSeconds, Wait: 50 * time.Second, Raw: "soon, 50"}},
		{"70.5", Hint{Kind: DeltaSeconds, Wait: 71 * time.Second, Raw: "70.5, 50"}},
	}
	for _, test := range tests {
		h := http.Header{"Retry-After": {test.retryAfter}, "Ratelimit-Reset": {"50"}}
		if diff := cmp.Diff(test.want, FromResponse(429, h, received, RateLimitDraft03)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.retryAfter, diff)
		}
	}
}

func TestRateLimitStructured(t *testing.T) {
	tests := []struct {
		lines []string
		kind  Kind
		wait  time.Duration
	}{
		{nil, None, 0},
		{[]string{" "}, None, 0},
		{[]string{`"a";r=5;t=30`}, None, 0},
		{[]string{`"a";r=0;t=2`, `"b";r=0;t=9;pk=:YQ==:`}, DeltaSeconds, 9 * time.Second},
		{[]string{`"a";r=0;t=0`}, DeltaSeconds, 0},
		{[]string{`"a";r=0`, `"b";r=0;t=9`}, DeltaSeconds, 9 * time.Second},
		{[]string{`"a";r=0;t=999999999999999`}, DeltaSeconds, maxWait},
		{[]string{`"a";t=30`}, Invalid, 0},
		{[]string{`"a";r=-1;t=30`}, Invalid, 0},
		{[]string{`"a";r=0;t="30"`}, Invalid, 0},
		{[]string{`"a";r;t=30`}, Invalid, 0},
		{[]string{`("a" "b");r=0;t=30`}, Invalid, 0},
		{[]string{`"a";r=0;t=2`, `b;r=0;t=30`}, Invalid, 0},
		{[]string{`"a";r=0;t=30,`}, Invalid, 0},
	}
	for _, test := range tests {
		got := RateLimitStructured(header("RateLimit", test.lines...))
		if got.Kind != test.kind || got.Wait != test.wait {
			t.Errorf("%q: got %+v, want %v of %v", test.lines, got, test.kind, test.wait)
		}
	}
}

func TestRaw(t *testing.T) {
	tests := []struct {
		lines []string
		want  string
	}{
		{[]string{" 120 "}, "120"},
		{[]string{"120", "", "soon"}, "120, soon"},
		{[]string{"a\r\nb\x00\x1b[31m\x7f"}, `a\r\nb\x00\x1b[31m\x7f`},
		{[]string{"12\u00a00\u202e\xff"}, `12\u00a00\u202e\xff`},
		{[]string{"\"1\" \\ '2' \u20ac"}, "\"1\" \\ '2' \u20ac"},
		{[]string{strings.Repeat("9", 300)}, strings.Repeat("9", 128) + "…"},
	}
	for _, test := range tests {
		if got := RetryAfter(header("Retry-After", test.lines...), received).Raw; got != test.want {
			t.Errorf("Raw of %q is %q, want %q", test.lines, got, test.want)
		}
	}
	for _, r := range []rune{0, '\n', 0x7f, 0x85, 0x202e, 'x'} {
		many := RetryAfter(header("Retry-After", strings.Repeat(string(r), 500), strings.Repeat(string(r), 500)), received).Raw
		if len(many) > maxRaw+16 {
			t.Errorf("Raw of many %q has %d bytes", r, len(many))
		}
	}
}

func ExampleFromResponse() {
	h := http.Header{}
	h.Set("Date", "Sun, 29 Nov 2026 23:00:00 GMT") // their clock is three hours ahead
	h.Set("Retry-After", "Sun, 29 Nov 2026 23:00:30 GMT")
	hint := FromResponse(http.StatusTooManyRequests, h, time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC))
	fmt.Println(hint.Kind, hint.Wait, hint.Skew)
	// Output: http-date 30s 3h0m0s
}
