package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Both ways of syncing take open files, closed files and none.
func TestSync(t *testing.T) {
	for _, whole := range []bool{true, false} {
		s := open(t, t.TempDir())
		if whole && !s.whole {
			t.Log("syncfs is not used on this system")
		}
		s.whole = s.whole && whole
		files := []*File{save(t, s, 1, "closed")}
		f, err := s.create(2, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
		for range 3 {
			if err := s.settle(files); err != nil {
				t.Errorf("Sync, whole %v: %v", whole, err)
			}
		}
		if err := s.settle(nil); err != nil {
			t.Errorf("Sync(nil), whole %v: %v", whole, err)
		}
	}
}

// K2: after a failure nothing more is called durable, not even what could be synced.
func TestSyncFailsForGood(t *testing.T) {
	s := open(t, t.TempDir())
	s.whole = false
	good, bad := save(t, s, 1, "good"), save(t, s, 2, "bad")
	if err := s.Remove(2); err != nil {
		t.Fatal(err)
	}
	first := s.settle([]*File{good, bad})
	if !errors.Is(first, fs.ErrNotExist) {
		t.Fatalf("Sync of a file that is gone = %v, want fs.ErrNotExist", first)
	}
	if err := s.settle([]*File{good}); err != first {
		t.Errorf("the next Sync = %v, want the first's error", err)
	}
}

// After a syncfs that was slow a number of groups do without.
func TestSyncSpares(t *testing.T) {
	s := open(t, t.TempDir())
	if !s.whole {
		t.Skip("syncfs is not used here")
	}
	s.skip = 2
	gone := save(t, s, 1, "x")
	if err := s.Remove(1); err != nil {
		t.Fatal(err)
	}
	f := save(t, s, 2, "x")
	for _, want := range []int{1, 0} {
		if err := s.settle([]*File{f}); err != nil || s.skip != want {
			t.Errorf("Sync = %v with %d groups to spare, want %d", err, s.skip, want)
		}
	}
	if err := s.settle([]*File{gone}); err != nil { // only syncfs does not look at the file
		t.Errorf("Sync = %v, want syncfs again", err)
	}
}

func TestAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for group := range 4 {
				var files []*File
				for i := range 8 {
					files = append(files, save(t, s, int64(worker*1000+group*100+i), "text"))
				}
				if err := s.settle(files); err != nil {
					t.Errorf("Sync: %v", err)
				}
				for i, f := range files {
					name := Name("page.html", "")
					err := s.place(f.Name(), name)
					for n := 1; errors.Is(err, fs.ErrExist); n++ {
						err = s.place(f.Name(), Alternative("page.html", "", n))
					}
					if err != nil {
						t.Errorf("Place %d: %v", i, err)
					}
				}
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4*4*8+1 {
		t.Errorf("%d results, %v, want %d", len(entries)-1, err, 4*4*8)
	}
	for _, e := range entries {
		if e.Name() != markName && read(t, filepath.Join(dir, e.Name())) != "text" {
			t.Errorf("%s is not whole", e.Name())
		}
	}
}
