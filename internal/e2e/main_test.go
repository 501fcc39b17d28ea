package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// binary is the dogear that the tests run.
var binary string

// run runs the tests.
var run = (*testing.M).Run

func TestMain(m *testing.M) {
	code, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// build builds the binary, once, and runs the tests.
func build(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "dogear-e2e-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "dogear")
	cmd := exec.Command("go", append([]string{"build", "-o", binary}, append(buildFlags, "github.com/dogear/dogear/cmd/dogear")...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	// The tests wait more than they work.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := f.Value.Set("8"); err != nil {
			return 0, err
		}
	}
	return run(m), nil
}
