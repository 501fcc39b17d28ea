package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/report"
)

// drillOutput is where the results of drills go.
type drillOutput struct {
	Keep  string `help:"Keep journals and what was saved in a folder." placeholder:"DIR"`
	HTML  string `name:"html" help:"Write a page with a picture of each row." placeholder:"FILE"`
	JUnit string `name:"junit" help:"Write the results for a CI service." placeholder:"FILE"`
	JSON  bool   `name:"json" help:"One JSON object a row, in place of the table."`
}

// results are shown as they come; the pages are written at the end.
type results struct {
	drillOutput
	call  *call
	pages pages
	table *drill.Table
	all   []drill.Result
}

// open opens the files that are written at the end: that they can be is known before
// anything is started.
func (o drillOutput) open(c *call, names []string) (*results, error) {
	if o.HTML != "" && o.HTML == o.JUnit {
		return nil, usage("--html and --junit name the same file")
	}
	r := &results{drillOutput: o, call: c, table: drill.NewTable(c.Stdout, names)}
	for _, p := range []page{{path: o.HTML, flag: "--html", fill: report.Drill}, {path: o.JUnit, flag: "--junit", fill: drill.WriteJUnit}} {
		if p.path == "" {
			continue
		}
		if err := p.open(); err != nil {
			r.discard()
			return nil, &codedError{code: exitCantCreate, err: fmt.Errorf("%s: %w", p.flag, err)}
		}
		r.pages = append(r.pages, &p)
	}
	return r, nil
}

// discard removes what was not written.
func (r *results) discard() { r.pages.discard() }

// add shows a result.
func (r *results) add(res drill.Result) error {
	if r.Keep == "" {
		res.Journal = ""
	}
	r.all = append(r.all, res)
	var err error
	if r.JSON {
		err = encode(r.call.Stdout, res)
	} else {
		err = r.table.Row(res)
	}
	if res.Said != "" {
		fmt.Fprintf(r.call.Stderr, "  %s printed last:\n    %s\n", shown(res.Client), strings.ReplaceAll(shown(res.Said), "\n", "\n    "))
	}
	return written(err)
}

// end writes the pages. Its error is the exit code where a row has failed.
func (r *results) end() error {
	if !r.JSON {
		if err := written(r.table.End()); err != nil {
			return err
		}
	}
	if err := r.pages.write(r.all); err != nil {
		return err
	}
	if slices.ContainsFunc(r.all, func(res drill.Result) bool { return !res.Pass }) {
		return exitError(exitDifference)
	}
	return nil
}
