// Package acceptance is dogear's own table: situations in which a reader of documents must
// behave, each run through the real binary against a stand-in service, and judged from the
// service's journal and from the ledger as the binary prints it.
package acceptance

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/judge"
	"github.com/dogear/dogear/drill/scenario"
)

//go:embed rows/*.yaml
var files embed.FS

// A Row is one situation of the table. Its scenario is rows/NAME.yaml.
type Row struct {
	Name  string
	Must  string // what must be seen
	steps []step
}

// A step does something in a trial, or looks at what came of it. Its error says why the
// trial could not go on; what the binary did wrong is a failed check.
type step func(*trial) error

// Options say what is run, and where.
type Options struct {
	Binary string // dogear
	Dir    string // an empty folder; journals, ledgers and results stay in it
	Rows   []Row
}

// atOnce is how many rows run at a time: they mostly wait.
const atOnce = 6

// Select returns the rows of these names, or all.
func Select(names []string) ([]Row, error) {
	all := Rows()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, r := range all {
		known = append(known, r.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("there is no row %q; there are: %s", n, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(r Row) bool { return !slices.Contains(names, r.Name) }), nil
}

// Run runs the rows and hands each result to each, in the table's order. Its error says what
// kept the table from being run; a row that fails is a result.
func Run(ctx context.Context, o Options, each func(drill.Result)) error {
	results := make([]chan drill.Result, len(o.Rows))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range results {
		results[i] = make(chan drill.Result, 1)
	}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		for _, c := range results {
			if r, ok := <-c; ok {
				each(r)
			}
		}
	}()
	for i, row := range o.Rows {
		g.Go(func() error {
			defer close(results[i])
			r, err := try(ctx, o, row)
			if err != nil {
				return fmt.Errorf("row %s: %w", row.Name, err)
			}
			results[i] <- r
			return nil
		})
	}
	err := g.Wait()
	<-shown
	return err
}

// try runs one row.
func try(ctx context.Context, o Options, row Row) (drill.Result, error) {
	began := time.Now()
	r := drill.Result{Scenario: row.Name, About: row.Must, Client: "dogear"}
	data, err := files.ReadFile("rows/" + row.Name + ".yaml")
	if err != nil {
		return r, err
	}
	sc, err := scenario.Parse(row.Name, data)
	if err != nil {
		return r, err
	}
	t := &trial{dir: filepath.Join(o.Dir, row.Name), binary: o.Binary, scenario: sc, done: map[string]int{}}
	if err := t.open(); err != nil {
		return r, errors.Join(err, t.close())
	}
	ctx, cancel := context.WithTimeout(ctx, sc.TimeLimit)
	defer cancel()
	t.ctx = ctx
	for _, s := range row.steps {
		if err = s(t); err != nil {
			break
		}
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return r, errors.Join(context.Cause(ctx), t.close())
	}
	if err != nil {
		t.check(false, "the row comes to its end", "no", err.Error())
	}
	if err := t.close(); err != nil {
		return r, err
	}
	return t.result(r, time.Since(began))
}

// result judges the journal as it was written.
func (t *trial) result(r drill.Result, took time.Duration) (drill.Result, error) {
	var err error
	r.Journal = filepath.Join(t.dir, "journal.jsonl")
	if r.Record, err = drill.ReadJournal(r.Journal); err != nil {
		return r, err
	}
	r.Took, r.TookS = took, took.Seconds()
	r.Figures = judge.Judge(r.Record, slack)
	asserts, err := judge.ParseAsserts(strings.Join(t.scenario.Expect, ", "))
	if err != nil {
		return r, err
	}
	for _, a := range asserts {
		r.Checks = append(r.Checks, a.Check(r.Figures, r.Record, slack))
	}
	r.Checks = append(r.Checks, t.checks...)
	r.Pass, r.Why = drill.Verdict(r.Figures, r.Checks)
	return r, nil
}

// slack is how long after a wait was told a request may still be under way: it left before
// its process had read the answer.
const slack = judge.DefaultSlack

// open makes the row's folders and starts its service.
func (t *trial) open() error {
	for _, d := range []string{t.dir, filepath.Join(t.dir, "state")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	var err error
	if t.journal, err = os.OpenFile(filepath.Join(t.dir, "journal.jsonl"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	t.stand, err = t.scenario.Start(scenario.Options{Journal: t.journal})
	return err
}

// close ends what the row started.
func (t *trial) close() error {
	var err error
	for _, p := range t.started {
		err = errors.Join(err, p.kill())
	}
	if t.stand != nil {
		err = errors.Join(err, t.stand.Close())
		t.stand = nil
	}
	if t.journal != nil {
		err = errors.Join(err, t.journal.Close())
		t.journal = nil
	}
	return err
}
