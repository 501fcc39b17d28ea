package report

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/journal"
)

// gallery is what a page can have to show.
func gallery(t *testing.T) []drill.Result {
	two := record("two-quotas",
		crowd{quota: "tenant-a", workers: 6, docs: 90, burst: 12, rate: 12, wait: 3 * time.Second, obeys: true, rest: 30 * time.Millisecond, long: 180 * time.Millisecond, nameOf: func(w int) string { return numbered(w) }},
		crowd{quota: "tenant-b", workers: 4, docs: 110, first: 90, burst: 1000, rate: 1000, wait: time.Second, rest: 120 * time.Millisecond, long: 260 * time.Millisecond, nameOf: func(w int) string { return numbered(w + 6) },
			status: func(n int) int {
				if n%37 == 0 {
					return 502
				}
				return 200
			}})
	kill := record("kill", crowd{quota: "main", workers: 8, docs: 180, burst: 15, rate: 20, wait: 2 * time.Second, obeys: true, rest: 45 * time.Millisecond, long: 90 * time.Millisecond, nameOf: numbered, stops: []time.Duration{1500 * time.Millisecond, 6 * time.Second}})
	kill.Events = append(kill.Events, journal.Event{Event: "ended", At: kill.Arrivals[len(kill.Arrivals)-1].Ended.Add(400 * time.Millisecond), Client: 1})
	past := record("wait-past-deadline", crowd{quota: "main", workers: 4, docs: 40, burst: 10, rate: 0.001, wait: 90 * time.Second, obeys: true, rest: 40 * time.Millisecond, long: 200 * time.Millisecond, nameOf: numbered})
	past.Arrivals = slices.DeleteFunc(past.Arrivals, func(a journal.Arrival) bool { return a.At.After(moment(5)) })
	past.Events = append(past.Events, journal.Event{Event: "ended", At: moment(5.2), Client: 1, Code: 75})
	return []drill.Result{
		judged(t, storm(60), "Sixteen workers share one quota; a refusal says how long to wait."),
		judged(t, queue(140), "Sixteen workers share one quota; a refusal says how long to wait."),
		judged(t, two, "Two tenants, one limit each: the one that waits does not hold up the other."),
		judged(t, kill, "The client is killed twice and started again."),
		judged(t, past, "The wait is longer than the client's deadline."),
		judged(t, storm(2000), "The same, with 2,000 documents."),
		judged(t, &journal.Record{Head: journal.Head{Drill: 1, Scenario: "nothing-sent", StartedAt: epoch, Documents: 3}, Events: []journal.Event{{Event: "started", At: epoch, Client: 1}, {Event: "ended", At: moment(0.4), Client: 1, Code: 127}}}, ""),
	}
}

// everything is the page of the gallery and the corners.
func everything(t *testing.T) (string, node) {
	t.Helper()
	return page(t, append(gallery(t), corners(t)...)...)
}

// TestLook writes a page to look at where DOGEAR_LOOK names a file.
func TestLook(t *testing.T) {
	name := os.Getenv("DOGEAR_LOOK")
	if name == "" {
		t.Skip("DOGEAR_LOOK names no file")
	}
	text, _ := everything(t)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// corners are records that are short, long or odd.
func corners(t *testing.T) []drill.Result {
	at := func(n int, s float64) journal.Arrival {
		return journal.Arrival{N: n, At: moment(s), Ended: moment(s + 0.01), Sent: moment(s + 0.01), Method: "GET", Path: "/doc/1", Document: 1, Status: 200, Whole: true, End: journal.Sent}
	}
	head := func(name string) journal.Head {
		return journal.Head{Drill: 1, Scenario: name, StartedAt: epoch, Documents: 1}
	}
	one := &journal.Record{Head: head("one"), Arrivals: []journal.Arrival{at(1, 0)}}
	same := &journal.Record{Head: head("same-instant")}
	for i := range 30 {
		a := at(i+1, 0)
		a.Ended, a.Sent = a.At, a.At
		same.Arrivals = append(same.Arrivals, a)
	}
	hours := record("hours", crowd{quota: "main", workers: 3, docs: 120, burst: 40, rate: 0.01, wait: 50 * time.Minute, obeys: true, rest: 20 * time.Second, long: 9 * time.Second, nameOf: numbered})
	streams := record("http2", crowd{quota: "main", workers: 60, docs: 900, burst: 1000, rate: 60, wait: 2 * time.Second, rest: 300 * time.Millisecond, long: 500 * time.Millisecond, nameOf: func(int) string { return "" }})
	for i := range streams.Arrivals {
		streams.Arrivals[i].Conn, streams.Arrivals[i].Proto = 1, "HTTP/2.0"
	}
	clients := record("four-processes", crowd{quota: "main", workers: 32, docs: 400, burst: 15, rate: 30, wait: 2 * time.Second, obeys: true, rest: 45 * time.Millisecond, long: 90 * time.Millisecond,
		nameOf: func(w int) string { return fmt.Sprintf("c%d-w%d", w/8+1, w%8+1) }})
	for c := range 4 {
		clients.Events = append(clients.Events, journal.Event{Event: "started", At: epoch, Client: c + 1}, journal.Event{Event: "killed", At: moment(5 + float64(c)/100), Client: c + 1},
			journal.Event{Event: "started", At: moment(7 + float64(c)*0.4), Client: c + 1}, journal.Event{Event: "timeout", At: moment(10 + float64(c)*2), Client: c + 1}, journal.Event{Event: "ended", At: moment(11 + float64(c)*2), Client: c + 1, Code: 143})
	}
	quotas := record("many-quotas")
	for q := range 20 {
		c := crowd{quota: fmt.Sprintf("tenant %d", q+1), workers: 3, docs: 20, first: q * 20, burst: 10, rate: 5, wait: time.Second, obeys: true, rest: 100 * time.Millisecond, long: 90 * time.Millisecond, nameOf: numbered}
		quotas.Arrivals = append(quotas.Arrivals, c.arrivals(uint64(q))...)
		quotas.Head.Quotas = append(quotas.Head.Quotas, journal.Quota{Name: c.quota})
	}
	failed := judged(t, one, "")
	failed.Said = "curl: (22) The requested URL returned error: 429\nWarning: Problem: HTTP error. Will retry in 1 seconds.\n"
	return []drill.Result{failed, judged(t, same, ""), judged(t, hours, ""), judged(t, streams, ""), judged(t, clients, ""), judged(t, quotas, "")}
}
