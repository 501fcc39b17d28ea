package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/scenario"
)

type drillRunCmd struct {
	Scenario  []string        `arg:"" optional:"" help:"Built-in scenarios, or paths of files. Default: those that any client can read."`
	Clients   *int            `help:"Processes started together. Default: the scenario's." placeholder:"N"`
	Workers   *int            `help:"What {workers} says. Default: the scenario's." placeholder:"N"`
	KillAt    []time.Duration `help:"Moments since the start at which each client is killed, and started again." placeholder:"2s,5s"`
	TimeLimit *time.Duration  `help:"A client that runs longer is killed. Default: the scenario's." placeholder:"DURATION"`
	Assert    *string         `help:"What must hold, such as 'early==0, burst<=1'. Default: the scenario's." placeholder:"LIST"`
	TLS       bool            `name:"tls" help:"Serve https; {ca} is the certificate to trust."`
	drillOutput
}

// Help is the text behind --help.
func (drillRunCmd) Help() string { return drillRunHelp }

// cutCommand cuts off what stands behind the first -- of `drill run`: the client's command,
// whose flags are its own.
func cutCommand(args []string) (ours, command []string) {
	if len(args) < 2 || args[0] != "drill" || args[1] != "run" {
		return args, nil
	}
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i], args[i+1:]
	}
	return args, nil
}

// Run runs a client in scenarios, one after the other: they would disturb each other's times.
func (r *drillRunCmd) Run(c *call) (err error) {
	specs, err := r.specs(c.command)
	if err != nil {
		return err
	}
	out, err := r.open(c, names(specs))
	if err != nil {
		return err
	}
	defer out.discard()
	dir, err := r.folder(specs)
	if err != nil {
		return err
	}
	if r.Keep == "" {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	for _, s := range specs {
		res, err := drill.Run(c.ctx, s)
		if err != nil {
			return r.failed(c, s, err)
		}
		if err := out.add(res); err != nil {
			return err
		}
	}
	return out.end()
}

func names(specs []drill.Spec) (all []string) {
	for _, s := range specs {
		all = append(all, s.Scenario.Name)
	}
	return all
}

// specs reads the command line: what is wrong with it is said before anything is started.
func (r *drillRunCmd) specs(command []string) ([]drill.Spec, error) {
	if len(command) == 0 {
		return nil, &usageError{err: errors.New("name the client's command behind --"), try: "dogear drill run many-workers -- curl --parallel --remote-name-all --output-dir {out} {urls}"}
	}
	err := errors.Join(positive("--clients", r.Clients), positive("--workers", r.Workers), positive("--time-limit", r.TimeLimit))
	if err != nil {
		return nil, err
	}
	spec := drill.Spec{Command: command, TLS: r.TLS, KillAt: r.KillAt}
	given(&spec.Clients, r.Clients)
	given(&spec.Workers, r.Workers)
	given(&spec.TimeLimit, r.TimeLimit)
	slices.Sort(spec.KillAt)
	if spec.Asserts, err = asserts(r.Assert); err != nil {
		return nil, err
	}
	names := r.Scenario
	if len(names) == 0 {
		names = scenario.Standard()
	}
	var specs []drill.Spec
	for _, name := range names {
		if spec.Scenario, err = loadScenario(name); err != nil {
			return nil, err
		}
		kills, limit := spec.KillAt, cmp.Or(spec.TimeLimit, spec.Scenario.TimeLimit)
		if kills == nil {
			kills = spec.Scenario.Kill
		}
		for _, at := range kills {
			if at <= 0 || at >= limit {
				return nil, usage("%s: a client is killed at %v: that is not between its start and its time limit of %v", name, at, limit)
			}
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// folder makes the folder of the drills and gives each one of its own in it.
func (r *drillRunCmd) folder(specs []drill.Spec) (string, error) {
	dir, err := r.Keep, error(nil)
	if dir == "" {
		dir, err = os.MkdirTemp("", "dogear-drill-")
	} else {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return "", &codedError{code: exitCantCreate, err: err}
	}
	taken := map[string]int{}
	for i, s := range specs {
		name := s.Scenario.Name
		if taken[name]++; taken[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, taken[name])
		}
		specs[i].Dir = filepath.Join(dir, name)
		if _, err := os.Lstat(specs[i].Dir); err == nil {
			return "", &codedError{code: exitCantCreate, err: fmt.Errorf("--keep: %s is there already, and is not written over: name another folder", specs[i].Dir)}
		}
	}
	return dir, nil
}

// failed is the end of a drill that has no result.
func (r *drillRunCmd) failed(c *call, s drill.Spec, err error) error {
	switch {
	case c.ctx.Err() != nil:
		return &codedError{code: cancelCode(c.ctx), err: fmt.Errorf("stopped in %s: its clients and its service have ended", s.Scenario.Name)}
	case errors.Is(err, drill.ErrNotStarted):
		return &usageError{err: err}
	}
	return fmt.Errorf("%s: %w", s.Scenario.Name, err)
}
