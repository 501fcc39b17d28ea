package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

const owner = "job policies of /state/ledger.db"

func open(t testing.TB, dir string) *Sink {
	t.Helper()
	s, err := Open(dir, owner)
	if err != nil {
		t.Fatalf("Open(%s): %v", dir, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// save writes a closed temporary file.
func save(t testing.TB, s *Sink, doc int64, text string) *File {
	t.Helper()
	f, err := s.create(doc, 0)
	if err != nil {
		t.Fatalf("Create(%d): %v", doc, err)
	}
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatalf("write document %d: %v", doc, err)
	}
	if err := f.Close(); err != nil {
		t.Fatalf("close document %d: %v", doc, err)
	}
	return f
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

func TestOneDocument(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	f := save(t, s, 7, "hello")
	if got, want := f.Name(), ".dogear-7.part"; got != want {
		t.Errorf("Name() = %q, want %q", got, want)
	}
	if err := s.settle([]*File{f}); err != nil {
		t.Fatalf("Sync: %v", err)
	}
	if err := s.place(f.Name(), "hello.txt"); err != nil {
		t.Fatalf("Place: %v", err)
	}
	if err := s.settle(nil); err != nil {
		t.Fatalf("Sync(nil): %v", err)
	}
	if got, want := names(t, dir), ".dogear-job hello.txt"; got != want {
		t.Errorf("the folder holds %s, want %s", got, want)
	}
	if got, err := s.Size(t.Context(), "hello.txt"); got != 5 || err != nil {
		t.Errorf("Size = %d, %v, want 5", got, err)
	}
	r, err := s.Open("hello.txt")
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); string(got) != "hello" || err != nil {
		t.Errorf("the result is %q, %v", got, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Dir(dir): 0o700, filepath.Join(dir, "hello.txt"): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", path, got, want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, "x")
		_, err := Open(path, owner)
		if err == nil || !strings.Contains(err.Error(), "open the folder "+path) {
			t.Errorf("Open(a file) = %v", err)
		}
		if _, err := Open(filepath.Join(path, "sub"), owner); err == nil {
			t.Error("Open(below a file) succeeded")
		}
	})
	t.Run("another job's", func(t *testing.T) {
		dir := t.TempDir()
		open(t, dir)
		_, err := Open(dir, "job other")
		other, ok := errors.AsType[*OtherJobError](err)
		if !ok || other.Owner != owner || other.Dir != dir {
			t.Errorf("Open(another job's) = %v", err)
		}
		if got, want := names(t, dir), ".dogear-job"; got != want {
			t.Errorf("the folder holds %s, want %s", got, want)
		}
		open(t, dir) // its own job still may
	})
	t.Run("a job that moved there and back", func(t *testing.T) {
		dir := t.TempDir()
		take := func(owner string, before ...string) error {
			s, err := Open(dir, owner, before...)
			if err == nil {
				err = s.Close()
			}
			return err
		}
		write(t, filepath.Join(open(t, dir).path, "dogear.jsonl"), "mine")
		for _, moved := range []error{take("there", owner), take("there", owner), take(owner, owner, "there"), take(owner, owner, "there")} {
			if moved != nil {
				t.Error(moved)
			}
		}
		if err := take("there", owner); err == nil || !strings.Contains(err.Error(), owner) {
			t.Errorf("Open where it was before = %v, want an error that names whose it is", err)
		}
		if got, want := names(t, dir), ".dogear-job dogear.jsonl"; got != want {
			t.Errorf("the folder holds %s, want %s", got, want)
		}
	})
	t.Run("a list of nobody's", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "dogear.jsonl"), "mine")
		_, err := Open(dir, owner)
		if other, ok := errors.AsType[*OtherJobError](err); !ok || other.Owner != "" {
			t.Errorf("Open(a list of nobody's) = %v", err)
		}
		if got, want := names(t, dir), "dogear.jsonl"; got != want {
			t.Errorf("the folder holds %s, want %s", got, want)
		}
	})
	for what, plant := range map[string]func(path string) error{
		"a broken mark":      func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"an empty mark":      func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
		"a folder as mark":   func(path string) error { return os.Mkdir(path, 0o700) },
		"a link as mark":     func(path string) error { return os.Symlink("elsewhere", path) },
		"a real one, linked": func(path string) error { return os.Symlink("real", path) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "real"), `{"owner":"`+owner+`"}`)
			if err := plant(filepath.Join(dir, markName)); err != nil {
				t.Skip(err)
			}
			_, err := Open(dir, owner)
			if err == nil || !strings.Contains(err.Error(), markName) {
				t.Errorf("Open = %v", err)
			}
		})
	}
}

func TestOpenLeavesForeignFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "notes.txt"), "mine")
	s := open(t, dir)
	f := save(t, s, 1, "other")
	if err := s.place(f.Name(), "notes.txt"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Place onto a foreign file = %v, want fs.ErrExist", err)
	}
	if err := s.Sweep(func(int64) bool { return false }); err != nil {
		t.Errorf("Sweep: %v", err)
	}
	if got := read(t, filepath.Join(dir, "notes.txt")); got != "mine" {
		t.Errorf("the foreign file holds %q", got)
	}
}

// Of two jobs that open a new folder at the same moment one has it.
func TestOpenRace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			s, err := Open(dir, fmt.Sprint("job ", i))
			if errs[i] = err; err == nil {
				s.Close()
			}
		})
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
		} else if _, ok := errors.AsType[*OtherJobError](err); !ok {
			t.Errorf("job %d: %v", i, err)
		}
	}
	if won != 1 {
		t.Errorf("%d jobs have the folder, want 1", won)
	}
	if got, want := names(t, dir), ".dogear-job"; got != want {
		t.Errorf("the folder holds %s, want %s", got, want)
	}
}

func TestKeep(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, 1, "0123456789")

	f, err := s.create(1, 4)
	if err != nil {
		t.Fatalf("Create(1, 4): %v", err)
	}
	if got, err := io.ReadAll(f.Prefix()); string(got) != "0123" || err != nil {
		t.Errorf("Prefix = %q, %v", got, err)
	}
	if _, err := io.WriteString(f, "abc"); err != nil {
		t.Fatal(err)
	}
	if err := s.syncFile(f); err != nil {
		t.Errorf("SyncFile(open): %v", err)
	}
	f.Close()
	if err := s.syncFile(f); err != nil {
		t.Errorf("SyncFile(closed): %v", err)
	}
	if got, want := read(t, filepath.Join(dir, f.Name())), "0123abc"; got != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}

	if _, err := s.create(1, 8); !errors.Is(err, ErrNotKept) {
		t.Errorf("Create(more than there is) = %v, want ErrNotKept", err)
	}
	if _, err := s.create(2, 8); !errors.Is(err, ErrNotKept) {
		t.Errorf("Create(of no file) = %v, want ErrNotKept", err)
	}
	if _, err := s.create(1, -1); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Create(-1) = %v, want fs.ErrInvalid", err)
	}
	if f = save(t, s, 1, "new"); read(t, filepath.Join(dir, f.Name())) != "new" {
		t.Errorf("a fresh file holds %q", read(t, filepath.Join(dir, f.Name())))
	}
	if got, err := io.ReadAll(f.Prefix()); len(got) != 0 || err != nil {
		t.Errorf("Prefix of a fresh file = %q, %v", got, err)
	}
	for range 2 {
		if err := s.Remove(1); err != nil {
			t.Errorf("Remove: %v", err)
		}
	}
	if err := s.syncFile(f); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("SyncFile(removed) = %v, want fs.ErrNotExist", err)
	}
}

// A link that lies where a file of ours should be is not written through, nor read, be its
// target in the folder or outside.
func TestLinksAreNotFollowed(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "precious")
	for _, where := range []string{"outside", "inside", "dangling"} {
		t.Run(where, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			target := map[string]string{"outside": outside, "inside": "inside", "dangling": "nowhere"}[where]
			precious := filepath.Join(dir, "inside")
			if where == "outside" {
				precious = outside
			}
			write(t, precious, "precious text")
			symlink(t, target, filepath.Join(dir, ".dogear-5.part"))
			symlink(t, target, filepath.Join(dir, "result.txt"))
			symlink(t, target, filepath.Join(dir, listTemp))
			symlink(t, target, filepath.Join(dir, listName))

			if _, err := s.create(5, 3); !errors.Is(err, ErrNotKept) {
				t.Errorf("Create(5, 3) = %v, want ErrNotKept", err)
			}
			f := save(t, s, 5, "body")
			if err := s.place(f.Name(), "result.txt"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("Place onto a link = %v, want fs.ErrExist", err)
			}
			if _, err := s.Size(t.Context(), "result.txt"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Size(link) = %v, want fs.ErrNotExist", err)
			}
			if _, err := s.Open("result.txt"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Open(link) = %v, want fs.ErrNotExist", err)
			}
			if err := s.WriteList(t.Context(), rows()); err != nil {
				t.Errorf("WriteList: %v", err)
			}
			if got := read(t, precious); got != "precious text" {
				t.Errorf("what the link led to holds %q", got)
			}
			if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
				t.Error("the target of a dangling link was made")
			}
			if info, err := os.Lstat(filepath.Join(dir, f.Name())); err != nil || !info.Mode().IsRegular() {
				t.Errorf("the temporary file is %v, %v", info, err)
			}
			if err := s.Remove(5); err != nil {
				t.Errorf("Remove: %v", err)
			}
		})
	}
}

func TestNamesAreElements(t *testing.T) {
	s := open(t, t.TempDir())
	f := save(t, s, 1, "x")
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "../a", "/a", "a/", "a:b", "a\x00b"} {
		if err := s.place(f.Name(), name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Place(…, %q) = %v, want fs.ErrInvalid", name, err)
		}
		if err := s.place(name, "x"); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Place(%q, …) = %v, want fs.ErrInvalid", name, err)
		}
		if _, err := s.Size(t.Context(), name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Size(%q) = %v, want fs.ErrInvalid", name, err)
		}
		if _, err := s.Open(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Open(%q) = %v, want fs.ErrInvalid", name, err)
		}
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	stay := []string{"a.html", ".dogear-2.part", ".dogear-02.part", ".dogear-x.part", ".dogear-.part", ".dogear-3.part.bak",
		"dogear-3.part", ".dogear-+3.part", ".dogear-99999999999999999999.part"}
	gone := []string{".dogear-3.part", ".dogear-9223372036854775807.part", ".dogear-list.part", ".dogear-job-ABC.part"}
	for _, name := range append(stay, gone...) {
		write(t, filepath.Join(dir, name), "x")
	}
	if err := os.Mkdir(filepath.Join(dir, ".dogear-4.part"), 0o700); err != nil {
		t.Fatal(err)
	}
	stay = append(stay, ".dogear-4.part", markName)
	if err := s.Sweep(func(doc int64) bool { return doc == 2 }); err != nil {
		t.Fatalf("Sweep: %v", err)
	}
	for _, name := range stay {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
	for _, name := range gone {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is there still", name)
		}
	}
}

func TestSweepOfMany(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 3000 {
		write(t, filepath.Join(dir, tempName(int64(i))), "")
	}
	if err := s.Sweep(func(doc int64) bool { return doc%1000 == 0 }); err != nil {
		t.Fatalf("Sweep: %v", err)
	}
	if got, want := names(t, dir), ".dogear-0.part .dogear-1000.part .dogear-2000.part .dogear-job"; got != want {
		t.Errorf("the folder holds %s, want %s", got, want)
	}
}
