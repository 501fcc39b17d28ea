package drill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// testTeam is a team whose nth start runs the nth command; the last one again from then on.
func testTeam(t *testing.T, commands ...[]string) (*team, *journal.Journal) {
	t.Helper()
	dir := t.TempDir()
	j := &journal.Journal{}
	var mu sync.Mutex
	starts := 0
	return &team{
		size: 1, began: time.Now(), limit: patience, note: j.Note,
		output: func(client int) string { return filepath.Join(dir, strconv.Itoa(client)) },
		command: func(int) (args, env []string) {
			mu.Lock()
			defer mu.Unlock()
			starts++
			return commands[min(starts, len(commands))-1], os.Environ()
		},
	}, j
}

func sh(script string) []string { return []string{"sh", "-c", script} }

// story is the events in short.
func story(j *journal.Journal) string {
	var words []string
	for _, e := range j.Events() {
		word := fmt.Sprintf("%s%d", e.Event, e.Client)
		if e.Code != 0 {
			word += fmt.Sprintf("(%d)", e.Code)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// readPid waits for a file with the number of a process.
func readPid(t *testing.T, path string) int {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && strings.HasSuffix(string(b), "\n") {
			return pid
		}
		if time.Now().After(end) {
			t.Errorf("%s: no process wrote its number: %q", path, b)
			return 0
		}
	}
}

// mustGo waits until a process runs no more.
func mustGo(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(b), ") ")
		if err != nil || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X") {
			return
		}
		if time.Now().After(end) {
			t.Errorf("process %d still runs: %s", pid, b)
			return
		}
	}
}

func TestKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	forever := sh("sleep 300")
	team, j := testTeam(t, forever, forever, sh("exit 0"))
	team.kill = []time.Duration{50 * time.Millisecond, 100 * time.Millisecond}
	ends, err := team.run(t.Context())
	if err != nil || ends[0].code != 0 || ends[0].hung {
		t.Errorf("got %+v, %v", ends, err)
	}
	if got, want := story(j), "started1 killed1(137) started1 killed1(137) started1 ended1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDoneIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	team, j := testTeam(t, sh("exit 0"))
	team.kill = []time.Duration{20 * time.Second}
	if _, err := team.run(t.Context()); err != nil {
		t.Error(err)
	}
	if got, want := story(j), "started1 ended1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if took := time.Since(team.began); took > 15*time.Second {
		t.Errorf("it took %v, though the client was done", took)
	}
}

func TestFailedIsStartedAgain(t *testing.T) {
	t.Parallel()
	team, j := testTeam(t, sh("exit 7"), sh("exit 3"))
	team.kill = []time.Duration{time.Second}
	ends, err := team.run(t.Context())
	if err != nil || ends[0].code != 3 {
		t.Errorf("got %+v, %v, want exit code 3", ends, err)
	}
	if got, want := story(j), "started1 ended1(7) started1 ended1(3)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestClientsTogether(t *testing.T) {
	t.Parallel()
	// Each waits for the other.
	dir := t.TempDir()
	team, j := testTeam(t)
	team.size = 2
	team.command = func(client int) (args, env []string) {
		return sh(fmt.Sprintf("touch %s/%d; while ! [ -e %s/%d ]; do sleep 0.01; done; exit %d", dir, client, dir, 3-client, client)), os.Environ()
	}
	ends, err := team.run(t.Context())
	if err != nil || len(ends) != 2 || ends[0].code != 1 || ends[1].code != 2 {
		t.Errorf("got %+v, %v", ends, err)
	}
	if got := story(j); !strings.Contains(got, "started1 ") || !strings.Contains(got, "started2 ") {
		t.Errorf("got %s", got)
	}
}

func TestHungIsKilled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		code         int
	}{
		{"ends when it is asked to", "sleep 300 & echo $! >%[1]s; echo $$ >%[2]s; trap 'exit 5' TERM; wait", 5},
		{"does not listen", "trap '' TERM; sleep 300 & echo $! >%[1]s; echo $$ >%[2]s; echo still here; while :; do wait; sleep 0.1; done", 137},
		{"its child does not listen", "sh -c 'trap \"\" TERM; echo $$ >%[1]s; while :; do sleep 0.1; done' & echo $$ >%[2]s; wait", 143},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			child, parent := filepath.Join(dir, "child"), filepath.Join(dir, "parent")
			team, j := testTeam(t, sh(fmt.Sprintf(tt.script, child, parent)))
			team.limit = 2 * time.Second
			ends, err := team.run(t.Context())
			if err != nil || !ends[0].hung || ends[0].code != tt.code {
				t.Errorf("got %+v, %v, want hung with %d", ends, err, tt.code)
			}
			if got, want := story(j), fmt.Sprintf("started1 timeout1 ended1(%d)", tt.code); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			mustGo(t, readPid(t, child))
			mustGo(t, readPid(t, parent))
		})
	}
}

// What a client leaves behind holds its output open, and must not hold the drill.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	child := filepath.Join(t.TempDir(), "child")
	team, _ := testTeam(t, sh("sleep 300 & echo $! >"+child))
	ends, err := team.run(t.Context())
	if err != nil || ends[0].code != 0 {
		t.Errorf("got %+v, %v", ends, err)
	}
	mustGo(t, readPid(t, child))
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	child, parent := filepath.Join(dir, "child"), filepath.Join(dir, "parent")
	team, j := testTeam(t, sh(fmt.Sprintf("sleep 300 & echo $! >%s; echo $$ >%s; wait", child, parent)))
	why := errors.New("nobody wants to know")
	ctx, cancel := context.WithCancelCause(t.Context())
	pids := make(chan int, 2)
	go func() {
		defer close(pids)
		defer cancel(why)
		pids <- readPid(t, child)
		pids <- readPid(t, parent)
	}()
	if _, err := team.run(ctx); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
	for pid := range pids {
		mustGo(t, pid)
	}
	if got, want := story(j), "started1 ended1(143)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNotStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("\x7fno program"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{filepath.Join(dir, "missing"), write("plain", 0o600), write("garbage", 0o700), dir} {
		// The other client would run for ever.
		other := filepath.Join(dir, "other-"+filepath.Base(path))
		team, _ := testTeam(t)
		team.size = 2
		team.command = func(client int) (args, env []string) {
			if client == 1 {
				return sh(fmt.Sprintf("echo $$ >%s; sleep 300", other)), os.Environ()
			}
			readPid(t, other)
			return []string{path}, os.Environ()
		}
		if _, err := team.run(t.Context()); !errors.Is(err, ErrNotStarted) {
			t.Errorf("%s: got %v, want %v", path, err, ErrNotStarted)
		}
		mustGo(t, readPid(t, other))
	}
}

func TestHugeOutput(t *testing.T) {
	t.Parallel()
	team, _ := testTeam(t, sh("head -c 30000000 /dev/zero; echo; echo to stdout; echo to stderr >&2; exit 1"))
	ends, err := team.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(ends[0].said, "\n")
	if got, want := lines[len(lines)-2:], []string{"to stdout", "to stderr"}; !slices.Equal(got, want) {
		t.Errorf("it said %q last, want %q", got, want)
	}
	info, err := os.Stat(team.output(1))
	if err != nil || info.Size() > outputHead+3*outputTail {
		t.Errorf("%d bytes of output are kept, %v", info.Size(), err)
	}
}
