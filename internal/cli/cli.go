// Package cli is the command line: the one package that knows all the others.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/ledger/sqlite"
)

// Env is what a program is given: its arguments, its streams, and a way to be told that
// nobody wants to wait any more.
type Env struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Abort          <-chan struct{} // nil: never
}

// A SignalError is the cause of a context that a signal has cancelled.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return "stopped by " + e.Signal.String() }

// terminated reports whether ctx was ended by SIGTERM.
func terminated(ctx context.Context) bool {
	s, ok := errors.AsType[*SignalError](context.Cause(ctx))
	return ok && s.Signal == syscall.SIGTERM
}

// commands is the command line as kong reads it. Each command is a struct of its flags.
type commands struct {
	Read      readCmd      `cmd:"" help:"List a source into a job and read it: one run."`
	Resume    resumeCmd    `cmd:"" help:"One more run over what is not done."`
	Status    statusCmd    `cmd:"" help:"Where a job stands, or all jobs."`
	Remaining remainingCmd `cmd:"" help:"What is not done, why, and when it may go on."`
	Results   resultsCmd   `cmd:"" help:"What is done, and where it is saved."`
	Changed   changedCmd   `cmd:"" help:"Documents whose version is no longer the job's."`
	Rebatch   rebatchCmd   `cmd:"" help:"A new job of the changed documents, at their new versions."`
	Verify    verifyCmd    `cmd:"" help:"Compare the results with the ledger."`
	Runs      runsCmd      `cmd:"" help:"The runs of a job, with stop reasons and counts."`
	Requests  requestsCmd  `cmd:"" help:"Every request of a job."`
	Forget    forgetCmd    `cmd:"" help:"Drop a job from the ledger. Results and scopes stay."`
	Scopes    scopesCmd    `cmd:"" help:"Scopes and their waits; confirm one, release a wait."`
	Plan      planCmd      `cmd:"" help:"Can a batch finish by then, under this quota? Nothing is sent."`
	Profiles  profilesCmd  `cmd:"" help:"What is known of services: list, show, or check one's own."`
	Drill     drillCmd     `cmd:"" help:"The stand-in service, and the judge of what any client sends."`
	Worker    workerCmd    `cmd:"" help:"Help with a job that another process is running."`
	Ledger    ledgerCmd    `cmd:"" help:"Move a ledger: export and import."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// Main runs one command and returns its exit code.
func Main(ctx context.Context, env Env) int {
	var cmds commands
	code := -1
	parser, err := kong.New(&cmds,
		kong.Name("dogear"),
		kong.Description(description),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(c int) { code = c; panic(exiting{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 96}),
		kong.TypeMapper(rateType, kong.MapperFunc(decodeRate)),
		kong.TypeMapper(sizeType, kong.MapperFunc(decodeSize)),
		kong.TypeMapper(deadlineType, kong.MapperFunc(decodeDeadline)),
	)
	if err != nil {
		fmt.Fprintln(env.Stderr, "dogear:", err)
		return exitSoftware
	}
	args := env.Args
	if len(args) == 0 {
		args = []string{"--help"}
	}
	args, command := cutCommand(args)
	parsed, err, exited := parse(parser, args)
	switch {
	case exited:
		return code
	case err != nil:
		return env.fail(&usageError{err: err, try: helpFor(err)})
	}
	err = parsed.Run(&call{ctx: ctx, Env: env, command: command})
	return env.fail(err)
}

// helpFor is the help of the command that could not be read.
func helpFor(err error) string {
	words := "dogear"
	if p, ok := errors.AsType[*kong.ParseError](err); ok {
		for _, w := range strings.Fields(p.Context.Command()) {
			if w[0] != '<' && w[0] != '[' {
				words += " " + w
			}
		}
	}
	return words + " --help"
}

type exiting struct{}

// parse lets kong read the arguments. Help ends the program where it stands, in kong's view;
// here it only ends the parsing.
func parse(p *kong.Kong, args []string) (k *kong.Context, err error, exited bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exiting); !ok {
				panic(r)
			}
			exited = true
		}
	}()
	k, err = p.Parse(args)
	return k, err, false
}

// call is one command being run.
type call struct {
	Env
	ctx     context.Context
	command []string // of another program, behind --
}

// open opens the ledger: the flag, the environment, or the user's own.
func (c *call) open(flag storeFlag) (ledger.Portable, error) {
	path := flag.Store
	if path == "" {
		path = os.Getenv("DOGEAR_STORE")
	}
	if path == "" {
		var err error
		if path, err = sqlite.DefaultPath(); err != nil {
			return nil, &codedError{code: exitIO, err: err}
		}
	}
	if strings.HasPrefix(path, "postgres://") || strings.HasPrefix(path, "postgresql://") {
		return c.openPostgres(path, flag.StoreTimeout)
	}
	if strings.Contains(path, "://") || strings.HasPrefix(path, "postgres") && strings.Contains(path, ":") || strings.HasPrefix(path, "host=") {
		return nil, &usageError{err: errors.New("--store: give the path of a SQLite file, or postgres://USER@HOST/DATABASE")}
	}
	s, err := sqlite.Open(c.ctx, path, sqlite.Options{})
	if err != nil {
		return nil, &codedError{code: exitIO, err: err}
	}
	return s, nil
}

// openBy is open for a run that is to end by then.
func (c *call) openBy(flag storeFlag, deadline time.Time) (ledger.Portable, error) {
	if deadline.IsZero() {
		return c.open(flag)
	}
	whole := c.ctx
	defer func() { c.ctx = whole }()
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithDeadlineCause(c.ctx, deadline, errOpening)
	defer cancel()
	return c.open(flag)
}

var errOpening = errors.New("the deadline came while the ledger was waited for: nothing was sent")

// openPostgres opens a shared ledger, and says so when it has to be waited for.
func (c *call) openPostgres(dsn string, timeout time.Duration) (ledger.Portable, error) {
	if timeout <= 0 {
		return nil, &usageError{err: errors.New("--store-timeout: has to be more than zero, as 60s")}
	}
	s, err := postgres.Open(c.ctx, dsn, postgres.Options{Timeout: timeout, Waiting: func(err error) {
		fmt.Fprintf(c.Stderr, "dogear: the ledger does not answer, and is waited for, %v at most: %s\n", timeout, shown(err.Error()))
	}})
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, postgres.ErrAddress):
		return nil, usage("--store: %w", err)
	case errors.Is(context.Cause(c.ctx), errOpening), errors.Is(context.Cause(c.ctx), errListing):
		return nil, &codedError{code: exitTemporary, err: errOpening}
	case c.ctx.Err() != nil:
		return nil, &codedError{code: cancelCode(c.ctx), err: errors.New("stopped while the ledger was waited for: nothing was sent")}
	}
	return nil, &codedError{code: exitIO, err: err}
}

// job finds a job by its name.
func (c *call) job(s ledger.Store, name string) (ledger.Job, error) {
	j, err := s.Job(c.ctx, name)
	if errors.Is(err, ledger.ErrNoJob) {
		return j, &codedError{code: exitNoInput, err: fmt.Errorf("there is no job %q in %s", name, s.Where()), try: "dogear status"}
	}
	if err != nil {
		return j, &codedError{code: exitIO, err: err}
	}
	return j, nil
}

// withJob opens the ledger, finds the job and runs f.
func (c *call) withJob(store storeFlag, name string, f func(ledger.Store, ledger.Job) error) error {
	s, err := c.open(store)
	if err != nil {
		return err
	}
	defer s.Close()
	j, err := c.job(s, name)
	if err != nil {
		return err
	}
	return f(s, j)
}

// terminal is the file behind a stream, if it is a terminal.
func terminal(stream any) (*os.File, bool) {
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// version is what this binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

type storeFlag struct {
	Store        string        `help:"The ledger: a SQLite file, or postgres://USER@HOST/DATABASE; also DOGEAR_STORE. Default: a file in the user's state folder." placeholder:"PATH|DSN"`
	StoreTimeout time.Duration `help:"How long a PostgreSQL ledger that does not answer is waited for; nothing is sent meanwhile. Default: 60s." default:"60s" placeholder:"DURATION"`
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(c *call) error {
	_, err := fmt.Fprintln(c.Stdout, "dogear", version())
	return err
}
