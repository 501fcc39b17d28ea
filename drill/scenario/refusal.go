package scenario

import (
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"golang.org/x/net/http/httpguts"
)

// A refusal is how a request is told to come again.
type refusal struct {
	status  int
	headers map[string][]string
	body    string // "": a few words
	typ     string
	wait    time.Duration // what it tells; zero: what the limiter needs
	valid   bool
	skew    time.Duration
}

var refusalKeys = []string{"status", "headers", "body", "type", "wait", "valid", "skew"}

// placeholders are what a header value or a body of a refusal may hold in braces.
var placeholders = []string{"seconds", "decimal", "ms", "date", "rfc850", "asctime", "epoch", "epoch_ms", "iso"}

var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)(?::([^{}"]*))?\}`)

// refusal is how the quota's limit refuses.
func (m mapping) refusal(l *limit) refusal {
	if l == nil {
		if m.has("refusal") {
			m.fail("refusal", "refusal is there but no limit that would refuse")
		}
		return refusal{}
	}
	in := mapping{doc: m.doc, node: m.values["limit"]}
	if m.has("refusal") {
		in = m.doc.mapping(m.values["refusal"], "a refusal", refusalKeys)
	}
	return in.told(l.kind == "concurrency" && l.ban == 0)
}

// told reads the keys of a refusal. A rule, and a limit that knows no time, have to say the
// wait that placeholders stand for.
func (m mapping) told(needsWait bool) refusal {
	r := refusal{
		status:  m.status("status", 429),
		headers: m.headers(),
		body:    m.text("body", ""),
		typ:     m.contentType(),
		wait:    m.duration("wait", 0, minTime, maxTime),
		skew:    m.duration("skew", 0, -maxTime, maxTime),
	}
	if !m.has("headers") {
		r.headers = map[string][]string{"Retry-After": {"{seconds}"}}
	}
	hints, open := m.placeholders("body", r.body)
	for _, values := range r.headers {
		for _, v := range values {
			h, o := m.placeholders("headers", v)
			hints, open = hints || h, open || o
		}
	}
	r.valid = m.flag("valid", hints)
	switch {
	case open && needsWait && r.wait == 0:
		m.fail("wait", "wait is missing: which time the placeholders stand for, such as wait: 5s")
	case m.has("valid") && r.valid && !hints:
		m.fail("valid", "valid is true, but no placeholder says what the wait is")
	case m.has("wait") && !open:
		m.fail("wait", "wait is there but no placeholder that would tell it")
	}
	return r
}

func (m mapping) status(key string, preset int) int {
	n := m.number(key, preset, 200, 599)
	if n == 204 || n == 205 || n == 304 {
		m.fail(key, "%s is %d, an answer that has no body", key, n)
	}
	return n
}

func (m mapping) contentType() string {
	s := m.text("type", "")
	if m.has("type") && (s == "" || !httpguts.ValidHeaderFieldValue(s)) {
		m.fail("type", "type is no content type, such as application/json")
	}
	if m.has("type") && !m.has("body") {
		m.fail("type", "type is there but no body")
	}
	return s
}

// reserved are the fields that the service writes by itself.
var reserved = []string{"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Keep-Alive", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade"}

func (m mapping) headers() map[string][]string {
	out := map[string][]string{}
	node, ok := m.values["headers"].(*ast.MappingNode)
	if !ok {
		if m.has("headers") {
			m.fail("headers", "headers is a mapping of field names to values, such as {Retry-After: \"{seconds}\"}")
		}
		return out
	}
	for _, v := range node.Values {
		written := v.Key.GetToken().Value
		name := textproto.CanonicalMIMEHeaderKey(written)
		switch {
		case !httpguts.ValidHeaderFieldName(written):
			m.doc.fail(v.Key, "%.60q is no name of a header field", written)
		case slices.Contains(reserved, name):
			m.doc.fail(v.Key, "%s is written by the service itself%s", name, map[bool]string{true: "; the body's is in the key type"}[name == "Content-Type"])
		case out[name] != nil:
			m.doc.fail(v.Key, "%s is there twice: several values of a field are a list", name)
		}
		out[name] = m.doc.fieldValues(name, v.Value)
	}
	return out
}

func (d *document) fieldValues(name string, n ast.Node) []string {
	var out []string
	for _, n := range oneOrMore(n) {
		s, ok := d.written(n)
		if !ok {
			d.fail(n, "a value of %s is a text, a number, or a list of them", name)
		} else if !httpguts.ValidHeaderFieldValue(s) || strings.TrimSpace(s) != s {
			d.fail(n, "%.60q is no value of a header field", s)
		}
		out = append(out, s)
	}
	if len(out) == 0 || len(out) > 16 {
		d.fail(n, "%s has %d values: it has 1 to 16 of them", name, len(out))
	}
	return out
}

// oneOrMore is a value that may stand alone or be a list.
func oneOrMore(n ast.Node) []ast.Node {
	if list, ok := n.(*ast.SequenceNode); ok {
		return list.Values
	}
	return []ast.Node{n}
}

// placeholders checks those in a text, and reports whether there are any, and any that have
// no wait of their own.
func (m mapping) placeholders(key, s string) (found, open bool) {
	for _, p := range placeholder.FindAllStringSubmatch(s, -1) {
		if !slices.Contains(placeholders, p[1]) {
			m.fail(key, "unknown placeholder %s%s (there are {%s})", p[0], didYouMean(p[1], placeholders), strings.Join(placeholders, "}, {"))
			return true, false
		}
		found = true
		if !strings.Contains(p[0], ":") {
			open = true
		} else if n, err := strconv.ParseFloat(p[2], 64); err != nil || !(n > 0 && n <= 1e9) || !decimal.MatchString(p[2]) {
			m.fail(key, "%s: a wait of its own is a number of seconds, such as {%s:2}", p[0], p[1])
		}
	}
	return found, open
}

var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
