package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogear/dogear"
	"golang.org/x/sys/unix"
)

// run runs a command of the system, or skips the test where it may not.
func run(t testing.TB, name string, args ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root mounts file systems")
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Skipf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}

// mount mounts a file system on a folder of the test.
func mount(t testing.TB, args ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	run(t, "mount", append(args, dir)...)
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// image makes an ext4 file system in a file.
func image(t testing.TB, dir, size string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "image")
	run(t, "truncate", "-s", size, path)
	run(t, "mkfs.ext4", "-q", path)
	return path
}

func TestFullDisk(t *testing.T) {
	dir := mount(t, "-t", "tmpfs", "-o", "size=1m", "none")
	s := open(t, dir)
	if err := s.WriteList(t.Context(), rows(dogear.Result{ID: "old"})); err != nil {
		t.Fatal(err)
	}
	f, err := s.create(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	chunk := bytes.Repeat([]byte("x"), 4096)
	for range 300 {
		if _, err = f.Write(chunk); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Write on a full disk = %v, want ENOSPC", err)
	}
	if err := s.WriteList(t.Context(), rows(dogear.Result{ID: "new"})); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("WriteList on a full disk = %v, want ENOSPC", err)
	}
	if got := read(t, filepath.Join(dir, listName)); !strings.Contains(got, "old") {
		t.Errorf("the list is %q, want the old one", got)
	}
	_, err = Open(filepath.Join(dir, "another"), owner)
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("Open on a full disk = %v, want ENOSPC", err)
	}
	f.Close()
	if err := s.Remove(1); err != nil {
		t.Errorf("Remove on a full disk: %v", err)
	}
	if err := s.settle([]*File{save(t, s, 2, "fits again")}); err != nil {
		t.Errorf("Sync: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	dir := mount(t, "-t", "tmpfs", "none")
	s := open(t, dir)
	run(t, "mount", "-o", "remount,ro", dir)
	if _, err := s.create(1, 0); !errors.Is(err, unix.EROFS) {
		t.Errorf("Create = %v, want EROFS", err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "sub")} {
		if _, err := Open(path, owner); !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), path) {
			t.Errorf("Open(%s) = %v, want EROFS", path, err)
		}
	}
}

func TestNoPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, owner); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("Open = %v, want fs.ErrPermission", err)
	}
}

// K2: a write that the system lost after it was accepted is found by Sync, on both ways. The
// disk is an image that is larger than what it lies on.
func TestLostWrites(t *testing.T) {
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprint("syncfs ", whole), func(t *testing.T) {
			small := mount(t, "-t", "tmpfs", "-o", "size=12m", "none")
			dir := mount(t, "-o", "loop", image(t, small, "64m"))
			s := open(t, dir)
			s.whole = whole
			chunk := bytes.Repeat([]byte("x"), 1<<20)
			var files []*File
			for doc := range int64(24) {
				f, err := s.create(doc, 0)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Write(chunk); err != nil {
					t.Fatalf("write document %d: %v", doc, err)
				}
				f.Close()
				files = append(files, f)
			}
			if err := s.settle(files); err == nil {
				t.Error("24 MiB are durable on a disk of 12 MiB")
			} else {
				t.Log(err)
			}
			if err := s.settle(nil); err == nil {
				t.Error("Sync after a lost write succeeded")
			}
		})
	}
}

// K2 and K4: the machine stops at once, and what was called durable is there. What was
// renamed after the last Sync has one of its two names, and placing it goes on from there.
func TestCrash(t *testing.T) {
	tests := []struct {
		name string
		// before the crash
		do func(c crash)
		// after it, in the folder as it was found
		check func(c crash)
	}{
		{"a group", func(c crash) {
			c.sync(c.save(0))
		}, func(c crash) {
			c.place(0)
			c.check(0)
		}},
		{"renames, before the next group", func(c crash) {
			c.sync(c.save(0))
			c.place(0)
		}, func(c crash) {
			c.place(0)
			c.check(0)
		}},
		{"renames, after the next group", func(c crash) {
			c.sync(c.save(0))
			c.place(0)
			c.sync(c.save(100))
		}, func(c crash) {
			c.check(0)
			c.place(100)
			c.check(100)
		}},
		{"renames, after the last group", func(c crash) {
			c.sync(c.save(0))
			c.place(0)
			c.sync(nil)
		}, func(c crash) {
			c.check(0)
		}},
		{"the list", func(c crash) {
			for _, id := range []string{"old", "new"} {
				if err := c.WriteList(t.Context(), rows(dogear.Result{ID: id})); err != nil {
					c.t.Fatal(err)
				}
			}
		}, func(c crash) {
			if got, want := read(c.t, filepath.Join(c.path, listName)), `{"id":"new","size":0}`+"\n"; got != want {
				c.t.Errorf("the list is %q, want %q", got, want)
			}
		}},
		{"a new folder and whose it is", func(crash) {}, func(crash) {}},
	}
	for _, tt := range tests {
		for _, whole := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, syncfs %v", tt.name, whole), func(t *testing.T) {
				img := image(t, t.TempDir(), "16m")
				disk := mount(t, "-o", "loop", img)
				s := open(t, filepath.Join(disk, "new", "folder"))
				s.whole = whole
				c := crash{s, t}
				tt.do(c)
				c.save(900) // never synced
				stop(t, disk)
				s.Close()
				if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
					t.Fatal(err)
				}
				disk = mount(t, "-o", "loop", img)
				dir := filepath.Join(disk, "new", "folder")
				if got, want := read(t, filepath.Join(dir, markName)), `{"owner":"`+owner+`"}`+"\n"; got != want {
					t.Errorf("the mark is %q, want %q", got, want)
				}
				c = crash{open(t, dir), t}
				tt.check(c)
				if size, err := os.Stat(filepath.Join(dir, tempName(900))); err == nil && size.Size() > 0 {
					t.Error("what was never synced is there: this test shows nothing")
				}
			})
		}
	}
}

// A crash is a folder before or after one.
type crash struct {
	*Sink
	t *testing.T
}

const crashGroup = 20

func (c crash) save(first int64) (files []*File) {
	c.t.Helper()
	for doc := first; doc < first+crashGroup; doc++ {
		files = append(files, save(c.t, c.Sink, doc, body(doc)))
	}
	return files
}

func (c crash) sync(files []*File) {
	c.t.Helper()
	if err := c.settle(files); err != nil {
		c.t.Fatal(err)
	}
}

// place places a group, as a run does that finds it done and not placed.
func (c crash) place(first int64) {
	c.t.Helper()
	for doc := first; doc < first+crashGroup; doc++ {
		temp := tempName(doc)
		if err := c.Sink.place(temp, final(temp)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.t.Error(err)
		}
	}
}

// check checks that a group has its final names and all its bytes.
func (c crash) check(first int64) {
	c.t.Helper()
	for doc := first; doc < first+crashGroup; doc++ {
		temp := tempName(doc)
		if _, err := os.Lstat(filepath.Join(c.path, temp)); err == nil {
			c.t.Errorf("%s is there still", temp)
		}
		if got := read(c.t, filepath.Join(c.path, final(temp))); got != body(doc) {
			c.t.Errorf("document %d has %d bytes, want %d", doc, len(got), len(body(doc)))
		}
	}
}

func final(temp string) string { return Name(temp, "") }

func body(doc int64) string { return strings.Repeat(fmt.Sprintln("document", doc), 1000) }

// stop stops an ext4 file system as a crash does: nothing more is written, the journal's
// open transaction included.
func stop(t *testing.T, disk string) {
	t.Helper()
	const (
		shutdown   = 0x8004587d // EXT4_IOC_SHUTDOWN
		noLogFlush = 2
	)
	d, err := os.Open(disk)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := unix.IoctlSetPointerInt(int(d.Fd()), shutdown, noLogFlush); err != nil {
		t.Skipf("stop %s: %v", disk, err)
	}
}
