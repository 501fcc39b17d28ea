package postgres_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// pooler starts PgBouncer before a cluster and returns the ledger's address behind it. It
// lends its few connections for a transaction at a time.
func pooler(t *testing.T, cluster *pgtest.Cluster) string {
	t.Helper()
	if _, err := exec.LookPath("pgbouncer"); err != nil {
		if slices.Contains(strings.Split(os.Getenv("DOGEAR_REQUIRE"), ","), "pgbouncer") {
			t.Fatal(err)
		}
		t.Skip("there is no pgbouncer; try: apt-get install pgbouncer")
	}
	server, err := url.Parse(cluster.URL("postgres"))
	must(t, err)
	dir, err := os.MkdirTemp("", "pool-") // short: it is in the name of a socket
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o777)) // it does not run as root
	users := filepath.Join(dir, "users")
	must(t, os.WriteFile(users, []byte("\"postgres\" \"\"\n"), 0o644))
	ini := filepath.Join(dir, "pgbouncer.ini")
	must(t, os.WriteFile(ini, fmt.Appendf(nil, `[databases]
postgres = host=%s port=5432 user=postgres
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = %s
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 4
`, server.Query().Get("host"), dir, users), 0o644))
	args := []string{"-q", ini}
	if os.Getuid() == 0 {
		args = append([]string{"-u", "postgres"}, args...)
	}
	cmd := exec.Command("pgbouncer", args...)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is its own affair
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		<-ended
	})
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, ".s.PGSQL.6432")); err == nil {
			return fmt.Sprintf("host=%s port=6432 user=postgres dbname=postgres default_query_exec_mode=exec", dir)
		}
		if time.Now().After(end) {
			t.Fatal("pgbouncer does not start")
		}
	}
}

// Behind a pooler that lends connections by the transaction everything holds, with fewer
// connections than two processes have.
func TestPooler(t *testing.T) {
	cluster := pgtest.Start(t)
	dsn := pooler(t, cluster)
	s := openStore(t, dsn)
	l := startLoad(t, s)
	other, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	must(t, err)
	for n := range 20 {
		must(t, other.Renew(t.Context(), nil))
		if n%5 == 0 { // its connections break as well
			do(t, cluster.DSN("postgres"), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name = 'dogear' AND random() < 0.5`)
		}
		must(t, other.Await(t.Context()))
	}
	l.check(t)
	must(t, other.Close())
	must(t, s.Close())
	consistent(t, cluster.DSN("postgres"))
}
