package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/sink/folder"
)

type workerCmd struct {
	Job      string         `arg:"" help:"The job's name."`
	Wait     time.Duration  `help:"Wait so long for the job and its run to begin." default:"0s" placeholder:"DURATION"`
	Grace    *time.Duration `help:"For requests in flight at the end. Default: 10s." placeholder:"DURATION"`
	Progress string         `help:"How progress is shown: ${enum}." enum:"auto,plain,none" default:"auto"`
	JSON     bool           `name:"json" help:"Print the job's summary as JSON at the end."`
	storeFlag
}

// Help is the text behind --help.
func (workerCmd) Help() string { return workerHelp }

// Run reads with the process that runs the job, until its run ends.
func (r *workerCmd) Run(c *call) error {
	flags := roundFlags{Grace: r.Grace, Progress: r.Progress, JSON: r.JSON}
	if err := flags.check(); err != nil {
		return err
	}
	s, err := c.open(r.storeFlag)
	if err != nil {
		return err
	}
	defer s.Close()
	job, run, err := r.await(c, s)
	if err != nil {
		return err
	}
	if err := checkCredentials(job.Settings); err != nil {
		return err
	}
	sources, err := reopenSources(c, job.Settings)
	if err != nil {
		return err
	}
	defer sources.close()
	if !isBucket(job.Settings.Sink) && !folder.Marked(job.Settings.Sink) {
		return &codedError{code: exitCantCreate, err: fmt.Errorf("the job's folder %s is not here: workers save into one that they share", job.Settings.Sink)}
	}
	out, err := openSink(c.ctx, s, job.Name, job.Settings, true)
	if err != nil {
		return err
	}
	flags.Deadline = deadline{at: ledger.Here(s, run.Deadline), given: true}
	return c.run(round{store: s, job: job, sink: out, sources: sources, flags: flags, storeFlag: r.Store, help: true})
}

// await waits for the job and its run, for as long as it was told.
func (r *workerCmd) await(c *call, s ledger.Store) (ledger.Job, ledger.Run, error) {
	for end := time.Now().Add(r.Wait); ; {
		job, err := s.Job(c.ctx, r.Job)
		var run ledger.Run
		if err == nil {
			run, err = liveRun(c.ctx, s, job.ID)
		}
		switch {
		case err == nil:
			return job, run, nil
		case (errors.Is(err, ledger.ErrNoJob) || errors.Is(err, ledger.ErrNotRunning)) && time.Now().Before(end):
		case errors.Is(err, ledger.ErrNotRunning):
			return job, run, &codedError{code: exitTemporary, err: fmt.Errorf("nobody is running job %s: a worker helps with a run", job.Name),
				try: "dogear resume " + job.Name + storeArg(r.Store)}
		case errors.Is(err, ledger.ErrNoJob):
			if _, err = c.job(s, r.Job); err != nil {
				return job, run, err
			}
			continue // it is there by now
		default:
			return job, run, &codedError{code: exitIO, err: err}
		}
		select {
		case <-time.After(time.Second):
		case <-c.ctx.Done():
			return job, run, exitError(cancelCode(c.ctx))
		}
	}
}

// liveRun is the run of a job that goes on. The error matches [ledger.ErrNotRunning].
func liveRun(ctx context.Context, s ledger.Store, job int64) (ledger.Run, error) {
	for run, err := range s.Runs(ctx, job) {
		if err != nil || run.Live {
			return run, err
		}
	}
	return ledger.Run{}, ledger.ErrNotRunning
}
