package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/wire"
)

// drillGetCmd is the acceptance table's Go client: one that retries by itself, as SDKs do,
// over the gate. It prints how many requests its ledger has.
type drillGetCmd struct {
	storeFlag
	List    string `arg:"" help:"A file of addresses, one a line."`
	Workers int    `default:"8" help:"How many get at a time."`
}

// Run gets every address once.
func (cmd *drillGetCmd) Run(c *call) (err error) {
	f, err := os.Open(cmd.List)
	if err != nil {
		return &codedError{code: exitNoInput, err: err}
	}
	defer f.Close()
	s, err := c.open(cmd.storeFlag)
	if err != nil {
		return err
	}
	defer s.Close()
	w, err := wire.New(wire.Config{})
	if err != nil {
		return err
	}
	defer w.Close()
	g, err := gate.New(gate.Config{Store: s, Wire: w, By: "drill get"})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	running := make(chan error, 1)
	go func() { running <- g.Run(ctx) }()
	got, getting := errgroup.WithContext(ctx)
	got.SetLimit(cmd.Workers)
	client := &http.Client{Transport: retrying{&gate.Transport{Gate: g}}}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		address := lines.Text()
		got.Go(func() error { return get(getting, client, address) })
	}
	err = errors.Join(got.Wait(), lines.Err())
	cancel() // what was settled is written down
	if err = errors.Join(err, <-running); err != nil {
		return err
	}
	return printSent(c, s)
}

func printSent(c *call, s ledger.Store) error {
	n := 0
	for r, err := range s.Requests(c.ctx, 0) { // of no job
		if err != nil {
			return &codedError{code: exitIO, err: err}
		}
		if r.Outcome.Sent() {
			n++
		}
	}
	_, err := fmt.Fprintln(c.Stdout, n)
	return err
}

func get(ctx context.Context, client *http.Client, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// retrying is what SDKs do underneath: up to three retries of a request that was refused,
// each after the seconds that its own answer names.
type retrying struct{ base http.RoundTripper }

func (t retrying) RoundTrip(req *http.Request) (*http.Response, error) {
	for try := 0; ; try++ {
		resp, err := t.base.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests || try == 3 {
			return resp, err
		}
		wait, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil {
			wait = 3
		}
		resp.Body.Close()
		select {
		case <-time.After(time.Duration(wait) * time.Second):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
}
