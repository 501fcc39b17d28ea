package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// A picture shows the requests of a scenario on a time line. Along x everything is a part of
// the width, so that the picture is as wide as its page while text and marks keep their
// size; along y everything is in pixels.
type picture struct {
	ID          string
	Title, Desc string // in words, for those who do not see it
	Gutter      string // a CSS class: the room for the names of lanes
	Height      int
	Top, Bottom int // of what the grid goes through
	Ticks       []tick
	Events      []eventLine
	Bands       []*band
	Strip       strip
	Notes       []string // below it
}

// TickEnd is where the ticks of the axis end, TickBase the base line of their labels.
func (p *picture) TickEnd() int  { return p.Bottom + 5 }
func (p *picture) TickBase() int { return p.Bottom + 18 }

// marksMost bounds the marks of a picture; above it columns stand for many requests.
const marksMost = 3000

const (
	eventRow  = 15 // pixels of a row of event labels
	headRow   = 20 // of a band's name
	waitRow   = 15 // of the labels of its waits
	bandGap   = 12
	stripGap  = 28 // the strip's words are in it
	stripHigh = 44
	axisHigh  = 22
)

// newPicture draws a record with one arrival at least.
func newPicture(id, name string, rec *journal.Record) *picture {
	arrivals := make([]*journal.Arrival, len(rec.Arrivals))
	for i := range rec.Arrivals {
		arrivals[i] = &rec.Arrivals[i]
	}
	slices.SortStableFunc(arrivals, func(a, b *journal.Arrival) int { return a.At.Compare(b.At) })
	ax := newAxis(arrivals[0].At, lastOf(arrivals, rec.Events))

	p := &picture{ID: id, Ticks: ax.ticks()}
	var rows int
	p.Events, rows = eventLines(rec, ax)
	p.Top = rows * eventRow
	y := p.Top
	groups := groupsOf(rec, arrivals)
	high := arrange(groups)
	for _, g := range groups {
		b := newBand(g, ax, y, high)
		p.Bands = append(p.Bands, b)
		y = b.Bottom + bandGap
	}
	p.draw(groups, ax, len(arrivals))
	p.Strip = newStrip(arrivals, ax, y-bandGap+stripGap)
	p.Bottom = p.Strip.Base
	p.Height = p.Bottom + axisHigh
	p.Gutter = gutter(groups)
	p.Title, p.Desc = name+": "+counted(len(arrivals), "request", "requests")+" in "+span(ax.long), describe(rec, arrivals, groups, ax)
	p.Notes = append(p.Notes, notes(rec, groups, ax)...)
	return p
}

// lastOf is the end of the journal: the last moment that it tells of as having been.
func lastOf(arrivals []*journal.Arrival, events []journal.Event) time.Time {
	last := arrivals[0].At
	for _, a := range arrivals {
		if t := ended(a); t.After(last) {
			last = t
		}
	}
	for _, e := range events {
		if e.At.After(last) {
			last = e.At
		}
	}
	return last
}

// draw fills the bands: with a mark for each request, or with columns where that would be
// too many. Early requests keep marks of their own for as long as they are not too many.
func (p *picture) draw(groups []*group, ax axis, all int) {
	if all <= marksMost {
		for i, g := range groups {
			p.Bands[i].mark(g, ax, func(outcome) bool { return true })
		}
		return
	}
	red := 0
	for _, g := range groups {
		red += g.count(early) + g.count(late)
	}
	apart := red <= marksMost/2
	p.Notes = append(p.Notes, condense(p.Bands, groups, ax, apart))
	switch {
	case red == 0:
	case apart:
		p.Notes = append(p.Notes, "Every early request still has a mark of its own.")
	default:
		p.Notes = append(p.Notes, fmt.Sprintf("What hangs below its lane's line came early: %s requests in all.", number(red)))
	}
}

// gutter is the room that the longest name of a lane needs.
func gutter(groups []*group) string {
	longest := 0
	for _, g := range groups {
		for _, n := range g.lanes.names {
			longest = max(longest, len([]rune(n)))
		}
	}
	switch {
	case longest <= 3:
		return "short"
	case longest <= 6:
		return "middle"
	}
	return "long"
}

// describe says in words what the picture shows.
func describe(rec *journal.Record, arrivals []*journal.Arrival, groups []*group, ax axis) string {
	count := map[outcome]int{}
	for _, a := range arrivals {
		count[answerOf(a)]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s came within %s", counted(len(arrivals), "request", "requests"), span(ax.long))
	if len(groups) == 1 {
		fmt.Fprintf(&b, ", in lanes of %s", groups[0].lanes.words)
	}
	fmt.Fprintf(&b, ": %s answered, %s refused, %s ended with an error or cut off.",
		number(count[answered]), number(count[refused]), number(count[failed]))
	for _, g := range groups {
		if g.name != "" {
			fmt.Fprintf(&b, " %s, with %s: %s.", g.name, g.lanes.words, counted(len(g.requests), "request", "requests"))
		}
		b.WriteString(g.waitWords(ax))
		if n, m := g.count(early), g.count(late); n+m > 0 {
			fmt.Fprintf(&b, " %s early, inside a wait that had been told; %s late, not under way when it was told.",
				counted(n+m, "request was", "requests were"), number(m))
		}
	}
	if said := eventWords(rec, ax.first); len(said) > 0 {
		fmt.Fprintf(&b, " Events: %s.", strings.Join(said, "; "))
	}
	return b.String()
}

// notes are what a reader of the picture has to know beside it.
func notes(rec *journal.Record, groups []*group, ax axis) []string {
	var out []string
	for _, g := range groups {
		if g.lanes.full {
			out = append(out, fmt.Sprintf("%s: more than the lanes can keep apart, so requests overlap in them.", upper(strings.TrimPrefix(g.name+", "+g.lanes.words, ", "))))
		}
		if g.mixed {
			out = append(out, upper(g.name)+" are drawn as one; their waits are not shaded.")
		}
	}
	if rec.Cut > 0 {
		out = append(out, fmt.Sprintf("The journal was cut in its line %s; this is what was there until then.", number(rec.Cut)))
	}
	if said := eventWords(rec, ax.first); len(said) > 0 {
		out = append(out, "Events: "+strings.Join(said, "; ")+".")
	}
	return out
}

func upper(s string) string {
	if s == "" {
		return s
	}
	r := []rune(s)
	return strings.ToUpper(string(r[0])) + string(r[1:])
}
