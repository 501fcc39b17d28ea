package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// ways are the ways in which a file gets its final name.
var ways = map[string]func(s *Sink, from, to string) error{
	"exclusive": renameExclusive,
	"link":      func(*Sink, string, string) error { return errors.ErrUnsupported },
	"reserve":   func(s *Sink, from, to string) error { return s.reserve(from, to) },
}

func TestPlace(t *testing.T) {
	for way, rename := range ways {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			s.rename = rename
			a, b := save(t, s, 1, "first"), save(t, s, 2, "second")
			if err := s.place(a.Name(), "x.txt"); err != nil {
				t.Fatalf("Place: %v", err)
			}
			if err := s.place(b.Name(), "x.txt"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("Place onto a taken name = %v, want fs.ErrExist", err)
			}
			if err := s.place(a.Name(), "x.txt"); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
				t.Errorf("Place again = %v, want fs.ErrNotExist or fs.ErrExist", err)
			}
			if err := s.place(a.Name(), "y.txt"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Place of nothing = %v, want fs.ErrNotExist", err)
			}
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := s.place(b.Name(), "sub"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("Place onto a folder = %v, want fs.ErrExist", err)
			}
			if got, want := names(t, dir), ".dogear-2.part .dogear-job sub x.txt"; got != want {
				t.Errorf("the folder holds %s, want %s", got, want)
			}
			if got := read(t, filepath.Join(dir, "x.txt")); got != "first" {
				t.Errorf("x.txt holds %q", got)
			}
		})
	}
}

// Where a file system takes two names for the same, the second is taken; where it does not,
// both are there.
func TestPlaceOntoVariants(t *testing.T) {
	for way, rename := range ways {
		for _, other := range []string{"Stra\u00dfe \u00e9.TXT", "stra\u00dfe e\u0301.txt", "STRASSE \u00c9.TXT"} {
			t.Run(way, func(t *testing.T) {
				dir := t.TempDir()
				s := open(t, dir)
				s.rename = rename
				first := "stra\u00dfe \u00e9.txt"
				if err := s.place(save(t, s, 1, "first").Name(), first); err != nil {
					t.Fatalf("Place: %v", err)
				}
				_, err := os.Lstat(filepath.Join(dir, other))
				taken := err == nil
				if err := s.place(save(t, s, 2, "second").Name(), other); errors.Is(err, fs.ErrExist) != taken {
					t.Errorf("Place as %q beside %q = %v, want taken: %v", other, first, err, taken)
				}
				if got := read(t, filepath.Join(dir, first)); got != "first" {
					t.Errorf("%s holds %q", first, got)
				}
				if Fold(first) != Fold(other) {
					t.Errorf("Fold tells %q and %q apart", first, other)
				}
			})
		}
	}
}

// A crash between the two steps of linkOver leaves both names. Repeating Place ends it.
func TestPlaceAfterHalfALink(t *testing.T) {
	for way, rename := range ways {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			s.rename = rename
			f := save(t, s, 1, "text")
			if err := os.Link(filepath.Join(dir, f.Name()), filepath.Join(dir, "x")); err != nil {
				t.Skip(err)
			}
			if err := s.place(f.Name(), "x"); err != nil {
				t.Errorf("Place: %v", err)
			}
			if got, want := names(t, dir), ".dogear-job x"; got != want {
				t.Errorf("the folder holds %s, want %s", got, want)
			}
		})
	}
}
