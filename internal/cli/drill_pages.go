package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dogear/dogear/drill"
)

// A page is a file that is written whole at the end, or not at all.
type page struct {
	flag, path string
	fill       func(io.Writer, []drill.Result) error
	f          *os.File
	temp       string // of f, until it gets the page's name; "": f is the page itself
}

// open opens a temporary file beside the page. What is there and is no file, such as
// /dev/stdout, is written to as it is.
func (p *page) open() (err error) {
	if to, err := filepath.EvalSymlinks(p.path); err == nil {
		p.path = to
	}
	info, err := os.Stat(p.path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder: name a file in it", p.path)
	case err == nil && !info.Mode().IsRegular():
		p.f, err = os.OpenFile(p.path, os.O_WRONLY, 0)
		return err
	}
	p.temp = filepath.Join(filepath.Dir(p.path), fmt.Sprintf(".dogear-%s-%d.part", filepath.Base(p.path), os.Getpid()))
	p.f, err = os.OpenFile(p.temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Path = p.path // the temporary name would say nothing to the user
	}
	return err
}

// write fills the page and gives it its name.
func (p *page) write(results []drill.Result) error {
	out := bufio.NewWriter(p.f)
	err := p.fill(out, results)
	if err == nil {
		err = out.Flush()
	}
	if err == nil && p.temp != "" {
		err = p.f.Sync()
	}
	if err := errors.Join(err, p.f.Close()); err != nil {
		return err
	}
	if p.temp == "" {
		return nil
	}
	if err := os.Rename(p.temp, p.path); err != nil {
		return err
	}
	p.temp = ""
	return nil
}

// pages are all that are asked for.
type pages []*page

func (all pages) write(results []drill.Result) error {
	for _, p := range all {
		if err := p.write(results); err != nil {
			return &codedError{code: exitCantCreate, err: fmt.Errorf("%s: %w", p.flag, err)}
		}
	}
	return nil
}

// discard removes what was not written.
func (all pages) discard() {
	for _, p := range all {
		p.f.Close()
		if p.temp != "" {
			_ = os.Remove(p.temp) // it is empty
		}
	}
}
