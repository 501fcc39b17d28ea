package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/ledger"
)

// TestScale lists as many documents as DOGEAR_TEST_SCALE says and looks at what must not
// depend on their number. Ten million take some minutes and 3 GB.
func TestScale(t *testing.T) {
	n, err := time.ParseDuration(os.Getenv("DOGEAR_TEST_SCALE") + "ns")
	if err != nil {
		t.Skip("set DOGEAR_TEST_SCALE to a number of documents")
	}
	path := filepath.Join(t.TempDir(), "dogear", "ledger.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	start := time.Now()
	took := func(what string) {
		t.Logf("%-40s %v", what, time.Since(start).Round(10*time.Microsecond))
		start = time.Now()
	}
	job, _, err := s.Create(t.Context(), "big", ledger.Settings{}, docs(int(n)))
	if err != nil {
		t.Fatal(err)
	}
	took("list")
	if mem := peak(t); mem > 80<<20 {
		t.Errorf("the process took %d MiB for it, want at most 80", mem>>20)
	}
	run, err := s.Begin(t.Context(), job.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	took("begin")
	lanes, err := s.Lanes(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	took("lanes")
	for range 3 {
		if _, err := s.Claim(t.Context(), lanes[0].ID, 256, 8); err != nil {
			t.Fatal(err)
		}
		took("claim 256")
	}
	for _, err := range s.Remaining(t.Context(), job.ID) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	took("first of remaining")
	if _, err := s.Counts(t.Context(), job.ID); err != nil {
		t.Fatal(err)
	}
	took("counts")
	for d := range docs(100_000) {
		if _, found, err := s.Compare(t.Context(), job.ID, d); !found || err != nil {
			t.Fatal(found, err)
		}
	}
	took("compare 100,000 in order")
	if err := s.EndRun(t.Context(), run.ID, "deadline"); err != nil {
		t.Fatal(err)
	}
	took("end run")
	if err := s.Forget(t.Context(), job.ID); err != nil {
		t.Fatal(err)
	}
	took("forget")
	if info, err := os.Stat(path); err == nil {
		t.Logf("%d MB", info.Size()>>20)
	}
}

// peak is the most memory that the process has had, where the system says it.
func peak(t *testing.T) (bytes int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(l, "VmHWM: %d kB", &bytes); err == nil {
			t.Logf("%d MiB at most", bytes>>10)
			return bytes << 10
		}
	}
	return 0
}
