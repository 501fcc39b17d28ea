package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dogear/dogear/profile"
)

type profilesCmd struct {
	List  profilesListCmd  `cmd:"" default:"withargs" help:"The profiles that are built in."`
	Show  profilesShowCmd  `cmd:"" help:"What one says, with its sources and what is not known."`
	Check profilesCheckCmd `cmd:"" help:"Read a file of one's own, and tell each mistake with its line."`
}

// Help is the text behind --help.
func (profilesCmd) Help() string { return profilesHelp }

type profilesListCmd struct{}

// Run prints the shipped profiles.
func (profilesListCmd) Run(c *call) error {
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, name := range profile.Names() {
		p, _ := profile.Get(name)
		facts := fmt.Sprintf("%d facts", len(factsOf(p)))
		if p.Generic {
			facts = "generic"
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Name, p.Title, facts, orElse(strings.Join(p.Hosts, " "), "-")); err != nil {
			return written(err)
		}
	}
	return written(w.Flush())
}

type profilesShowCmd struct {
	Name string `arg:"" help:"A profile's name, or a file."`
}

// Run prints what a profile says.
func (r *profilesShowCmd) Run(c *call) error {
	p, shipped := profile.Get(r.Name)
	if !shipped {
		var err error
		if p, err = profile.Load(r.Name); err != nil {
			return profileError(r.Name, err)
		}
	}
	var b strings.Builder
	if err := p.Show(&b); err != nil {
		return err
	}
	_, err := io.WriteString(c.Stdout, shown(b.String()))
	return written(err)
}

type profilesCheckCmd struct {
	File string `arg:"" help:"A profile's file."`
}

// Run reads a profile's file.
func (r *profilesCheckCmd) Run(c *call) error {
	p, err := profile.Load(r.File)
	if err != nil {
		return profileError(r.File, err)
	}
	_, err = fmt.Fprintln(c.Stdout, shown(r.File+": "+holds(p)))
	return written(err)
}

// profileError is why a profile cannot be read.
func profileError(name string, err error) error {
	if _, ok := errors.AsType[*profile.Error](err); ok {
		return &codedError{code: exitConfig, err: err}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return &codedError{code: exitNoInput, err: err}
	}
	e := &codedError{code: exitNoInput, err: fmt.Errorf("there is no profile %s, and no such file", name), try: "dogear profiles"}
	if _, shipped := profile.Get(name); shipped {
		e.err, e.try = fmt.Errorf("%s is built in, and no file", name), "dogear profiles show "+name
	}
	return e
}

// holds says what is in a profile.
func holds(p *profile.Profile) string {
	if p.Generic {
		return fmt.Sprintf("%s is right: generic, %s", p.Name, countOf(len(p.Unknown), "open question", "open questions"))
	}
	facts := factsOf(p)
	documented, confirmed, limits := 0, 0, 0
	for _, f := range facts {
		if f.Known == profile.Documented {
			documented++
		}
	}
	for _, s := range p.Scopes {
		limits += len(s.Limits)
		if s.Confirmed() {
			confirmed++
		}
	}
	parts := []string{
		countOf(len(facts), "fact", "facts") + fmt.Sprintf(" (%d documented, %d reported)", documented, len(facts)-documented),
		countOf(len(p.Scopes), "scope", "scopes") + fmt.Sprintf(" (%d confirmed)", confirmed),
		countOf(limits, "limit", "limits"), countOf(len(p.Throttles), "kind of refusal", "kinds of refusal"), countOf(len(p.Hints), "hint", "hints"),
	}
	if p.Batch != nil {
		parts = append(parts, fmt.Sprintf("batches of up to %d", p.Batch.Most))
	}
	if plans := p.Plans(); len(plans) > 0 {
		parts = append(parts, "tiers "+strings.Join(plans, ", "))
	}
	parts = append(parts, countOf(len(p.Unknown), "open question", "open questions"))
	return p.Name + " is right: " + strings.Join(parts, "; ")
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// factsOf are all statements of a profile.
func factsOf(p *profile.Profile) []profile.Fact {
	var out []profile.Fact
	if p.Base != nil {
		out = append(out, p.Base.Fact)
	}
	if p.UserAgent != nil {
		out = append(out, p.UserAgent.Fact)
	}
	for _, s := range p.Scopes {
		out = append(out, s.Fact)
		for _, l := range s.Limits {
			out = append(out, l.Fact)
		}
	}
	if p.Batch != nil {
		out = append(out, p.Batch.Fact)
	}
	if p.Version != nil {
		out = append(out, p.Version.Fact)
	}
	return slices.Concat(out,
		factsIn(p.Costs, func(c profile.Cost) profile.Fact { return c.Fact }),
		factsIn(p.Throttles, func(t profile.Throttle) profile.Fact { return t.Fact }),
		factsIn(p.Statuses, func(s profile.Status) profile.Fact { return s.Fact }),
		factsIn(p.Hints, func(h profile.Hint) profile.Fact { return h.Fact }),
		factsIn(p.Budgets, func(b profile.BudgetField) profile.Fact { return b.Fact }),
		factsIn(p.SDKs, func(s profile.SDK) profile.Fact { return s.Fact }),
		factsIn(p.Facts, func(s profile.Statement) profile.Fact { return s.Fact }))
}

func factsIn[T any](list []T, of func(T) profile.Fact) []profile.Fact {
	var out []profile.Fact
	for _, v := range list {
		out = append(out, of(v))
	}
	return out
}
