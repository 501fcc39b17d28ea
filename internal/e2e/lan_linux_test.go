package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/standin"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// A lan is machines that share a ledger: each is a network namespace with a link to the
// network of the PostgreSQL server and one to that of the service, of which either can be cut.
type lan struct {
	t               *testing.T
	cluster         *pgtest.Cluster
	ledger, service network
	machines        []*machine
}

// A network is a bridge, at whose first address the host is.
type network struct {
	bridge string
	prefix netip.Prefix
}

// host is the nth address of a network; the host itself is the first.
func (n network) host(i int) netip.Prefix {
	a := n.prefix.Addr()
	for range i {
		a = a.Next()
	}
	return netip.PrefixFrom(a, n.prefix.Bits())
}

// A machine is a user in a network namespace, with the file system of all.
type machine struct {
	*user
	name string
	lan  *lan
	ends map[network]string // the host's ends of its links
}

var lans atomic.Int64

// newLan makes machines whose clocks are wrong by so much.
func newLan(t *testing.T, skews ...time.Duration) *lan {
	t.Helper()
	tag := "dg" + strconv.FormatInt(int64(os.Getpid()), 36) + strconv.FormatInt(lans.Add(1), 36)
	l := &lan{t: t}
	if err := l.connect(tag+"l", &l.ledger); err != nil {
		need(t, "netns", "namespaces and bridges need root and iproute2 (apt-get install iproute2): "+err.Error())
	}
	l.must(l.connect(tag+"s", &l.service))
	for i, skew := range skews {
		l.must(l.add(fmt.Sprintf("%s%d", tag, i+1), i+2, skew))
	}
	l.cluster = pgtest.StartAt(t, l.ledger.host(1).Addr().String(), l.ledger.prefix.String())
	for _, m := range l.machines {
		m.vars = append(m.vars, "DOGEAR_STORE="+l.cluster.URL("postgres"))
	}
	return l
}

// in is the lan in a test that is part of the one that made it.
func (l *lan) in(t *testing.T) *lan {
	part := *l
	part.t, part.machines = t, nil
	for _, m := range l.machines {
		u := *m.user
		u.t = t
		part.machines = append(part.machines, &machine{user: &u, name: m.name, lan: &part, ends: m.ends})
	}
	return &part
}

// need skips the test for want of something, unless DOGEAR_REQUIRE names it.
func need(t *testing.T, name, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("DOGEAR_REQUIRE"), ","), name) {
		t.Fatalf("DOGEAR_REQUIRE names %s: %s", name, why)
	}
	t.Skip(why)
}

func (l *lan) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// ip runs commands of iproute2's, one a line.
func ip(format string, args ...any) error {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		words := strings.Fields(line)
		if out, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(words, " "), err, out)
		}
	}
	return nil
}

var connecting sync.Mutex

// connect makes a network that is gone with the test.
func (l *lan) connect(bridge string, n *network) (err error) {
	connecting.Lock() // or two find the same prefix free
	defer connecting.Unlock()
	*n = network{bridge: bridge}
	if n.prefix, err = freePrefix(); err != nil {
		return err
	}
	_ = ip("link del %s", bridge) // what a test of the same name left that was killed
	l.t.Cleanup(func() { _ = ip("link del %s", bridge) })
	return ip("link add %[1]s type bridge\naddr add %[2]s dev %[1]s\nlink set %[1]s up", bridge, n.host(1))
}

// freePrefix is a network of 14 machines in 198.18.0.0/15, which is for tests of networks
// (RFC 2544), in which this host has no address yet.
func freePrefix() (netip.Prefix, error) {
	taken, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Prefix{}, err
	}
	const all = 1 << 13
	for i := range all {
		at := (os.Getpid()*31 + i) % all * 16
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + at>>16), byte(at >> 8), byte(at)}), 28)
		if !slices.ContainsFunc(taken, func(a net.Addr) bool {
			other, err := netip.ParsePrefix(a.String())
			return err == nil && other.Overlaps(p)
		}) {
			return p, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("this host is in every network of 198.18.0.0/15")
}

// add makes a machine with a link to either network.
func (l *lan) add(name string, nth int, skew time.Duration) error {
	m := &machine{user: newUser(l.t), name: name, lan: l, ends: map[network]string{}}
	m.with = []string{"ip", "netns", "exec", name, binary}
	m.vars = []string{"MACHINE=" + name}
	if skew != 0 {
		m.with[4] = skewed(l.t)
		m.vars = append(m.vars, fmt.Sprintf("DOGEAR_TEST_SKEW=%d", int(skew.Seconds())))
	}
	_ = ip("netns del %s", name)
	l.t.Cleanup(func() { _ = ip("netns del %s", name) })
	if err := ip("netns add %[1]s\n-n %[1]s link set lo up", name); err != nil {
		return err
	}
	for _, n := range []network{l.ledger, l.service} {
		end := n.bridge + strconv.Itoa(nth)
		m.ends[n] = end
		l.t.Cleanup(func() { _ = ip("link del %s", end) }) // at once: the namespace goes when the kernel has time
		err := ip("link add %[1]s type veth peer name %[1]s netns %[2]s\nlink set %[1]s master %[3]s up\n"+
			"-n %[2]s addr add %[4]s dev %[1]s\n-n %[2]s link set %[1]s up", end, name, n.bridge, n.host(nth))
		if err != nil {
			return err
		}
	}
	l.machines = append(l.machines, m)
	return nil
}

// cut cuts a machine off a network; mend ends that.
func (m *machine) cut(n network) {
	m.t.Helper()
	m.lan.must(ip("link set %s down", m.ends[n]))
}

func (m *machine) mend(n network) {
	m.t.Helper()
	m.lan.must(ip("link set %s up", m.ends[n]))
}

// serve starts a stand-in in the network of the service.
func (l *lan) serve(rules ...standin.Rule) *standin.Service {
	l.t.Helper()
	return serve(l.t, standin.Config{Listen: net.JoinHostPort(l.service.host(1).Addr().String(), "0"), Rules: rules})
}

// skewed is a dogear whose wall clock is wrong by the seconds in DOGEAR_TEST_SKEW. It is built
// when it is first asked for: everything that it is made of is compiled once more.
func skewed(t *testing.T) string {
	t.Helper()
	path, err := buildSkewed()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	readsClock = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"

	// skewOf is in package time, which is too low for others to read numbers.
	skewOf = `package time

import "syscall"

var skew = func() (s int64) {
	v, _ := syscall.Getenv("DOGEAR_TEST_SKEW")
	for _, c := range v {
		if c != '-' {
			s = 10*s + int64(c-'0')
		}
	}
	if v != "" && v[0] == '-' {
		return -s
	}
	return s
}()
`
)

// buildSkewed changes what time.Now makes of the kernel's answer. The monotonic clock, by which
// Since, Until and timers go, stays as it is.
var buildSkewed = sync.OnceValues(func() (string, error) {
	dir := filepath.Dir(binary)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), readsClock); n != 1 {
		return "", fmt.Errorf("%s reads the clock in %d places that are known, want 1: look how time.Now does it now", folder, n)
	}
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range map[string]string{
		"time.go": strings.Replace(string(source), readsClock, strings.Replace(readsClock, "\n", "\n\tsec += skew\n", 1), 1),
		"skew.go": skewOf,
	} {
		overlay["Replace"][filepath.Join(folder, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "skewed")
	if err := os.WriteFile(path+".json", list, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-tags", "nobuckets", "-overlay", path+".json", "-o", path, "github.com/dogear/dogear/cmd/dogear")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build a binary with a wrong clock: %w\n%s", err, out)
	}
	return path, nil
})
