package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// as is the database for another role.
func as(dsn, role string) string { return strings.Replace(dsn, "user=postgres", "user="+role, 1) }

// makeRoles makes the roles that roles.sql is for, and an owner. They are the cluster's.
func makeRoles(t *testing.T, c *pgtest.Cluster) {
	t.Helper()
	for _, role := range []string{"dogear_owner", "dogear_worker", "dogear_reader"} {
		if err := c.Exec("postgres", "CREATE ROLE "+role+" LOGIN"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRoles(t *testing.T) {
	cluster := pgtest.Start(t)
	makeRoles(t, cluster)
	dsn := cluster.Database(t)
	name := dsn[strings.LastIndex(dsn, "=")+1:]
	ctx := t.Context()

	_, err := postgres.Open(ctx, as(dsn, "dogear_worker"), postgres.Options{})
	refused(t, "a worker where there is no ledger", err, postgres.ErrRights, "may not make one")
	do(t, dsn, `GRANT CREATE ON DATABASE `+name+` TO dogear_owner`)
	owner, err := postgres.Open(ctx, as(dsn, "dogear_owner"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	_, err = postgres.Open(ctx, as(dsn, "dogear_worker"), postgres.Options{})
	refused(t, "a worker without grants", err, postgres.ErrRights, "may not use the schema")
	do(t, as(dsn, "dogear_owner"), postgres.Roles)

	worker, err := postgres.Open(ctx, as(dsn, "dogear_worker"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	work(t, worker)
	reader, err := postgres.Open(ctx, as(dsn, "dogear_reader"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	readAll(t, reader)
	refused(t, "a reader that writes", reader.Confirm(ctx, benchKey, dogear.Confirmation{}, 1, 0, 0), postgres.ErrRights, "docs/operations.md")
	moves(t, dsn, reader, worker)
	dump := exec.Command("pg_dump", "--schema=dogear", "--format=custom", "--file="+filepath.Join(t.TempDir(), "ledger.dump"), "--dbname="+as(dsn, "dogear_reader"))
	if out, err := dump.CombinedOutput(); err != nil {
		t.Errorf("a reader's pg_dump: %v\n%s", err, out)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if err := worker.Close(); err != nil {
		t.Error(err)
	}
	// A worker finds a ledger that is older than it.
	do(t, dsn, `UPDATE dogear.schema SET version = 0`)
	_, err = postgres.Open(ctx, as(dsn, "dogear_worker"), postgres.Options{})
	refused(t, "a worker with an older ledger", err, postgres.ErrRights, "try:")
}

// moves moves the ledger: out by whoever may read, in by whoever may write.
func moves(t *testing.T, dsn string, reader, worker *postgres.Store) {
	t.Helper()
	ctx := t.Context()
	records := all(t, reader)
	refused(t, "a reader that imports", reader.Import(ctx, sequence(records, func(int) {}), same), postgres.ErrRights, "rights of a worker")
	job, err := worker.Job(ctx, "j")
	must(t, err)
	must(t, worker.Forget(ctx, job.ID))
	must(t, worker.Import(ctx, sequence(records, func(int) {}), same))
	if got := all(t, reader); len(got) != len(records) {
		t.Errorf("%d records, want %d", len(got), len(records))
	}
	// What a process that died left takes more than reading.
	dead := openStore(t, as(dsn, "dogear_worker"))
	job, err = dead.Job(ctx, "j")
	must(t, err)
	_, err = dead.Begin(ctx, job.ID, time.Time{})
	must(t, err)
	do(t, dsn, fmt.Sprintf(`UPDATE dogear.holders SET expires = dogear.now() - interval '1 s' WHERE n = %d`, dead.Kill()))
	for _, err = range reader.Export(ctx) {
	}
	refused(t, "a reader where a process died", err, postgres.ErrRights, "died")
	all(t, worker)
	all(t, reader)
}

// work does of everything some.
func work(t *testing.T, s *postgres.Store) {
	t.Helper()
	ctx := t.Context()
	job, _, err := s.Create(ctx, "j", ledger.Settings{}, postgres.Docs(100))
	must(t, err)
	run, err := s.Begin(ctx, job.ID, time.Time{})
	must(t, err)
	lanes, err := s.Lanes(ctx, job.ID)
	must(t, err)
	docs, err := s.Claim(ctx, lanes[0].ID, 50, 8)
	must(t, err)
	readPart(t, s, job, run, docs)
	settleAll(t, s, run, docs[:40])
	must(t, s.Return(ctx, []dogear.Fate{{Doc: docs[45].Seq, State: dogear.Changed, Version: "b"}}))
	must(t, s.Renew(ctx, map[string]int{benchKey: 1}))
	must(t, s.Decide(ctx, []string{benchKey}, func(d *dogear.Docket) { d.Scopes[benchKey].NotBefore = d.Now.Add(time.Hour) }))
	must(t, s.Release(ctx, benchKey, "me", "why not"))
	must(t, s.EndRun(ctx, run.ID, dogear.Deadline))
	paged, err := s.CreatePaged(ctx, "p", ledger.Settings{})
	must(t, err)
	_, err = s.AddPage(ctx, paged.ID, dogear.Page{
		Documents: []dogear.Document{{ID: "a", Parent: "f", Scopes: []string{benchKey}}}, Folders: []dogear.Folder{{ID: "f", Name: "f"}}, Last: true,
	})
	must(t, err)
	must(t, s.Forget(ctx, paged.ID))
}

// readAll calls whatever only reads.
func readAll(t *testing.T, s *postgres.Store) {
	t.Helper()
	ctx := t.Context()
	job, err := s.Job(ctx, "j")
	must(t, err)
	c, err := s.Counts(ctx, job.ID)
	must(t, err)
	if c.Documents[dogear.Done] != 40 || c.Sent != 50 {
		t.Errorf("counts: %+v", c)
	}
	lanes, err := s.Lanes(ctx, job.ID)
	must(t, err)
	_, err = s.NextDue(ctx, lanes[0].ID, 8)
	must(t, err)
	_, err = s.SinkJob(ctx, "")
	must(t, err)
	_, err = s.Taken(ctx, job.ID, []string{"a"})
	must(t, err)
	_, err = s.Partial(ctx, job.First)
	must(t, err)
	_, found, err := s.Compare(ctx, job.ID, first(postgres.Docs(1)))
	if must(t, err); !found {
		t.Error("Compare finds nothing")
	}
	for what, n := range map[string]int{
		"jobs": drain(t, s.Jobs(ctx)), "runs": drain(t, s.Runs(ctx, job.ID)), "results": drain(t, s.Results(ctx, job.ID)),
		"remaining": drain(t, s.Remaining(ctx, job.ID)), "requests": drain(t, s.Requests(ctx, job.ID)),
		"changed": drain(t, s.ChangedDocuments(ctx, job.ID)), "scopes": drain(t, s.Scopes(ctx)),
		"releases": drain(t, s.Releases(ctx, benchKey)),
	} {
		if n == 0 {
			t.Errorf("no %s", what)
		}
	}
	drain(t, s.Unplaced(ctx, job.ID))
	if d := time.Since(s.Now()); d.Abs() > time.Minute {
		t.Errorf("the clock is %v off", d)
	}
}

func TestRefusals(t *testing.T) {
	ctx := t.Context()
	newer := pgtest.Database(t)
	s := openStore(t, newer)
	must(t, s.Close())
	do(t, newer, `UPDATE dogear.schema SET version = 99`)
	_, err := postgres.Open(ctx, newer, postgres.Options{})
	refused(t, "a newer ledger", err, postgres.ErrNewer, "try: a newer dogear")

	foreign := pgtest.Database(t)
	do(t, foreign, `CREATE SCHEMA dogear; CREATE TABLE dogear.dogs (ears integer)`)
	_, err = postgres.Open(ctx, foreign, postgres.Options{})
	refused(t, "somebody else's schema", err, postgres.ErrForeign, "try:")

	empty := pgtest.Database(t)
	do(t, empty, `CREATE SCHEMA dogear`)
	s = openStore(t, empty)
	must(t, s.Close())

	c := pgtest.Shared(t)
	must(t, c.Exec("postgres", "CREATE DATABASE dogear_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"))
	defer func() { must(t, c.Exec("postgres", "DROP DATABASE dogear_latin")) }()
	_, err = postgres.Open(ctx, c.DSN("dogear_latin"), postgres.Options{})
	refused(t, "another encoding", err, postgres.ErrEncoding, "try: CREATE DATABASE")

	start := time.Now()
	_, err = postgres.Open(ctx, c.DSN("dogear_nowhere"), postgres.Options{})
	if err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("no database: %v after %v", err, time.Since(start))
	}
}

// Many processes make one ledger at once.
func TestOpenAtOnce(t *testing.T) {
	dsn := pgtest.Database(t)
	errs := make(chan error)
	for range 8 {
		go func() {
			s, err := postgres.Open(t.Context(), dsn, postgres.Options{})
			if err == nil {
				err = errors.Join(s.Renew(t.Context(), nil), s.Close())
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func refused(t *testing.T, what string, err, want error, words string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: got error %v, want one that matches %q and says %q", what, err, want, words)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What people are told to grant is what is tested here.
func TestRolesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	must(t, err)
	if !strings.Contains(string(page), strings.TrimSpace(postgres.Roles)) {
		t.Error("docs/operations.md has other grants than roles.sql")
	}
}
