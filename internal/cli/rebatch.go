package cli

import (
	"fmt"
	"iter"
	"strings"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

type rebatchCmd struct {
	From string `arg:"" name:"job" help:"The job with changed documents."`
	Job  string `required:"" help:"The new job's name." placeholder:"NEW"`
	Out  string `short:"o" help:"The new job's folder or bucket address. Default: ./NEW." placeholder:"DIR|URL"`
	storeFlag
}

// Help is the text behind --help.
func (rebatchCmd) Help() string { return rebatchHelp }

// Run makes a job of the changed documents of another, each bound to the version that was
// found. It sends nothing: resume reads it.
func (r *rebatchCmd) Run(c *call) error {
	if !jobNames.MatchString(r.Job) {
		return usage("--job: a name is made of letters, digits, points, dashes and underscores")
	}
	return c.withJob(r.storeFlag, r.From, func(s ledger.Store, from ledger.Job) error {
		set := from.Settings
		set.SinkShown = orElse(r.Out, "./"+r.Job)
		var err error
		if set.Sink, err = sinkAddress(set.SinkShown); err != nil {
			return err
		}
		if err := freeSink(c.ctx, s, set); err != nil {
			return err
		}
		job, _, err := s.Create(c.ctx, r.Job, set, rebatched(s.ChangedDocuments(c.ctx, from.ID)))
		if err != nil {
			return listError(c.ctx, err, r.Job)
		}
		if job.Total == 0 {
			if err := s.Forget(c.ctx, job.ID); err != nil {
				return &codedError{code: exitIO, err: err}
			}
			return &codedError{code: exitData, err: fmt.Errorf("no document of %s has changed", from.Name)}
		}
		if err := rescope(c.ctx, s, job); err != nil {
			return err
		}
		fmt.Fprintf(c.Stderr, "%s: %d documents\n  try: dogear resume %s%s\n", job.Name, job.Total, job.Name, storeArg(r.Store))
		return nil
	})
}

// rebatched binds each document to what was found.
func rebatched(seq iter.Seq2[ledger.ChangedDocument, error]) iter.Seq2[dogear.Document, error] {
	return func(yield func(dogear.Document, error) bool) {
		for d, err := range seq {
			doc := d.Document
			doc.Version, doc.SHA256, doc.Digest = d.Found, "", ""
			if sum, ok := strings.CutPrefix(d.Found, "sha256:"); ok {
				doc.Version, doc.SHA256 = "", sum
			}
			doc.Size = -1
			if !yield(doc, err) {
				return
			}
		}
	}
}
