package report

import (
	"fmt"
	"strings"
	"time"
)

// A densityColumn stands for the requests of one lane in one stretch of time.
type densityColumn struct {
	X, Long percent
	Parts   []part
	Tip     string
}

// condense draws columns in place of marks, and says what it has done. Early requests may
// stay apart, with marks of their own.
func condense(bands []*band, groups []*group, ax axis, apart bool) (note string) {
	lanes := 0
	for _, g := range groups {
		lanes += g.lanes.count
	}
	length := ax.step(min(max(marksMost/lanes, 30), 400))
	type cell struct{ band, lane, bucket int }
	cells := map[cell]*tally{}
	most := 0
	for i, g := range groups {
		for k, a := range g.requests {
			if a.outcome >= early && apart {
				continue
			}
			at := cell{i, g.lanes.of[k], ax.bucket(a.At, length)}
			if cells[at] == nil {
				cells[at] = &tally{}
			}
			cells[at][a.outcome]++
			most = max(most, cells[at].above(), cells[at].below())
		}
	}
	buckets := ax.bucket(ax.first.Add(ax.long), length) + 1
	for i, b := range bands {
		for lane := range groups[i].lanes.count {
			for bucket := range buckets {
				if c := cells[cell{i, lane, bucket}]; c != nil {
					b.column(lane, time.Duration(bucket)*length, length, ax, c, most)
				}
			}
		}
		if apart {
			b.mark(groups[i], ax, func(o outcome) bool { return o >= early })
		}
	}
	return fmt.Sprintf("These are too many requests for a mark each. A column stands for those of its lane in %s, the longest for %s.",
		span(length), number(most))
}

// A tally is a number of requests by outcome.
type tally [outcomes]int

// above are the requests that came when they might, below those that came early.
func (t *tally) above() int { return t[answered] + t[failed] + t[refused] }
func (t *tally) below() int { return t[early] + t[late] }

// column adds the column of a lane's requests from a moment on. What came early hangs below
// the lane's line, everything else stands on it.
func (b *band) column(lane int, from, length time.Duration, ax axis, counts *tally, most int) {
	col := densityColumn{X: ax.place(from)}
	col.Long = (ax.place(from+length) - col.X) * 0.9
	var above, below []amount
	var words []string
	for o := outcomes - 1; o >= 0; o-- {
		switch {
		case counts[o] == 0:
			continue
		case o >= early:
			below = append(below, amount{o, counts[o]})
		default:
			above = append(above, amount{o, counts[o]})
		}
		words = append(words, number(counts[o])+" "+o.String())
	}
	line, high := float64(b.Lanes[lane].Y), float64(b.high-2)/2
	col.Parts = append(stack(line, high, most, above), hang(line, high, most, below)...)
	col.Tip = fmt.Sprintf("%s to %s: %s: %s", span(from), span(from+length), counted(counts.above()+counts.below(), "request", "requests"), strings.Join(words, ", "))
	b.Columns = append(b.Columns, col)
}
