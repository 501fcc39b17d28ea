package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/acceptance"
)

// drillOwnCmd is `dogear drill` without a command: dogear's own table.
type drillOwnCmd struct {
	Row []string `arg:"" optional:"" help:"Rows of dogear's own table. Default: all."`
	drillOutput
}

// Help is the text behind --help.
func (drillOwnCmd) Help() string { return drillHelp }

// Run runs the rows with this very binary.
func (r *drillOwnCmd) Run(c *call) (err error) {
	rows, err := acceptance.Select(r.Row)
	if err != nil {
		return &usageError{err: err, try: "dogear drill --help"}
	}
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
	}
	out, err := r.open(c, names)
	if err != nil {
		return err
	}
	defer out.discard()
	dir, err := r.folder()
	if err != nil {
		return err
	}
	if r.Keep == "" {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	var unwritten error
	err = acceptance.Run(c.ctx, acceptance.Options{Binary: binary, Dir: dir, Rows: rows}, func(res drill.Result) {
		unwritten = errors.Join(unwritten, out.add(res))
	})
	switch {
	case c.ctx.Err() != nil:
		return &codedError{code: cancelCode(c.ctx), err: errors.New("stopped: what the table had started has ended")}
	case err != nil || unwritten != nil:
		return errors.Join(err, unwritten)
	}
	return out.end()
}

// folder makes the folder of the table.
func (r *drillOwnCmd) folder() (string, error) {
	if r.Keep == "" {
		return os.MkdirTemp("", "dogear-drill-")
	}
	dir, err := filepath.Abs(r.Keep)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return "", &codedError{code: exitCantCreate, err: fmt.Errorf("--keep: %w", err)}
	}
	return dir, nil
}
