package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dogear/dogear/ledger"
)

type resumeCmd struct {
	Job string `arg:"" help:"The job's name."`
	tierFlag
	batchFlag
	loginFlags
	jobFlags
	roundFlags
	storeFlag
}

// Help is the text behind --help.
func (resumeCmd) Help() string { return resumeHelp }

// Run reads what is not done.
func (r *resumeCmd) Run(c *call) error {
	if err := r.roundFlags.check(); err != nil {
		return err
	}
	if err := r.jobFlags.check(); err != nil {
		return err
	}
	s, err := c.openBy(r.storeFlag, r.Deadline.at)
	if err != nil {
		return err
	}
	defer s.Close()
	job, err := c.job(s, r.Job)
	if err != nil {
		return err
	}
	before := job.Settings
	if err := errors.Join(r.jobFlags.apply(&job.Settings, job.Settings.Source), r.tierFlag.apply(&job.Settings), r.batchFlag.apply(&job.Settings), r.loginFlags.again(&job.Settings)); err != nil {
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
	sources.services.said = r.Tier != ""
	changed := !same(before, job.Settings)
	if changed {
		if err := s.SetSettings(c.ctx, job.ID, job.Settings); err != nil {
			return &codedError{code: exitIO, err: err}
		}
	}
	if changed || sources.drives != nil { // a run may have died between listing and this
		if err := rescope(c.ctx, s, job); err != nil {
			return err
		}
	}
	if err := c.compare(s, job, sources); err != nil {
		return err
	}
	if r.Tier != "" {
		if err := c.retier(s, job, sources); err != nil {
			return err
		}
	}
	out, err := openSink(c.ctx, s, job.Name, job.Settings, false)
	if err != nil {
		return err
	}
	return c.run(round{store: s, job: job, sink: out, sources: sources, flags: r.roundFlags, storeFlag: r.Store})
}

func same(a, b ledger.Settings) bool {
	return slices.Equal(a.Headers, b.Headers) && fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b)
}

// compare tells how a list has changed since it was read. A job never grows.
func (c *call) compare(s ledger.Store, job ledger.Job, sources *sources) error {
	if !sources.changed(job.Settings.Digest) {
		return nil
	}
	var added, met, moved int64
	var seen []uint64 // one bit a document
	for doc, err := range sources.documents(c.ctx) {
		if err != nil {
			fmt.Fprintf(c.Stderr, "dogear: the list has changed and cannot be compared: %s\n", shown(err.Error()))
			return nil
		}
		stored, found, err := s.Compare(c.ctx, job.ID, doc)
		if err != nil {
			return &codedError{code: exitIO, err: err}
		}
		if !found {
			added++
			continue
		}
		if !doc.Secret && stored.Address != doc.Address || stored.Version != doc.Version || stored.SHA256 != doc.SHA256 {
			moved++
		}
		i := stored.Seq - job.First
		if more := i/64 + 1 - int64(len(seen)); more > 0 {
			seen = append(seen, make([]uint64, more)...)
		}
		if bit := uint64(1) << (i % 64); seen[i/64]&bit == 0 {
			seen[i/64] |= bit
			met++
		}
	}
	if c.ctx.Err() != nil {
		return &codedError{code: cancelCode(c.ctx), err: errors.New("stopped before anything was sent")}
	}
	fmt.Fprintf(c.Stderr, "dogear: the list has changed since the job was made: %d new lines (not read: a job never grows), %d gone, %d with another address, version or digest\n",
		added, job.Total-met, moved)
	if added > 0 {
		fmt.Fprintln(c.Stderr, "  try: a new job with `dogear read`")
	}
	return nil
}

// retier gives the scopes of a profile the pace of another of its plans. Which those are, the
// addresses say.
func (c *call) retier(s ledger.Store, job ledger.Job, sources *sources) error {
	if sources.drives != nil {
		if _, err := sources.drives.scopesAt(job); err != nil {
			return &codedError{code: exitIO, err: err}
		}
	}
	for _, err := range sources.documents(c.ctx) {
		if err != nil {
			return &codedError{code: exitData, err: fmt.Errorf("--tier: the list cannot be read again: %w", err)}
		}
	}
	if err := sources.services.confirmAll(c.ctx, s); err != nil {
		return &codedError{code: exitIO, err: err}
	}
	return nil
}
