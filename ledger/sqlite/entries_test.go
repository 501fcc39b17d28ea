package sqlite

import (
	"cmp"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
)

// Entries come out in order, all of them, whether memory holds them, one merge does or
// several.
func TestEntriesSorted(t *testing.T) {
	for _, n := range []int{0, 1, 7, 10, 11, 30, 31, 1000} {
		es := entries{folder: t.TempDir(), max: 10, fan: 3}
		var want []entry
		for i := range n {
			e := entry{int64(rand.Uint64()), rand.Uint64N(2), rand.Uint64(), uint32(i)}
			if i%3 == 1 {
				e.hash, e.rest = want[i-1].hash, want[i-1].rest
			}
			want = append(want, e)
			if err := es.add(e); err != nil {
				t.Fatal(err)
			}
		}
		var got []entry
		for e, err := range es.sorted() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		slices.SortFunc(want, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.rest, b.rest), cmp.Compare(a.n, b.n))
		})
		if !slices.Equal(got, want) {
			t.Errorf("%d entries came out as %d, or in another order", n, len(got))
		}
		es.close()
		if left, err := os.ReadDir(es.folder); len(left) > 0 || err != nil {
			t.Errorf("%d entries leave %v, %v", n, left, err)
		}
	}
}

// What is put in order is nobody else's to read, and goes with the process.
func TestEntriesFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("neither modes nor open files without a name")
	}
	es := entries{folder: t.TempDir(), max: 1, fan: 2}
	defer es.close()
	for range 2 {
		if err := es.add(entry{}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := es.file.Stat()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 600", info.Mode(), err)
	}
	if left, err := os.ReadDir(es.folder); len(left) > 0 || err != nil {
		t.Errorf("the file has a name: %v, %v", left, err)
	}
}
