package profile

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A decoder makes a profile of a document. What it needs to know of other places of the file
// is in maps: what is there, and what was used.
type decoder struct {
	*document
	p       *Profile
	sources map[string]string
	cited   map[string]bool
	parts   map[string]bool // that are declared or need no declaration → used
	scopes  []string
}

var profileKeys = []string{"name", "title", "prefix", "generic", "sources", "base", "hosts", "user_agent", "parts", "scopes", "costs",
	"throttles", "statuses", "hints", "ratelimit", "batch", "version", "sdk_retries", "facts", "unknown"}

var (
	names   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
	labels  = regexp.MustCompile(`^[a-z0-9][a-z0-9+._-]{0,39}$`)
	hosts   = regexp.MustCompile(`^((\*|[a-z0-9-]+)\.)*[a-z0-9-]+\.[a-z0-9-]+$`)
	headers = regexp.MustCompile(`^[A-Za-z0-9!#$%&'+.^_|~-]+$`)
)

func (d *decoder) profile(root ast.Node) {
	m := d.mapping(root, "a profile", profileKeys)
	if d.errs != nil {
		return
	}
	m.need("name", "title", "unknown")
	p := d.p
	p.Name, p.Title, p.Generic = m.label("name", names), m.text("title"), m.flag("generic")
	if p.Prefix = m.label("prefix", names); p.Prefix == "" {
		p.Prefix = p.Name
	}
	d.readSources(m)
	p.Base, p.UserAgent = d.base(m), d.userAgent(m)
	p.Hosts = m.hosts("hosts")
	d.readParts(m)
	p.Scopes = d.readScopes(m)
	p.Costs = d.costs(m)
	p.Throttles, p.Statuses, p.Hints = d.throttles(m), d.statuses(m), d.hints(m)
	p.Budgets = d.budgets(m)
	p.Batch, p.Version, p.SDKs = d.batch(m), d.version(m), d.sdks(m)
	for _, n := range m.list("facts") {
		f := d.mapping(n, "a statement", factKeys("says"))
		f.need("says")
		p.Facts = append(p.Facts, Statement{d.fact(f, "a statement"), f.text("says")})
	}
	p.Unknown = m.texts("unknown")
	d.check(m)
}

// label is a short name.
func (m mapping) label(key string, form *regexp.Regexp) string {
	s := m.text(key)
	if s != "" && !form.MatchString(s) {
		m.fail(key, "%s is %q: it is a short name in lower case, such as app-tenant", key, s)
		return ""
	}
	return s
}

func (m mapping) hosts(key string) []string {
	list := m.texts(key)
	for i, n := range m.list(key) {
		if i < len(list) && !hosts.MatchString(list[i]) {
			m.doc.fail(n, "%q is no host: write it in lower case, without scheme, port or path; * may stand for a label, but not for one of the last two", list[i])
		}
	}
	return list
}

func (d *decoder) readSources(m mapping) {
	if !m.has("sources") {
		return
	}
	in := d.mapping(m.values["sources"], "sources", nil)
	for _, key := range in.keys {
		address := in.text(key)
		if !names.MatchString(key) {
			d.fail(in.at[key], "%q is no name for a source: it is a short name in lower case", key)
		}
		if !isAddress(address) {
			in.fail(key, "source %s is %q: it is an address that begins with https://", key, address)
		}
		d.sources[key] = address
	}
}

func isAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}

func factKeys(keys ...string) []string { return append(keys, "source", "known", "note") }

// fact reads who says so. Nothing is stated without.
func (d *decoder) fact(m mapping, what string) Fact {
	f := Fact{Note: m.text("note"), Line: m.node.GetToken().Position.Line}
	switch source := m.text("source"); {
	case !m.has("source"):
		m.fail("source", "%s without a source: say where it is written (source: a name from sources, or an address)", what)
	case isAddress(source):
		f.Source = source
	case d.sources[source] != "":
		f.Source, d.cited[source] = d.sources[source], true
	case source != "":
		m.fail("source", "there is no source %q%s", source, didYouMean(source, sortedKeys(d.sources)))
	}
	if !m.has("known") {
		m.fail("known", "%s without known: documented (the service writes it) or reported (others do)", what)
	}
	f.Known = Known(max(slices.Index(knownNames[:], m.text("known", knownNames[1:]...)), 0))
	return f
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (d *decoder) base(m mapping) *Base {
	if !m.has("base") {
		return nil
	}
	in := d.mapping(m.values["base"], "base", factKeys("url", "override"))
	in.need("url")
	b := &Base{Fact: d.fact(in, "a base address"), Override: in.text("override")}
	address := in.text("url")
	u, err := url.Parse(address)
	if address != "" && (err != nil || !isAddress(address) || u.RawQuery != "" || u.Fragment != "") {
		in.fail("url", "url is %q: it is an address such as https://api.example.com/v1", address)
	}
	b.URL = u
	return b
}

func (d *decoder) userAgent(m mapping) *UserAgent {
	if !m.has("user_agent") {
		return nil
	}
	in := d.mapping(m.values["user_agent"], "user_agent", factKeys("want", "send", "required"))
	in.need("want")
	return &UserAgent{d.fact(in, "a user agent"), in.text("want"), in.text("send"), in.flag("required")}
}

func (d *decoder) readParts(m mapping) {
	d.parts["host"], d.parts["verb"] = true, true
	if !m.has("parts") {
		return
	}
	list := d.mapping(m.values["parts"], "parts", nil)
	for _, name := range list.keys {
		if !names.MatchString(name) || name == "host" || name == "verb" || name == "class" || name == Identity {
			d.fail(list.at[name], "%q cannot be the name of a part: host, verb, class and identity are taken, others are short and in lower case", name)
			continue
		}
		in := d.mapping(list.values[name], "part "+name, []string{"given", "or", "path", "class", "else"})
		p := Part{Name: name, Given: in.text("given"), other: in.text("else"), paths: in.patterns("path", true)}
		p.OrIdentity = in.text("or", Identity) != ""
		if in.has("class") {
			classes := d.mapping(in.values["class"], "class", nil)
			for _, c := range classes.keys {
				p.classes = append(p.classes, class{c, classes.patterns(c, false)})
			}
		}
		if n := count(p.Given != "", in.has("path"), in.has("class")); n != 1 {
			d.fail(list.at[name], "part %s has one of given (the caller knows it), path (its captures) and class (by paths)", name)
		}
		if in.has("or") && p.Given == "" || in.has("else") && p.Given != "" {
			d.fail(list.at[name], "part %s: or belongs to given, else to path and class", name)
		}
		d.parts[name] = false
		d.p.Parts = append(d.p.Parts, p)
	}
}

func count(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// patterns reads paths, one or several; with captures they capture something.
func (m mapping) patterns(key string, captures bool) []pattern {
	if s, ok := m.values[key].(*ast.StringNode); ok {
		return m.pattern(s, s.Value, captures)
	}
	var out []pattern
	for _, n := range m.list(key) {
		s, _ := text(n)
		out = append(out, m.pattern(n, s, captures)...)
	}
	return out
}

func (m mapping) pattern(n ast.Node, s string, captures bool) []pattern {
	segments := split(s)
	open, deep, odd := 0, 0, false
	for _, seg := range segments {
		switch {
		case seg == "{}":
			open++
		case seg == "**":
			deep++
		case strings.ContainsAny(strings.TrimSuffix(seg, "*"), "*{}?#"):
			odd = true
		}
	}
	switch {
	case !strings.HasPrefix(s, "/") || odd || len(segments) > 20:
		m.doc.fail(n, "%q is no path: it begins with /, a segment is a text, * (any one), {} (any one, captured), ** (any number) or begins a longer one (delta*)", s)
	case deep > 2:
		m.doc.fail(n, "%q has more than two **", s)
	case captures && open == 0:
		m.doc.fail(n, "%q captures nothing: put {} for the segment that is meant", s)
	case !captures && open > 0:
		m.doc.fail(n, "%q captures something that nobody asks for: write * for {}", s)
	default:
		return []pattern{{s, segments}}
	}
	return nil
}

// check looks at the file as a whole.
func (d *decoder) check(m mapping) {
	p := d.p
	if sources, ok := m.values["sources"].(*ast.MappingNode); ok {
		for _, v := range sources.Values {
			if name := v.Key.GetToken().Value; !d.cited[name] && d.sources[name] != "" {
				d.fail(v.Key, "source %s is never cited", name)
			}
		}
	}
	if m.has("parts") {
		list := d.mapping(m.values["parts"], "parts", nil)
		for _, name := range list.keys {
			if used, declared := d.parts[name]; declared && !used {
				d.fail(list.at[name], "part %s is in no scope's key", name)
			}
		}
	}
	says := len(p.Scopes) + len(p.Throttles) + len(p.Statuses) + len(p.Hints)
	switch {
	case p.Generic && says+len(p.Costs)+len(p.Budgets)+len(p.Parts) > 0:
		m.fail("generic", "generic: true says that nothing was found about limits, and the profile says something")
	case !p.Generic && says == 0 && d.errs == nil:
		m.fail("name", "the profile says nothing about limits: write generic: true, or scopes, throttles, statuses or hints")
	}
}
