package postgres_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/ledgertest"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func TestPromises(t *testing.T) {
	ledgertest.Test(t, func(t *testing.T) ledgertest.Ledger { return newLedger(t, "") })
}

// Behind a pooler nothing may be kept in a session, prepared statements included.
func TestPromisesWithoutSession(t *testing.T) {
	ledgertest.Test(t, func(t *testing.T) ledgertest.Ledger { return newLedger(t, " default_query_exec_mode=exec") })
}

// newLedger is an empty ledger whose clock can be moved.
func newLedger(t *testing.T, more string) ledgertest.Ledger {
	dsn := newDatabase(t)
	var mu sync.Mutex
	var open []*postgres.Store
	var passed time.Duration
	return ledgertest.Ledger{
		Open: func(t *testing.T) ledger.Store {
			s := openStore(t, dsn+more)
			mu.Lock()
			defer mu.Unlock()
			open = append(open, s)
			return s
		},
		Kill: func(s ledger.Store) {
			n := s.(*postgres.Store).Kill()
			// Its lease runs out, as it does some time after a crash.
			do(t, dsn, fmt.Sprintf(`UPDATE dogear.holders SET expires = dogear.now() - interval '1 s' WHERE n = %d`, n))
		},
		Pass: func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			passed += d
			setOffset(t, dsn, passed)
			for _, s := range open {
				_ = s.Look(t.Context()) // some are closed
			}
		},
	}
}

// setOffset moves the ledger's clock away from the database's.
func setOffset(t testing.TB, dsn string, d time.Duration) {
	t.Helper()
	do(t, dsn, fmt.Sprintf(`CREATE OR REPLACE FUNCTION dogear.now() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS 'SELECT clock_timestamp() + interval ''%d microseconds'''`, d.Microseconds()))
}

// newDatabase is an empty ledger that is checked at the end of the test.
func newDatabase(t *testing.T) string {
	t.Helper()
	c := pgtest.Shared(t)
	dsn := c.Copy(t, c.Template(t, func(dsn string) { must(t, openStore(t, dsn).Close()) }))
	t.Cleanup(func() { consistent(t, dsn) })
	return dsn
}

// consistent checks a ledger that nobody has open any more.
func consistent(t testing.TB, dsn string) {
	t.Helper()
	found, err := postgres.Contradictions(context.Background(), dsn)
	if err != nil {
		t.Errorf("check the ledger: %v", err)
	}
	for _, f := range found {
		t.Errorf("the ledger contradicts itself: %s", f)
	}
}

func openStore(t testing.TB, dsn string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// do runs SQL as the superuser.
func do(t testing.TB, dsn, sql string) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// ask reads one value as the superuser.
func ask[T any](t testing.TB, dsn, sql string, args ...any) (v T) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if err := c.QueryRow(ctx, sql, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// drain reads a sequence to its end and counts.
func drain[T any](t testing.TB, seq iter.Seq2[T, error]) (n int) {
	t.Helper()
	for _, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// first is the first of a sequence.
func first[T any](seq iter.Seq2[T, error]) (v T) {
	for v, _ := range seq {
		return v
	}
	return v
}
