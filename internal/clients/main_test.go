package clients

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "measure anew, and write testdata/seen.json and docs/clients.md")

const root = "../.."

// programs is where the tests' dogear and Go clients are.
var programs string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "dogear-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	// The drills wait more than they work. What is written down is measured with more care.
	if f := flag.Lookup("test.parallel"); !*update && f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := f.Value.Set("6"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// needClients skips the test where the clients are not installed, and builds what is made here.
func needClients(t *testing.T) {
	t.Helper()
	needInstalled(t)
	build(t, root, "./cmd/dogear")
	build(t, filepath.Join(root, "clients/go"), "./retryablehttp", "./kiota")
}

// needInstalled skips the test where the clients are not installed, unless DOGEAR_REQUIRE names
// them.
func needInstalled(t *testing.T) {
	t.Helper()
	if err := installed(); err != nil {
		if slices.Contains(strings.Split(os.Getenv("DOGEAR_REQUIRE"), ","), "clients") {
			t.Fatalf("DOGEAR_REQUIRE names clients: %v; try: scripts/clients.sh", err)
		}
		t.Skipf("%v; try: scripts/clients.sh", err)
	}
}

// installed says what is missing of what scripts/clients.sh installs.
func installed() error {
	for _, name := range []string{"curl", "wget", "aria2c", "xargs", "node"} {
		if _, err := exec.LookPath(name); err != nil {
			return err
		}
	}
	sum := sha256.New()
	for _, name := range []string{"clients/python/requirements.txt", "clients/node/package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		sum.Write(text)
	}
	place, err := filepath.EvalSymlinks(filepath.Join(root, "clients/installed"))
	if err != nil {
		return err
	}
	if want := hex.EncodeToString(sum.Sum(nil))[:16]; filepath.Base(place) != want {
		return fmt.Errorf("%s has other versions than clients/ asks for", place)
	}
	_, err = os.Stat(filepath.Join(place, "done"))
	return err
}

func build(t *testing.T, dir string, packages ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build", "-o", programs + string(filepath.Separator)}, packages...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v in %s: %v\n%s\nafter a change of go.mod try: go -C clients/go mod tidy", cmd.Args, dir, err, out)
	}
}

// environment is the test's own, without what would lead requests elsewhere and without the
// user's settings of curl, wget and aria2.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(v), "=")
		return strings.HasSuffix(name, "_PROXY") || strings.HasPrefix(name, "DOGEAR_") || strings.HasPrefix(name, "XDG_")
	})
	return append(env, "HOME="+programs, "PYTHONDONTWRITEBYTECODE=1")
}
