package hint

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	blanks  = " \t" // OWS of RFC 9110, section 5.6.3
	maxWait = math.MaxInt64 / time.Second * time.Second
	maxRaw  = 128
)

// readLines reads the lines of one field that holds a delay or, with date, an HTTP-date.
func readLines(lines []string, date func(string) (time.Duration, bool)) Hint {
	var h Hint
	for _, line := range lines {
		if line = strings.Trim(line, blanks); line != "" {
			h = later(h, readLine(line, date))
		}
	}
	return h
}

func readLine(line string, date func(string) (time.Duration, bool)) Hint {
	h := Hint{Raw: printable(line)}
	if wait, ok := date(line); ok {
		h.Kind, h.Wait = HTTPDate, wait
		return h
	}
	h.Kind = DeltaSeconds
	var longest time.Duration
	members := strings.Split(line, ", ")
	for i, m := range members {
		wait, ok := parseDelay(strings.Trim(m, blanks))
		if !ok {
			h.Kind = Invalid
			// Two forms of a date hold a comma and a space themselves.
			wait = max(salvage(m, date), salvage(strings.Join(members[i:min(i+2, len(members))], ", "), date))
		}
		longest = max(longest, wait)
	}
	if h.Kind == Invalid {
		h.AtLeast = longest
	} else {
		h.Wait = longest
	}
	return h
}

// salvage is the wait that can be read out of what is no hint; zero if none can. A comma
// that is left over stood before or after a blank line.
func salvage(v string, date func(string) (time.Duration, bool)) time.Duration {
	v = strings.Trim(v, blanks+",")
	if wait, ok := date(v); ok {
		return wait
	}
	if wait, ok := parseDelay(v); ok {
		return wait
	}
	wait, _ := parseDecimal(v)
	return wait
}

// parseDelay reads delay-seconds, which is 1*DIGIT: no sign, no fraction, no unit. A number
// that no Duration holds is the longest wait there is.
func parseDelay(v string) (time.Duration, bool) {
	var n int64
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' {
			return 0, false
		}
		if n <= int64(maxWait/time.Second) {
			n = 10*n + int64(v[i]-'0')
		}
	}
	return time.Duration(min(n, int64(maxWait/time.Second))) * time.Second, v != ""
}

// parseDecimal reads a plain decimal such as 2.5 as whole seconds, rounded up.
func parseDecimal(v string) (time.Duration, bool) {
	whole, frac, _ := strings.Cut(v, ".")
	wait, ok1 := parseDelay(whole)
	_, ok2 := parseDelay(frac)
	if !ok1 || !ok2 {
		return 0, false
	}
	if strings.Trim(frac, "0") != "" {
		wait = min(wait, maxWait-time.Second) + time.Second
	}
	return wait, true
}

// until is how long it is from now to t; zero if t has passed.
func until(t, now time.Time) time.Duration { return min(max(t.Sub(now), 0), maxWait) }

// printable is a field as people may see it.
func printable(v string) string {
	var b strings.Builder
	for i, r := range v {
		switch {
		case b.Len() >= maxRaw:
			b.WriteString("…")
			return b.String()
		case r == utf8.RuneError && !strings.HasPrefix(v[i:], "\uFFFD"):
			b.WriteString(`\x` + strconv.FormatUint(uint64(v[i]), 16))
		case !unicode.IsPrint(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// show joins two printable lines, and cuts what is too long.
func show(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return printable(a + ", " + b)
}
