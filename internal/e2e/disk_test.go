//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/standin"
)

// tmpfs is a file system of a size, which the returned function changes.
func tmpfs(t *testing.T, size string) (dir string, remount func(options string)) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root mounts a file system")
	}
	dir = filepath.Join(t.TempDir(), "tmpfs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mount := func(args ...string) error {
		out, err := exec.Command("mount", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("mount %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	if err := mount("-t", "tmpfs", "-o", "mode=0700,size="+size, "tmpfs", dir); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir, func(options string) {
		t.Helper()
		if err := mount("-o", "remount,"+options, dir); err != nil {
			t.Fatal(err)
		}
	}
}

// fill leaves no byte free, until the file that it returns is removed.
func fill(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return name
}

// A sink that is full ends the run with its place kept; when there is space again, the next
// one goes on and reads nothing twice.
func TestSinkFull(t *testing.T) {
	t.Parallel()
	dir, remount := tmpfs(t, "2m")
	u := newUser(t)
	s := serve(t, standin.Config{})
	const docs, size = 60, 100_000
	var list []string
	for i := 1; i <= docs; i++ {
		list = append(list, s.URL(fmt.Sprintf("/doc/%d?size=%d", i, size)))
	}
	u.write("l.txt", list...)
	out := filepath.Join(dir, "out")
	r := u.must(73, "read", "l.txt", "--scope", "host", "-o", out, "--concurrency", "4")
	r.says(t, "sink_failed", "no space left", "resume l")
	st := u.status("l")
	if st.LastRun.StopReason != "sink_failed" || st.Documents.Done == docs || st.Documents.Done+st.Documents.Pending != docs {
		t.Errorf("%+v", st)
	}
	before := s.Journal.ByPath()
	done := map[string]bool{}
	for _, d := range u.results("l") {
		path, _, _ := strings.Cut(strings.TrimPrefix(d.ID, s.URL("")), "?")
		done[path] = true
	}
	remount("size=20m")
	u.must(0, "resume", "l")
	after := s.Journal.ByPath()
	for path := range done {
		if after[path] != before[path] {
			t.Errorf("%s was done and was read again", path)
		}
	}
	for _, d := range u.results("l") {
		var n int
		if _, err := fmt.Sscanf(strings.TrimPrefix(d.ID, s.URL("/doc/")), "%d", &n); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(out, d.Path))
		if err != nil || standin.Sum(got) != standin.Sum(standin.BodyOf(n, size, 0)) {
			t.Errorf("%s: %d bytes, %v", d.Path, len(got), err)
		}
	}
	u.must(0, "verify", "l", "--deep")
	if files, err := os.ReadDir(out); err != nil || countVisible(files) != docs {
		t.Errorf("%d results in the folder (%v), want %d", countVisible(files), err, docs)
	}
}

// A ledger that is full in the middle of a run ends it, and what was written down stands.
func TestLedgerFull(t *testing.T) {
	t.Parallel()
	dir, _ := tmpfs(t, "64m")
	u := newUser(t)
	store := filepath.Join(dir, "own", "ledger.db")
	u.vars = []string{"DOGEAR_STORE=" + store}
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.Delay(5 * time.Millisecond)}})
	const docs = 3000
	u.list("l.txt", s, docs)
	p := u.start("read", "l.txt", "--scope", "host", "-o", "out", "--concurrency", "4")
	until(t, "the middle of the run", func() bool { return s.Journal.Len() >= 50 })
	filler := fill(t, dir)
	r := p.wait(2 * patience)
	r.want(t, 74)
	r.says(t, "ledger_failed", "no space left")
	if s.Journal.Len() >= docs {
		t.Fatal("the run was through before the ledger was full: the test proves nothing")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	stopped := s.Journal.Len()
	if st := u.status("l"); st.Requests.Sent < stopped {
		t.Errorf("%d requests in the ledger, %d arrived", st.Requests.Sent, stopped)
	}
	done := map[string]bool{}
	for _, d := range u.results("l") {
		done[strings.TrimPrefix(d.ID, s.URL(""))] = true
	}
	before := s.Journal.ByPath()
	s.SetRules()
	u.must(0, "resume", "l", "--concurrency", "16")
	after := s.Journal.ByPath()
	for path := range done {
		if after[path] != before[path] {
			t.Errorf("%s was done and was read again", path)
		}
	}
	u.must(0, "verify", "l", "--deep")
	checkArrivals(t, s.Journal.Arrivals(nil), u.requests("l"), s.URL)
}

// A ledger that cannot be written is refused before anything is sent.
func TestLedgerReadOnly(t *testing.T) {
	t.Parallel()
	dir, remount := tmpfs(t, "16m")
	u := newUser(t)
	store := filepath.Join(dir, "own", "ledger.db")
	s := serve(t, standin.Config{})
	u.list("l.txt", s, 5)
	u.must(65, "read", "l.txt", "--scope", "host", "--store", store, "--max-requests", "2", "--concurrency", "1")
	remount("ro")
	arrived := s.Journal.Len()
	u.must(74, "resume", "l", "--store", store, "--max-requests", "9").says(t, "cannot be written")
	if n := s.Journal.Len(); n != arrived {
		t.Errorf("%d requests with a ledger that cannot be written", n-arrived)
	}
	remount("rw")
	u.must(0, "resume", "l", "--store", store, "--max-requests", "9")
}

// A process that was stopped in the middle of a transaction holds the ledger: the others say
// so, and send nothing.
func TestLedgerLocked(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{})
	u.list("l.txt", s, 3)
	u.must(65, "read", "l.txt", "--scope", "host", "--max-requests", "1", "--concurrency", "1")
	locks, err := filepath.Glob(u.ledger() + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range locks {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			continue
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	r := u.start("resume", "l", "--max-requests", "9").wait(patience)
	r.want(t, 74)
	r.says(t, "another process holds the ledger")
	if n := s.Journal.Len(); n != 1 {
		t.Errorf("%d requests arrived, want the first run's alone", n)
	}
}
