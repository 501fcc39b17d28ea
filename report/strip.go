package report

import (
	"fmt"
	"math"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// A strip counts the requests of each moment, below the lanes.
type strip struct {
	Words     string
	Head      int // the base line of the words
	Top, Base int
	Columns   []stripColumn
}

type stripColumn struct {
	X, Long percent
	Parts   []part
	Tip     string
}

// A part of a column is the requests of one outcome.
type part struct {
	Outcome outcome
	Y, High float64 // pixels
}

const stripColumnsMost = 120

func newStrip(arrivals []*journal.Arrival, ax axis, top int) strip {
	length := ax.step(stripColumnsMost)
	type bucket struct{ all, refused int }
	buckets := make([]bucket, ax.bucket(ax.first.Add(ax.long), length)+1)
	most := 0
	for _, a := range arrivals {
		b := &buckets[ax.bucket(a.At, length)]
		b.all++
		if a.Refused != "" {
			b.refused++
		}
		most = max(most, b.all)
	}
	s := strip{
		Words: fmt.Sprintf("requests in each %s, %s at most", span(length), number(most)),
		Head:  top - 8, Top: top, Base: top + stripHigh,
	}
	for i, b := range buckets {
		if b.all == 0 {
			continue
		}
		from := time.Duration(i) * length
		c := stripColumn{X: ax.place(from), Tip: fmt.Sprintf("%s to %s: %s, %s refused",
			span(from), span(from+length), counted(b.all, "request", "requests"), number(b.refused))}
		c.Long = percent(math.Max(float64(ax.place(from+length)-c.X)*0.9, 0.1))
		c.Parts = stack(float64(s.Base), stripHigh, most, []amount{{refused, b.refused}, {answered, b.all - b.refused}})
		s.Columns = append(s.Columns, c)
	}
	return s
}

// An amount is how many requests had an outcome.
type amount struct {
	outcome outcome
	n       int
}

// stack puts amounts on top of each other, from the base upwards; most of them are high. What
// is there can be seen: it has one pixel at least.
func stack(base, high float64, most int, amounts []amount) []part {
	var out []part
	for _, a := range amounts {
		p := part{a.outcome, 0, tall(a.n, most, high)}
		base -= p.High
		p.Y = tenth(base)
		out = append(out, p)
	}
	return out
}

// hang is stack from the base downwards.
func hang(base, high float64, most int, amounts []amount) []part {
	var out []part
	for _, a := range amounts {
		p := part{a.outcome, tenth(base), tall(a.n, most, high)}
		base += p.High
		out = append(out, p)
	}
	return out
}

func tall(n, most int, high float64) float64 {
	if n == 0 {
		return 0
	}
	return math.Max(tenth(high*float64(n)/float64(most)), 1)
}

// tenth rounds pixels, so that the page has no digits that nobody sees.
func tenth(f float64) float64 { return math.Round(f*10) / 10 }
