package folder

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkGroup saves 20,000 documents of 8 KiB durably, in groups of 256. Beside it run two
// that make nothing durable: "renamed" writes temporary files and renames them, "plain"
// writes the final files at once. The ratios of the rates, of rounds that take turns, are
// what counts. Run it on a real disk, with a number of rounds:
//
//	DOGEAR_BENCH_DIR=/somewhere go test -run '^$' -bench Group -benchtime 9x ./sink/folder
//
// Every run has a new folder under a parent with chattr +T, and nothing is deleted until the
// end: after a bulk delete ext4 makes every create nearby dearer, for minutes. What is in
// DOGEAR_BENCH_DIR stays for the next run's sake; delete it when you have measured enough.
func BenchmarkGroup(b *testing.B) {
	parent, err := os.MkdirTemp(os.Getenv("DOGEAR_BENCH_DIR"), "bench")
	if err != nil {
		b.Fatal(err)
	}
	if os.Getenv("DOGEAR_BENCH_DIR") == "" {
		defer os.RemoveAll(parent)
	}
	if err := exec.Command("chattr", "+T", parent).Run(); err != nil {
		b.Log("no chattr +T here:", err)
	}
	runs := []struct {
		name string
		save func(dir string) error
		took time.Duration
	}{
		{name: "durable", save: saveDurable},
		{name: "renamed", save: saveRenamed},
		{name: "plain", save: savePlain},
	}
	round := 0
	for b.Loop() {
		for i := range runs {
			r := &runs[(i+round)%len(runs)]
			start := time.Now()
			if err := r.save(filepath.Join(parent, fmt.Sprint(r.name, round))); err != nil {
				b.Fatalf("%s: %v", r.name, err)
			}
			r.took += time.Since(start)
			// What one leaves to be written must not be written on another's time.
			if err := exec.Command("sync").Run(); err != nil {
				b.Log("sync:", err)
			}
		}
		round++
	}
	b.ReportMetric(0, "ns/op")
	for _, r := range runs {
		b.ReportMetric(float64(benchDocs*round)/r.took.Seconds(), r.name+"/s")
		if r.name != "durable" {
			b.ReportMetric(r.took.Seconds()/runs[0].took.Seconds(), "x-"+r.name)
		}
	}
}

const (
	benchDocs    = 20_000
	benchGroup   = 256
	benchWriters = 8
)

var benchBody = bytes.Repeat([]byte("dogear\n\x00"), 1024)

func benchName(doc int64) string { return fmt.Sprint("document ", doc, ".html") }

// each calls one for each of the documents, from several goroutines.
func each(one func(doc int64) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, benchWriters)
	for i := range errs {
		wg.Go(func() {
			for doc := next.Add(1); doc <= benchDocs && errs[i] == nil; doc = next.Add(1) {
				errs[i] = one(doc)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func savePlain(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return each(func(doc int64) error {
		return os.WriteFile(filepath.Join(dir, benchName(doc)), benchBody, 0o600)
	})
}

func saveRenamed(dir string) error {
	s, err := Open(dir, owner)
	if err != nil {
		return err
	}
	defer s.Close()
	return each(func(doc int64) error {
		f, err := saveOne(s, doc)
		if err != nil {
			return err
		}
		return s.place(f.Name(), Name(benchName(doc), ""))
	})
}

func saveOne(s *Sink, doc int64) (*File, error) {
	f, err := s.create(doc, 0)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(benchBody)
	return f, errors.Join(err, f.Close())
}

// saveDurable is a line of three: files are written, a group is synced, a group is placed.
func saveDurable(dir string) error {
	s, err := Open(dir, owner)
	if err != nil {
		return err
	}
	defer s.Close()

	written := make(chan *File, benchGroup)
	synced := make(chan []*File, 1)
	var line sync.WaitGroup
	var syncErr, placeErr error
	line.Go(func() {
		defer close(synced)
		var files []*File
		settle := func() {
			syncErr = errors.Join(syncErr, s.settle(files))
			synced <- files
			files = nil
		}
		for f := range written {
			if files = append(files, f); len(files) == benchGroup {
				settle()
			}
		}
		settle()
	})
	line.Go(func() {
		for files := range synced {
			for _, f := range files {
				doc, _ := tempDoc(f.Name())
				placeErr = errors.Join(placeErr, s.place(f.Name(), Name(benchName(doc), "")))
			}
		}
	})
	err = each(func(doc int64) error {
		f, err := saveOne(s, doc)
		if err == nil {
			written <- f
		}
		return err
	})
	close(written)
	line.Wait()
	return errors.Join(err, syncErr, placeErr, s.settle(nil))
}
