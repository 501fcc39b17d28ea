package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// An eventLine is what happened to clients, as a line through the picture.
type eventLine struct {
	label
	Base int // the base line of its label
	Bad  bool
	Tip  string
}

// Over is where the line begins, Aside how far from it its label is, in pixels.
func (l eventLine) Over() int { return l.Base - 10 }
func (l eventLine) Aside() int {
	if l.Anchor == "end" {
		return -4
	}
	return 4
}

const (
	eventLinesMost = 60
	eventWordsMost = 12
	eventRows      = 4
)

// happened is one thing that happened to one client or to some at the same moment.
type happened struct {
	at      time.Time
	what    string
	clients []int
	bad     bool
}

// happenings are a record's events in words. The first start of a client is none; what
// happened to clients within near of each other is one.
func happenings(rec *journal.Record, near time.Duration) []happened {
	events := slices.Clone(rec.Events)
	slices.SortStableFunc(events, func(a, b journal.Event) int { return a.At.Compare(b.At) })
	started := map[int]bool{}
	var out []happened
	for _, e := range events {
		if e.Event == "started" && !started[e.Client] {
			started[e.Client] = true
			continue
		}
		h := happened{at: e.At, what: eventWhat(e), clients: []int{e.Client}, bad: e.Event == "killed" || e.Event == "timeout"}
		i := len(out) - 1
		for i >= 0 && out[i].what != h.what && e.At.Sub(out[i].at) <= near {
			i--
		}
		switch {
		case i < 0 || e.At.Sub(out[i].at) > near:
			out = append(out, h)
		case !slices.Contains(out[i].clients, e.Client):
			out[i].clients = append(out[i].clients, e.Client)
		default:
			out = append(out, h)
		}
	}
	return out
}

func eventWhat(e journal.Event) string {
	switch e.Event {
	case "started":
		return "started again"
	case "killed":
		return "killed"
	case "timeout":
		return "timed out"
	case "ended":
		if e.Code != 0 {
			return fmt.Sprintf("ended, exit %d", e.Code)
		}
		return "ended"
	}
	return shown(e.Event, 20)
}

// words name the clients where there are several.
func (h happened) words(several bool) string {
	switch {
	case len(h.clients) > 1:
		return counted(len(h.clients), "client", "clients") + " " + h.what
	case several:
		return fmt.Sprintf("client %d %s", h.clients[0], h.what)
	}
	return h.what
}

func severalClients(rec *journal.Record) bool {
	return slices.ContainsFunc(rec.Events, func(e journal.Event) bool { return e.Client != rec.Events[0].Client })
}

// eventWords are the events for a text, with their moments after the first request.
func eventWords(rec *journal.Record, first time.Time) []string {
	all := happenings(rec, 50*time.Millisecond)
	several := severalClients(rec)
	var out []string
	for i, h := range all {
		if i == eventWordsMost {
			return append(out, number(len(all)-i)+" more")
		}
		when := " at " + span(h.at.Sub(first))
		if h.at.Before(first) {
			when = " before the first request"
		}
		out = append(out, h.words(several)+when)
	}
	return out
}

// eventLines are the events on the picture, and how many rows their labels take.
func eventLines(rec *journal.Record, ax axis) (lines []eventLine, rows int) {
	all := happenings(rec, ax.long/100)
	all = all[:min(len(all), eventLinesMost)]
	several := severalClients(rec)
	labels := make([]label, len(all))
	for i, h := range all {
		x := ax.at(h.at)
		labels[i] = label{From: x, To: x, Text: h.words(several)}
	}
	rows = place(labels, eventRows)
	for i, h := range all {
		lines = append(lines, eventLine{
			label: labels[i], Base: (labels[i].Row+1)*eventRow - 4, Bad: h.bad,
			Tip: h.words(several) + " at " + seconds(h.at.Sub(ax.first)),
		})
	}
	return lines, rows
}
