package scenario

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"mine.yaml", "other.yml", "seconds"} {
		if err := os.WriteFile(name, []byte("about: My own.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ arg, name, about string }{
		{"seconds", "seconds", "A wait told in whole seconds is kept."}, // a name comes before a file
		{"./seconds", "seconds", "My own."},
		{"mine.yaml", "mine", "My own."},
		{"other.yml", "other", "My own."},
		{filepath.Join(".", "sub", "..", "mine.yaml"), "mine", "My own."},
	} {
		s, err := Load(c.arg)
		if err != nil {
			t.Errorf("%s: %v", c.arg, err)
		} else if s.Name != c.name || s.About != c.about {
			t.Errorf("%s: got %s (%s), want %s (%s)", c.arg, s.Name, s.About, c.name, c.about)
		}
	}
}

func TestLoadMissing(t *testing.T) {
	for _, c := range []struct{ arg, says string }{
		{"many-worker", "did you mean many-workers?"},
		{"MANY-WORKERS", "did you mean many-workers?"},
		{"many-workers", ""},
		{"something-else-entirely", "built in: seconds, http-date, "},
		{"", "built in: "},
		{"no/such/file", "no/such/file"},
		{"missing.yaml", "missing.yaml"},
	} {
		_, err := Load(c.arg)
		if c.says == "" {
			if err != nil {
				t.Errorf("%q: %v", c.arg, err)
			}
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v, want fs.ErrNotExist and %q", c.arg, err, c.says)
		}
	}
	if _, err := Load(t.TempDir() + "/"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder: got %v", err)
	}
}

func TestLoadMistake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(path, []byte("about: x\nworker: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path)
	if e, ok := errors.AsType[*Error](err); !ok || e.File != path || e.Line != 2 || e.Column != 1 {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "128 KiB or more") {
		t.Errorf("got %v", err)
	}
}

func TestNear(t *testing.T) {
	names := []string{"window", "sliding", "per", "ban"}
	for _, c := range []struct{ s, want string }{
		{"windw", "window"}, {"Window", "window"}, {"slidign", "sliding"}, {"pr", "per"}, {"queue", ""}, {"", ""}, {"bn", "ban"},
	} {
		if got := near(c.s, names); got != c.want {
			t.Errorf("near(%q) = %q, want %q", c.s, got, c.want)
		}
	}
}
