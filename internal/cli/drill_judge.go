package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
)

type drillJudgeCmd struct {
	Journal string        `arg:"" help:"The file, or - for standard input."`
	JSON    bool          `name:"json" help:"One JSON object."`
	Assert  *string       `help:"What must hold, such as 'early==0, burst<=1'. Default: what the journal expects." placeholder:"LIST"`
	Slack   time.Duration `default:"500ms" help:"How long after a wait was sent an arrival may still be under way." placeholder:"DURATION"`
}

// Help is the text behind --help.
func (drillJudgeCmd) Help() string { return drillJudgeHelp }

// Run judges a journal.
func (r *drillJudgeCmd) Run(c *call) error {
	if r.Slack < 0 {
		return usage("--slack: a duration from zero")
	}
	what, err := asserts(r.Assert)
	if err != nil {
		return err
	}
	rec, err := r.read(c)
	if err != nil {
		return err
	}
	res, err := drill.Judge(rec, what, r.Slack)
	if err != nil {
		return &codedError{code: exitData, err: fmt.Errorf("%s: %w", r.Journal, err), try: "--assert"}
	}
	if rec.Cut > 0 {
		fmt.Fprintf(c.Stderr, "dogear: %s: line %d was cut: judged up to line %d\n", shown(r.Journal), rec.Cut, rec.Cut-1)
	}
	if r.JSON {
		err = encode(c.Stdout, res)
	} else {
		err = showFigures(c.Stdout, res)
	}
	if err := written(err); err != nil {
		return err
	}
	if !res.Pass {
		return exitError(exitDifference)
	}
	return nil
}

func (r *drillJudgeCmd) read(c *call) (*journal.Record, error) {
	in := io.Reader(interruptible{c.ctx, c.Stdin})
	if r.Journal != "-" {
		f, err := os.Open(r.Journal)
		if err != nil {
			return nil, &codedError{code: exitNoInput, err: err}
		}
		defer f.Close()
		in = f
	}
	rec, err := journal.Parse(in)
	switch {
	case c.ctx.Err() != nil:
		return nil, exitError(cancelCode(c.ctx))
	case err != nil:
		return nil, &codedError{code: exitData, err: fmt.Errorf("%s: %w", r.Journal, err)}
	}
	return rec, nil
}

// encode writes a value as one line of JSON, with < and > as they are.
func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// showFigures writes a judgement for people.
func showFigures(out io.Writer, r drill.Result) error {
	verdict := "FAIL"
	if r.Pass {
		verdict = "pass"
	}
	fmt.Fprintf(out, "%s: %s\n%s: %s\n\n", shown(r.Scenario), shown(r.About), verdict, shown(r.Why))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range figureLines(r.Figures) {
		fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
	}
	fmt.Fprintln(w)
	for _, c := range r.Checks {
		verdict, why := "pass", "it is "+c.Value
		if !c.Pass {
			verdict, why = "FAIL", c.Why
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", verdict, shown(c.Assert), shown(why))
	}
	return w.Flush()
}

// figureLines are the figures for people, each with its name.
func figureLines(f judge.Figures) [][2]string {
	earliest := ""
	if f.Early > 0 {
		earliest = fmt.Sprintf("; the earliest by %.3f s", f.EarliestS)
	}
	return [][2]string{
		{"requests", fmt.Sprintf("%d, %d throttled (%.1f %%)", f.Requests, f.Throttled, 100*f.ThrottledShare)},
		{"early", fmt.Sprintf("%d, %d of them late, %d retries%s", f.Early, f.Late, f.RetriesEarly, earliest)},
		{"burst", known("%d", f.Burst)},
		{"rest", known("%.3f s", f.RestS)},
		{"documents", fmt.Sprintf("%d: %d delivered, %d withheld, %d lost; %d asked for", f.Documents, f.Delivered, f.Withheld, f.Lost, f.Asked)},
		{"attempts", fmt.Sprintf("%d at most, %.2f on average", f.AttemptsMost, f.AttemptsMean)},
		{"repeats", strconv.Itoa(f.Repeats)},
		{"mixed", strconv.Itoa(f.Mixed)},
		{"leaked", strconv.Itoa(f.Leaked)},
		{"span", fmt.Sprintf("%.3f s; the best is %s", f.SpanS, known("%.3f s", f.BestS))},
		{"goodput", known("%.2f", f.Goodput)},
		{"time", known("%.2f", f.Time)},
		{"hung", strconv.Itoa(f.Hung)},
		{"exit", known("%d", f.Exit)},
	}
}

// known is a figure that may be unknown.
func known[T int | float64](format string, v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}
