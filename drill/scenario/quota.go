package scenario

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// A quota is an origin with documents of its own behind one limit.
type quota struct {
	name    string
	share   span
	limit   *limit // nil: none
	refusal refusal
	rules   []rule
}

// A limit is what a quota lets through.
type limit struct {
	kind     string // one of kinds
	requests int    // so many each per; for concurrency: at a time
	per      time.Duration
	burst    int
	queue    int
	takes    time.Duration // for which a request is held in the service
	by       string        // which requests share it: "" (all), "credential" or "header"
	header   string        // the field's name
	counted  bool
	ban      time.Duration
}

var (
	quotaKeys = []string{"name", "documents", "limit", "refusal", "rules"}
	limitKeys = []string{"window", "sliding", "bucket", "leaky", "concurrency", "per", "burst", "queue", "takes", "key", "refused", "ban"}
	kinds     = limitKeys[:5]
	// ofKind are the keys that belong to one kind of limit, beside those of all.
	ofKind = map[string][]string{
		"window":      {"per"},
		"sliding":     {"per", "refused"},
		"bucket":      {"per", "burst", "refused"},
		"leaky":       {"per", "queue"},
		"concurrency": {"takes"},
	}
)

func (m mapping) quotas(s *Scenario) []quota {
	if !m.has("quotas") {
		return []quota{{name: "docs", share: span{1, s.Documents}}}
	}
	var inner []mapping
	for _, n := range m.list("quotas", maxQuotas) {
		inner = append(inner, m.doc.mapping(n, "a quota", quotaKeys))
	}
	if m.doc.err != nil {
		return nil
	}
	quotas := m.shares(inner, s.Documents)
	for i, q := range inner {
		if m.doc.err != nil {
			return nil
		}
		quotas[i].limit = q.limit()
		quotas[i].refusal = q.refusal(quotas[i].limit)
		quotas[i].rules = q.rules(s, quotas[i].share)
	}
	return quotas
}

var names = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// shares are the quotas with their names and documents: each document is in one of them.
func (m mapping) shares(inner []mapping, documents int) []quota {
	quotas := make([]quota, len(inner))
	without := -1
	for i, q := range inner {
		preset := ""
		if len(inner) == 1 {
			preset = "docs"
		}
		name := q.text("name", preset)
		if !names.MatchString(name) {
			q.fail("name", "a quota has a name of small letters, digits and hyphens")
		}
		if name == "links" {
			q.fail("name", "links is the name of the signed links' origin: take another")
		}
		if slices.ContainsFunc(quotas[:i], func(o quota) bool { return o.name == name }) {
			q.fail("name", "a second quota %.60q", name)
		}
		quotas[i].name = name
		list := q.spans("documents", 1, documents, false)
		switch {
		case len(list) > 1:
			q.fail("documents", "the documents of a quota are one range, such as 1-%d", documents)
		case len(list) == 1:
			quotas[i].share = list[0]
			for _, o := range quotas[:i] {
				if o.share.first > 0 && o.share.meets(list[0]) {
					q.fail("documents", "documents %s and those of quota %s, %s, overlap", list[0], o.name, o.share)
				}
			}
		case without >= 0:
			q.fail("documents", "documents is missing: one quota may leave it out, and %s does", quotas[without].name)
		default:
			without = i
		}
	}
	if m.doc.err == nil {
		m.rest(quotas, without, documents)
	}
	return quotas
}

// rest gives what is left of the documents to the quota that says nothing; -1: none does.
func (m mapping) rest(quotas []quota, without, documents int) {
	free := gaps(quotas, documents)
	switch {
	case without < 0 && len(free) > 0:
		m.fail("quotas", "document %d is in no quota: together they have 1-%d", free[0].first, documents)
	case without >= 0 && len(free) == 0:
		m.fail("quotas", "no document is left for quota %s", quotas[without].name)
	case without >= 0 && len(free) > 1:
		m.fail("quotas", "what is left for quota %s is not one range: %s and %s", quotas[without].name, free[0], free[1])
	case without >= 0:
		quotas[without].share = free[0]
	}
}

// gaps are the documents that no quota has.
func gaps(quotas []quota, documents int) spans {
	var taken spans
	for _, q := range quotas {
		if q.share.first > 0 {
			taken = append(taken, q.share)
		}
	}
	slices.SortFunc(taken, func(a, b span) int { return a.first - b.first })
	var free spans
	next := 1
	for _, r := range append(taken, span{documents + 1, documents + 1}) {
		if r.first > next {
			free = append(free, span{next, r.first - 1})
		}
		next = r.last + 1
	}
	return free
}

func (m mapping) limit() *limit {
	if !m.has("limit") {
		return nil
	}
	in := m.doc.mapping(m.values["limit"], "a limit", limitKeys)
	kind := in.oneKind()
	if m.doc.err != nil {
		return nil
	}
	in.only(append([]string{kind, "key", "ban"}, ofKind[kind]...), "a limit by "+kind)
	l := &limit{
		kind:     kind,
		requests: in.number(kind, 0, 1, 1_000_000),
		per:      in.duration("per", 0, minTime, maxTime),
		queue:    in.number("queue", 0, 1, 1_000_000),
		takes:    in.duration("takes", 0, minTime, time.Minute),
		counted:  in.text("refused", "free", "free", "counted") == "counted",
		ban:      in.duration("ban", 0, minTime, maxTime),
	}
	l.by, l.header = in.key()
	l.burst = in.number("burst", l.requests, 1, 1_000_000)
	if kind != "concurrency" && !in.has("per") {
		in.fail("per", "per is missing: in which time %d requests may pass, such as per: 10s", l.requests)
	}
	for key, n := range map[string]int{"burst": l.burst, "queue": l.queue} {
		if in.has(key) && float64(n)*float64(l.per) > float64(l.requests)*float64(maxTime) {
			in.fail(key, "%s is %d: at %d each %v that takes more than a year", key, n, l.requests, l.per)
		}
	}
	return l
}

// oneKind is the one key that says what kind of limit it is.
func (m mapping) oneKind() string {
	kind := ""
	for _, n := range m.keys {
		key := n.GetToken().Value
		if !slices.Contains(kinds, key) {
			continue
		}
		if kind != "" {
			m.doc.fail(n, "%s and %s: a limit is one of %s", kind, key, strings.Join(kinds, ", "))
		}
		kind = key
	}
	if kind == "" {
		m.doc.fail(m.node, "a limit needs one of %s", strings.Join(kinds, ", "))
	}
	return kind
}

// key says which requests share the limit.
func (m mapping) key() (by, header string) {
	s := m.text("key", "all")
	name, isHeader := strings.CutPrefix(s, "header ")
	switch {
	case s == "all":
	case s == "credential":
		by = s
	case isHeader && httpguts.ValidHeaderFieldName(name):
		by, header = "header", name
	default:
		m.fail("key", "key is %.60q: it is all, credential, or a header field such as: header X-Tenant", s)
	}
	return by, header
}
