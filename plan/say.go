package plan

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dogear/dogear/profile"
)

// A Lang is a language that a plan can be written in.
type Lang struct {
	code  string
	words map[string]string
	rows  map[string]string // what must be seen, by its English
}

// The languages.
var (
	English = Lang{"en", english, nil}
	Chinese = Lang{"zh-CN", chinese, chineseRows}
)

// A span is a piece of text that is set in one way.
type span struct {
	Text string
	Kind kind
	Link string // an http(s) address, where it leads to one
}

type kind uint8

const (
	plain   kind = iota
	code         // what is typed, or is a name to a machine
	strong       // what must not be missed
	foreign      // a profile's own words, in whatever language they are
)

// A text is spans in a row.
type text []span

func words(s string) text { return text{{Text: s}} }
func typed(s string) text { return text{{Text: shown(s), Kind: code}} }

// quoted is text from a profile or a ledger.
func quoted(s string) text { return text{{Text: shown(s), Kind: foreign}} }

func joined(sep string, parts ...text) text {
	var out text
	for i, p := range parts {
		if i > 0 {
			out = append(out, span{Text: sep})
		}
		out = append(out, p...)
	}
	return out
}

// String is the text without its settings.
func (t text) String() string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.Text)
	}
	return b.String()
}

// say is the text of that key, with what stands in braces replaced by the values that are given
// as pairs of name and value, and what stands in backquotes set as typed.
func (l Lang) say(key string, pairs ...any) text {
	form, ok := l.words[key]
	if !ok {
		panic("plan: there are no words for " + key)
	}
	values := map[string]text{}
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case text:
			values[pairs[i].(string)] = v
		case int64:
			values[pairs[i].(string)] = words(number(v))
		default:
			values[pairs[i].(string)] = words(fmt.Sprint(v))
		}
	}
	var out text
	for i, part := range strings.Split(form, "`") {
		if i%2 == 1 {
			out = append(out, typed(part)...)
			continue
		}
		for part != "" {
			before, rest, found := strings.Cut(part, "{")
			if before != "" {
				out = append(out, span{Text: before})
			}
			if !found {
				break
			}
			name, after, _ := strings.Cut(rest, "}")
			value, ok := values[name]
			if !ok {
				panic("plan: " + key + " wants " + name)
			}
			out, part = append(out, value...), after
		}
	}
	return out
}

// word is a text without settings.
func (l Lang) word(key string, pairs ...any) string { return l.say(key, pairs...).String() }

// count is a number of documents, requests, units or batches.
func (l Lang) count(of string, n *big.Rat) text {
	if n.Cmp(ratInt(1)) == 0 {
		return l.say("one." + of)
	}
	return l.say("many."+of, "n", decimal(n))
}

// counts is a whole number of them.
func (l Lang) counts(of string, n int64) text { return l.count(of, ratInt(n)) }

// number groups digits in threes: 12,345.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// decimal is a number with at most three decimals, rounded up: no need is shown as less than it
// is.
func decimal(r *big.Rat) string {
	thousandths := ceil(mul(r, ratInt(1000)))
	if thousandths == math.MaxInt64 {
		return number(ceil(r))
	}
	out := number(thousandths / 1000)
	if rest := thousandths % 1000; rest > 0 {
		out += strings.TrimRight(fmt.Sprintf(".%03d", rest), "0")
	}
	return out
}

// sizeText is a size with three digits, rounded down.
func sizeText(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	unit, div := 0, int64(1)
	for unit < len(units)-1 && n/div >= 1000 {
		div *= 1000
		unit++
	}
	if unit == 0 {
		return number(n) + " B"
	}
	whole := n / div
	decimals := max(0, 3-len(strconv.FormatInt(whole, 10)))
	scale := int64(math.Pow10(decimals))
	out := strconv.FormatInt(whole, 10)
	if rest := n % div / (div / scale); decimals > 0 && rest > 0 {
		out += strings.TrimRight(fmt.Sprintf(".%0*d", decimals, rest), "0")
	}
	return out + " " + units[unit]
}

// span is a length of time in up to three units, rounded up, or down.
func (l Lang) span(d time.Duration, up bool) string {
	switch {
	case d == math.MaxInt64:
		return l.word("span.more")
	case d <= 0:
		return l.word("span.none")
	case d < time.Second:
		return l.rounded(d, time.Millisecond, up, []time.Duration{time.Millisecond}, []string{"ms"})
	case d < 48*time.Hour:
		grain := time.Second
		if d < time.Minute && d%time.Second != 0 {
			return l.tenths(d, up)
		}
		return l.rounded(d, grain, up, []time.Duration{time.Hour, time.Minute, time.Second}, []string{"h", "min", "s"})
	}
	return l.rounded(d, time.Minute, up, []time.Duration{24 * time.Hour, time.Hour, time.Minute}, []string{"d", "h", "min"})
}

func (l Lang) rounded(d, grain time.Duration, up bool, units []time.Duration, names []string) string {
	if rest := d % grain; up && rest > 0 && d < math.MaxInt64-grain {
		d += grain - rest
	}
	var out []string
	for i, u := range units {
		if n := d / u; n > 0 {
			out = append(out, number(int64(n))+l.words["span."+names[i]])
			d %= u
		}
	}
	if out == nil {
		return l.words["span.less"]
	}
	return strings.Join(out, " ")
}

// tenths is a time under a minute.
func (l Lang) tenths(d time.Duration, up bool) string {
	const tenth = 100 * time.Millisecond
	n := int64(d / tenth)
	if up && d%tenth > 0 {
		n++
	}
	out := strconv.FormatInt(n/10, 10)
	if n%10 > 0 {
		out += "." + strconv.FormatInt(n%10, 10)
	}
	return out + l.words["span.s"]
}

// window is the time of a limit, as people call it.
func (l Lang) window(d time.Duration) string {
	n, name := int64(d/time.Millisecond), "ms"
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if d%u.unit == 0 && !(u.name == "d" && d == u.unit) { // a day is 24 hours
			n, name = int64(d/u.unit), u.name
			break
		}
	}
	return l.word(map[bool]string{true: "window.one", false: "window"}[n == 1], "n", n, "unit", strings.TrimSpace(l.words["span."+name]))
}

// limit is a limit as people say it.
func (l Lang) limit(b *Bound) text {
	var amount text
	key := [...]string{profile.Requests: "limit.requests", profile.Units: "limit.units", profile.Bytes: "limit.bytes", profile.Concurrent: "limit.concurrent"}[b.Unit]
	switch b.Unit {
	case profile.Bytes:
		amount = words(sizeText(floor(b.amount)))
	case profile.Units:
		amount = l.count("units", b.amount)
	default:
		amount = l.count("requests", b.amount)
	}
	out := l.say(key, "n", amount, "per", l.window(b.Per))
	switch {
	case b.smooth:
		out = append(out, l.say("limit.smooth")...)
	case b.burst != nil:
		out = append(out, l.say("limit.burst", "n", decimal(b.burst))...)
	}
	if b.Plan != "" {
		out = append(out, l.say("limit.plan", "plan", typed(b.Plan))...)
	}
	return out
}

// shown is text from outside as it may be shown: what is not visible, or turns the direction of
// what follows, is replaced, and what is longer than anybody reads is cut.
func shown(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if n++; n > 2000 {
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
