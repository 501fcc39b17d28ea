//go:build linux

// Command read compares dogear with programs that keep nothing: the same small documents from
// the same server into folders, in turns. ../README.md says how and why.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dogear/dogear/bench"
)

func main() {
	b := bed{}
	flag.StringVar(&b.dogear, "dogear", "dogear", "the binary")
	flag.StringVar(&b.dir, "dir", "", "an empty folder for all runs")
	flag.IntVar(&b.docs, "docs", 20_000, "documents")
	flag.IntVar(&b.size, "size", 8<<10, "bytes a document")
	pairs := flag.Int("pairs", 9, "rounds with dogear and the first rival")
	few := flag.Int("few", 3, "rounds with the other rivals too")
	rivals := flag.String("rivals", "curl,aria2c,rclone", "whom to compare with")
	flag.Parse()
	if err := b.compare(strings.Split(*rivals, ","), *pairs, *few); err != nil {
		fmt.Fprintln(os.Stderr, "bench/read:", err)
		os.Exit(1)
	}
}

// bed is where the programs are measured.
type bed struct {
	dogear, dir, base string
	docs, size        int
}

func (b *bed) compare(rivals []string, pairs, few int) error {
	base, stop, err := bench.Serve(b.size)
	if err != nil {
		return err
	}
	defer stop()
	b.base = base
	speed := map[string][]float64{}
	ratio := map[string][]float64{}
	cpu := map[string][]float64{}
	rss := map[string][]float64{}
	fmt.Printf("%-5s %-8s %10s %8s %8s %8s\n", "round", "program", "docs/s", "ratio", "CPU s", "RSS MiB")
	for round := 1; round <= pairs; round++ {
		names := []string{"dogear", rivals[0]}
		if round <= few {
			names = append([]string{"dogear"}, rivals...)
		}
		if round%2 == 0 { // nobody is always the first
			slices.Reverse(names)
		}
		got := map[string]bench.Usage{}
		for _, name := range names {
			if got[name], err = b.run(round, name); err != nil {
				return err
			}
		}
		for _, name := range names {
			u := got[name]
			s := float64(b.docs) / u.Wall.Seconds()
			r := u.Wall.Seconds() / got["dogear"].Wall.Seconds()
			speed[name] = append(speed[name], s)
			ratio[name] = append(ratio[name], r)
			cpu[name] = append(cpu[name], u.CPU.Seconds())
			rss[name] = append(rss[name], float64(u.RSS)/(1<<20))
			fmt.Printf("%-5d %-8s %10.0f %8.2f %8.2f %8.0f\n", round, name, s, r, u.CPU.Seconds(), float64(u.RSS)/(1<<20))
		}
	}
	fmt.Printf("\nmedians (least to most); a ratio is dogear's documents a second to the other's in the same round\n")
	for _, name := range append([]string{"dogear"}, rivals...) {
		fmt.Printf("%-8s %d rounds  docs/s %s  ratio %s  CPU s %s  RSS MiB %s\n", name, len(speed[name]), bench.Spread(speed[name], "%.0f"),
			bench.Spread(ratio[name], "%.2f"), bench.Spread(cpu[name], "%.2f"), bench.Spread(rss[name], "%.0f"))
	}
	return nil
}

// run lets one program read all documents into a folder of its own.
func (b *bed) run(round int, name string) (bench.Usage, error) {
	dir := filepath.Join(b.dir, fmt.Sprintf("%02d-%s", round, name))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return bench.Usage{}, err
	}
	out := filepath.Join(dir, "out")
	var line func(n int) string
	var args []string
	program := name
	switch name {
	case "dogear":
		program = b.dogear
		line = func(n int) string { return fmt.Sprintf("%s/doc/%d\n", b.base, n) }
		args = []string{"read", "list.txt", "--scope", "host", "--concurrency", "64", "-o", "out", "--job", "bench",
			"--store", filepath.Join(dir, "ledger", "ledger.db"), "--progress", "none"}
	case "curl":
		line = func(n int) string { return fmt.Sprintf("url = %s/doc/%d\noutput = out/%d\n", b.base, n, n) }
		args = []string{"--parallel", "--parallel-max", "64", "--fail", "--silent", "--show-error", "--config", "list.txt"}
	case "aria2c":
		line = func(n int) string { return fmt.Sprintf("%s/doc/%d\n", b.base, n) }
		args = []string{"--input-file=list.txt", "--dir=out", "--max-concurrent-downloads=16", "--max-connection-per-server=1",
			"--file-allocation=none", "--quiet"}
	case "rclone":
		line = func(n int) string { return fmt.Sprintf("%d\n", n) }
		args = []string{"copy", ":http:", "out", "--config=", "--http-url", b.base + "/doc", "--files-from-raw", "list.txt",
			"--transfers", "64", "--checkers", "64", "--no-traverse"}
	default:
		return bench.Usage{}, fmt.Errorf("no such rival: %s", name)
	}
	if err := writeList(filepath.Join(dir, "list.txt"), b.docs, line); err != nil {
		return bench.Usage{}, err
	}
	if name != "dogear" {
		if err := os.Mkdir(out, 0o700); err != nil {
			return bench.Usage{}, err
		}
	}
	// What the last program left in memory is not for this one to write.
	if _, err := bench.Run(dir, []int{0}, "sync"); err != nil {
		return bench.Usage{}, err
	}
	u, err := bench.Run(dir, []int{0}, program, args...)
	if err != nil {
		return u, err
	}
	n, err := bench.Count(out, int64(b.size))
	if err == nil && n != b.docs {
		err = fmt.Errorf("%s left %d documents of %d", name, n, b.docs)
	}
	return u, err
}

func writeList(path string, n int, line func(int) string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i := range n {
		w.WriteString(line(i)) // Flush has its error
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
