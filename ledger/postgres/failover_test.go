package postgres_test

import (
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// A standby that lagged takes over: the process goes on there, no number is given out twice,
// and every scope proves itself, for a throttle may be forgotten.
func TestFailover(t *testing.T) {
	primary := pgtest.Start(t)
	dsn := primary.DSN("postgres")
	must(t, openStore(t, dsn).Close()) // makes the ledger
	standby := primary.Standby(t)
	s := openStore(t, primary.Both(standby, "postgres"))
	ctx := t.Context()
	job, _, err := s.Create(ctx, "j", ledger.Settings{}, postgres.Docs(10))
	must(t, err)
	_, err = s.Begin(ctx, job.ID, time.Time{})
	must(t, err)
	var first, lost int64
	must(t, s.Decide(ctx, []string{benchKey, "other"}, func(d *dogear.Docket) {
		first = d.Next
		d.Grants = append(d.Grants, dogear.Request{N: first, Scopes: []string{benchKey}})
	}))
	caughtUp(t, dsn, standby.DSN("postgres"))
	reads(t, standby.DSN("postgres"))

	// From here on the standby hears nothing.
	do(t, standby.DSN("postgres"), `ALTER SYSTEM SET primary_conninfo = ''`)
	do(t, standby.DSN("postgres"), `SELECT pg_reload_conf()`)
	for ask[int](t, standby.DSN("postgres"), `SELECT count(*) FROM pg_stat_wal_receiver`) > 0 {
		time.Sleep(20 * time.Millisecond)
	}
	must(t, s.Decide(ctx, []string{benchKey}, func(d *dogear.Docket) {
		lost = d.Next
		d.Grants = append(d.Grants, dogear.Request{N: lost, Scopes: []string{benchKey}})
		d.Scopes[benchKey].NotBefore = d.Now.Add(time.Hour) // a throttle
	}))
	primary.Crash()
	must(t, standby.Promote())

	must(t, s.Decide(ctx, []string{benchKey, "other"}, func(d *dogear.Docket) {
		if sc := d.Scopes[benchKey]; sc.NotBefore.After(d.Now) {
			t.Error("the standby did not lag")
		}
		for key, sc := range d.Scopes {
			if !sc.Probing || sc.Probe != 0 {
				t.Errorf("scope %s: %+v, want it probing with the probe free", key, sc)
			}
		}
		if !d.Live(first) || d.Live(lost) || d.Next <= lost+1000 {
			t.Errorf("live %v and %v, next %d after %d", d.Live(first), d.Live(lost), d.Next, lost)
		}
	}))
	must(t, s.Renew(ctx, nil))
	if got := ask[string](t, standby.DSN("postgres"), `SELECT timeline FROM dogear.server`); got != "00000002" {
		t.Errorf("timeline %s is known, want 00000002", got)
	}
	must(t, s.Close())
	consistent(t, standby.DSN("postgres"))
}

// caughtUp waits until a standby has all that a primary has.
func caughtUp(t *testing.T, primary, standby string) {
	t.Helper()
	for at := ask[string](t, primary, `SELECT pg_current_wal_lsn()::text`); !ask[bool](t, standby, `SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn`, at); {
		time.Sleep(20 * time.Millisecond)
	}
}

// reads reads on a standby.
func reads(t *testing.T, dsn string) {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	must(t, err)
	job, err := s.Job(t.Context(), "j")
	must(t, err)
	if n := drain(t, s.Remaining(t.Context(), job.ID)); n != 10 {
		t.Errorf("%d documents remain on the standby, want 10", n)
	}
	if n := drain(t, s.Runs(t.Context(), job.ID)); n != 1 {
		t.Errorf("%d runs on the standby, want 1", n)
	}
	must(t, s.Close())
}
