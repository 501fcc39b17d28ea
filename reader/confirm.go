package reader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// An UnconfirmedError names scopes of which nobody has said which requests share them.
type UnconfirmedError struct{ Keys []string }

func (e *UnconfirmedError) Error() string {
	return fmt.Sprintf("nobody has confirmed which requests share the quota of %s", strings.Join(e.Keys, ", "))
}

// confirmed ends a run before anything is sent, where a scope that it can name is not
// confirmed (W6).
func (r *run) confirmed(ctx context.Context) error {
	lanes, err := r.Store.Lanes(ctx, r.Job.ID)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for s, err := range r.Store.Scopes(ctx) {
		if err != nil {
			return err
		}
		known[s.Key] = s.Confirmed.OK()
	}
	if r.Pages != nil && r.Job.Listing {
		keys, err := r.scopesOfListing()
		if err != nil {
			return err
		}
		lanes = append(lanes, ledger.Lane{Scopes: keys})
	}
	var open []string
	for _, l := range lanes {
		for _, k := range l.Scopes {
			if !known[k] && !slices.Contains(open, k) {
				open = append(open, k)
			}
		}
	}
	if len(open) > 0 {
		return &Stop{Reason: dogear.ScopeUnconfirmed, Err: &UnconfirmedError{Keys: open}}
	}
	return nil
}
