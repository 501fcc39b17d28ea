package profile

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// A mapping is the keys and values of one mapping of a document. What is asked of a key that
// is not there is the zero value; what is asked of one that is wrong is a mistake of the
// document, and the zero value as well.
type mapping struct {
	doc    *document
	node   ast.Node
	what   string // names it in messages
	keys   []string
	at     map[string]ast.Node // the keys themselves
	values map[string]ast.Node
}

// mapping reads a mapping that may have the given keys; nil allows any.
func (d *document) mapping(n ast.Node, what string, keys []string) mapping {
	m := mapping{doc: d, node: n, what: what, at: map[string]ast.Node{}, values: map[string]ast.Node{}}
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		if keys == nil {
			d.fail(n, "%s is a mapping", what)
		} else {
			d.fail(n, "%s is a mapping with some of the keys %s", what, strings.Join(keys, ", "))
		}
		return m
	}
	for _, v := range pairs {
		key := v.Key.GetToken().Value
		switch {
		case keys != nil && !slices.Contains(keys, key):
			hint := didYouMean(key, keys)
			if _, bare := v.Value.(*ast.NullNode); bare || strings.Contains(key, " ") {
				hint = "; a text with a comma or a colon in it goes in quotes"
			}
			d.fail(v.Key, "unknown key %q%s (%s has %s)", key, hint, what, strings.Join(keys, ", "))
			continue
		case m.values[key] != nil:
			d.fail(v.Key, "%s has the key %q twice", what, key)
			continue
		}
		m.keys = append(m.keys, key)
		m.at[key], m.values[key] = v.Key, v.Value
	}
	return m
}

func (m mapping) has(key string) bool { return m.values[key] != nil }

// fail keeps a mistake at the value of a key, or at the mapping if it has no such key.
func (m mapping) fail(key, format string, args ...any) {
	at := m.values[key]
	if at == nil {
		at = m.node
	}
	m.doc.fail(at, format, args...)
}

// need is a key that must be there.
func (m mapping) need(keys ...string) {
	for _, key := range keys {
		if !m.has(key) {
			m.fail(key, "%s is missing in %s", key, m.what)
		}
	}
}

// text is a text of one of the values that are allowed; of any, if none are named.
func (m mapping) text(key string, allowed ...string) string {
	n := m.values[key]
	if n == nil {
		return ""
	}
	s, ok := text(n)
	switch {
	case !ok:
		m.fail(key, "%s wants a text: put it in quotes", key)
	case strings.TrimSpace(s) == "":
		m.fail(key, "%s is empty", key)
	case len(allowed) > 0 && !slices.Contains(allowed, s):
		m.fail(key, "%s is %q: it is one of %s%s", key, s, strings.Join(allowed, ", "), didYouMean(s, allowed))
		return ""
	}
	return strings.Join(strings.Fields(s), " ")
}

// text is the text of a scalar that is one.
func text(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

// written is any scalar as it is written.
func written(n ast.Node) (string, bool) {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return text(n)
}

func (m mapping) flag(key string) bool {
	switch n := m.values[key].(type) {
	case nil:
		return false
	case *ast.BoolNode:
		return n.Value
	}
	m.fail(key, "%s is true or false", key)
	return false
}

// integer is a whole number from least to most.
func (m mapping) integer(key string, least, most int) int {
	n := m.values[key]
	if n == nil {
		return 0
	}
	i, ok := integer(n, least, most)
	if !ok {
		m.fail(key, "%s is a whole number from %d to %d", key, least, most)
	}
	return i
}

func integer(n ast.Node, least, most int) (int, bool) {
	if _, whole := n.(*ast.IntegerNode); !whole {
		return 0, false
	}
	i, err := strconv.Atoi(n.GetToken().Value)
	if err != nil || i < least || i > most || strconv.Itoa(i) != n.GetToken().Value {
		return 0, false
	}
	return i, true
}

// amount is a plain number that is not negative.
func (m mapping) amount(key string) float64 {
	n := m.values[key]
	if n == nil {
		return 0
	}
	s, _ := written(n)
	v, err := strconv.ParseFloat(s, 64)
	if !plainNumber.MatchString(s) || err != nil {
		m.fail(key, "%s is a number such as 5, 1250 or 0.5", key)
		return 0
	}
	return v
}

var plainNumber = regexp.MustCompile(`^[0-9]{1,15}(\.[0-9]{1,9})?$`)

const maxTime = 366 * 24 * time.Hour

// duration is a time of at least a millisecond.
func (m mapping) duration(key string) time.Duration {
	n := m.values[key]
	if n == nil {
		return 0
	}
	return m.doc.duration(n, key)
}

func (d *document) duration(n ast.Node, what string) time.Duration {
	s, ok := text(n)
	var v time.Duration
	var err error
	if days, isDays := strings.CutSuffix(s, "d"); isDays {
		var i int
		if i, err = strconv.Atoi(days); err == nil {
			v = time.Duration(min(max(i, 0), 1000)) * 24 * time.Hour
		}
	} else {
		v, err = time.ParseDuration(s)
	}
	switch {
	case !ok || err != nil:
		d.fail(n, "%s is a time with its unit, such as 500ms, 5s, 2m, 24h or 30d", what)
	case v < time.Millisecond || v > maxTime:
		d.fail(n, "%s is %s: it is a time from 1ms to 366d", what, s)
	default:
		return v
	}
	return 0
}

var (
	sizes = regexp.MustCompile(`^([1-9][0-9]{0,5}) ?(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$`)
	scale = map[string]float64{"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
)

// size is a number of bytes with its unit.
func (m mapping) size(key string) float64 {
	n := m.values[key]
	if n == nil {
		return 0
	}
	s, _ := written(n)
	parts := sizes.FindStringSubmatch(s)
	if parts == nil {
		m.fail(key, "%s is a size with its unit, such as 10 MB or 400 GB", key)
		return 0
	}
	i, _ := strconv.Atoi(parts[1]) // digits, and few of them
	return float64(i) * scale[parts[2]]
}

// list is the elements of a list; none without the key. An empty list is a mistake.
func (m mapping) list(key string) []ast.Node {
	n := m.values[key]
	if n == nil {
		return nil
	}
	const most = 200
	list, ok := n.(*ast.SequenceNode)
	switch {
	case !ok:
		m.fail(key, "%s is a list", key)
	case len(list.Values) == 0:
		m.fail(key, "%s is an empty list: leave the key out", key)
	case len(list.Values) > most:
		m.fail(key, "%s has %d elements: at most %d are allowed", key, len(list.Values), most)
	default:
		return list.Values
	}
	return nil
}

// texts is a list of texts, each once.
func (m mapping) texts(key string) []string {
	var out []string
	for _, n := range m.list(key) {
		s, ok := text(n)
		s = strings.Join(strings.Fields(s), " ")
		switch {
		case !ok || s == "":
			m.doc.fail(n, "%s is a list of texts", key)
		case slices.Contains(out, s):
			m.doc.fail(n, "%q is there twice in %s", s, key)
		default:
			out = append(out, s)
		}
	}
	return out
}

// scalars is a list of texts, numbers and truth values, as they are written.
func (m mapping) scalars(key string) []string {
	var out []string
	for _, n := range m.list(key) {
		s, ok := written(n)
		if !ok {
			m.doc.fail(n, "%s is a list of texts and numbers", key)
			continue
		}
		out = append(out, s)
	}
	return out
}

// only refuses keys beside those that belong to what it turned out to be.
func (m mapping) only(what string, keys ...string) {
	for _, key := range m.keys {
		if !slices.Contains(keys, key) {
			m.doc.fail(m.at[key], "%s does not belong to %s, which has %s", key, what, strings.Join(keys, ", "))
		}
	}
}
