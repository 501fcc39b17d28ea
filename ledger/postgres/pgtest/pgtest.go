// Package pgtest starts PostgreSQL for tests: a cluster of their own in a temporary folder, on
// a unix socket that nobody else finds.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
//
//	func TestSomething(t *testing.T) { dsn := pgtest.Database(t) … }
//
// DOGEAR_TEST_POSTGRES names a server to use instead, as a superuser's DSN; with the value
// "skip" tests that need one are skipped. Where there is no PostgreSQL the tests fail.
package pgtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Package is what has to be installed where no PostgreSQL is found, by apt's name.
const Package = "postgresql"

const variable = "DOGEAR_TEST_POSTGRES"

// shared is the cluster that the tests of this process share.
var shared *Cluster

// Run runs a package's tests with a cluster that they share, and returns the exit code.
func Run(m *testing.M) int {
	flag.Parse() // fsync looks at them
	if skipped() {
		return m.Run()
	}
	c, err := start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer c.Stop()
	shared = c
	return m.Run()
}

func skipped() bool { return os.Getenv(variable) == "skip" }

// Database makes an empty database in the shared cluster and returns its DSN. It is dropped
// at the end of the test.
func Database(t testing.TB) string {
	t.Helper()
	return Shared(t).Database(t)
}

// Shared is the cluster that Run started.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	if skipped() {
		t.Skip(variable + "=skip")
	}
	if shared == nil {
		t.Fatal("pgtest: TestMain does not call Run")
	}
	return shared
}

// Start starts a cluster for one test, which may stop it and break it.
func Start(t testing.TB) *Cluster {
	t.Helper()
	if skipped() {
		t.Skip(variable + "=skip")
	}
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// StartAt is Start for a cluster that machines reach too: it listens at host and lets in who
// comes from there with the password that is in its [Cluster.URL].
func StartAt(t testing.TB, host, from string) *Cluster {
	t.Helper()
	if skipped() {
		t.Skip(variable + "=skip")
	}
	c, err := build(func(c *Cluster) (err error) {
		if c.port, err = freePort(host); err != nil {
			return err
		}
		c.host = host
		return errors.Join(c.initialize(), c.admit(from))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	if err := c.Exec("postgres", "SET password_encryption = 'scram-sha-256'; ALTER ROLE postgres PASSWORD '"+secret+"'"); err != nil {
		t.Fatal(err)
	}
	return c
}

// secret is the password of who comes over a network.
const secret = "pgtest"

func freePort(host string) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// admit lets a network in, with a password.
func (c *Cluster) admit(from string) error {
	f, err := os.OpenFile(filepath.Join(c.data(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "host all all %s scram-sha-256\n", from)
	return errors.Join(err, f.Close())
}

// A Cluster is a PostgreSQL server.
type Cluster struct {
	folder  string // of the socket and the data; empty for a server that was given
	host    string // where it listens beside the socket; empty: nowhere
	port    int    // of both
	bin     string
	given   string // DSN
	exited  chan struct{}
	process *os.Process
	made    atomic.Int64 // databases

	template     sync.Once
	templateName string
}

// start is the server that was given, or a new one.
func start() (*Cluster, error) {
	if dsn := os.Getenv(variable); dsn != "" {
		return &Cluster{given: dsn}, nil
	}
	return New()
}

// New starts a cluster for whoever will call Stop.
func New() (*Cluster, error) { return build((*Cluster).initialize) }

func (c *Cluster) initialize() error {
	return c.tool("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
}

// Standby starts a server that follows this one. [Cluster.Promote] makes it a primary.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	s, err := build(func(s *Cluster) error {
		return s.tool("pg_basebackup", "-D", s.data(), "-h", c.folder, "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "-N")
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Promote makes a standby a primary.
func (c *Cluster) Promote() error { return c.Exec("postgres", "SELECT pg_promote()") }

// Both is the address of the same database on either of two servers, whichever can be
// written to.
func (c *Cluster) Both(other *Cluster, database string) string {
	return fmt.Sprintf("host=%s,%s user=postgres dbname=%s target_session_attrs=read-write", c.folder, other.folder, database)
}

// URL is the address of one of its databases as a URL, for the superuser: over the network
// that StartAt was given, else by its socket, on whichever of these servers can be written to.
func (c *Cluster) URL(database string, others ...*Cluster) string {
	if c.host != "" {
		return fmt.Sprintf("postgres://postgres:%s@%s:%d/%s?sslmode=disable", secret, c.host, c.port, database)
	}
	hosts := c.folder
	for _, o := range others {
		hosts += "," + o.folder
	}
	return "postgres:///" + database + "?user=postgres&target_session_attrs=read-write&host=" + url.QueryEscape(hosts)
}

// tool runs a program of PostgreSQL's.
func (c *Cluster) tool(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.folder
	unprivileged(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: %s: %w\n%s", name, err, out)
	}
	return nil
}

// build makes a cluster's data and starts it.
func build(data func(*Cluster) error) (_ *Cluster, err error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "pg-") // short: it is in the name of a socket
	if err != nil {
		return nil, err
	}
	c := &Cluster{folder: folder, port: 5432, bin: bin}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	if err := own(folder); err != nil {
		return nil, err
	}
	if err := data(c); err != nil {
		return nil, err
	}
	return c, c.Launch()
}

// binaries is where PostgreSQL is installed.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("pgtest: there is no PostgreSQL; try: apt-get install %s, or %s=skip", Package, variable)
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) }) // 9.6 before 15
	return filepath.Dir(found[len(found)-1]), nil
}

func (c *Cluster) data() string { return filepath.Join(c.folder, "data") }

// Launch starts the server, again after it was stopped, and waits until it answers.
func (c *Cluster) Launch() error {
	log, err := os.OpenFile(filepath.Join(c.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(c.bin, "postgres"), "-D", c.data(), "-k", c.folder, "-h", c.host, "-p", strconv.Itoa(c.port),
		"-c", "max_connections=100", "-c", "fsync="+fsync(), "-c", "wal_level=replica", "-c", "max_wal_size=2GB")
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.folder, log, log
	unprivileged(cmd)
	exited := make(chan struct{})
	if err := run(cmd, exited); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	c.process, c.exited = cmd.Process, exited
	for wait := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := c.Exec("postgres", "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-exited:
			return c.failed(err)
		default:
		}
		if time.Now().After(wait) {
			return c.failed(err)
		}
	}
}

// fsync is whether the server waits for the disk. What a test does to it is no power cut, so
// nothing that the kernel has is lost; a benchmark measures what lasts.
func fsync() string {
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() == "" {
		return "off"
	}
	return "on"
}

// failed is the error of a server that does not start, with what it said.
func (c *Cluster) failed(err error) error {
	said, _ := os.ReadFile(filepath.Join(c.folder, "log"))
	return fmt.Errorf("pgtest: the server does not start: %w\n%s", err, said)
}

// Crash ends the server as a power cut does, but for what the kernel has in memory.
func (c *Cluster) Crash() { c.end(syscall.SIGQUIT) }

// Stop ends the server and deletes it; of one that was given, the template. It may be called
// twice.
func (c *Cluster) Stop() {
	if c.given != "" {
		if c.templateName != "" {
			_ = c.Exec("postgres", "DROP DATABASE "+c.templateName+" WITH (FORCE)")
		}
		return
	}
	c.end(syscall.SIGQUIT) // nobody wants what a checkpoint would keep
	_ = os.RemoveAll(c.folder)
}

func (c *Cluster) end(how syscall.Signal) {
	if c.process == nil {
		return
	}
	_ = c.process.Signal(how)
	select {
	case <-c.exited:
	case <-time.After(10 * time.Second):
		_ = c.process.Kill()
		<-c.exited
	}
	c.process = nil
}

// DSN is the address of one of its databases, for the superuser.
func (c *Cluster) DSN(database string) string {
	if c.given == "" {
		return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s", c.folder, c.port, database)
	}
	if cfg, err := pgx.ParseConfig(c.given); err == nil {
		return strings.TrimSpace(fmt.Sprintf("host=%s port=%d user=%s dbname=%s %s",
			cfg.Host, cfg.Port, cfg.User, database, password(cfg.Password)))
	}
	return c.given
}

func password(p string) string {
	if p == "" {
		return ""
	}
	return "password='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(p) + "'"
}

// Exec runs SQL in one of its databases.
func (c *Cluster) Exec(database, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.DSN(database))
	if err != nil {
		return err
	}
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

// Database makes an empty database and returns its DSN. It is dropped at the end of the test.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	return c.Copy(t, "template1")
}

// Template makes a database once, to be copied, and returns its name. The DSN that make
// is called with is that of an empty one; nobody is connected to it afterwards.
func (c *Cluster) Template(t testing.TB, make func(dsn string)) string {
	t.Helper()
	c.template.Do(func() {
		name := fmt.Sprintf("dogear_%d_template", os.Getpid())
		if err := c.Exec("postgres", "CREATE DATABASE "+name); err != nil {
			t.Fatal(err)
		}
		make(c.DSN(name))
		c.templateName = name
	})
	return c.templateName
}

// Copy makes a database like another one that nobody is connected to.
func (c *Cluster) Copy(t testing.TB, template string) string {
	t.Helper()
	name := fmt.Sprintf("dogear_%d_%d", os.Getpid(), c.made.Add(1))
	if err := c.Exec("postgres", "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.given != "" || c.process != nil {
			_ = c.Exec("postgres", "DROP DATABASE "+name+" WITH (FORCE)") // it goes with the cluster
		}
	})
	return c.DSN(name)
}
