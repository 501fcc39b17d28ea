package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/dogear/dogear/drill/judge"
	"github.com/dogear/dogear/drill/scenario"
)

// drillCmd is the stand-in service, and the judge of any client.
type drillCmd struct {
	Own       drillOwnCmd       `cmd:"" default:"withargs" hidden:""`
	Run       drillRunCmd       `cmd:"" help:"Run a client in scenarios, and judge what it did."`
	Serve     drillServeCmd     `cmd:"" help:"The stand-in service of one scenario, until a signal."`
	Judge     drillJudgeCmd     `cmd:"" help:"Judge a journal."`
	Scenarios drillScenariosCmd `cmd:"" help:"The built-in scenarios."`
	Show      drillShowCmd      `cmd:"" help:"Print a built-in scenario's file, to copy and change."`
	Get       drillGetCmd       `cmd:"" hidden:""`
}

// Help is the text behind --help.
func (drillCmd) Help() string { return drillHelp }

type drillScenariosCmd struct{}

// Run prints the names of the built-in scenarios, and what they are about.
func (drillScenariosCmd) Run(c *call) error {
	var all []*scenario.Scenario
	width := 0
	for _, name := range scenario.Builtin() {
		s, err := loadScenario(name)
		if err != nil {
			return err
		}
		all, width = append(all, s), max(width, len(name))
	}
	for _, s := range all {
		if _, err := fmt.Fprintf(c.Stdout, "%-*s  %s\n", width, s.Name, s.About); err != nil {
			return written(err)
		}
	}
	return nil
}

type drillShowCmd struct {
	Name string `arg:"" help:"The name of a built-in scenario."`
}

// Run prints the file of a built-in scenario.
func (r *drillShowCmd) Run(c *call) error {
	text, err := scenario.Source(r.Name)
	if err != nil {
		return scenarioError(err)
	}
	_, err = c.Stdout.Write(text)
	return written(err)
}

// loadScenario reads a scenario by its name or path.
func loadScenario(name string) (*scenario.Scenario, error) {
	s, err := scenario.Load(name)
	if err != nil {
		return nil, scenarioError(err)
	}
	return s, nil
}

func scenarioError(err error) error {
	if _, ok := errors.AsType[*scenario.Error](err); ok {
		return &codedError{code: exitConfig, err: err}
	}
	try := ""
	if errors.Is(err, fs.ErrNotExist) {
		try = "dogear drill scenarios"
	}
	return &codedError{code: exitNoInput, err: err, try: try}
}

// asserts reads --assert; nil: it is not given.
func asserts(flag *string) ([]judge.Assert, error) {
	if flag == nil {
		return nil, nil
	}
	a, err := judge.ParseAsserts(*flag)
	if err != nil {
		return nil, &usageError{err: fmt.Errorf("--assert: %w", err), try: "dogear drill judge --help"}
	}
	return a, nil
}
