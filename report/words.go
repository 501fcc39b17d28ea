package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// unknown stands for a figure that nobody knows.
const unknown = "–"

const thin = "\u202f" // a narrow space that does not break

// shown is text from outside as it may be shown: what is not visible, or turns the direction
// of what follows, is replaced, and what is longer than most runes is cut.
func shown(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > most {
			b.WriteRune('…')
			break
		}
		if !unicode.IsPrint(r) {
			r = unicode.ReplacementChar
		}
		b.WriteRune(r)
	}
	return b.String()
}

// prose is text from outside that may have been wrapped.
func prose(s string) string { return shown(strings.Join(strings.Fields(s), " "), 600) }

// number groups digits in threes: 12,345.
func number(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// counted is a number with its noun: 1 request, 2 requests.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// percentage is a share between 0 and 1 for people; only nothing is 0 %, only all is 100 %.
func percentage(share float64) string {
	p := share * 100
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return unknown
	case p > 0 && p < 1:
		return "<" + thin + "1" + thin + "%"
	case p > 99 && p < 100:
		return ">" + thin + "99" + thin + "%"
	}
	return strconv.FormatFloat(math.Round(p), 'f', 0, 64) + thin + "%"
}

// span is a length of time for people, with two figures or so.
func span(d time.Duration) string {
	if d < 0 {
		return "-" + span(-max(d, -math.MaxInt64))
	}
	switch {
	case d == 0:
		return "0" + thin + "s"
	case d.Round(time.Microsecond) < time.Millisecond:
		return trimmed(float64(d)/1e6, 2) + thin + "ms"
	case d.Round(time.Millisecond) < time.Second:
		return trimmed(float64(d)/1e6, 0) + thin + "ms"
	case d.Round(100*time.Millisecond) < time.Minute:
		return trimmed(d.Seconds(), 1) + thin + "s"
	case d.Round(time.Second) < time.Hour:
		return pair(d.Round(time.Second), time.Minute, "min", time.Second, "s")
	case d.Round(time.Minute) < 48*time.Hour:
		return pair(d.Round(time.Minute), time.Hour, "h", time.Minute, "min")
	}
	return pair(d.Round(time.Hour), 24*time.Hour, "d", time.Hour, "h")
}

func pair(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	s := number(int(d/big)) + thin + bigName
	if rest := d % big / small; rest > 0 {
		s += " " + strconv.Itoa(int(rest)) + thin + smallName
	}
	return s
}

// trimmed has at most so many decimals, and none that say nothing.
func trimmed(f float64, decimals int) string {
	s := strconv.FormatFloat(f, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// seconds is a moment or a length of time to the millisecond.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) + thin + "s" }

// listed names the first of many.
func listed(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + number(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}
