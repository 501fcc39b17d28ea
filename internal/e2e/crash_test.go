package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

// K1 to K4: the binary is killed at random moments over a read with throttles, and resumed
// each time. At the end every document is read exactly once as recorded, and the ledger has
// a row for every request that the service saw.
//
// DOGEAR_KILLS says how often it is killed (25), DOGEAR_SEED when (random).
func TestCrash(t *testing.T) {
	t.Parallel()
	kills := number(t, "DOGEAR_KILLS", 25)
	seed := uint64(number(t, "DOGEAR_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("%d kills, DOGEAR_SEED=%d", kills, seed)
	rnd := rand.New(rand.NewPCG(seed, 0))

	docs := 16 * kills
	size := func(n int) int {
		if n%10 == 0 {
			return 300_000
		}
		return standin.Size(n)
	}
	u := newUser(t)
	limit := &switchable{Limiter: standin.Window(10, 2*time.Second)} // its waits are at least a second
	s := serve(t, standin.Config{
		Limit: limit,
		Rules: []standin.Rule{standin.Every(7, standin.Slow(1000, 20*time.Millisecond))},
	})
	address := map[string]string{}
	number := map[string]int{}
	var all []string
	for n := 1; n <= docs; n++ {
		path := fmt.Sprintf("/doc/%d", n)
		id := s.URL(fmt.Sprintf("%s?size=%d", path, size(n)))
		address[path], number[id] = id, n
		all = append(all, id)
	}
	u.write("l.txt", all...)

	read := []string{"read", "l.txt", "--scope", "host", "-o", "out", "--rate", "40/s", "--burst", "10", "--attempts", "1000", "--concurrency", "8", "--progress", "none"}
	doneAt := map[string]int{} // how often a document's path had been asked for when it was known to be done
	killed, command := 0, read
	for killed < kills {
		p := u.start(command...)
		if killed%2 == 1 { // not long after a document was sent: while it is made durable, settled and placed
			delivered := s.Journal.Len() + 1 + rnd.IntN(10)
			for end := time.Now().Add(1500 * time.Millisecond); s.Journal.Len() < delivered && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Duration(rnd.IntN(60_000)) * time.Microsecond)
		} else {
			time.Sleep(time.Duration(50+rnd.IntN(1200)) * time.Millisecond)
		}
		select {
		case <-p.ended:
			r := p.wait(0)
			t.Fatalf("after %d of %d kills dogear %s ended by itself: exit code %d\n%s", killed, kills, strings.Join(command, " "), r.code, r.stderr)
		default:
		}
		p.signal(os.Kill)
		p.wait(patience)
		killed++
		if u.run("status", "l").code == 66 { // killed before there was a job
			continue
		}
		command = []string{"resume", "l", "--progress", "none"}
		arrived := s.Journal.ByPath()
		for _, d := range u.results("l") {
			path := fmt.Sprintf("/doc/%d", number[d.ID])
			if n, known := doneAt[path]; known && n != arrived[path] {
				t.Errorf("%s was done after %d requests, and was asked for %d times", d.ID, n, arrived[path])
			}
			doneAt[path] = arrived[path]
		}
	}
	t.Logf("%d of %d documents were done after %d kills, %d requests had arrived", len(doneAt), docs, killed, s.Journal.Len())
	limit.off.Store(true) // the rest need not take long
	u.must(0, "resume", "l", "--progress", "none", "--rate", "500/s", "--burst", "50")

	arrived := s.Journal.ByPath()
	for path, n := range doneAt {
		if arrived[path] != n {
			t.Errorf("%s was done after %d requests, and was asked for %d times", path, n, arrived[path])
		}
	}
	results := u.results("l")
	seen := map[string]bool{}
	for _, d := range results {
		if seen[d.ID] || seen["path "+d.Path] {
			t.Errorf("%s (%s) is recorded twice", d.ID, d.Path)
		}
		seen[d.ID], seen["path "+d.Path] = true, true
		n := number[d.ID]
		u.checkFile("out", d, standin.BodyOf(n, size(n), 0))
	}
	if len(results) != docs {
		t.Errorf("%d results, want %d", len(results), docs)
	}
	u.must(0, "verify", "l", "--deep")
	if files, err := os.ReadDir(u.path("out")); err != nil || countVisible(files) != docs {
		t.Errorf("%d results in the folder (%v), want %d", countVisible(files), err, docs)
	}

	rows := u.requests("l")
	arrivals := s.Journal.Arrivals(nil)
	lost := checkArrivals(t, arrivals, rows, func(path string) string { return address[path] })
	if got, want := u.status("l").Requests.Sent, sent(rows); got != want || got < len(arrivals) {
		t.Errorf("status says %d sent, the ledger has %d rows, %d arrived", got, want, len(arrivals))
	}
	// A throttle that was lost in a crash could not be known: after the crash one probe asks.
	unknown := map[int]bool{}
	for _, a := range lost {
		unknown[a.N] = true
	}
	excused := 0
	for _, a := range early(s.Journal, 700*time.Millisecond) {
		if unknown[a.Told.N] {
			excused++
			continue
		}
		t.Errorf("arrival %d (%s) came %v before the wait of arrival %d was over", a.N, a.Path, a.Told.Until.Sub(a.At), a.Told.N)
	}
	throttled := len(s.Journal.Arrivals(func(a journal.Arrival) bool { return a.Refused != "" }))
	if excused > 2*kills || throttled == 0 {
		t.Errorf("%d early arrivals after throttles that were lost, %d throttles", excused, throttled)
	}
	t.Logf("%d documents, %d arrivals, %d rows, %d cut, %d throttles of which the crash took %d answers", docs, len(arrivals), len(rows), len(lost), throttled, excused)
}

// switchable is a limiter that can be switched off.
type switchable struct {
	standin.Limiter
	off atomic.Bool
}

func (l *switchable) Take(key string, now time.Time) standin.Grant {
	if l.off.Load() {
		return standin.Grant{OK: true}
	}
	return l.Limiter.Take(key, now)
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	v := os.Getenv(variable)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil || n <= 0 {
		t.Fatalf("%s=%s: want a number above zero", variable, v)
	}
	return n
}

// countVisible counts the files of a folder that are results.
func countVisible(files []os.DirEntry) (n int) {
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), ".") && f.Name() != "dogear.jsonl" {
			n++
		}
	}
	return n
}
