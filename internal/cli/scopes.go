package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

type scopesCmd struct {
	List    scopesListCmd    `cmd:"" default:"withargs" help:"Scopes and their waits."`
	Confirm scopesConfirmCmd `cmd:"" help:"Say which requests share a quota, and how you know."`
	Release scopesReleaseCmd `cmd:"" help:"End a wait by hand. Who, when and why are kept."`
}

type scopesListCmd struct {
	JSON bool `name:"json" help:"One JSON object a line."`
	storeFlag
}

// Run prints all scopes.
func (r *scopesListCmd) Run(c *call) error {
	s, err := c.open(r.storeFlag)
	if err != nil {
		return err
	}
	defer s.Close()
	if !r.JSON {
		fmt.Fprintf(c.Stdout, "ledger %s\n", s.Where())
	}
	enc := json.NewEncoder(c.Stdout)
	for sc, err := range s.Scopes(c.ctx) {
		if err != nil {
			return &codedError{code: exitIO, err: err}
		}
		sum := scopeSummaryOf(s, sc)
		if r.JSON {
			err = enc.Encode(sum)
		} else {
			_, err = fmt.Fprintln(c.Stdout, shown(sum.text()+sum.confirmation()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type scopesConfirmCmd struct {
	Key         string `arg:"" help:"The scope's key, such as host:docs.example.com."`
	Source      string `required:"" help:"How you know: a document's address, a person, a ticket." placeholder:"TEXT"`
	Rate        rate   `help:"The agreed pace, such as 10/s." placeholder:"N/s"`
	Burst       *int   `help:"Requests that may leave at once under the rate." placeholder:"N"`
	Concurrency *int   `help:"Requests in flight, over all processes." placeholder:"N"`
	storeFlag
}

// Run confirms a scope.
func (r *scopesConfirmCmd) Run(c *call) error {
	switch {
	case !scopeKeys.MatchString(r.Key):
		return usage("a scope's key has no blanks, such as host:docs.example.com")
	case strings.TrimSpace(r.Source) == "":
		return usage("--source: say how you know, such as the address of a document or a ticket")
	}
	if err := errors.Join(positive("--burst", r.Burst), positive("--concurrency", r.Concurrency)); err != nil {
		return err
	}
	var burst, concurrency int
	given(&burst, r.Burst)
	given(&concurrency, r.Concurrency)
	s, err := c.open(r.storeFlag)
	if err != nil {
		return err
	}
	defer s.Close()
	by := dogear.Confirmation{By: who(), Source: r.Source, At: time.Now()}
	if err := s.Confirm(c.ctx, r.Key, by, float64(r.Rate), burst, concurrency); err != nil {
		return &codedError{code: exitIO, err: err}
	}
	fmt.Fprintf(c.Stderr, "%s: confirmed by %s\n", r.Key, by.By)
	return nil
}

type scopesReleaseCmd struct {
	Key    string `arg:"" help:"The scope's key."`
	Reason string `required:"" help:"Why the wait may end now." placeholder:"TEXT"`
	storeFlag
}

// Run ends a wait by hand.
func (r *scopesReleaseCmd) Run(c *call) error {
	s, err := c.open(r.storeFlag)
	if err != nil {
		return err
	}
	defer s.Close()
	switch err := s.Release(c.ctx, r.Key, who(), r.Reason); {
	case errors.Is(err, ledger.ErrNoScope), errors.Is(err, ledger.ErrNoWait):
		return &usageError{err: err, try: "dogear scopes"}
	case err != nil:
		return &codedError{code: exitIO, err: err}
	}
	fmt.Fprintf(c.Stderr, "%s: the wait is over; one request goes first\n", r.Key)
	return nil
}
