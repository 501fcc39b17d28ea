package drill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/judge"
	"github.com/dogear/dogear/drill/scenario"
)

// A Spec is one client in one scenario. Zero fields mean what the scenario says.
type Spec struct {
	Scenario  *scenario.Scenario
	Command   []string        // the program and its arguments, with placeholders such as {list} (docs/drill.md)
	Dir       string          // a new folder is made at it: the journal, logs, and what the client saves
	TLS       bool            // the service speaks https, with a certificate of its own
	Workers   int             // what {workers} says
	Clients   int             // processes started together
	KillAt    []time.Duration // from the start: each client is killed, and started again
	TimeLimit time.Duration   // a client that runs longer is killed
	Asserts   []judge.Assert
}

const (
	sayLines   = 5 // of what a client printed are kept in a Result
	tokenEvery = 100 * time.Millisecond
)

// Run starts the scenario's service, runs the client against it and judges what it did from
// the journal as it was written. When it returns, neither the service nor a client is
// running; a process that has left its client's process group is not found.
//
// What a client does is in the Result. The error matches [ErrNotStarted] if one could not be
// started, and is ctx's cause if ctx was done.
func Run(ctx context.Context, spec Spec) (Result, error) {
	if _, err := exec.LookPath(spec.Command[0]); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	s := spec.withDefaults()
	dir, err := makeDir(spec.Dir)
	if err != nil {
		return Result{}, err
	}
	d := &drill{spec: s, dir: dir}
	ends, took, err := d.run(ctx)
	if err != nil {
		return Result{}, err
	}
	rec, err := ReadJournal(d.path(journalName))
	if err != nil {
		return Result{}, err
	}
	r, err := Judge(rec, s.Asserts, judge.DefaultSlack)
	if err != nil {
		return Result{}, err
	}
	r.Client, r.Journal = filepath.Base(spec.Command[0]), d.path(journalName)
	r.Took, r.TookS = took, took.Round(time.Millisecond).Seconds()
	r.account(ends, s.TimeLimit)
	return r, nil
}

// withDefaults fills what the scenario says. What is given is written into the journal too.
func (s Spec) withDefaults() Spec {
	sc := *s.Scenario
	if s.Workers > 0 {
		sc.Workers = s.Workers
	}
	if s.Clients == 0 {
		s.Clients = max(1, sc.Clients)
	}
	if s.KillAt == nil {
		s.KillAt = sc.Kill
	}
	if s.TimeLimit == 0 {
		s.TimeLimit = sc.TimeLimit
	}
	s.Scenario = &sc
	return s
}

// account adds to a verdict what the clients' own ends say.
func (r *Result) account(ends []ended, limit time.Duration) {
	worst, hung := ends[0], 0
	for _, e := range ends {
		if e.hung && !worst.hung || e.code != 0 && worst.code == 0 {
			worst = e
		}
		if e.hung {
			hung++
		}
	}
	switch {
	case hung > 0 && !r.Pass: // a scenario may allow a client to be patient
		why := fmt.Sprintf("still running after %gs: killed", limit.Seconds())
		if len(ends) > 1 {
			why = fmt.Sprintf("%d of %d clients were %s", hung, len(ends), why)
		}
		if r.Figures.Requests == 0 {
			why = "sent nothing; " + why
		}
		r.Why = why
	case r.Figures.Requests == 0 && worst.code != 0:
		r.Why += fmt.Sprintf(", and ended with exit code %d", worst.code)
	}
	if !r.Pass && (r.Figures.Requests == 0 || worst.code != 0) {
		r.Said = worst.said
	}
}

const journalName = "journal.jsonl"

// A drill is one client in one scenario, being run.
type drill struct {
	spec  Spec // with defaults
	dir   string
	stand *scenario.Stand
	place place
}

func (d *drill) path(name string) string { return filepath.Join(d.dir, name) }

// makeDir makes a folder that is not there yet, and one for what the client saves.
func makeDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return dir, os.Mkdir(filepath.Join(dir, "out"), 0o700)
}

// run runs service and clients. The journal is whole when it returns.
func (d *drill) run(ctx context.Context) (ends []ended, took time.Duration, err error) {
	f, err := os.OpenFile(d.path(journalName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	d.stand, err = d.spec.Scenario.Start(scenario.Options{TLS: d.spec.TLS, Journal: f})
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	defer func() {
		err = errors.Join(err, d.stand.Close())
		err = errors.Join(err, d.stand.Journal.Err(), f.Close())
	}()
	if err := d.prepare(); err != nil {
		return nil, 0, err
	}
	quit, cancel := context.WithCancel(ctx)
	kept := make(chan error, 1)
	go func() { kept <- d.keepToken(quit) }()
	t := &team{
		size: d.spec.Clients, began: time.Now(), kill: d.spec.KillAt, limit: d.spec.TimeLimit,
		command: func(client int) (args, env []string) {
			return d.place.command(d.spec.Command, client), d.place.environ(client, d.stand.Token())
		},
		output: func(client int) string { return d.path(fmt.Sprintf("client-%d.log", client)) },
		note:   d.stand.Journal.Note,
	}
	ends, err = t.run(ctx)
	took = time.Since(t.began)
	cancel()
	return ends, took, errors.Join(err, <-kept)
}

// prepare writes the files that a command is told of.
func (d *drill) prepare() error {
	sc := d.spec.Scenario
	d.place = place{
		scenario: sc.Name, base: d.stand.Base(), list: d.path("list.txt"), out: d.path("out"),
		workers: sc.Workers, clients: d.spec.Clients,
		tls: d.spec.TLS, token: d.stand.Token() != "", ca: d.path("ca.pem"), tokenFile: d.path("token"),
	}
	var list strings.Builder
	for _, doc := range d.stand.List() {
		d.place.urls = append(d.place.urls, doc.URL)
		fmt.Fprintln(&list, doc.URL)
	}
	return errors.Join(
		os.WriteFile(d.place.list, []byte(list.String()), 0o600),
		os.WriteFile(d.place.ca, d.stand.CA(), 0o600),
		os.WriteFile(d.place.tokenFile, []byte(d.stand.Token()), 0o600),
	)
}

// keepToken writes the token anew whenever the service gives another, until ctx is done.
// Whoever reads the file sees the old token or the new one.
func (d *drill) keepToken(ctx context.Context) error {
	tick := time.NewTicker(tokenEvery)
	defer tick.Stop()
	for was := ""; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		token := d.stand.Token()
		if token == was {
			continue
		}
		fresh := d.place.tokenFile + ".new"
		if err := os.WriteFile(fresh, []byte(token), 0o600); err != nil {
			return err
		}
		if err := os.Rename(fresh, d.place.tokenFile); err != nil {
			return err
		}
		was = token
	}
}

// expected reads the asserts of a scenario or a journal.
func expected(expect []string) ([]judge.Assert, error) {
	if len(expect) == 0 {
		return nil, nil
	}
	return judge.ParseAsserts(strings.Join(expect, ","))
}
