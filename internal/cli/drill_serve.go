package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
	"github.com/dogear/dogear/drill/scenario"
)

type drillServeCmd struct {
	Scenario string `arg:"" help:"A built-in scenario, or the path of a file."`
	Listen   string `default:"127.0.0.1:0" help:"Host and port of the first quota; the others take free ports of that host." placeholder:"ADDR"`
	TLS      bool   `name:"tls" help:"Serve https, with a certificate of its own."`
	CA       string `name:"ca" help:"Write the certificate that clients have to trust. With --tls." placeholder:"FILE"`
	Journal  string `help:"Write what arrives, as it ends: one JSON object a line. A file that is there is not touched." placeholder:"FILE"`
}

// Help is the text behind --help.
func (drillServeCmd) Help() string { return drillServeHelp }

// Run serves until a signal.
func (r *drillServeCmd) Run(c *call) (err error) {
	if r.CA != "" && !r.TLS {
		return usage("--ca: there is a certificate only with --tls")
	}
	s, err := loadScenario(r.Scenario)
	if err != nil {
		return err
	}
	opts := scenario.Options{Listen: r.Listen, TLS: r.TLS}
	if r.Journal != "" {
		f, err := createJournal(r.Journal)
		if err != nil {
			return err
		}
		defer f.Close()
		opts.Journal = f
	}
	st, err := s.Start(opts)
	if err != nil {
		return &usageError{err: fmt.Errorf("--listen %s: %w", r.Listen, err)}
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if r.CA != "" {
		if err := os.WriteFile(r.CA, st.CA(), 0o644); err != nil {
			return &codedError{code: exitCantCreate, err: err}
		}
	}
	if err := written(r.say(c.Stdout, st)); err != nil {
		return err
	}
	fmt.Fprintf(c.Stderr, "%s: serving until SIGINT or SIGTERM\n", shown(s.Name))
	<-c.ctx.Done()
	return r.end(c, st)
}

// createJournal creates a file for a journal. One that is there is somebody's evidence.
func createJournal(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s is there already, and a journal is not written over: name another file, or move it away", path)
	}
	if err != nil {
		return nil, &codedError{code: exitCantCreate, err: err}
	}
	return f, nil
}

// say writes where everything is: a name and a value a line, all at once, so that whoever
// has read the first line can have the others.
func (r *drillServeCmd) say(w io.Writer, st *scenario.Stand) error {
	var b strings.Builder
	fmt.Fprintln(&b, "base", st.Base())
	for _, q := range st.Head.Quotas {
		fmt.Fprintln(&b, "list", q.Origin+"/manifest.txt")
	}
	if len(st.Head.Quotas) > 1 {
		for _, q := range st.Head.Quotas {
			fmt.Fprintln(&b, "quota", q.Name, q.Origin)
		}
	}
	if token := st.Token(); token != "" {
		fmt.Fprintln(&b, "token", token)
	}
	if r.CA != "" {
		fmt.Fprintln(&b, "ca", r.CA)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// end closes the service and says what arrived.
func (r *drillServeCmd) end(c *call, st *scenario.Stand) error {
	if err := st.Close(); err != nil {
		return err
	}
	if err := st.Journal.Err(); err != nil {
		return &codedError{code: exitIO, err: fmt.Errorf("the journal %s is not whole: %w", r.Journal, err)}
	}
	rec := &journal.Record{Head: st.Head, Arrivals: st.Journal.Arrivals(nil), Events: st.Journal.Events()}
	f := judge.Judge(rec, judge.DefaultSlack)
	_, why := drill.Verdict(f, nil)
	fmt.Fprintf(c.Stderr, "%s: %s\n", shown(st.Head.Scenario), why)
	return nil
}
