//go:build linux

// Command large measures a job of very many documents: how fast it is added, how much memory a
// part of it takes to read, and how soon status and remaining answer. ../README.md says how.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dogear/dogear/bench"
)

const exhausted = 65 // requests_exhausted: --max-requests is how each part is cut off

func main() {
	b := bed{}
	flag.StringVar(&b.dogear, "dogear", "dogear", "the binary")
	flag.StringVar(&b.dir, "dir", "", "an empty folder")
	flag.IntVar(&b.docs, "docs", 1_000_000, "documents of the job")
	flag.IntVar(&b.part, "part", 50_000, "documents of it that are read")
	flag.Parse()
	if err := b.measure(); err != nil {
		fmt.Fprintln(os.Stderr, "bench/large:", err)
		os.Exit(1)
	}
}

type bed struct {
	dogear, dir string
	docs, part  int
}

func (b *bed) measure() error {
	const size = 8 << 10
	base, stop, err := bench.Serve(size)
	if err != nil {
		return err
	}
	defer stop()
	if err := b.list(base); err != nil {
		return err
	}
	store := filepath.Join(b.dir, "ledger", "ledger.db")

	// One request, so that nearly all of the time is the list's.
	u, err := bench.Run(b.dir, []int{exhausted}, b.dogear, "read", "list.txt", "--scope", "host", "--concurrency", "64", "-o", "out",
		"--job", "large", "--store", store, "--max-requests", "1", "--progress", "none")
	if err != nil {
		return err
	}
	fmt.Printf("add %d documents, and read one: %.1f s, %.0f documents/s, CPU %.1f s, RSS %.0f MiB\n", b.docs, u.Wall.Seconds(),
		float64(b.docs)/u.Wall.Seconds(), u.CPU.Seconds(), mib(u.RSS))

	u, err = bench.Run(b.dir, []int{exhausted}, b.dogear, "resume", "large", "--store", store, "--max-requests", fmt.Sprint(b.part),
		"--progress", "none")
	if err != nil {
		return err
	}
	n, err := bench.Count(filepath.Join(b.dir, "out"), size)
	if err != nil {
		return err
	}
	fmt.Printf("read %d of them, 64 in flight: %.1f s, %.0f documents/s, CPU %.1f s, RSS %.0f MiB\n", n, u.Wall.Seconds(),
		float64(n)/u.Wall.Seconds(), u.CPU.Seconds(), mib(u.RSS))

	for _, q := range []struct {
		what, script string
	}{
		{"status", `exec "$0" status large --store "$1"`},
		{"remaining | head", `"$0" remaining large --store "$1" | head`},
	} {
		var wall []float64
		for range 5 {
			u, err := bench.Run(b.dir, []int{0}, "sh", "-c", q.script, b.dogear, store)
			if err != nil {
				return err
			}
			wall = append(wall, float64(u.Wall)/float64(time.Millisecond))
		}
		fmt.Printf("%s: %s ms\n", q.what, bench.Spread(wall, "%.0f"))
	}
	return nil
}

func (b *bed) list(base string) error {
	f, err := os.Create(filepath.Join(b.dir, "list.txt"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i := range b.docs {
		fmt.Fprintf(w, "%s/area/%03d/page/%d\n", base, i%997, i)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
