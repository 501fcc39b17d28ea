package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/standin"
)

// A rule does something to certain requests before the limit sees them.
type rule struct {
	documents, requests, arrivals spans
	after, until                  time.Duration // since the quota's first arrival; zero: no bound
	every                         int           // zero: all

	do      string
	refusal refusal // throttle
	status  int     // status
	body    string  // status, error; "": a few words
	typ     string
	bytes   int           // cut, reset, hang: of the body; -1: half of it
	pause   time.Duration // slow, delay
}

// selectors are the keys that choose requests; do, what is done to them.
var selectors = []string{"documents", "requests", "arrivals", "after", "until", "every", "do"}

// ofDo are the keys that belong to one do.
var ofDo = map[string][]string{
	"throttle": refusalKeys,
	"status":   {"status", "body", "type"},
	"cut":      {"bytes"},
	"reset":    {"bytes"},
	"hang":     {"bytes"},
	"slow":     {"pause"},
	"short":    {},
	"long":     {},
	"digest":   {},
	"login":    {},
	"error":    {"body", "type"},
	"change":   {},
	"deny":     {},
	"gone":     {},
	"delay":    {"pause"},
}

// dos are the names of what can be done, in the order in which they are told.
var dos = []string{"throttle", "status", "cut", "reset", "slow", "hang", "short", "long", "digest", "login", "error", "change",
	"deny", "gone", "delay"}

// ruleKeys are all keys that any rule may have.
var ruleKeys = func() []string {
	keys := slices.Clone(selectors)
	for _, do := range dos {
		for _, key := range ofDo[do] {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}()

// rules are the rules of a quota with a share of the documents.
func (m mapping) rules(s *Scenario, share span) []rule {
	var out []rule
	for _, n := range m.list("rules", maxRules) {
		in := m.doc.mapping(n, "a rule", ruleKeys)
		if m.doc.err != nil {
			return nil
		}
		out = append(out, in.rule(s, share))
	}
	return out
}

func (m mapping) rule(s *Scenario, share span) rule {
	r := rule{do: m.text("do", "", dos...)}
	if !m.has("do") {
		m.fail("do", "do is missing: a rule does one of %s", strings.Join(dos, ", "))
	}
	if m.doc.err != nil {
		return r
	}
	m.only(append(slices.Clone(selectors), ofDo[r.do]...), "do: "+r.do)
	r.documents = m.spans("documents", share.first, share.last, false)
	r.requests = m.spans("requests", 1, 0, true)
	r.arrivals = m.spans("arrivals", 1, 0, true)
	r.after = m.duration("after", 0, minTime, maxTime)
	r.until = m.duration("until", 0, minTime, maxTime)
	if r.until > 0 && r.until <= r.after {
		m.fail("until", "until is %v, which is not later than after: %v", r.until, r.after)
	}
	r.every = m.number("every", 0, 2, 1_000_000)
	switch r.do {
	case "throttle":
		r.refusal = m.told(true)
		return r
	case "status":
		if !m.has("status") {
			m.fail("status", "status is missing: which one, such as status: 500")
		}
		r.status = m.status("status", 0)
	case "slow", "delay":
		if !m.has("pause") {
			m.fail("pause", "pause is missing: how long, such as pause: 500ms")
		}
		r.pause = m.duration("pause", 0, minTime, maxTime)
	case "digest":
		if !s.digests {
			m.fail("do", "do: digest needs digests: true, or no client could see it")
		}
	}
	r.body, r.typ = m.text("body", ""), m.contentType()
	r.bytes = m.part(s, share, r.documents)
	return r
}

// part is how many bytes of a body are sent before it ends; -1: half of them.
func (m mapping) part(s *Scenario, share span, chosen spans) int {
	if !m.has("bytes") {
		return -1
	}
	if chosen == nil {
		chosen = spans{share}
	}
	least := s.Size
	if least == 0 {
		least = maxSize
		for _, r := range chosen {
			for n := r.first; n <= r.last; n++ {
				least = min(least, standin.Size(n))
			}
		}
	}
	return m.number("bytes", 0, 0, least-1)
}
