package report

import (
	"strconv"
	"time"
)

// A percent is a place or a length along the time line, of its whole width.
type percent float64

func (p percent) String() string { return strconv.FormatFloat(float64(p), 'f', 2, 64) + "%" }

// An axis is the time that a picture shows.
type axis struct {
	first time.Time
	long  time.Duration // positive
}

// shortest is the least time that a picture shows: below it there is nothing to tell apart.
const shortest = 100 * time.Millisecond

// longest leaves room to add times without an overflow: no drill lasts 146 years.
const longest = time.Duration(1 << 62)

func newAxis(first, last time.Time) axis {
	return axis{first, min(max(last.Sub(first), shortest), longest)}
}

// at is the place of a moment; what is outside the picture is at its edge.
func (a axis) at(t time.Time) percent { return a.place(t.Sub(a.first)) }

func (a axis) place(d time.Duration) percent {
	return percent(100 * float64(min(max(d, 0), a.long)) / float64(a.long))
}

// beyond is whether a moment is after the end of the picture, so far that it is worth a word.
func (a axis) beyond(t time.Time) bool { return t.Sub(a.first) > a.long+a.long/200 }

// bucket is the number of the part of the time that a moment is in, of parts of a length.
func (a axis) bucket(t time.Time, length time.Duration) int {
	return int(min(max(t.Sub(a.first), 0), a.long-1) / length)
}

// A tick is a mark on the axis with its label.
type tick struct {
	X     percent
	Label string
	Odd   bool // left out where there is little room
}

const ticksMost = 9

func (a axis) ticks() []tick {
	step := a.step(ticksMost)
	var out []tick
	for d := time.Duration(0); d <= a.long; d += step {
		out = append(out, tick{a.place(d), tickLabel(d, step), len(out)%2 == 1})
		if d > a.long-step { // the next would be outside, or overflow
			break
		}
	}
	return out
}

func tickLabel(d, step time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case step < 100*time.Millisecond:
		return trimmed(float64(d)/1e6, 1) + thin + "ms"
	case step < time.Minute:
		return trimmed(d.Seconds(), 1) + thin + "s"
	case step < time.Hour:
		return trimmed(d.Minutes(), 0) + thin + "min"
	case step < 24*time.Hour:
		return trimmed(d.Hours(), 0) + thin + "h"
	}
	return trimmed(d.Hours()/24, 0) + thin + "d"
}

// steps are the lengths of time that people divide time into, up to a day.
var steps = []time.Duration{
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// step is the shortest such length of which at most so many cover the axis.
func (a axis) step(most int) time.Duration {
	enough := a.long / time.Duration(most)
	for _, s := range steps {
		if s >= enough && s*time.Duration(most) >= a.long {
			return s
		}
	}
	s := 24 * time.Hour
	for s < enough {
		s *= 2
	}
	return s
}
