package e2e

import (
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// Several processes read one job: each document once, all wait together, and the ledger has
// what arrived. One leaves on SIGTERM with what it has in flight finished.
func TestWorkers(t *testing.T) {
	t.Parallel()
	const docs = 200
	s := serve(t, standin.Config{Digests: true, Rules: []standin.Rule{
		standin.Once(60, standin.Throttle(429, standin.Seconds, 2*time.Second)),
		standin.Delay(50 * time.Millisecond),
	}})
	u := newUser(t)
	u.list("l.txt", s, docs)
	lead := u.start("read", "l.txt", "--scope", "host", "-o", "out", "--rate", "40/s", "--burst", "8", "--concurrency", "8", "--progress", "none")
	until(t, "the job is running", func() bool { return u.running("l") })
	var workers []*process
	for range 3 {
		workers = append(workers, u.start("worker", "l", "--progress", "none"))
	}
	until(t, "the workers have joined", func() bool { return strings.Count(u.must(0, "status", "l", "--json").stdout, `"pid":`) == 3 })
	if out := u.must(0, "status", "l").stdout; !strings.Contains(out, "worker") {
		t.Errorf("status does not show the workers:\n%s", out)
	}
	u.must(75, "ledger", "export", "moved.jsonl").says(t, "try: again when it has ended")
	if _, err := os.Stat(u.path("moved.jsonl")); err == nil {
		t.Error("an export that was refused has left a file")
	}
	workers[0].signal(syscall.SIGTERM)
	left := workers[0].wait(patience)
	left.want(t, 143)
	left.says(t, "this worker has left, the run goes on", "try: dogear worker l")
	lead.wait(2*patience).want(t, 0)
	for _, w := range workers[1:] {
		w.wait(patience).want(t, 0)
	}
	got := u.status("l")
	if got.State != "completed" || got.Documents.Done != docs || got.Requests.Sent != s.Journal.Len() || got.Attempts.Most > 1 {
		t.Errorf("%+v, %d arrivals", got, s.Journal.Len())
	}
	for _, a := range early(s.Journal, 700*time.Millisecond) {
		t.Errorf("arrival %d came %v before the wait was over", a.N, a.Told.Until.Sub(a.At))
	}
	for path, n := range s.Journal.ByPath() {
		if n > 2 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	u.must(0, "verify", "l", "--deep")
	u.must(75, "worker", "l").says(t, "nobody is running job l")
	u.must(66, "worker", "nothing")
}

// A worker may come before the job. When the process that began the run dies, it ends too, and
// does not say that all is done.
func TestWorkerOfTheDead(t *testing.T) {
	t.Parallel()
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.Delay(50 * time.Millisecond)}})
	u := newUser(t)
	u.list("l.txt", s, 2000)
	worker := u.start("worker", "l", "--wait", "60s", "--progress", "none")
	lead := u.start("read", "l.txt", "--scope", "host", "-o", "out", "--rate", "20/s", "--progress", "none")
	until(t, "the worker has joined", func() bool {
		return u.running("l") && strings.Contains(u.must(0, "status", "l", "--json").stdout, `"pid":`)
	})
	lead.signal(os.Kill)
	r := worker.wait(patience)
	r.want(t, 75)
	r.says(t, "l: interrupted:", "try: dogear resume l")
}

// K1 to K4 with workers: random ones are killed; at the end every document is done once, no
// done one was asked for again, and the ledger has a row for every arrival.
//
// DOGEAR_KILLS says how many are killed (12), DOGEAR_SEED which and when (random).
func TestWorkersKilled(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		workersKilled(t, newUser(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		workersKilled(t, newUser(t).on(pgtest.Start(t).URL("postgres")))
	})
}

func workersKilled(t *testing.T, u *user) {
	kills := number(t, "DOGEAR_KILLS", 12)
	seed := uint64(number(t, "DOGEAR_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("%d kills, DOGEAR_SEED=%d", kills, seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	docs := 30 * kills
	s := serve(t, standin.Config{Digests: true, Rules: []standin.Rule{
		standin.Every(50, standin.Throttle(429, standin.Seconds, time.Second)),
		standin.Delay(30 * time.Millisecond),
	}})
	u.list("l.txt", s, docs)
	lead := u.start("read", "l.txt", "--scope", "host", "-o", "out", "--rate", "60/s", "--burst", "8", "--concurrency", "16", "--attempts", "1000", "--progress", "none")
	until(t, "the job is running", func() bool { return u.running("l") })
	workers := make([]*process, 4)
	killed := 0
	for killed < kills {
		for i, w := range workers {
			if w == nil {
				workers[i] = u.start("worker", "l", "--progress", "none")
			}
		}
		time.Sleep(time.Duration(100+rnd.IntN(500)) * time.Millisecond)
		if closed(lead.ended) {
			break
		}
		i := rnd.IntN(len(workers))
		workers[i].signal(os.Kill)
		workers[i].wait(patience)
		workers[i] = nil
		killed++
	}
	lead.wait(4*patience).want(t, 0)
	t.Logf("%d workers were killed, %d arrivals", killed, s.Journal.Len())
	if killed < kills/2 {
		t.Errorf("only %d of %d kills before it was over: the test proves little", killed, kills)
	}
	for _, w := range workers {
		if w != nil {
			w.wait(patience)
		}
	}
	got := u.status("l")
	if got.Documents.Done != docs || got.Requests.Sent < s.Journal.Len() {
		t.Errorf("%+v, %d arrivals", got, s.Journal.Len())
	}
	seen := map[string]bool{}
	for _, d := range u.results("l") {
		if seen[d.ID] {
			t.Errorf("%s is recorded twice", d.ID)
		}
		seen[d.ID] = true
	}
	u.must(0, "verify", "l", "--deep")
	if files, err := os.ReadDir(u.path("out")); err != nil || countVisible(files) != docs {
		t.Errorf("%d results in the folder (%v), want %d", countVisible(files), err, docs)
	}
	lost := checkArrivals(t, s.Journal.Arrivals(nil), u.requests("l"), func(path string) string { return s.URL(path) })
	unknown := map[int]bool{}
	for _, a := range lost {
		unknown[a.N] = true
	}
	for _, a := range early(s.Journal, 700*time.Millisecond) {
		if !unknown[a.Told.N] { // else nobody lived to write the wait down
			t.Errorf("arrival %d came %v before the wait of arrival %d was over", a.N, a.Told.Until.Sub(a.At), a.Told.N)
		}
	}
	throttled := len(s.Journal.Arrivals(func(a journal.Arrival) bool { return a.Refused != "" }))
	t.Logf("%d documents, %d arrivals, %d cut, %d throttles", docs, s.Journal.Len(), len(lost), throttled)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// running reports whether a job is there and is being run.
func (u *user) running(job string) bool {
	r := u.run("status", job, "--json")
	return r.code == 0 && strings.Contains(r.stdout, `"state":"running"`)
}
