package cli

import (
	"context"
	"errors"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/reader"
	"github.com/dogear/dogear/source/msgraph"
)

// drives are the source of a job that its service lists in pages.
type drives struct {
	*msgraph.Source
	listed func(*url.URL) []string // the scopes of an address
}

var _ reader.Pages = (*drives)(nil)

// Page reads an answer of the listing, and says under which scopes its documents are read.
func (d *drives) Page(cursor string, body []byte) (dogear.Page, error) {
	page, err := d.Source.Page(cursor, body)
	for i := range page.Documents {
		u, parseErr := url.Parse(page.Documents[i].Address)
		if parseErr != nil {
			return dogear.Page{}, errors.New("the listing has a document without an address")
		}
		page.Documents[i].Scopes = d.listed(u)
	}
	return page, err
}

var serviceName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):`)

// isService reports whether a source is one that a service lists.
func isService(name string) bool {
	return strings.HasPrefix(name, msgraph.Scheme)
}

// knownService refuses what looks like a service's source, and is none that is known.
func knownService(name string) error {
	m := serviceName.FindStringSubmatch(name)
	if m == nil || isAddress(name) || strings.Contains(name, "://") {
		return nil
	}
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	return usage("%s: no service %s is known whose documents can be listed; there is msgraph:drive/ID, msgraph:site/HOST:/path and msgraph:me", dogear.StripText(name), m[1])
}

// ofService puts what a service's source implies into the settings.
func ofService(set *ledger.Settings) error {
	services := 0
	for _, name := range set.Source {
		if isService(name) {
			services++
		} else if err := knownService(name); err != nil {
			return err
		}
	}
	if services > 0 && services < len(set.Source) {
		return usage("a service's drives are a job of their own: name no list and no address beside them")
	}
	if services > 0 && set.Profile == "" {
		set.Profile = "msgraph"
	}
	return nil
}

// newDrives is the source of a job whose documents a service lists; nil where they are in
// lists.
func newDrives(set ledger.Settings, s *services, scopes func(*url.URL) []string) (*drives, error) {
	if len(set.Source) == 0 || !isService(set.Source[0]) {
		return nil, nil
	}
	if s.at == nil {
		return nil, usage("the profile has no address of its service: say where it is with --base-url")
	}
	if strings.HasSuffix(s.base, "/v1.0") {
		return nil, usage("--base-url: give the address before /v1.0, which dogear puts there itself")
	}
	src, err := msgraph.Open(set.Source, s.at)
	if err != nil {
		return nil, &usageError{err: err}
	}
	return &drives{src, scopes}, nil
}

// paged makes a job that is listed when it is run.
func (c *call) paged(s ledger.Store, name string, set ledger.Settings) (ledger.Job, error) {
	job, err := s.CreatePaged(c.ctx, name, set)
	if err != nil {
		return job, listError(c.ctx, err, name)
	}
	return job, nil
}

// lanesOf are the job's sets of scopes and, while its listing goes on, that of the listing.
func lanesOf(ctx context.Context, s round) ([]ledger.Lane, error) {
	lanes, err := s.store.Lanes(ctx, s.job.ID)
	if err != nil || s.sources.drives == nil || !s.job.Listing {
		return lanes, err
	}
	listed, err := s.sources.drives.scopesAt(s.job)
	if err != nil {
		return nil, err
	}
	return append(lanes, ledger.Lane{Scopes: scopesOf(s.job, listed)}), nil
}

// scopesAt are the scopes of the next request of a job's listing, as the service documents
// them.
func (d *drives) scopesAt(job ledger.Job) ([]string, error) {
	address, err := d.Ask(job.Cursor)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the listing's address cannot be read")
	}
	return d.listed(u), nil
}

// whenListed puts the documents of a complete listing under the scopes that the job is read
// under, and sees to it that these are confirmed as the listing's were.
func (c *call) whenListed(ctx context.Context, s round) error {
	if err := rescope(ctx, s.store, s.job); err != nil {
		return err
	}
	s.job.Listing = false
	return c.confirm(s)
}

// confirmLogin confirms the scope of the endpoint that gives tokens, unless somebody has.
func (c *call) confirmLogin(s round, key string) error {
	known, err := confirmations(c.ctx, s.store)
	if err != nil || known[key].OK() {
		return err
	}
	by := dogear.Confirmation{By: who(), Source: "--login " + s.job.Settings.Login, At: time.Now()}
	return s.store.Confirm(c.ctx, key, by, 0, 0, 0)
}
