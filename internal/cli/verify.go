package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/reader"
)

type verifyCmd struct {
	Job  string `arg:"" help:"The job's name."`
	Deep bool   `help:"Hash every file."`
	storeFlag
}

// Help is the text behind --help.
func (verifyCmd) Help() string { return verifyHelp }

// Run compares results with the ledger.
func (r *verifyCmd) Run(c *call) error {
	return c.withJob(r.storeFlag, r.Job, func(s ledger.Store, job ledger.Job) error {
		out, err := openSink(c.ctx, s, job.Name, job.Settings, true)
		if err != nil {
			return err
		}
		defer out.Close()
		has := func(string, int64) bool { return false } // a folder is asked for each
		if d, ok := out.(reader.Direct); ok {
			if has, err = d.Inventory(c.ctx); err != nil {
				return &codedError{code: exitIO, err: err}
			}
		}
		var checked, wrong int64
		for res, err := range s.Results(c.ctx, job.ID) {
			if err != nil {
				return &codedError{code: exitIO, err: err}
			}
			checked++
			why, err := r.compare(c.ctx, out, has, res)
			if err != nil {
				return &codedError{code: exitIO, err: err}
			}
			if why != "" {
				wrong++
				fmt.Fprintf(c.Stdout, "%s: %s (%s)\n", shown(res.Path), why, shown(res.ID))
			}
		}
		fmt.Fprintf(c.Stderr, "%s: %d results checked, %d differ\n", job.Name, checked, wrong)
		if wrong > 0 {
			return exitError(exitDifference)
		}
		return nil
	})
}

// compare says in what a result differs from the ledger, or nothing.
func (r *verifyCmd) compare(ctx context.Context, out sink, has func(string, int64) bool, res dogear.Result) (string, error) {
	size, err := res.Size, error(nil)
	if !has(res.Path, res.Size) {
		size, err = out.Size(ctx, res.Path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "missing", nil
	case err != nil:
		return "", err
	case size != res.Size:
		return fmt.Sprintf("%d bytes, and the ledger says %d", size, res.Size), nil
	case !r.Deep:
		return "", nil
	}
	f, err := out.Open(ctx, res.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	if hex.EncodeToString(h.Sum(nil)) != res.SHA256 {
		return "other bytes than the ledger says", nil
	}
	return "", nil
}
