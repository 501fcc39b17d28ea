package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// A team is one job on a shared ledger, read by several processes.
type team struct {
	*user
	t       *testing.T
	service *standin.Service
	cluster *pgtest.Cluster
	lead    *process
	workers []*process
	docs    int
}

// newTeam starts the reading of a job by as many processes, and returns in the middle of it.
// Flags are for all of them.
func newTeam(t *testing.T, docs, workers int, url func(*pgtest.Cluster) string, deadline string, flags ...string) *team {
	t.Helper()
	cluster := pgtest.Start(t)
	m := &team{t: t, docs: docs, cluster: cluster, user: newUser(t).on(url(cluster))}
	m.service = serve(t, standin.Config{Rules: []standin.Rule{
		standin.Once(30, standin.Throttle(429, standin.Seconds, time.Second)),
		standin.Delay(100 * time.Millisecond),
	}})
	m.list("l.txt", m.service, docs)
	flags = append(flags, "--progress", "plain")
	m.lead = m.start(append([]string{"read", "l.txt", "--scope", "host", "-o", "out", "--rate", "20/s", "--burst", "4", "--concurrency", "8", "--deadline", deadline}, flags...)...)
	until(t, "the job is running", func() bool { return m.running("l") })
	for range workers - 1 {
		m.workers = append(m.workers, m.start(append([]string{"worker", "l"}, flags...)...))
	}
	until(t, "the workers have joined", func() bool {
		return strings.Count(m.must(0, "status", "l", "--json").stdout, `"pid":`) == workers-1
	})
	until(t, "the middle of the run", func() bool { return m.service.Journal.Len() >= 50 })
	return m
}

// addressOf is where a team's ledger is, if nothing else is wanted.
func addressOf(c *pgtest.Cluster) string { return c.URL("postgres") }

// all are the team's processes.
func (m *team) all() []*process { return append([]*process{m.lead}, m.workers...) }

// quiet waits until nothing may arrive any more, as no permit is good for longer than two
// seconds, and then looks for a while whether something does.
func (m *team) quiet(length time.Duration) {
	m.t.Helper()
	cut := time.Now()
	time.Sleep(2*time.Second + length)
	late := m.service.Journal.Arrivals(func(a journal.Arrival) bool { return a.At.After(cut.Add(2 * time.Second)) })
	for _, a := range late {
		m.t.Errorf("arrival %d left %v after the ledger was gone", a.N, a.At.Sub(cut))
	}
}

// complete checks that every document was read once and that the ledger has every arrival.
func (m *team) complete() {
	m.t.Helper()
	got := m.status("l")
	if got.State != "completed" || got.Documents.Done != m.docs {
		m.t.Errorf("%+v", got)
	}
	m.must(0, "verify", "l", "--deep")
	lost := checkArrivals(m.t, m.service.Journal.Arrivals(nil), m.requests("l"), func(path string) string { return m.service.URL(path) })
	for _, a := range early(m.service.Journal, 700*time.Millisecond) {
		m.t.Errorf("arrival %d came %v before the wait of arrival %d was over", a.N, a.Told.Until.Sub(a.At), a.Told.N)
	}
	read := map[string]time.Time{}
	for _, d := range m.results("l") {
		if !read[d.ID].IsZero() {
			m.t.Errorf("%s is recorded twice", d.ID)
		}
		read[d.ID] = d.ReadAt
	}
	if len(read) != m.docs {
		m.t.Errorf("%d results, want %d", len(read), m.docs)
	}
	for _, a := range m.service.Journal.Arrivals(nil) {
		if at := read[m.service.URL(a.Path)]; a.At.After(at) {
			m.t.Errorf("%s was asked for %v after it had been read", a.Path, a.At.Sub(at))
		}
	}
	refused := len(m.service.Journal.Arrivals(func(a journal.Arrival) bool { return a.Refused != "" }))
	m.t.Logf("%d arrivals for %d documents: %d refused, %d whose end nobody wrote down", m.service.Journal.Len(), m.docs, refused, len(lost))
}

// A ledger that goes away and comes back: nothing is sent without it, what was in flight is
// kept, and the run goes on in every process.
func TestLedgerAway(t *testing.T) {
	t.Parallel()
	m := newTeam(t, 240, 3, addressOf, "5m")
	m.cluster.Crash()
	m.quiet(3 * time.Second)
	if err := m.cluster.Launch(); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.all() {
		r := p.wait(patience)
		r.want(t, 0)
		r.says(t, "the ledger has not answered for", "nothing is sent until it does")
	}
	m.complete()
}

// A ledger that is restarted again and again in the middle of everything.
func TestLedgerRestarts(t *testing.T) {
	t.Parallel()
	m := newTeam(t, 240, 3, addressOf, "5m")
	for n := range 4 {
		m.cluster.Crash()
		if err := m.cluster.Launch(); err != nil {
			t.Fatal(err)
		}
		was := m.service.Journal.Len()
		until(t, "the run goes on", func() bool { return m.service.Journal.Len() > was+10 || closed(m.lead.ended) })
		if closed(m.lead.ended) && n == 0 {
			t.Error("it was over after the first restart: the test proves little")
		}
	}
	for _, p := range m.all() {
		p.wait(patience).want(t, 0)
	}
	m.complete()
}

// A ledger that hangs, connections and all, is like one that is away.
func TestLedgerHangs(t *testing.T) {
	t.Parallel()
	m := newTeam(t, 240, 2, addressOf, "5m")
	goOn := m.cluster.Hang(t)
	m.quiet(8 * time.Second)
	goOn()
	for _, p := range m.all() {
		r := p.wait(patience)
		r.want(t, 0)
		r.says(t, "the ledger has not answered for")
	}
	m.complete()
	unsent := 0
	for _, r := range m.requests("l") {
		if r.Outcome == "not_sent" {
			unsent++
		}
	}
	if unsent > m.docs { // what was granted when it hung; not what comes of a clock that runs ahead
		t.Errorf("%d permits were given back", unsent)
	}
}

// A ledger that stays away ends the run in every process, within bounds and with its place
// kept.
func TestLedgerGone(t *testing.T) {
	t.Parallel()
	m := newTeam(t, 240, 3, addressOf, "5m", "--store-timeout", "3s")
	m.cluster.Crash()
	m.quiet(0)
	for _, p := range m.all() {
		r := p.wait(25 * time.Second)
		r.want(t, 74)
		r.says(t, "l: ledger_failed", "the database does not answer", "try: dogear resume l")
	}
	if err := m.cluster.Launch(); err != nil {
		t.Fatal(err)
	}
	m.resume()
	m.complete()
}

// resume resumes the job as soon as the lease of who ran it before is over.
func (m *team) resume() {
	m.t.Helper()
	until(m.t, "the job can be resumed", func() bool {
		r := m.run("resume", "l")
		if r.code != 75 || !strings.Contains(r.stderr, "is being run") {
			r.want(m.t, 0)
		}
		return r.code == 0
	})
}

// E2: neither a ledger that is away nor one that hangs keeps a command from ending: it is
// gone by its deadline, the grace and five seconds.
func TestDeadlineWithoutLedger(t *testing.T) {
	t.Parallel()
	for what, away := range map[string]func(*pgtest.Cluster, *testing.T) (back func()){
		"away":  func(c *pgtest.Cluster, t *testing.T) func() { c.Crash(); return func() { _ = c.Launch() } },
		"hangs": func(c *pgtest.Cluster, t *testing.T) func() { return c.Hang(t) },
		"is locked": func(c *pgtest.Cluster, t *testing.T) func() {
			conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
			if err == nil {
				_, err = conn.PgConn().Exec(t.Context(), "BEGIN; LOCK TABLE dogear.requests, dogear.documents, dogear.runs").ReadAll()
			}
			if err != nil {
				t.Fatal(err)
			}
			return func() { _ = conn.Close(t.Context()) }
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := newTeam(t, 400, 2, addressOf, "25s", "--grace", "1s")
			back := away(m.cluster, t)
			for _, p := range m.all() {
				p.wait(patience).want(t, 74)
			}
			gone := time.Now()
			if what == "away" {
				began := time.Now()
				m.must(75, "resume", "l", "--deadline", "2s").says(t, "the ledger does not answer, and is waited for", "nothing was sent")
				if took := time.Since(began); took > 7*time.Second {
					t.Errorf("a run that is to end in 2s was gone after %v", took)
				}
			}
			back()
			late := gone.Sub(m.status("l").LastRun.Deadline)
			t.Logf("the last process was gone %v after the deadline", late)
			if late > 6*time.Second {
				t.Error("the deadline, the grace of a second and five seconds are over")
			}
			m.resume()
			m.complete()
		})
	}
}

// The server fails over to a standby that may lag: the run goes on there, and every scope
// proves itself with one probe.
func TestFailover(t *testing.T) {
	t.Parallel()
	var standby *pgtest.Cluster
	m := newTeam(t, 240, 2, func(c *pgtest.Cluster) string {
		standby = c.Standby(t)
		return c.URL("postgres", standby)
	}, "5m")
	m.cluster.Crash()
	time.Sleep(2 * time.Second) // what was permitted has left
	was := m.service.Journal.Len()
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.all() {
		p.wait(patience).want(t, 0)
	}
	rows := m.service.Journal.Arrivals(nil)[was:]
	if len(rows) > 1 && rows[1].At.Before(rows[0].Sent) {
		t.Error("after the failover more than the probe arrived before it was answered")
	}
	m.complete()
}
