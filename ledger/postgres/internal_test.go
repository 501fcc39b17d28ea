package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// The clock tells never less than the database's and never runs back, however the database's
// is set and whatever the questions took; what it tells too much is what they took, and drift.
func TestClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machine := time.Duration(rapid.Int64Range(1, 1e15).Draw(t, "machine"))
		offset := rapid.Int64Range(-1e15, 1e15).Draw(t, "offset") // the two have nothing in common
		c := clock{since: func() time.Duration { return machine }}
		db := func() int64 { return 1_800_000_000e9 + int64(machine) + offset }
		pass := func(what string) { machine += time.Duration(rapid.Int64Range(0, 10e9).Draw(t, what)) }
		var last, slack int64
		looked, back := false, int64(0)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0: // a look
				sent := machine
				pass("there")
				read := db()
				pass("back")
				c.look(sent, read)
				if !looked || machine-sent < slowLook { // else the one before is the better one
					looked, slack = true, read-(1_800_000_000e9+int64(sent)+offset)
					back = last
				}
			case 1:
				pass("time")
			case 2: // somebody sets the database's clock forward, and a look shows it
				offset += rapid.Int64Range(0, 1e12).Draw(t, "set")
				c.look(machine, db())
				looked, slack, back = true, 0, last
			}
			now := c.now()
			if looked && now < db() {
				t.Fatalf("it is %d, and the clock says %d", db(), now)
			}
			if most := db() + slack + 30*10e9>>drift + 1; looked && now > max(most, back) {
				t.Fatalf("it is %d, and the clock says %d: more than %d", db(), now, most)
			}
			if now < last {
				t.Fatalf("the clock ran back from %d to %d", last, now)
			}
			last = now
		}
	})
}

func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.String(), func(s string) string { return escape + s })).Draw(t, "s")
		k := kept(s)
		if strings.ContainsRune(k, 0) || strings.ToValidUTF8(k, "") != k {
			t.Fatalf("%q is kept as %q", s, k)
		}
		if got := told(k); got != s {
			t.Fatalf("%q is told as %q", s, got)
		}
		if got := digestOf(digest(s)); got != s {
			t.Fatalf("digest %q comes back as %q", s, got)
		}
	})
}

// A cutter breaks connections at commits.
type cutter struct {
	mu    sync.Mutex
	armed bool
	late  bool // after the server has committed, before its answer comes
	cuts  int
}

type cutConn struct {
	net.Conn
	c *cutter
}

var errCut = errors.New("cut")

func (c *cutConn) Write(b []byte) (int, error) {
	c.c.mu.Lock()
	cut, late := c.c.armed && bytes.Contains(b, []byte("COMMIT")), c.c.late
	if cut {
		c.c.armed = false
		c.c.cuts++
	}
	c.c.mu.Unlock()
	if !cut {
		return c.Conn.Write(b)
	}
	if late {
		if _, err := c.Conn.Write(b); err != nil {
			return 0, err
		}
		_, _ = c.Conn.Read(make([]byte, 1)) // the answer has come
	}
	_ = c.Conn.Close()
	return 0, errCut
}

// A commit whose answer is lost is not made again, and one that did not arrive is.
func TestLostCommit(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late=", late), func(t *testing.T) {
			cut := &cutter{late: late}
			cfg, err := parse(pgtest.Database(t) + " default_query_exec_mode=exec")
			if err != nil {
				t.Fatal(err)
			}
			dial := cfg.DialFunc
			cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := dial(ctx, network, addr)
				return &cutConn{c, cut}, err
			}
			s, err := open(t.Context(), cfg, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			job, _, err := s.Create(t.Context(), "j", ledger.Settings{}, Docs(100))
			if err != nil {
				t.Fatal(err)
			}
			run, err := s.Begin(t.Context(), job.ID, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				cut.mu.Lock()
				cut.armed = true
				cut.mu.Unlock()
				err := s.Decide(t.Context(), []string{"k"}, func(d *dogear.Docket) {
					d.Scopes["k"].Streak++
					d.Grants = append(d.Grants, dogear.Request{N: d.Next, Job: job.ID, Run: run.ID, Scopes: []string{"k"}})
				})
				if err != nil {
					t.Fatal(err)
				}
				sc := scopeOf(t, s)
				if sc.Streak != i+1 || sc.InFlight != i+1 {
					t.Fatalf("streak %d, in flight %d, want %d of both", sc.Streak, sc.InFlight, i+1)
				}
			}
			if cut.cuts != 20 {
				t.Errorf("%d commits were cut, want 20", cut.cuts)
			}
		})
	}
}

func scopeOf(t *testing.T, s *Store) (sc dogear.Scope) {
	t.Helper()
	for sc, err := range s.Scopes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		return sc
	}
	return sc
}

// Nobody finds out the password from what is shown.
func TestAddresses(t *testing.T) {
	const canary = "canary"
	for _, tt := range []struct{ dsn, want string }{
		{"postgres://me:canary@db.example:5433/ledger", "postgres://db.example:5433/ledger"},
		{"postgres://me:canary@a.example,b.example/ledger?target_session_attrs=read-write", "postgres://a.example:5432,b.example:5432/ledger"},
		{"host=/run/postgresql user=me password=canary dbname=ledger", "postgres://%2Frun%2Fpostgresql:5432/ledger"},
		{"postgres://me:canary@db.example:port/ledger", ""},
		{"postgres://me:canary%zz@db.example/ledger", ""},
		{"password=canary host", ""},
	} {
		cfg, err := parse(tt.dsn)
		if (err == nil) != (tt.want != "") {
			t.Errorf("%s: %v", tt.dsn, err)
		}
		if err == nil {
			if got := where(cfg); got != tt.want {
				t.Errorf("%s is %s, want %s", tt.dsn, got, tt.want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err = Open(ctx, tt.dsn, Options{})
		cancel()
		if err == nil || strings.Contains(err.Error(), canary) || tt.want == "" && !errors.Is(err, ErrAddress) {
			t.Errorf("%s: error %v", tt.dsn, err)
		}
	}
}

// A plan that scans a table would read all of ten million documents.
func TestPlans(t *testing.T) {
	dsn := pgtest.Database(t)
	cfg, err := parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, _, err := s.Create(t.Context(), "j", ledger.Settings{}, Docs(20_000)); err != nil {
		t.Fatal(err)
	}
	big := []string{"Seq Scan on documents", "Seq Scan on requests", "Seq Scan on results", "Seq Scan on ids", "Bitmap"}
	queries := map[string]string{
		"claimDocuments": claimDocuments, "matureDocuments": matureDocuments, "readUnplaced": readUnplaced,
		"readResults": readResults, "readRequests": readRequests, "readEnded": readEnded, "readChanged": readChanged,
		"believeDocuments": believeDocuments, "freeDocuments": freeDocuments, "addRequests": addRequests, "endRequests": endRequests,
		"countOpen": countOpen, "readProbes": readProbes, "doubtOpen": doubtOpen, "takeDocuments": takeDocuments,
		"finishDocuments": finishDocuments, "findListed": findListed, "findID": findID, "findFolded": findFolded, "openDocuments": openDocuments,
		"readAhead": readAhead, "moveDocuments": moveDocuments, "setNames": setNames, "readUnnamed": readUnnamed, "readOpenDocs": readOpenDocs,
	}
	for _, sw := range sweeps {
		queries[sw.drop] = sw.drop
	}
	err = s.read(t.Context(), func(ctx context.Context, c conn) error {
		for _, set := range []string{`BEGIN`, settings, `SET LOCAL plan_cache_mode = force_generic_plan`} {
			if _, err := c.exec(ctx, set); err != nil {
				return err
			}
		}
		for name, query := range queries {
			plan, err := explainPlan(ctx, c, query)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for _, b := range big {
				if strings.Contains(plan, b) {
					t.Errorf("%s:\n%s", name, plan)
				}
			}
			if name == "claimDocuments" && !strings.Contains(plan, "documents_claim") {
				t.Errorf("%s:\n%s", name, plan)
			}
		}
		_, err := c.exec(ctx, `ROLLBACK`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// explainPlan is the plan for any parameters.
func explainPlan(ctx context.Context, c conn, query string) (string, error) {
	sd, err := c.Prepare(ctx, "plan", query)
	if err != nil {
		return "", err
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(sd.ParamOIDs)), ", ")
	execute := `EXPLAIN EXECUTE plan`
	if nulls != "" {
		execute += "(" + nulls + ")"
	}
	results, err := c.PgConn().Exec(ctx, execute).ReadAll()
	if err != nil {
		return "", err
	}
	var plan strings.Builder
	for _, row := range results[0].Rows {
		plan.Write(row[0])
		plan.WriteByte('\n')
	}
	return plan.String(), c.Deallocate(ctx, "plan")
}

// counting counts what is sent at once.
type counting struct {
	net.Conn
	n *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	c.n.Add(1)
	return c.Conn.Write(b)
}

// A decision takes two questions to the server, and a claim too.
func TestRoundTrips(t *testing.T) {
	cfg, err := parse(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return counting{c, &sent}, err
	}
	s, err := open(t.Context(), cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	job, _, err := s.Create(t.Context(), "j", ledger.Settings{}, Docs(100))
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Begin(t.Context(), job.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	lanes, err := s.Lanes(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for what, call := range map[string]func() error{
		"Decide": func() error {
			return s.Decide(t.Context(), []string{"a", "b"}, func(d *dogear.Docket) {
				if n != 0 {
					d.Ends = append(d.Ends, dogear.End{Request: n, Fate: &dogear.Fate{Doc: job.First, Refund: 1}})
				}
				n = d.Next
				d.JobSent(job.ID)
				d.Live(d.Scopes["a"].Probe)
				d.Scopes["a"].Probe = n
				d.Grants = append(d.Grants, dogear.Request{N: n, Job: job.ID, Run: run.ID, Doc: job.First, Scopes: []string{"a"}})
			})
		},
		"Claim": func() error { _, err := s.Claim(t.Context(), lanes[0].ID, 1, 8); return err },
	} {
		for i := range 5 { // the first ones prepare statements and make scopes
			before := sent.Load()
			if err := call(); err != nil {
				t.Fatal(err)
			}
			if n := sent.Load() - before; i > 1 && n != 2 {
				t.Errorf("%s asked the server %d times, want 2", what, n)
			}
		}
	}
}

// A question that a database answers after it hung puts the clock no further ahead: permits of
// a database that is back would be too old as soon as they were granted.
func TestClockAfterHanging(t *testing.T) {
	machine := time.Hour
	c := clock{since: func() time.Duration { return machine }}
	const base = 1_800_000_000e9
	c.look(machine, base)
	sent := machine
	machine += 40 * time.Second
	c.look(sent, base+int64(40*time.Second))
	if ahead := time.Duration(c.now() - base - int64(40*time.Second)); ahead > 100*time.Millisecond {
		t.Errorf("the clock is %v ahead", ahead)
	}
	if c.age() != 0 {
		t.Errorf("heard of %v ago, want now", c.age())
	}
}
