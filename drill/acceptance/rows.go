package acceptance

import (
	"fmt"
	"os"
	"time"

	"github.com/dogear/dogear/drill/scenario"
)

// agreed is a pace that the service allows: what a row shows then is not how a pace is
// learnt. With four at a time a run takes long enough for what is early to be seen.
const (
	agreed = "--rate=20/s"
	few    = "--concurrency=4"
)

// Rows is the table.
func Rows() []Row {
	return []Row{
		{"seconds", "a valid wait is not cut by any local cap", []step{
			read(0, "--backoff-max", "1s", agreed, few), counted, verified,
		}},
		{"http-date", "the three forms of an HTTP-date are kept", []step{
			read(0, "--backoff-max", "1s", agreed, few), counted, verified,
		}},
		{"skewed-clock", "a date is read against the service's own clock", []step{
			within(30*time.Second, read(0, agreed, few)), counted, verified,
		}},
		{"missing-hint", "without a hint one step of the agreed back-off, however many answers", []step{
			read(0, "--concurrency", "8", "--max-throttles", "4"), counted, verified,
		}},
		{"illegal-hints", "what is no hint backs off; nothing is lost", []step{
			read(0, "--concurrency", "1", "--backoff-base", "200ms", "--backoff-max", "2s"), counted, verified,
		}},
		{"many-workers", "after a 429 nothing new and no retry leaves; then one probe, then the pace", []step{
			read(0, "--concurrency", "16"), counted, verified,
		}},
		{"four-processes", "the same over four processes", []step{
			processes(4, "--concurrency", "16"), counted,
		}},
		{"two-quotas", "the other goes on", []step{
			read(0, agreed), counted, verified, otherWentOn,
		}},
		{"later-wins", "of several hints the later wins", []step{
			read(0, "--concurrency", "4"), counted, verified,
		}},
		{"forever", "a clear end at the deadline, a readable remainder, nothing early", []step{
			within(15*time.Second, read(75, "--deadline", "6s")), remains(map[string]int{"pending": 10}), counted,
		}},
		{"forever-without-hint", "a bounded back-off, and a clear end", []step{
			read(75, "--max-throttles", "3", "--backoff-base", "300ms"), stopped("throttles_exhausted"), remains(map[string]int{"pending": 10}), counted,
		}},
		{"wait-past-deadline", "nobody waits for what comes after the deadline", []step{
			within(10*time.Second, read(75, "--deadline", "20s")), stopped("wait_past_deadline"), counted,
		}},
		{"attempts", "a document's attempts are bounded; the others are read", []step{
			read(65, "--attempts", "2", "--backoff-base", "200ms"), stopped("attempts_exhausted"), remains(map[string]int{"pending": 2}), counted,
		}},
		{"cancel", "the wait is still there; what was saved is not read again", []step{
			stopRead(waiting, os.Interrupt, 130, agreed, few), stopped("cancelled"), resume(0), kept, counted, verified,
		}},
		{"kill", "waits and counts survive a kill at any moment", []step{
			stopRead(waiting, os.Kill, -1, agreed),
			stop(waiting, os.Kill, -1, "resume", job, "--progress", "none"),
			stop(arrived(22), os.Kill, -1, "resume", job, "--progress", "none"),
			stop(arrived(29), os.Kill, -1, "resume", job, "--progress", "none"),
			resume(0), kept, recorded, verified,
		}},
		{"kill-saving", "what was in flight is checked and read again; what was saved is not", []step{
			stopRead(underWay, os.Kill, -1, "--concurrency", "2"),
			stop(underWay, os.Kill, -1, "resume", job, "--progress", "none"),
			resume(0), kept, recorded, verified,
		}},
		{"second-round", "the second round keeps the wait of the first", []step{
			within(15*time.Second, read(75, "--deadline", "5s", agreed, few)), stopped("wait_past_deadline"), saved, resume(0), kept, counted, verified,
		}},
		{"batch", "item by item; the scope waits for the longest hint; done items are not sent again", []step{
			readBatched(0), counted, verified,
		}},
		{"go-client", "what arrives equals the ledger's requests, none early", []step{
			goClient,
		}},
		{"versions", "listed apart; no snapshot with two versions", []step{
			readListed(65), remains(map[string]int{"changed": 2, "denied": 1, "gone": 1}), counted, ends(0, "verify", job, "--deep"),
		}},
		{"ban", "touched not once after the answers in flight", []step{
			read(0, "--concurrency", "16"), counted, verified,
		}},
	}
}

// otherWentOn: all of the open quota was delivered before the closed one's wait was over.
func otherWentOn(t *trial) error {
	var until, last time.Time
	for _, a := range t.stand.Journal.Arrivals(nil) {
		if a.Quota == "closed" && a.Until.After(until) {
			until = a.Until
		}
		if a.Quota == "open" && a.Sent.After(last) {
			last = a.Sent
		}
	}
	t.check(last.Before(until), "the open quota is read while the other waits", fmt.Sprint(last.Before(until)),
		fmt.Sprintf("the open quota's last document was sent %v after the closed one's wait was over", last.Sub(until).Round(time.Millisecond)))
	return nil
}

// readListed reads a list that names the versions of the first nine documents.
func readListed(code int) step {
	return func(t *trial) error {
		docs := append([]scenario.Document(nil), t.stand.List()...)
		for i := 9; i < len(docs); i++ {
			docs[i].Version = ""
		}
		name, err := t.list(job+".csv", docs)
		if err != nil {
			return err
		}
		return ends(code, append([]string{"read", name}, defaults([]string{"--backoff-base", "300ms"})...)...)(t)
	}
}

// readBatched reads the list through the service's batch call.
func readBatched(code int) step {
	return func(t *trial) error {
		docs := append([]scenario.Document(nil), t.stand.List()...)
		for i := range docs {
			docs[i].URL = fmt.Sprintf("%s/v1.0/documents/%d/content", t.stand.Base(), i+1)
		}
		name, err := t.list(job+".txt", docs)
		if err != nil {
			return err
		}
		return ends(code, "read", name, "-o", "out", "--progress", "none", "--profile", "msgraph", "--base-url", t.stand.Base(),
			"--concurrency", "1", "--backoff-base", "200ms")(t)
	}
}

// goClient reads the list with a Go client over the gate, which prints how many requests its
// ledger has.
func goClient(t *trial) error {
	name, err := t.list(job+".txt", t.stand.List())
	if err != nil {
		return err
	}
	if err := ends(0, "drill", "get", name, "--workers", "8")(t); err != nil {
		return err
	}
	var sent int
	if _, err := fmt.Sscan(t.last.stdout, &sent); err != nil {
		return fmt.Errorf("dogear drill get printed %q, not a number of requests", t.last.stdout)
	}
	equal(t, "requests in the ledger less arrivals", sent-t.stand.Journal.Len(), 0)
	return nil
}
