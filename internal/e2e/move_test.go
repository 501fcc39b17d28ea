package e2e

import (
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// storeURL is the address of a database as --store takes it.
func storeURL(dsn string) string {
	words := url.Values{}
	for _, w := range strings.Fields(dsn) {
		key, value, _ := strings.Cut(w, "=")
		words.Set(key, strings.Trim(value, "'"))
	}
	name := words.Get("dbname")
	words.Del("dbname")
	return "postgres:///" + name + "?" + words.Encode()
}

// move moves the ledger of one user, or of a store, to another.
func (u *user) move(from, to string) {
	u.t.Helper()
	file := "moved-" + time.Now().Format("150405.000000000") + ".jsonl"
	u.must(0, "ledger", "export", file, "--store", from)
	u.must(0, "ledger", "import", file, "--store", to)
}

// A job that a throttle and a signal interrupt on one machine moves to a shared ledger, goes
// on there, and moves back: nothing done is read again, the wait is kept to, attempts and
// throttles go on being counted, and a killed process leaves nothing behind.
func TestMove(t *testing.T) {
	t.Parallel()
	const docs = 60
	const wait = 15 * time.Second
	shared := storeURL(pgtest.Start(t).Database(t))
	s := serve(t, standin.Config{Rules: []standin.Rule{
		standin.On("/doc/5", standin.First(1, standin.Status(500))),
		standin.Once(20, standin.Throttle(429, standin.Seconds, wait)),
		standin.Once(45, standin.Throttle(429, standin.Seconds, time.Second)),
		standin.Delay(20 * time.Millisecond),
	}})
	u := newUser(t)
	u.list("l.txt", s, docs)

	p := u.start("read", "l.txt", "--scope", "host", "-o", "out", "--rate", "50/s", "--concurrency", "2", "--progress", "none")
	until(t, "a throttle in the ledger", func() bool {
		r := u.run("status", "l", "--json")
		return r.code == 0 && lines[status](t, r.stdout)[0].Requests.Throttled == 1
	})
	u.must(75, "ledger", "export", "early.jsonl").says(t, "is being run", "when it has ended")
	p.signal(syscall.SIGKILL) // what it left is closed by the export
	p.wait(patience)
	u.move(u.ledger(), shared)

	before := u.status("l")
	u.vars = []string{"DOGEAR_STORE=" + shared}
	got := u.status("l")
	if got.Documents != before.Documents || got.Requests.Sent != before.Requests.Sent || got.Requests.Throttled != 1 || got.Attempts != before.Attempts {
		t.Errorf("after the move %+v, before it %+v", got, before)
	}
	if at := got.Scopes[0].NotBefore; at.Before(before.Scopes[0].NotBefore.Add(-20 * time.Millisecond)) {
		t.Errorf("the wait ends at %v there, %v here", at, before.Scopes[0].NotBefore)
	}
	done := map[string]bool{}
	for _, d := range u.results("l") {
		done[d.ID] = true
	}
	if len(done) == 0 || len(done) == docs {
		t.Fatalf("%d documents were done before the move", len(done))
	}
	arrived := s.Journal.Len()

	// It goes on there until it is interrupted again, and moves back.
	p = u.start("resume", "l", "--progress", "none")
	until(t, "the second throttle", func() bool { return u.status("l").Requests.Throttled == 2 })
	p.signal(syscall.SIGTERM)
	p.wait(patience).want(t, 143)
	for _, a := range s.Journal.Arrivals(func(a journal.Arrival) bool { return a.N > arrived }) {
		if done[s.URL(a.Path)] {
			t.Errorf("%s was done before the move and asked for again", a.Path)
		}
	}
	u.must(73, "resume", "l", "--store", u.ledger()).says(t, "holds the results of l in PostgreSQL ledger")
	home := u.path("home/l.db")
	u.move(shared, home)
	u.vars = []string{"DOGEAR_STORE=" + home}
	u.must(0, "resume", "l", "--progress", "none")

	for _, a := range early(s.Journal, 700*time.Millisecond) {
		t.Errorf("arrival %d came %v before the wait was over", a.N, a.Told.Until.Sub(a.At))
	}
	end := u.status("l")
	if end.State != "completed" || end.Documents.Done != docs || end.LastRun.ID != 3 || end.Requests.Throttled != 2 ||
		end.Attempts.Total < docs+3 || end.Requests.Sent < s.Journal.Len() {
		t.Errorf("%+v; %d arrived", end, s.Journal.Len())
	}
	checkArrivals(t, s.Journal.Arrivals(nil), u.requests("l"), func(path string) string { return s.URL(path) })
	u.must(0, "verify", "l", "--deep")
}
