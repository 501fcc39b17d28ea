package plan_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the sheets in examples/")

// dogear runs a command and returns what it printed.
func dogear(t *testing.T, code int, args ...string) string {
	t.Helper()
	t.Setenv("DOGEAR_STORE", filepath.Join(t.TempDir(), "none.db"))
	var out, errs bytes.Buffer
	if got := cli.Main(t.Context(), cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}); got != code {
		t.Fatalf("dogear %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, errs.String())
	}
	return out.String()
}

// The sheets in examples/ are what the command in its README makes of the profile there.
func TestExamples(t *testing.T) {
	t.Chdir("..")
	if got := dogear(t, 0, "profiles", "check", "examples/example-docs.yaml"); !strings.Contains(got, "example-docs is right") {
		t.Errorf("check says %q", got)
	}
	for file, more := range map[string][]string{"examples/sheet.en.md": nil, "examples/sheet.zh.md": {"--lang", "zh"}} {
		args := append([]string{"plan", "--profile", "examples/example-docs.yaml", "--base-url", "https://docs.internal.example/api/v2", "--tier", "night-batch",
			"--documents", "250000", "--size", "300kB", "--latency", "120ms", "--deadline", "8h", "--markdown", "-"}, more...)
		got := dogear(t, 0, args...)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s is not what is made now (go test ./plan -run TestExamples -update):\n%s", file, diff)
		}
	}
}

// A shipped profile can be planned with whatever it says, in both languages.
func TestShippedProfiles(t *testing.T) {
	for line := range strings.Lines(dogear(t, 0, "profiles")) {
		name := strings.Fields(line)[0]
		for _, lang := range []string{"en", "zh"} {
			if got := dogear(t, 0, "plan", "--profile", name, "--documents", "5000", "--deadline", "1h", "--lang", lang, "--html", "-"); !strings.HasSuffix(got, "</html>\n") {
				t.Errorf("%s: the page ends with %q", name, got[max(0, len(got)-40):])
			}
			dogear(t, 0, "plan", "--profile", name, "--documents", "5000", "--latency", "100ms", "--size", "1MB", "--lang", lang)
		}
	}
}
