package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/sink/folder"
)

type ledgerCmd struct {
	Export exportCmd `cmd:"" help:"Write all of the ledger into a file."`
	Import importCmd `cmd:"" help:"Take what was exported from another ledger."`
}

// Help is the text behind --help.
func (ledgerCmd) Help() string { return ledgerHelp }

// exported is the first line of an exported ledger, and the last: a file without the last one
// was cut.
type exported struct {
	Ledger  int    `json:"dogear_ledger,omitempty"` // the form of the lines between
	By      string `json:"by,omitempty"`
	End     bool   `json:"end,omitempty"`
	Records int64  `json:"records,omitempty"`
}

const exportForm = 1

type exportCmd struct {
	File string `arg:"" help:"A file that does not exist, or - for standard output."`
	storeFlag
}

// Run writes the ledger.
func (r *exportCmd) Run(c *call) (err error) {
	s, err := c.open(r.storeFlag)
	if err != nil {
		return err
	}
	defer s.Close()
	out := io.Writer(c.Stdout)
	if r.File != "-" {
		f, e := os.OpenFile(r.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if e != nil {
			return &codedError{code: exitCantCreate, err: e, try: "the name of a file that does not exist"}
		}
		defer func() {
			if e := errors.Join(f.Sync(), f.Close()); e != nil && err == nil {
				err = &codedError{code: exitCantCreate, err: e}
			}
			if err != nil {
				_ = os.Remove(r.File) // half a ledger is none
			}
		}()
		out = f
	}
	n, err := writeRecords(out, moving(s.Export(c.ctx), s.Name()))
	switch running, is := errors.AsType[*ledger.RunningError](err); {
	case is:
		return &codedError{code: exitTemporary, err: running, try: "again when it has ended"}
	case err != nil:
		return &codedError{code: exitIO, err: err}
	}
	fmt.Fprintf(c.Stderr, "dogear: %d records of %s were exported\n", n, s.Where())
	return nil
}

// moving has each job remember the ledger that it leaves, for its folder to be handed over.
func moving(records iter.Seq2[ledger.Record, error], from string) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for r, err := range records {
			if r.Job != nil {
				r.Job.Settings.Before = append(r.Job.Settings.Before, from)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func writeRecords(out io.Writer, records iter.Seq2[ledger.Record, error]) (n int64, err error) {
	w := bufio.NewWriterSize(out, 1<<20)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(exported{Ledger: exportForm, By: "dogear " + version()}); err != nil {
		return 0, err
	}
	for r, err := range records {
		if err == nil {
			err = lines.Encode(r)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	if err := lines.Encode(exported{End: true, Records: n}); err != nil {
		return n, err
	}
	return n, w.Flush()
}

type importCmd struct {
	File string `arg:"" help:"What dogear ledger export wrote, or - for standard input."`
	storeFlag
}

// Run takes an exported ledger.
func (r *importCmd) Run(c *call) error {
	in := c.Stdin
	if r.File != "-" {
		f, err := os.Open(r.File)
		if err != nil {
			code := exitNoInput
			if !errors.Is(err, fs.ErrNotExist) {
				code = exitIO
			}
			return &codedError{code: code, err: err}
		}
		defer f.Close()
		in = f
	}
	s, err := c.open(r.storeFlag)
	if err != nil {
		return err
	}
	defer s.Close()
	var n int64
	err = s.Import(c.ctx, readRecords(in, &n), folder.Fold)
	switch wrong, is := errors.AsType[*exportError](err); {
	case is:
		return &codedError{code: exitData, err: wrong, try: wrong.try}
	case errors.Is(err, ledger.ErrRecords):
		return &codedError{code: exitData, err: fmt.Errorf("nothing was imported: %w", err), try: exportAgain}
	case errors.Is(err, ledger.ErrJobExists):
		return &usageError{err: fmt.Errorf("nothing was imported: %w", err), try: "dogear forget, or another ledger with --store"}
	case c.ctx.Err() != nil:
		return &codedError{code: cancelCode(c.ctx), err: errors.New("stopped: nothing was imported")}
	case err != nil:
		return &codedError{code: exitIO, err: err}
	}
	fmt.Fprintf(c.Stderr, "dogear: %d records were imported into %s\n", n, s.Where())
	return nil
}

// An exportError says what is wrong with a file that should be an exported ledger.
type exportError struct{ what, try string }

// exportAgain is what to try with a file that is broken.
const exportAgain = "dogear ledger export again, where the ledger is"

func (e *exportError) Error() string { return "nothing was imported: " + e.what }

// readRecords reads an exported ledger to its end, and counts.
func readRecords(in io.Reader, n *int64) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		fail := func(try, format string, args ...any) {
			yield(ledger.Record{}, &exportError{fmt.Sprintf(format, args...), try})
		}
		lines := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
		var head exported
		if err := lines.Decode(&head); err != nil || head.Ledger == 0 {
			fail("a file that dogear ledger export wrote", "it is no exported ledger")
			return
		}
		if head.Ledger != exportForm {
			fail("a newer dogear", "it is of a newer dogear (%s)", head.By)
			return
		}
		for {
			var line struct {
				ledger.Record
				exported
			}
			if err := lines.Decode(&line); err != nil {
				fail(exportAgain, "it is cut or broken after %d records", *n)
				return
			}
			if line.End {
				if line.Records != *n {
					fail(exportAgain, "it has %d records and says %d", *n, line.Records)
				} else if _, err := lines.Token(); err != io.EOF {
					fail(exportAgain, "it goes on after its end")
				}
				return
			}
			*n++
			if wrong := wrongJob(line.Job); wrong != "" {
				fail(exportAgain, "record %d: %s", *n, wrong)
				return
			}
			if !yield(line.Record, nil) {
				return
			}
		}
	}
}

// wrongJob says what no command would have written of a job, or "".
func wrongJob(j *ledger.JobRecord) string {
	if j == nil {
		return ""
	}
	set := j.Settings
	switch {
	case !jobNames.MatchString(j.Name):
		return fmt.Sprintf("%q is not the name of a job", j.Name)
	case !isBucket(set.Sink) && (!filepath.IsAbs(set.Sink) || strings.ContainsRune(set.Sink, 0)):
		return fmt.Sprintf("job %s has no sink on this system", j.Name)
	case set.Rate < 0, min(set.Burst, set.Concurrency, set.Attempts, set.MaxThrottles) < 0, min(set.MaxRequests, set.MaxSize) < 0,
		min(set.BackoffBase, set.BackoffMax, set.IdleTimeout) < 0:
		return fmt.Sprintf("job %s has a setting below zero", j.Name)
	}
	return ""
}
