package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger/sqlite"
)

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// made is the path of a ledger that was made, written to and closed.
func made(t *testing.T) string {
	t.Helper()
	path := newPath(t)
	s := open(t, path)
	if err := s.Decide(t.Context(), []string{"host:a"}, func(*dogear.Docket) {}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// script changes a database behind the ledger's back.
func script(t *testing.T, path, statements string) {
	t.Helper()
	c, err := zombie.OpenConn(path, zombie.OpenReadWrite, zombie.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for s := range strings.SplitSeq(statements, ";") {
		if err := sqlitex.ExecuteTransient(c, s, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	unix := runtime.GOOS != "windows"
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, path string)
		want  error
		try   string // what the message advises
		skip  bool
	}{
		{"others may read", func(t *testing.T, path string) { chmod(t, path, 0o640) }, sqlite.ErrExposed, "chmod 600", !unix},
		{"others may write", func(t *testing.T, path string) { chmod(t, path, 0o602) }, sqlite.ErrExposed, "chmod 600", !unix},
		{"others may read the folder", func(t *testing.T, path string) { chmod(t, filepath.Dir(path), 0o755) }, sqlite.ErrExposed, "chmod 700", !unix},
		{"another user's", func(t *testing.T, path string) {
			if err := os.Chown(path, os.Geteuid()+1, -1); err != nil {
				t.Skip(err)
			}
		}, sqlite.ErrOwner, "--store", !unix},
		{"read only", func(t *testing.T, path string) { chmod(t, path, 0o400) }, sqlite.ErrReadOnly, "chmod 600", false},
		{"a text", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("Dear diary,\n", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, sqlite.ErrForeign, "--store", false},
		{"a short text", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, sqlite.ErrForeign, "--store", false},
		{"a folder", func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, sqlite.ErrForeign, "--store", false},
		{"another program's", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			script(t, path, `CREATE TABLE moz_places (url TEXT); INSERT INTO moz_places VALUES ('x')`)
			chmod(t, path, 0o600)
		}, sqlite.ErrForeign, "--store", false},
		{"newer", func(t *testing.T, path string) { script(t, path, `PRAGMA user_version = 9999`) }, sqlite.ErrNewer, "newer dogear", false},
		{"damaged", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt(make([]byte, 3000), 100); err != nil {
				t.Fatal(err)
			}
		}, sqlite.ErrCorrupt, "move", false},
		{"cut", func(t *testing.T, path string) {
			if err := os.Truncate(path, 4096); err != nil {
				t.Fatal(err)
			}
		}, sqlite.ErrCorrupt, "move", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.skip {
				t.Skip("not on this system")
			}
			path := made(t)
			tt.spoil(t, path)
			before, _ := os.ReadFile(path)
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, tt.want) {
				t.Fatalf("got error %v, want one that matches %q", err, tt.want)
			}
			if msg := err.Error(); !strings.Contains(msg, path) || !strings.Contains(msg, "try: ") || !strings.Contains(msg, tt.try) {
				t.Errorf("%q does not name the file and say to try %q", msg, tt.try)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

// A ledger with nothing in its main file yet, as after a crash of the process that made it.
func TestOpenAnEmptyFile(t *testing.T) {
	path := newPath(t)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, path)
}

// A full disk fails the calls that it meets, all of one commit, and nothing else.
func TestFullDisk(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	fill := func(d *dogear.Docket) { d.Scopes["host:a"].Pace = make([]byte, 1<<20) }
	room := s.LimitPages(t.Context(), 100)
	err := s.Decide(t.Context(), []string{"host:a"}, fill)
	if !errors.Is(err, sqlite.ErrFull) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got error %v, want one that matches ErrFull and ENOSPC", err)
	}
	if err := s.Decide(t.Context(), []string{"host:b"}, func(*dogear.Docket) {}); err != nil {
		t.Errorf("a small decision on a full disk: %v", err)
	}
	room()
	if err := s.Decide(t.Context(), []string{"host:a"}, fill); err != nil {
		t.Errorf("with space again: %v", err)
	}
}
