package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/profile"
)

// batchFlag says how documents are read; resume replaces it.
type batchFlag struct {
	Batch string `help:"Read through the service's batch call: auto, off, or the most documents in one. Default: auto." placeholder:"auto|off|N"`
}

func (f batchFlag) apply(set *ledger.Settings) (err error) {
	if f.Batch != "" {
		set.Batch, err = parseBatch(f.Batch)
	}
	return err
}

// tierFlag says which of the plans that a profile tells apart applies; resume replaces it.
type tierFlag struct {
	Tier string `help:"Which of the plans applies that the profile tells apart: its limits are the scopes' pace. Default: the profile's first, its smallest." placeholder:"NAME"`
}

func (f tierFlag) apply(set *ledger.Settings) error {
	put(&set.Tier, f.Tier)
	return nil
}

// serviceFlags say which service is read, and as whom. A job keeps them: its documents were
// listed there, and it never changes its identity.
type serviceFlags struct {
	Profile  string `help:"The service's profile: a name of dogear profiles, or a file. Default: by the host, else none." placeholder:"NAME|FILE"`
	BaseURL  string `name:"base-url" help:"Where the profile's service is, for private deployments and tests." placeholder:"URL"`
	Identity string `help:"The name of the credential in scope keys. Default: default." placeholder:"NAME"`
}

// apply puts the flags into a job's settings, and checks them.
func (f serviceFlags) apply(set *ledger.Settings) (err error) {
	set.Profile, set.BaseURL, set.Identity = f.Profile, f.BaseURL, f.Identity
	if f.Identity != "" && !scopeKeys.MatchString(f.Identity) {
		return usage("--identity: a name has no blanks")
	}
	if _, shipped := profile.Get(f.Profile); f.Profile != "" && !shipped {
		if set.Profile, err = filepath.Abs(f.Profile); err != nil {
			return usage("--profile: %w", err)
		}
	}
	if err := ofService(set); err != nil {
		return err
	}
	_, err = newServices(*set)
	return err
}

// parseBatch reads --batch: 0 is auto, -1 is off.
func parseBatch(s string) (int, error) {
	switch s {
	case "auto":
		return 0, nil
	case "off":
		return -1, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1000 {
		return 0, usage("--batch: give auto, off, or a number of documents")
	}
	return n, nil
}

// services are the profiles of what a job reads.
type services struct {
	given *profile.Profile // nil: by the host
	at    *url.URL         // where it is; nil if that is not known
	base  string           // its path
	most  int              // items in a batch; see [ledger.Settings]
	parts map[string]string
	tier  string
	said  bool // the tier is this command's: it replaces the pace of scopes that the profile has confirmed

	mu  sync.Mutex
	met map[string]*met // by scope key
}

// met is a scope that requests were found to belong to.
type met struct {
	profile *profile.Profile
	scope   *profile.Scope
}

func newServices(set ledger.Settings) (*services, error) {
	s := &services{most: set.Batch, tier: set.Tier, parts: map[string]string{}, met: map[string]*met{}}
	if set.Identity != "" {
		s.parts[profile.Identity] = set.Identity
	}
	if set.Tenant != "" {
		s.parts["tenant"] = set.Tenant
	}
	if set.ClientID != "" {
		s.parts["app"] = set.ClientID
	}
	if set.Profile == "" {
		if set.BaseURL != "" {
			return nil, usage("--base-url goes with --profile: which service is it?")
		}
		if set.Tier != "" {
			return nil, usage("--tier goes with --profile: whose plans are meant?")
		}
		return s, nil
	}
	p, shipped := profile.Get(set.Profile)
	if !shipped {
		var err error
		if p, err = profile.Load(set.Profile); err != nil {
			code := exitConfig
			if errors.Is(err, fs.ErrNotExist) {
				code, err = exitUsage, fmt.Errorf("--profile: there is no profile %s, and no such file", filepath.Base(set.Profile))
			}
			return nil, &codedError{code: code, err: err, try: "dogear profiles"}
		}
	}
	if plans := p.Plans(); set.Tier != "" && !slices.Contains(plans, set.Tier) {
		return nil, usage("--tier: profile %s has no plan %s; it has %s", p.Name, set.Tier, orElse(strings.Join(plans, ", "), "none"))
	}
	if p.Base != nil {
		s.at = p.Base.URL
	}
	if set.BaseURL != "" {
		base, err := url.Parse(set.BaseURL)
		if err != nil || !isAddress(set.BaseURL) || base.Host == "" || base.User != nil || base.RawQuery != "" {
			return nil, usage("--base-url: give an http(s) address without a query or a credential")
		}
		p = p.At(base)
		s.at, s.base = base, strings.TrimSuffix(base.Path, "/")
	}
	s.given = p
	return s, nil
}

// of is the profile of the service at an address; nil: none.
func (s *services) of(u *url.URL) *profile.Profile {
	if s.given != nil && s.given.Covers(u.Host) {
		return s.given
	}
	if p, ok := profile.ForHost(u.Host); ok && !p.Generic {
		return p
	}
	return nil
}

// keys are the scopes that reads of an address are counted against.
func (s *services) keys(u *url.URL) []string {
	p := s.of(u)
	if p == nil {
		return []string{dogear.HostKey(u)}
	}
	var keys []string
	for _, m := range p.Belongs("GET", u, s.parts) {
		keys = append(keys, m.Key)
		s.mu.Lock()
		s.met[m.Key] = &met{p, m.Scope}
		s.mu.Unlock()
	}
	return keys
}

// unused reports whether a profile was given, and no address that was met is its service's.
func (s *services) unused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.met {
		if m.profile == s.given {
			return false
		}
	}
	return s.given != nil
}

// agent is how requests to an address name themselves, where the user says nothing else.
func (s *services) agent(u *url.URL) string {
	own := strings.ReplaceAll(version(), " ", "-")
	if p := s.of(u); p != nil && p.UserAgent != nil && p.UserAgent.Send != "" {
		return strings.ReplaceAll(p.UserAgent.Send, "{version}", own)
	}
	return "dogear/" + own
}

// unnamed says what the given service refuses requests without; empty: nothing.
func (s *services) unnamed(headers []header) string {
	if s.given == nil || s.given.UserAgent == nil || !s.given.UserAgent.Required || s.given.UserAgent.Send != "" {
		return ""
	}
	if slices.ContainsFunc(headers, func(h header) bool { return h.name == "User-Agent" }) {
		return ""
	}
	return s.given.UserAgent.Want
}

// batches reports whether documents in these scopes may be read through a batch call.
func (s *services) batches(keys []string) bool {
	if s.most < 0 || s.given != nil {
		return s.most >= 0 && s.given.Batch != nil
	}
	return slices.ContainsFunc(keys, func(key string) bool {
		name, _, _ := strings.Cut(key, ":")
		p, ok := profile.Get(name)
		return ok && p.Batch != nil
	})
}

// batch is the batch call through which an address can be read; nil: none.
func (s *services) batch(u *url.URL) (*profile.Batch, int) {
	p := s.of(u)
	if p == nil || p.Batch == nil || !p.Batch.Takes(u) {
		return nil, 0
	}
	form, most := *p.Batch, p.Batch.Most
	if p == s.given {
		form.Path = s.base + form.Path
	}
	if s.most > 0 {
		most = min(most, s.most)
	}
	return &form, most
}

// confirm confirms a scope that the service documents (W6). One that somebody has confirmed
// already is left as it is, and so is one of which nothing is documented.
func (s *services) confirm(ctx context.Context, store ledger.Store, key string, known map[string]dogear.Confirmation) error {
	s.mu.Lock()
	m := s.met[key]
	s.mu.Unlock()
	by := ""
	if m != nil {
		by = "profile " + m.profile.Name
	}
	if m == nil || !m.scope.Confirmed() || known[key].OK() && !(s.said && known[key].By == by) {
		return nil
	}
	rate, burst, concurrency := m.profile.Pace(m.scope, s.tier)
	said := dogear.Confirmation{By: by, Source: m.scope.Source, At: time.Now()}
	return store.Confirm(ctx, key, said, rate, burst, concurrency)
}

// confirmAll confirms what is documented of the scopes that were met.
func (s *services) confirmAll(ctx context.Context, store ledger.Store) error {
	known, err := confirmations(ctx, store)
	if err != nil {
		return err
	}
	s.mu.Lock()
	keys := make([]string, 0, len(s.met))
	for k := range s.met {
		keys = append(keys, k)
	}
	s.mu.Unlock()
	for _, k := range keys {
		if err := s.confirm(ctx, store, k, known); err != nil {
			return err
		}
	}
	return nil
}
