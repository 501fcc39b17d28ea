package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/source/list"
)

// sources are the lists of a job, in the order in which they were named.
type sources struct {
	lists  []*list.List // nil where a list is not there any more
	names  []string
	gone   error
	drives *drives // in place of lists; nil: there are lists

	services *services
	scopes   func(*url.URL) []string // as listed
}

// newSources says how addresses are put under scopes: as their services document it, unless
// the user has said otherwise.
func newSources(set ledger.Settings) (*sources, error) {
	services, err := newServices(set)
	if err != nil {
		return nil, err
	}
	s := &sources{services: services, scopes: services.keys}
	if set.Scope != "" {
		s.scopes = func(u *url.URL) []string { return []string{dogear.HostKey(u)} }
	}
	s.drives, err = newDrives(set, services, s.scopes)
	return s, err
}

// openSources opens what a command line names, and writes it into the settings so that
// resume finds it again.
func openSources(c *call, set *ledger.Settings) (*sources, error) {
	s, err := newSources(*set)
	if err != nil || s.drives != nil {
		return s, err
	}
	for i, name := range set.Source {
		l, err := openSource(c, name, i, set)
		if err != nil {
			s.close()
			return nil, err
		}
		s.lists, s.names = append(s.lists, l), append(s.names, set.Source[i])
	}
	return s, nil
}

func openSource(c *call, name string, i int, set *ledger.Settings) (*list.List, error) {
	switch {
	case name == "-":
		if len(set.Source) > 1 {
			return nil, usage("standard input is a source of its own: name no other beside it")
		}
		return list.Reader("standard input", interruptible{c.ctx, c.Stdin}, list.Guess), nil
	case strings.Contains(name, "://") && !isAddress(name):
		return nil, usage("%s is no http(s) address", dogear.StripText(name))
	case isAddress(name):
		l, err := list.One(name)
		if err != nil {
			return nil, &usageError{err: err}
		}
		u, err := url.Parse(name)
		if err != nil {
			return nil, usage("the address cannot be read")
		}
		stripped, secret := dogear.StripSecrets(u)
		if secret {
			return nil, &usageError{err: fmt.Errorf("the address %s holds a credential or a signature, which others see on the command line", stripped),
				try: "a list in a file, which resume can read again"}
		}
		return l, nil
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, usage("%s: %w", name, err)
	}
	set.Source[i] = abs
	l, err := list.Open(abs)
	if err != nil {
		return nil, &codedError{code: exitNoInput, err: err}
	}
	return l, nil
}

// reopenSources opens the lists of a job that are still there. They are needed only for
// addresses with secrets, and to see what has changed.
func reopenSources(c *call, set ledger.Settings) (*sources, error) {
	s, err := newSources(set)
	if err != nil || s.drives != nil {
		return s, err
	}
	for _, name := range set.Source {
		var l *list.List
		var err error
		switch {
		case name == "-":
		case isAddress(name):
			l, err = list.One(name)
		default:
			l, err = list.Open(name)
		}
		if errors.Is(err, os.ErrNotExist) {
			s.gone, err = err, nil
		}
		if err != nil {
			s.close()
			return nil, &codedError{code: exitNoInput, err: err}
		}
		s.lists, s.names = append(s.lists, l), append(s.names, name)
	}
	return s, nil
}

func (s *sources) close() {
	for _, l := range s.lists {
		if l != nil {
			l.Close()
		}
	}
}

// documents lists everything, source by source.
func (s *sources) documents(ctx context.Context) iter.Seq2[dogear.Document, error] {
	return func(yield func(dogear.Document, error) bool) {
		for i, l := range s.lists {
			if l == nil {
				continue
			}
			for d, err := range l.Documents(i, s.scopes) {
				if err == nil {
					err = context.Cause(ctx)
				}
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	}
}

// digest is one digest of all lists, after they were read to their ends.
func (s *sources) digest() string {
	h := sha256.New()
	for i, l := range s.lists {
		if l != nil && s.names[i] != "-" {
			fmt.Fprintln(h, l.Digest())
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// changed reports whether the lists that are all still there differ from the digest.
func (s *sources) changed(digest string) bool {
	if s.drives != nil { // its service tells what has changed
		return false
	}
	h := sha256.New()
	for i, l := range s.lists {
		if l == nil || s.names[i] == "-" {
			return false
		}
		sum := l.Digest()
		if !isAddress(s.names[i]) {
			var err error
			if sum, err = list.DigestFile(s.names[i]); err != nil {
				return false
			}
		}
		fmt.Fprintln(h, sum)
	}
	return hex.EncodeToString(h.Sum(nil)) != digest
}

// Address implements [reader.Source]: it reads a document's line again.
func (s *sources) Address(doc dogear.Document) (string, error) {
	if doc.List >= len(s.lists) || s.lists[doc.List] == nil {
		return "", fmt.Errorf("its address holds a credential, which is kept in the list alone, and the list is gone")
	}
	a, err := s.lists[doc.List].Address(doc)
	if err != nil {
		return "", fmt.Errorf("line %d of the list does not name it any more", doc.Line)
	}
	return a, nil
}

// interruptible ends a read when ctx does, though nothing comes. The reading goroutine then
// ends with the program, which is about to.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

// Read implements [io.Reader].
func (i interruptible) Read(p []byte) (int, error) {
	type read struct {
		b   []byte
		err error
	}
	got := make(chan read, 1)
	go func() {
		b := make([]byte, len(p))
		n, err := i.r.Read(b)
		got <- read{b[:n], err}
	}()
	select {
	case r := <-got:
		return copy(p, r.b), r.err
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	}
}
