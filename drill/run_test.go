package drill

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
	"github.com/dogear/dogear/drill/scenario"
)

// window is ten documents behind five each second.
const window = `
about: A window.
documents: 10
quotas:
  - name: docs
    limit: {window: 5, per: 1s}
`

func testSpec(t *testing.T, yaml string, command []string) Spec {
	t.Helper()
	s, err := scenario.Parse("test", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Scenario: s, Command: command, Dir: filepath.Join(t.TempDir(), "drill")}
}

func mustRun(t *testing.T, spec Spec) Result {
	t.Helper()
	r, err := Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	t.Parallel()
	r := mustRun(t, testSpec(t, window, client("polite")))
	if !r.Pass || !strings.HasPrefix(r.Why, "10 of 10 delivered in ") {
		t.Errorf("got %v, %q, %q", r.Pass, r.Why, r.Said)
	}
	if r.Scenario != "test" || r.About != "A window." || r.Client != filepath.Base(os.Args[0]) || r.Took <= 0 || r.TookS <= 0 || len(r.Checks) != 6 {
		t.Errorf("got %+v", r)
	}
	rec, err := ReadJournal(r.Journal)
	if err != nil || len(rec.Arrivals) != r.Figures.Requests || rec.Cut != 0 || len(rec.Events) != 2 {
		t.Errorf("the journal has %+v, %v", rec, err)
	}
	if files, err := os.ReadDir(filepath.Join(filepath.Dir(r.Journal), "out")); err != nil || len(files) != 10 {
		t.Errorf("the client saved %d files, %v", len(files), err)
	}
}

func TestRunHasty(t *testing.T) {
	t.Parallel()
	r := mustRun(t, testSpec(t, strings.Replace(window, "per: 1s", "per: 3s", 1), client("hasty")))
	if r.Pass || r.Figures.Late == 0 || !strings.Contains(r.Why, "before the wait") {
		t.Errorf("got %v, %q, %+v", r.Pass, r.Why, r.Figures)
	}
}

func TestRunSays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		script, why, said string
	}{
		{"exit 0", "sent nothing", ""},
		{"echo no reason >&2; exit 3", "sent nothing, and ended with exit code 3", "no reason"},
		{"echo busy; sleep 300", "sent nothing; still running after 1s: killed", "busy"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			spec := testSpec(t, window, []string{"sh", "-c", tt.script})
			spec.TimeLimit = time.Second
			if r := mustRun(t, spec); r.Pass || r.Why != tt.why || r.Said != tt.said {
				t.Errorf("got %v, %q, %q, want %q, %q", r.Pass, r.Why, r.Said, tt.why, tt.said)
			}
		})
	}
}

func TestRunHangs(t *testing.T) {
	t.Parallel()
	spec := testSpec(t, window, append([]string{"sh", "-c", `"$@"; echo and now; sleep 300`, "sh"}, client("polite")...))
	spec.TimeLimit = 4 * time.Second
	r := mustRun(t, spec)
	if r.Pass || r.Why != "still running after 4s: killed" || r.Said != "and now" || r.Figures.Hung != 1 || r.Figures.Delivered != 10 {
		t.Errorf("got %v, %q, %q, %+v", r.Pass, r.Why, r.Said, r.Figures)
	}
}

// What cannot be started is said before there is a folder or a service.
func TestRunNotStarted(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"there-is-no-such-program", plain, t.TempDir()} {
		spec := testSpec(t, window, []string{name})
		if _, err := Run(t.Context(), spec); !errors.Is(err, ErrNotStarted) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %v", name, err, ErrNotStarted)
		}
		if _, err := os.Stat(spec.Dir); err == nil {
			t.Errorf("%s: there is a folder", name)
		}
	}
}

func TestRunTLS(t *testing.T) {
	t.Parallel()
	spec := testSpec(t, window, client("polite"))
	spec.TLS = true
	r := mustRun(t, spec)
	if !r.Pass || !strings.HasPrefix(r.Record.Head.Quotas[0].Origin, "https://") {
		t.Errorf("got %v, %q, %q at %s", r.Pass, r.Why, r.Said, r.Record.Head.Quotas[0].Origin)
	}
}

// The token of the file is good at every moment.
func TestRunToken(t *testing.T) {
	t.Parallel()
	r := mustRun(t, testSpec(t, "about: A token.\ndocuments: 30\ntoken: {lifetime: 2s}\n", client("bearer")))
	if !r.Pass || r.Figures.Requests != 30 {
		t.Errorf("got %v, %q, %q, %+v", r.Pass, r.Why, r.Said, r.Figures)
	}
}

func TestRunKills(t *testing.T) {
	t.Parallel()
	spec := testSpec(t, "about: Killed.\ndocuments: 40\nclients: 2\nkill: [1s]\ntoken: {}\n", client("bearer"))
	spec.Asserts, _ = judge.ParseAsserts("lost == 0, exit == 0, hung == 0")
	r := mustRun(t, spec)
	if !r.Pass {
		t.Errorf("%q, %q", r.Why, r.Said)
	}
	count := map[string]int{}
	for _, e := range r.Record.Events {
		count[e.Event]++
	}
	if count["started"] != 4 || count["killed"] != 2 || count["ended"] != 2 {
		t.Errorf("got %v", count)
	}
}

func TestRunCancelled(t *testing.T) {
	t.Parallel()
	spec := testSpec(t, window, []string{"sleep", "300"})
	why := errors.New("nobody wants to know")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		defer cancel(why)
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if rec, err := ReadJournal(filepath.Join(spec.Dir, journalName)); err == nil && len(rec.Events) > 0 {
				return
			}
		}
	}()
	if _, err := Run(ctx, spec); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
	rec, err := ReadJournal(filepath.Join(spec.Dir, journalName))
	if err != nil || len(rec.Events) != 2 || rec.Events[1].Event != "ended" {
		t.Errorf("the journal has %+v, %v", rec, err)
	}
}

// A real client, whose braces are its own where they name nothing of ours. The file of {ca}
// is there without TLS too, so that one command does for both.
func TestRunCurl(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	curl := []string{"curl", "-sS", "--fail", "--parallel", "--parallel-max", "{workers}", "--cacert", "{ca}", "--remote-name-all", "--output-dir", "{out}"}
	tests := []struct {
		name, yaml string
		args       []string
		pass       bool
		why        string
	}{
		{"urls", "about: Free.\n", []string{"{urls}"}, true, "20 of 20 delivered in 20 requests"},
		{"its own braces", "about: Free.\n", []string{"{base}/doc/{1,2}[0-9]", "{base}/doc/[1-9]"}, true, "20 of 20 delivered in 29 requests"},
		{"no retry", window, []string{"{urls}"}, false, "never delivered"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if r := mustRun(t, testSpec(t, tt.yaml, append(slices.Clone(curl), tt.args...))); r.Pass != tt.pass || !strings.Contains(r.Why, tt.why) {
				t.Errorf("got %v, %q, %q", r.Pass, r.Why, r.Said)
			}
		})
	}
}

// What is expected comes from the asserts, else from the journal.
func TestJudge(t *testing.T) {
	rec := &journal.Record{Head: journal.Head{Drill: 1, Documents: 2, Expect: []string{"requests == 2", "lost <= 5"}}, Arrivals: []journal.Arrival{{N: 1, At: time.Now()}}}
	r, err := Judge(rec, nil, 0)
	if err != nil || r.Pass || len(r.Checks) != 2 || r.Checks[0].Assert != "requests == 2" || r.Checks[0].Pass {
		t.Errorf("got %+v, %v", r, err)
	}
	asserts, err := judge.ParseAsserts("requests == 1")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Judge(rec, asserts, 0); err != nil || !r.Pass || len(r.Checks) != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
	rec.Head.Expect = []string{"nonsense"}
	if _, err := Judge(rec, nil, 0); err == nil {
		t.Error("a journal that expects nonsense is judged")
	}
}
