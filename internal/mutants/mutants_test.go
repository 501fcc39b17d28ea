package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A table that cannot fail proves nothing: with one rule of the gate broken on purpose, the
// row that proves it fails.
func TestBrokenGateFails(t *testing.T) {
	const waits, used = "if now.Before(s.NotBefore) {\n\t\treturn s.NotBefore, false", "|| now.Before(h.scope.NotBefore) {\n\t\t\treturn false"
	for _, m := range []struct {
		name, row string
		changes   []change
	}{
		{"W1: nobody waits", "seconds", []change{
			{"gate/scope.go", waits, "if now.Before(s.NotBefore) && false {\n\t\treturn s.NotBefore, false"},
			{"gate/gate.go", used, "{\n\t\t\treturn false"},
		}},
		{"W1: the next run does not wait", "second-round", []change{
			{"gate/scope.go", waits, "if now.Before(s.NotBefore) && false {\n\t\treturn s.NotBefore, false"},
			{"gate/gate.go", used, "{\n\t\t\treturn false"},
		}},
		{"W2: the last hint counts, not the latest", "later-wins", []change{
			{"gate/scope.go", "if t.After(s.NotBefore) {\n\t\ts.NotBefore = t", "if true {\n\t\ts.NotBefore = t"},
		}},
		{"W5: everybody probes", "many-workers", []change{
			{"gate/scope.go", "return now, s.Probe != 0", "return now, false"},
		}},
		{"W9: every throttle is a new event", "missing-hint", []change{
			{"gate/scope.go", "if !current {\n\t\t\tlate(s, p, now, r)\n\t\t\treturn\n\t\t}\n", ""},
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			broken := buildBroken(t, m.changes)
			cmd := exec.CommandContext(t.Context(), broken, "drill", m.row, "--json")
			cmd.Dir = t.TempDir()
			out, err := cmd.Output()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
				t.Fatalf("dogear drill %s, broken: %v, want exit code 1\n%s", m.row, err, out)
			}
			var row struct {
				Scenario, Why string
				Pass          bool
			}
			if err := json.Unmarshal(out, &row); err != nil || row.Scenario != m.row || row.Pass {
				t.Fatalf("%v, %+v: want that the row fails\n%s", err, row, out)
			}
			t.Log(row.Why)
		})
	}
}

// A change breaks one place of the source.
type change struct{ file, is, becomes string }

// buildBroken builds dogear with some places of its source changed.
func buildBroken(t *testing.T, changes []change) string {
	t.Helper()
	dir, replaced := t.TempDir(), map[string]string{}
	for i, c := range changes {
		source, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(c.file)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), c.is); n != 1 {
			t.Fatalf("%s has %d places that read\n%s\nwant one to break", c.file, n, c.is)
		}
		replaced[source] = filepath.Join(dir, fmt.Sprintf("changed%d.go", i))
		if err := os.WriteFile(replaced[source], []byte(strings.Replace(string(text), c.is, c.becomes, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "dogear")
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err == nil {
		err = os.WriteFile(overlay, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", binary, "github.com/dogear/dogear/cmd/dogear").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}
