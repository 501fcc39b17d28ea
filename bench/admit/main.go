// Command admit measures admissions at the gate: how many a second, and how long each waits,
// in one process and in several that share a ledger. ../README.md says how.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
	"github.com/dogear/dogear/ledger/sqlite"
)

const key = "host:docs.example.com"

func main() {
	store := flag.String("store", "", "a ledger that is not there yet; postgres: one in a server that is started for it")
	processes := flag.Int("processes", 1, "gates, each in a process of its own")
	waiters := flag.Int("waiters", 64, "requests that wait at each gate")
	admissions := flag.Int("admissions", 50_000, "of all processes together")
	child := flag.Bool("child", false, "be one of the processes: begin with a line on standard input")
	flag.Parse()
	ctx := context.Background()
	var err error
	if *child {
		err = admit(ctx, *store, *waiters, *admissions)
	} else if *store == "postgres" {
		err = serve(func(url string) error { return compete(ctx, url, *processes, *waiters, *admissions) })
	} else {
		err = compete(ctx, *store, *processes, *waiters, *admissions)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/admit:", err)
		os.Exit(1)
	}
}

// serve starts a database, durable as in production, for as long as use runs.
func serve(use func(url string) error) error {
	cluster, err := pgtest.New()
	if err != nil {
		return err
	}
	defer cluster.Stop()
	return use(cluster.URL("postgres"))
}

func open(ctx context.Context, store string) (ledger.Store, error) {
	if strings.HasPrefix(store, "postgres:") {
		return postgres.Open(ctx, store, postgres.Options{})
	}
	return sqlite.Open(ctx, store, sqlite.Options{})
}

// figures are what one process tells.
type figures struct {
	Began, Ended time.Time
	Waits        []time.Duration
}

// compete starts the processes at one moment and adds up what they tell.
func compete(ctx context.Context, path string, processes, waiters, admissions int) error {
	s, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer s.Close()
	by := dogear.Confirmation{By: "bench/admit", Source: "no limit", At: time.Now()}
	if err := s.Confirm(ctx, key, by, 0, 0, 2*processes*waiters); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var all figures
	starts := make([]func() error, processes)
	ends := make([]func() (figures, error), processes)
	for i := range processes {
		cmd := exec.CommandContext(ctx, self, "-child", "-store", path, "-waiters", strconv.Itoa(waiters),
			"-admissions", strconv.Itoa(admissions/processes))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		r := bufio.NewReader(out)
		if _, err := r.ReadString('\n'); err != nil { // it is ready
			return errors.Join(err, cmd.Wait())
		}
		starts[i] = in.Close
		ends[i] = func() (f figures, err error) {
			err = json.NewDecoder(r).Decode(&f)
			return f, errors.Join(err, cmd.Wait())
		}
	}
	for _, start := range starts {
		if err := start(); err != nil {
			return err
		}
	}
	var shares []time.Duration
	for _, end := range ends {
		f, err := end()
		if err != nil {
			return err
		}
		if all.Began.IsZero() || f.Began.Before(all.Began) {
			all.Began = f.Began
		}
		if f.Ended.After(all.Ended) {
			all.Ended = f.Ended
		}
		all.Waits = append(all.Waits, f.Waits...)
		shares = append(shares, f.Ended.Sub(f.Began).Round(time.Millisecond))
	}
	slices.Sort(all.Waits)
	n := len(all.Waits)
	name := filepath.Base(path)
	if strings.HasPrefix(path, "postgres:") {
		name = "PostgreSQL"
	}
	at := func(q float64) float64 {
		return float64(all.Waits[min(n-1, int(q*float64(n)))]) / float64(time.Millisecond)
	}
	fmt.Printf("%d processes × %d waiters, %s: %d admissions, %.0f a second; wait p50 %.2f ms, p99 %.2f ms, most %.1f ms; each took %v\n",
		processes, waiters, name, n, float64(n)/all.Ended.Sub(all.Began).Seconds(), at(0.5), at(0.99), at(1), shares)
	return nil
}

// admit lets so many requests through a gate. What would send answers at once, so a round
// trip is an admission with its record before, and its end is recorded after.
func admit(ctx context.Context, path string, waiters, admissions int) error {
	s, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer s.Close()
	g, err := gate.New(gate.Config{Store: s, By: "bench/admit"})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running := make(chan error, 1)
	go func() { running <- g.Run(ctx) }()

	t := &gate.Transport{Gate: g, Base: answer{}, Scopes: func(*http.Request) []string { return []string{key} }}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err == nil {
		return errors.New("standard input: nothing was expected but its end")
	}
	waits := make([][]time.Duration, waiters)
	began := time.Now()
	var eg errgroup.Group
	for i := range waiters {
		n := admissions / waiters
		if i < admissions%waiters {
			n++
		}
		eg.Go(func() error {
			for range n {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docs.example.com/", nil)
				if err != nil {
					return err
				}
				start := time.Now()
				resp, err := t.RoundTrip(req)
				if err != nil {
					return err
				}
				waits[i] = append(waits[i], time.Since(start))
				resp.Body.Close()
			}
			return nil
		})
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	if err := g.Flush(ctx); err != nil { // the last ends are durable too
		return err
	}
	ended := time.Now()
	cancel()
	if err := <-running; err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(figures{Began: began, Ended: ended, Waits: slices.Concat(waits...)})
}

// answer sends nothing.
type answer struct{}

func (answer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}
