package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// Open waits for a server that is not up yet, and says so once. What cannot help is not
// waited for.
func TestOpenWaits(t *testing.T) {
	cluster := pgtest.Start(t)
	cluster.Crash()
	said := make(chan error, 8)
	opened := make(chan error, 1)
	go func() {
		s, err := postgres.Open(t.Context(), cluster.DSN("postgres"), postgres.Options{Waiting: func(err error) { said <- err }})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	<-said
	must(t, cluster.Launch())
	must(t, <-opened)
	if len(said) != 0 {
		t.Error("it was said more than once")
	}
	for what, dsn := range map[string]string{
		"a host that nobody has": "postgres://dogear@host.invalid/dogear",
		"a database that is not": cluster.DSN("nothing"),
	} {
		_, err := postgres.Open(t.Context(), dsn, postgres.Options{Waiting: func(error) { t.Errorf("%s is waited for", what) }})
		if err == nil {
			t.Errorf("%s: opened", what)
		}
	}
}

// A call whose caller has to be gone is not held by a server that does not come back, though
// it had begun; what was done is known when the server is back.
func TestGivesUp(t *testing.T) {
	cluster := pgtest.Start(t)
	s := openStore(t, cluster.DSN("postgres"))
	ctx := t.Context()
	must(t, s.Renew(ctx, nil))
	cluster.Crash()
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := s.Decide(short, []string{benchKey}, func(d *dogear.Docket) { d.Scopes[benchKey].Streak++ })
	if took := time.Since(start); err == nil || took > 10*time.Second { // it bears a minute
		t.Errorf("%v after %v, want it to give up", err, took)
	}
	if since, left := s.Away(); since == 0 || left == 0 {
		t.Errorf("away since %v, borne for %v", since, left)
	}
	must(t, cluster.Launch())
	must(t, s.Decide(ctx, []string{benchKey}, func(d *dogear.Docket) {
		if n := d.Scopes[benchKey].Streak; n != 0 {
			t.Errorf("streak %d: what was given up was done", n)
		}
	}))
	if since, _ := s.Away(); since != 0 {
		t.Errorf("away since %v though it has answered", since)
	}
	must(t, s.Close())
}

// A server that was away for longer than a lease has killed nobody: who comes back first
// spares those who were cut off with it, and takes for dead who was so before.
func TestNobodyDiesOfAnAbsence(t *testing.T) {
	cluster := pgtest.Start(t)
	dsn := cluster.DSN("postgres")
	first, other, dead := openStore(t, dsn), openStore(t, dsn), openStore(t, dsn)
	ctx := t.Context()
	for _, s := range []*postgres.Store{first, other, dead} {
		must(t, s.Renew(ctx, nil))
	}
	job, _, err := other.Create(ctx, "lives", ledger.Settings{}, postgres.Docs(1))
	must(t, err)
	_, err = other.Begin(ctx, job.ID, time.Time{})
	must(t, err)
	gone, _, err := dead.Create(ctx, "dead", ledger.Settings{}, postgres.Docs(1))
	must(t, err)
	_, err = dead.Begin(ctx, gone.ID, time.Time{})
	must(t, err)
	setOffset(t, dsn, time.Minute)
	must(t, first.Renew(ctx, nil))
	must(t, other.Renew(ctx, nil))

	cluster.Crash()
	first.SetSilent(40 * time.Second)
	must(t, cluster.Launch())
	setOffset(t, dsn, time.Minute+40*time.Second)

	_, err = first.Begin(ctx, job.ID, time.Time{})
	if _, ok := errors.AsType[*ledger.RunningError](err); !ok {
		t.Errorf("got error %v, want that the job is run by one that was cut off", err)
	}
	_, err = first.Begin(ctx, gone.ID, time.Time{})
	must(t, err)
	must(t, other.Renew(ctx, nil))
	must(t, first.Close())
	must(t, other.Close())
	_ = dead.Close() // its lease is lost
}
