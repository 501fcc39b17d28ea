package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dogear/dogear"
)

// A Membership is one scope that a request is counted against.
type Membership struct {
	Key string // such as "msgraph:tenant=T,app=A"
	// Scope is what the profile knows of it; nil for the host's, which stands in where the
	// profile knows none.
	Scope *Scope
	// Cost is what the request costs there: units, where the scope has a limit in units,
	// else 1.
	Cost float64
}

// Identity is the part under which the caller gives the user's name of the credential.
const Identity = "identity"

// Belongs tells the scopes that a request is counted against, in key order. The parts are
// what the caller knows of the credential, by the names that the profile declares and
// [Identity]; one that a key needs and nobody gave is called "default". A request to a host
// that is not the service's, such as a redirect's target, belongs to its host's scope alone,
// and so does one for which the profile knows no scope. An item of a batch has an address
// without a host.
func (p *Profile) Belongs(method string, u *url.URL, parts map[string]string) []Membership {
	host := p.host(u)
	if u.Host != "" && !p.Covers(u.Host) {
		return []Membership{{Key: dogear.HostKey(u), Cost: 1}}
	}
	segments, query := split(p.path(u)), u.Query()
	var out []Membership
	for i := range p.Scopes {
		s := &p.Scopes[i]
		if !s.Match.holds(method, segments, query, parts) {
			continue
		}
		m := Membership{Key: p.key(s, method, host, segments, parts), Scope: s, Cost: 1}
		if s.counts(Units) {
			m.Cost = p.cost(method, segments, query, parts)
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		if u.Host == "" && p.address() != nil {
			u = p.address()
		}
		out = append(out, Membership{Key: dogear.HostKey(u), Cost: 1})
	}
	slices.SortFunc(out, func(a, b Membership) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Keys are the keys of the scopes that a request belongs to, sorted.
func (p *Profile) Keys(method string, u *url.URL, parts map[string]string) []string {
	var keys []string
	for _, m := range p.Belongs(method, u, parts) {
		keys = append(keys, m.Key)
	}
	return keys
}

// Cost is what a request costs in units; 1 where the profile says nothing.
func (p *Profile) Cost(method string, u *url.URL, parts map[string]string) float64 {
	return p.cost(method, split(p.path(u)), u.Query(), parts)
}

func (p *Profile) cost(method string, segments []string, query url.Values, parts map[string]string) float64 {
	for _, c := range p.Costs {
		if c.Match.holds(method, segments, query, parts) {
			return c.Units
		}
	}
	return 1
}

// Scope is the scope of that name; nil if there is none.
func (p *Profile) Scope(name string) *Scope {
	for i := range p.Scopes {
		if p.Scopes[i].Name == name {
			return &p.Scopes[i]
		}
	}
	return nil
}

// Plans are the plans that the limits of a profile tell apart. The first is the one to
// assume where the user says none.
func (p *Profile) Plans() []string {
	var plans []string
	for _, s := range p.Scopes {
		for _, l := range s.Limits {
			if l.Plan != "" && !slices.Contains(plans, l.Plan) {
				plans = append(plans, l.Plan)
			}
		}
	}
	return plans
}

// Limits are the limits of a scope under a plan: those of all plans, and those of this one.
// Without a plan the profile's first is assumed.
func (p *Profile) Limits(s *Scope, plan string) []Limit {
	if plans := p.Plans(); plan == "" && len(plans) > 0 {
		plan = plans[0]
	}
	return slices.DeleteFunc(slices.Clone(s.Limits), func(l Limit) bool { return l.Plan != "" && l.Plan != plan })
}

// Pace is what a gate can hold a scope to under a plan: the rate of the limit with the
// shortest time, in requests or units a second, its burst, and how many may be in flight.
// What is not written is zero. Limits over longer times are for planning: they would slow a
// job down that is smaller than they are.
func (p *Profile) Pace(s *Scope, plan string) (rate float64, burst, concurrency int) {
	var per time.Duration
	for _, l := range p.Limits(s, plan) {
		switch {
		case l.Unit == Concurrent:
			if n := int(l.Amount); concurrency == 0 || n < concurrency {
				concurrency = n
			}
		case l.Unit != Bytes && (per == 0 || l.Per < per):
			per, rate, burst = l.Per, l.Rate(), l.Burst
		}
	}
	return rate, burst, concurrency
}

func (s *Scope) counts(u Unit) bool {
	return slices.ContainsFunc(s.Limits, func(l Limit) bool { return l.Unit == u })
}

// At is the same profile at another base address. What is documented counts there too.
func (p *Profile) At(base *url.URL) *Profile {
	c := *p
	c.at = base
	return &c
}

// Covers reports whether a host, with its port if it has one, is the service's. A profile
// that knows no address covers every host.
func (p *Profile) Covers(host string) bool {
	host = strings.ToLower(host)
	if p.at != nil && host == strings.ToLower(p.at.Host) {
		return true
	}
	if p.Base != nil && host == strings.ToLower(p.Base.URL.Host) {
		return true
	}
	if p.at == nil && p.Base == nil && len(p.Hosts) == 0 {
		return true
	}
	return slices.ContainsFunc(p.Hosts, func(h string) bool { return hostMatches(h, bare(host)) })
}

// bare is a host without its port.
func bare(host string) string {
	u := url.URL{Host: host}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// hostMatches compares a host with a pattern by labels. A "*" in front is one label or more,
// elsewhere one.
func hostMatches(pattern, host string) bool {
	want, got := strings.Split(pattern, "."), strings.Split(host, ".")
	if want[0] == "*" && len(got) > len(want) {
		got = got[len(got)-len(want):]
	}
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || w == "*" && g != "" })
}

func (p *Profile) address() *url.URL {
	if p.at != nil {
		return p.at
	}
	if p.Base != nil {
		return p.Base.URL
	}
	return nil
}

// host is the host part of keys.
func (p *Profile) host(u *url.URL) string {
	if a := p.address(); u.Host == "" && a != nil {
		u = a
	}
	return strings.TrimPrefix(dogear.HostKey(u), "host:")
}

// path is the request's path as it would be at the documented address.
func (p *Profile) path(u *url.URL) string {
	if p.at == nil || u.Host == "" {
		return u.Path
	}
	rest, ok := strings.CutPrefix(u.Path, strings.TrimSuffix(p.at.Path, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return u.Path
	}
	if p.Base != nil {
		return strings.TrimSuffix(p.Base.URL.Path, "/") + rest
	}
	return rest
}

// key spells a scope's key.
func (p *Profile) key(s *Scope, method, host string, segments []string, given map[string]string) string {
	var b strings.Builder
	b.WriteString(p.Prefix)
	sep := ":"
	add := func(name, value string) {
		b.WriteString(sep + name + "=" + spell(value))
		sep = ","
	}
	if s.Class != "" {
		add("class", s.Class)
	}
	for _, name := range s.Key {
		switch name {
		case "host":
			add(name, host)
		case "verb":
			add(name, method)
		default:
			add(name, p.part(name).value(segments, given))
		}
	}
	return b.String()
}

func (p *Profile) part(name string) *Part {
	for i := range p.Parts {
		if p.Parts[i].Name == name {
			return &p.Parts[i]
		}
	}
	return &Part{Name: name}
}

func (p *Part) value(segments []string, given map[string]string) string {
	for _, c := range p.classes {
		if anyMatches(c.paths, segments) {
			return c.name
		}
	}
	for _, path := range p.paths {
		if got, ok := path.match(segments); ok {
			return got
		}
	}
	switch {
	case p.Given == "":
		return p.other
	case given[p.Name] != "":
		return given[p.Name]
	case p.OrIdentity:
		return given[Identity]
	}
	return ""
}

// spell is a value as keys hold it: what would be taken for the key's own signs is escaped,
// and what is too long is told by its hash.
func spell(v string) string {
	const most = 128
	if v == "" {
		return "default"
	}
	if len(v) > most {
		sum := sha256.Sum256([]byte(v))
		return "sha256:" + hex.EncodeToString(sum[:8])
	}
	var b strings.Builder
	for i := range len(v) {
		if c := v[i]; c <= ' ' || c == 0x7f || c >= 0x80 || strings.IndexByte(`,=%"`, c) >= 0 {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
