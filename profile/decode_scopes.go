package profile

import (
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

var scopeKeys = factKeys("name", "class", "key", "match", "limits")

func (d *decoder) readScopes(m mapping) []Scope {
	var out []Scope
	same := map[string]string{}
	for _, n := range m.list("scopes") {
		in := d.mapping(n, "a scope", scopeKeys)
		in.need("name", "key")
		s := Scope{Fact: d.fact(in, "a scope"), Name: in.label("name", labels), Class: in.label("class", labels),
			Key: d.key(in), Match: d.match(in)}
		if slices.Contains(d.scopes, s.Name) {
			in.fail("name", "there are two scopes %s", s.Name)
		}
		d.scopes = append(d.scopes, s.Name)
		id := s.Class + ":" + strings.Join(s.Key, ",")
		if other, taken := same[id]; taken && len(s.Key) > 0 {
			in.fail("key", "scopes %s and %s have the same key and overlap: their requests would share one wait; give one of them a class, or make them one", other, s.Name)
		}
		same[id] = s.Name
		for _, n := range in.list("limits") {
			s.Limits = append(s.Limits, d.limit(n))
		}
		out = append(out, s)
	}
	return out
}

// key is the parts of a scope's keys.
func (d *decoder) key(m mapping) []string {
	key := m.texts("key")
	for i, n := range m.list("key") {
		if i >= len(key) {
			break
		}
		if _, declared := d.parts[key[i]]; !declared {
			var known []string
			for name := range d.parts {
				known = append(known, name)
			}
			slices.Sort(known)
			d.fail(n, "nothing gives the part %q%s: declare it under parts; host and verb need no declaration", key[i], didYouMean(key[i], known))
			continue
		}
		d.parts[key[i]] = true
	}
	return key
}

var (
	unitKeys  = unitNames[:]
	limitKeys = factKeys(append(slices.Clone(unitKeys), "per", "burst", "plan")...)
)

func (d *decoder) limit(n ast.Node) Limit {
	in := d.mapping(n, "a limit", limitKeys)
	l := Limit{Fact: d.fact(in, "a limit"), Plan: in.label("plan", labels), Burst: in.integer("burst", 1, 1_000_000)}
	var units []string
	for _, u := range unitKeys {
		if in.has(u) {
			units = append(units, u)
		}
	}
	if len(units) != 1 {
		in.fail("", "a limit counts one of %s", strings.Join(unitKeys, ", "))
		return l
	}
	l.Unit = Unit(slices.Index(unitKeys, units[0]))
	switch l.Unit {
	case Concurrent:
		l.Amount = float64(in.integer("concurrent", 1, 1_000_000))
		in.only("a limit of requests at a time", factKeys("concurrent", "plan")...)
		return l
	case Bytes:
		l.Amount = in.size("bytes")
	default:
		if l.Amount = in.amount(units[0]); l.Amount == 0 {
			in.fail(units[0], "%s of zero lets nothing through: leave the limit out", units[0])
		}
	}
	if l.Per = in.duration("per"); !in.has("per") {
		in.fail("per", "per is missing: in which time so much may pass, such as per: 1m")
	}
	return l
}

var matchKeys = []string{"methods", "paths", "not_paths", "query", "given", "not_given"}

// match is which requests are meant; nil where nothing is said: all.
func (d *decoder) match(m mapping) *Match {
	if !m.has("match") {
		return nil
	}
	in := d.mapping(m.values["match"], "match", matchKeys)
	if len(in.keys) == 0 {
		m.fail("match", "an empty match: leave it out, and every request is meant")
		return nil
	}
	out := &Match{methods: in.texts("methods"), paths: in.patterns("paths", false), notPaths: in.patterns("not_paths", false),
		given: d.givenParts(in, "given"), notGiven: d.givenParts(in, "not_given")}
	for i, n := range in.list("methods") {
		if i < len(out.methods) && strings.ToUpper(out.methods[i]) != out.methods[i] {
			d.fail(n, "a method is written in capitals: %s", strings.ToUpper(out.methods[i]))
		}
	}
	for _, p := range out.given {
		if slices.Contains(out.notGiven, p) {
			in.fail("not_given", "%s cannot be given and not given: the match is empty", p)
		}
	}
	if !in.has("query") {
		return out
	}
	query := d.mapping(in.values["query"], "query", nil)
	for _, name := range query.keys {
		q := queryMatch{name: name}
		if s, ok := text(query.values[name]); !ok || s != "any" {
			q.in = query.scalars(name)
		}
		out.query = append(out.query, q)
	}
	return out
}

// givenParts are parts that the caller may give, declared or not in a key.
func (d *decoder) givenParts(m mapping, key string) []string {
	list := m.texts(key)
	for i, n := range m.list(key) {
		if i >= len(list) {
			break
		}
		if p := d.p.part(list[i]); p.Given == "" && list[i] != Identity {
			d.fail(n, "%s is no part that a caller gives", list[i])
		}
	}
	return list
}

func (d *decoder) costs(m mapping) []Cost {
	var out []Cost
	all := false
	for _, n := range m.list("costs") {
		in := d.mapping(n, "a cost", factKeys("match", "units"))
		in.need("units")
		c := Cost{Fact: d.fact(in, "a cost"), Match: d.match(in), Units: in.amount("units")}
		if all {
			d.fail(n, "this cost never counts: one before it is for every request")
		}
		all = all || c.Match == nil
		out = append(out, c)
	}
	counted := slices.ContainsFunc(d.p.Scopes, func(s Scope) bool { return s.counts(Units) })
	switch {
	case counted && len(out) == 0 && !m.has("costs"):
		m.fail("scopes", "there are limits in units and no costs: say what requests cost")
	case !counted && len(out) > 0:
		m.fail("costs", "there are costs and no limit in units")
	}
	return out
}

// waits are times that a service documents.
func (d *decoder) waits(m mapping) []time.Duration {
	var out []time.Duration
	for _, n := range m.list("waits") {
		w := d.duration(n, "a wait")
		if len(out) > 0 && w < out[len(out)-1] {
			d.fail(n, "%v is less than the wait before it: they are by events in a row", w)
		}
		out = append(out, w)
	}
	return out
}

// scopeNames are names of scopes.
func (d *decoder) scopeNames(m mapping, key string) []string {
	list := m.texts(key)
	for i, n := range m.list(key) {
		if i < len(list) && !slices.Contains(d.scopes, list[i]) {
			d.fail(n, "there is no scope %q%s", list[i], didYouMean(list[i], d.scopes))
		}
	}
	return list
}
