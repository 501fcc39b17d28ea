package report

import "fmt"

// A band is what one limit counted, on the picture.
type band struct {
	Name, Words string
	Head        int // the base line of its name
	Top, Bottom int // of its lanes
	Lanes       []lane
	Waits       []shade
	Bars        []bar
	Marks       []mark
	Columns     []densityColumn
	high        int // of a lane
}

type lane struct {
	Y    int // its middle
	Base int // the base line of its name
	Name string
}

// A shade is a wait on the picture.
type shade struct {
	label
	Long percent
	Open bool // it goes on after the end of the picture
	Tip  string
}

// A bar is how long a request took, where that can be seen.
type bar struct {
	Outcome  outcome
	From, To percent
	Y        int
}

// A mark is a request, or the early ones of a column.
type mark struct {
	Outcome outcome
	X       percent
	Y       int
	Tip     string
}

// High is the height of the lanes in pixels, Said the base line of what is said of waits.
func (b *band) High() int { return b.Bottom - b.Top }
func (b *band) Said() int { return b.Top - 4 }

func newBand(g *group, ax axis, y, high int) *band {
	b := &band{Name: g.name, Words: g.lanes.words, Head: y + headRow - 6, Top: y + headRow, high: high}
	waits := union(g.waits, ax.long/2000)
	if len(waits) > 0 {
		b.Top += waitRow
	}
	for i := range g.lanes.count {
		y := b.Top + i*high + high/2
		l := lane{Y: y, Base: y + 4}
		if g.lanes.names != nil {
			l.Name = g.lanes.names[i]
		}
		b.Lanes = append(b.Lanes, l)
	}
	b.Bottom = b.Top + g.lanes.count*high
	labels := make([]label, 0, len(waits))
	for _, w := range waits {
		labels = append(labels, label{From: ax.at(w.from), To: ax.at(w.to), Text: waitLabel(w, ax)})
	}
	place(labels, 1)
	for i, w := range waits {
		b.Waits = append(b.Waits, shade{
			label: labels[i], Long: labels[i].To - labels[i].From, Open: ax.beyond(w.to),
			Tip: fmt.Sprintf("%s, from %s until %s", counted(w.n, "wait", "waits"), seconds(w.from.Sub(ax.first)), seconds(w.to.Sub(ax.first))),
		})
	}
	return b
}

func waitLabel(w wait, ax axis) string {
	s := "wait " + span(w.to.Sub(w.from))
	if w.n > 1 {
		s = number(w.n) + " waits, " + span(w.to.Sub(w.from))
	}
	if ax.beyond(w.to) {
		s += ", until " + span(w.to.Sub(ax.first)) + " →"
	}
	return s
}

// barLeast is the least part of the width that a bar is drawn for: less is under its mark.
const barLeast = 0.4

// mark adds the marks and bars of those requests that are wanted.
func (b *band) mark(g *group, ax axis, want func(outcome) bool) {
	for o := range outcomes {
		if !want(o) {
			continue
		}
		for i, a := range g.requests {
			if a.outcome != o {
				continue
			}
			x, end, y := ax.at(a.At), ax.at(ended(a.Arrival)), b.Lanes[g.lanes.of[i]].Y
			if end-x >= barLeast {
				b.Bars = append(b.Bars, bar{o, x, end, y})
			}
			b.Marks = append(b.Marks, mark{o, x, y, tip(a.Arrival, ax.first)})
		}
	}
}
