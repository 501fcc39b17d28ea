//go:build linux

// Command shared measures one job that several processes read over a ledger in PostgreSQL,
// beside one process over SQLite. ../README.md says how and why.
package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dogear/dogear/bench"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

func main() {
	b := bed{}
	flag.StringVar(&b.dogear, "dogear", "dogear", "the binary")
	flag.StringVar(&b.dir, "dir", "", "an empty folder for all runs")
	flag.IntVar(&b.docs, "docs", 40_000, "documents")
	flag.IntVar(&b.size, "size", 8<<10, "bytes a document")
	flag.IntVar(&b.concurrency, "concurrency", 64, "requests in flight, of all processes together")
	rounds := flag.Int("rounds", 3, "rounds")
	flag.Parse()
	if err := b.compare(*rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench/shared:", err)
		os.Exit(1)
	}
}

// bed is where they are measured.
type bed struct {
	dogear, dir, base       string
	docs, size, concurrency int
}

// A way is how a job is read.
type way struct {
	name      string
	processes int
	shared    bool // over PostgreSQL
}

var ways = []way{{"SQLite", 1, false}, {"1 process", 1, true}, {"2 processes", 2, true}, {"4 processes", 4, true}}

func (b *bed) compare(rounds int) error {
	base, stop, err := bench.Serve(b.size)
	if err != nil {
		return err
	}
	defer stop()
	b.base = base
	speed, ratio := map[string][]float64{}, map[string][]float64{}
	fmt.Printf("%-5s %-12s %10s %8s\n", "round", "", "docs/s", "ratio")
	for round := range rounds {
		order := slices.Clone(ways)
		if round%2 == 1 { // nobody is always the first
			slices.Reverse(order)
		}
		took := map[string]time.Duration{}
		for _, w := range order {
			if took[w.name], err = b.read(filepath.Join(b.dir, fmt.Sprintf("%02d-%d-%v", round, w.processes, w.shared)), w); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
		for _, w := range ways {
			s := float64(b.docs) / took[w.name].Seconds()
			r := took[ways[0].name].Seconds() / took[w.name].Seconds()
			speed[w.name], ratio[w.name] = append(speed[w.name], s), append(ratio[w.name], r)
			fmt.Printf("%-5d %-12s %10.0f %8.2f\n", round+1, w.name, s, r)
		}
	}
	fmt.Printf("\nmedians (least to most); a ratio is to SQLite's documents a second in the same round\n")
	for _, w := range ways {
		fmt.Printf("%-12s docs/s %s  ratio %s\n", w.name, bench.Spread(speed[w.name], "%.0f"), bench.Spread(ratio[w.name], "%.2f"))
	}
	return nil
}

// read has all documents read into a folder of their own, and tells how long it took from the
// start of the first process to the end of the last.
func (b *bed) read(dir string, w way) (time.Duration, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	if err := b.list(dir); err != nil {
		return 0, err
	}
	store := filepath.Join(dir, "ledger", "ledger.db")
	if w.shared {
		cluster, err := pgtest.New()
		if err != nil {
			return 0, err
		}
		defer cluster.Stop()
		store = cluster.URL("postgres")
	}
	// What came before is not for this one to write.
	if _, err := bench.Run(dir, []int{0}, "sync"); err != nil {
		return 0, err
	}
	start := time.Now()
	all, ctx := errgroup.WithContext(context.Background())
	all.Go(func() error {
		_, err := bench.Run(dir, []int{0}, b.dogear, "read", "list.txt", "--scope", "host", "--concurrency", fmt.Sprint(b.concurrency),
			"-o", "out", "--job", "bench", "--store", store, "--progress", "none")
		return err
	})
	for range w.processes - 1 {
		all.Go(func() error { return b.help(ctx, dir, store) })
	}
	if err := all.Wait(); err != nil {
		return 0, err
	}
	took := time.Since(start)
	n, err := bench.Count(filepath.Join(dir, "out"), int64(b.size))
	if err == nil && n != b.docs {
		err = fmt.Errorf("%d documents of %d", n, b.docs)
	}
	return took, err
}

// help runs a worker, which waits for a run to help with.
func (b *bed) help(ctx context.Context, dir, store string) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, b.dogear, "worker", "bench", "--wait", "1m", "--store", store, "--progress", "none")
	cmd.Dir, cmd.Stderr = dir, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("a worker: %w\n%s", err, &said)
	}
	return nil
}

func (b *bed) list(dir string) error {
	f, err := os.Create(filepath.Join(dir, "list.txt"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i := range b.docs {
		fmt.Fprintf(w, "%s/doc/%d\n", b.base, i)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
