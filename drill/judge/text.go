package judge

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dogear/dogear/drill/journal"
)

// show keeps a line that shows a figure, if it begins with an earlier arrival than the one
// that is kept.
func (f *findings) show(figure string, n int, format string, args ...any) {
	if was, ok := f.shown[figure]; !ok || n < was.n {
		f.shown[figure] = witness{n, fmt.Sprintf(format, args...)}
	}
}

// named says which arrival is meant, in words that are safe to print.
type named struct{ a *journal.Arrival }

func (n named) String() string {
	return fmt.Sprintf("arrival %d (%s %s)", n.a.N, plain(n.a.Method), plain(n.a.Path))
}

func listed(names []string) string {
	safe := make([]string, len(names))
	for i, n := range names {
		safe[i] = plain(n)
	}
	return strings.Join(safe, " and ")
}

// plain makes a client's text short, and safe for a terminal.
func plain(s string) string {
	const most = 80
	s = strings.ToValidUTF8(s, "�")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// short writes a time for people.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// decimals is x to the sixth decimal: times are kept to the microsecond.
func decimals(x float64) float64 { return math.Round(x*1e6) / 1e6 }
