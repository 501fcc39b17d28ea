package scenario

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// A mapping is the keys and values of one mapping of a document. What is asked of a key that
// is not there is the preset; what is asked of one that is wrong is a mistake of the document.
type mapping struct {
	doc    *document
	node   ast.Node
	keys   []ast.Node // in their order
	values map[string]ast.Node
}

// mapping reads a mapping that may have the given keys; what names it in messages.
func (d *document) mapping(n ast.Node, what string, keys []string) mapping {
	m := mapping{doc: d, node: n, values: map[string]ast.Node{}}
	node, ok := n.(*ast.MappingNode)
	if !ok {
		d.fail(n, "%s is a mapping with some of the keys %s", what, strings.Join(keys, ", "))
		return m
	}
	for _, v := range node.Values {
		key := v.Key.GetToken().Value
		if _, isNumber := parseSpan(key); isNumber && node.IsFlowStyle {
			d.fail(v.Key, "unknown key %.60q: a list of numbers that has a comma stands in quotes, such as \"3,%s\"", key, key)
			return m
		}
		if !slices.Contains(keys, key) {
			d.fail(v.Key, "unknown key %.60q%s (%s has %s)", key, didYouMean(key, keys), what, strings.Join(keys, ", "))
			return m
		}
		m.keys, m.values[key] = append(m.keys, v.Key), v.Value
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

// only refuses keys that are there and do not belong to what it turned out to be.
func (m mapping) only(keys []string, what string) {
	for _, n := range m.keys {
		if key := n.GetToken().Value; !slices.Contains(keys, key) {
			m.doc.fail(n, "%s does not belong to %s, which has %s", key, what, strings.Join(keys, ", "))
		}
	}
}

// text is a text of one of the values that are allowed; of any, if none are named.
func (m mapping) text(key, preset string, allowed ...string) string {
	n := m.values[key]
	if n == nil {
		return preset
	}
	s, ok := m.doc.textOf(n)
	if !ok {
		m.fail(key, "%s wants a text: put it in quotes", key)
	} else if len(allowed) > 0 && !slices.Contains(allowed, s) {
		m.fail(key, "%s is %.60q: it is one of %s%s", key, s, strings.Join(allowed, ", "), didYouMean(s, allowed))
	}
	return s
}

// textOf is the text of a scalar that is one.
func (d *document) textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

// written is a text or a number as it is written.
func (d *document) written(n ast.Node) (string, bool) {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, true
	}
	return d.textOf(n)
}

func (m mapping) flag(key string, preset bool) bool {
	switch n := m.values[key].(type) {
	case nil:
		return preset
	case *ast.BoolNode:
		return n.Value
	}
	m.fail(key, "%s is true or false", key)
	return preset
}

// number is a whole number from least to most.
func (m mapping) number(key string, preset, least, most int) int {
	n := m.values[key]
	if n == nil {
		return preset
	}
	_, whole := n.(*ast.IntegerNode)
	i, err := strconv.Atoi(n.GetToken().Value)
	if !whole || err != nil || i < least || i > most || strconv.Itoa(i) != n.GetToken().Value {
		m.fail(key, "%s is a whole number from %d to %d", key, least, most)
	}
	return i
}

// duration is a time from least to most.
func (m mapping) duration(key string, preset, least, most time.Duration) time.Duration {
	n := m.values[key]
	if n == nil {
		return preset
	}
	return m.doc.duration(n, key, least, most)
}

func (d *document) duration(n ast.Node, what string, least, most time.Duration) time.Duration {
	s, _ := d.written(n)
	v, err := time.ParseDuration(s)
	if _, isText := n.(*ast.StringNode); !isText || err != nil {
		d.fail(n, "%s is a time with its unit, such as 500ms, 5s or 2m", what)
	} else if v < least || v > most {
		d.fail(n, "%s is %v: it is a time from %v to %v", what, v, least, most)
	}
	return v
}

var sizes = regexp.MustCompile(`^([1-9][0-9]{0,8})(|B|KiB|MiB)$`)

// size is a number of bytes up to most; zero without the key.
func (m mapping) size(key string, most int) int {
	n := m.values[key]
	if n == nil {
		return 0
	}
	s, _ := m.doc.written(n)
	parts := sizes.FindStringSubmatch(s)
	if parts == nil {
		m.fail(key, "%s is a size such as 500, 4KiB or 1MiB", key)
		return 0
	}
	bytes, _ := strconv.Atoi(parts[1]) // digits, and few of them
	bytes *= map[string]int{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[parts[2]]
	if bytes > most {
		m.fail(key, "%s is %s: it is at most %d MiB", key, s, most>>20)
	}
	return bytes
}

// list is the elements of a list; none without the key. An empty list is a mistake.
func (m mapping) list(key string, most int) []ast.Node {
	n := m.values[key]
	if n == nil {
		return nil
	}
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

// spans are numbers from least to most; those without the key are nil.
func (m mapping) spans(key string, least, most int, open bool) spans {
	n := m.values[key]
	if n == nil {
		return nil
	}
	s, ok := m.doc.written(n)
	if !ok {
		m.fail(key, "%s is a text such as 3,7-9", key)
		return nil
	}
	list, err := parseSpans(s, least, most, open)
	if err != nil {
		m.fail(key, "%s: %v", key, err)
	}
	return list
}
