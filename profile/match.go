package profile

import (
	"net/url"
	"slices"
	"strings"
)

// A Match says which requests are meant: those for which all of it holds.
type Match struct {
	methods  []string
	paths    []pattern // one of them
	notPaths []pattern // none of them
	query    []queryMatch
	given    []string // parts that the caller gave
	notGiven []string
}

type queryMatch struct {
	name string
	in   []string // a value that holds one of these; nil: any value, empty ones too
}

func (m *Match) holds(method string, segments []string, query url.Values, parts map[string]string) bool {
	if m == nil {
		return true
	}
	if len(m.methods) > 0 && !slices.Contains(m.methods, method) {
		return false
	}
	if len(m.paths) > 0 && !anyMatches(m.paths, segments) || anyMatches(m.notPaths, segments) {
		return false
	}
	for _, q := range m.query {
		values, ok := query[q.name]
		if !ok || q.in != nil && !slices.ContainsFunc(values, func(v string) bool {
			return slices.ContainsFunc(q.in, func(s string) bool { return strings.Contains(v, s) })
		}) {
			return false
		}
	}
	isGiven := func(part string) bool { return parts[part] != "" }
	return !slices.ContainsFunc(m.notGiven, isGiven) &&
		!slices.ContainsFunc(m.given, func(part string) bool { return !isGiven(part) })
}

// Takes reports whether a read of an address can go into the batch.
func (b *Batch) Takes(u *url.URL) bool {
	if !b.NoMedia {
		return true
	}
	segments, query := split(u.Path), u.Query()
	return len(b.Media) > 0 && !slices.ContainsFunc(b.Media, func(m *Match) bool {
		return m.holds("GET", segments, query, nil)
	})
}

// String says which requests are meant.
func (m *Match) String() string {
	if m == nil {
		return "every request"
	}
	var says []string
	if len(m.methods) > 0 {
		says = append(says, strings.Join(m.methods, " or "))
	}
	if len(m.paths) > 0 {
		says = append(says, texts(m.paths))
	}
	if len(m.notPaths) > 0 {
		says = append(says, "not "+texts(m.notPaths))
	}
	for _, q := range m.query {
		if q.in == nil {
			says = append(says, "with ?"+q.name)
		} else {
			says = append(says, "with ?"+q.name+"="+strings.Join(q.in, "|"))
		}
	}
	if len(m.given) > 0 {
		says = append(says, "where a "+strings.Join(m.given, " and a ")+" is given")
	}
	if len(m.notGiven) > 0 {
		says = append(says, "where no "+strings.Join(m.notGiven, " and no ")+" is given")
	}
	return strings.Join(says, ", ")
}

func texts(list []pattern) string {
	var out []string
	for _, p := range list {
		out = append(out, p.text)
	}
	return strings.Join(out, " or ")
}

func anyMatches(list []pattern, segments []string) bool {
	return slices.ContainsFunc(list, func(p pattern) bool {
		_, ok := p.match(segments)
		return ok
	})
}

// A pattern is a path in segments. "*" is any one segment, "{}" one that is captured, "**"
// any number of them, and a segment such as "delta(*" all that begin so.
type pattern struct {
	text     string
	segments []string
}

const maxSegments = 256

// split takes a path apart. Empty segments are left out: services do not tell them apart.
func split(path string) []string {
	var out []string
	for s := range strings.SplitSeq(path, "/") {
		s, _, _ = strings.Cut(s, ";") // parameters of a segment may be secret
		if s != "" {
			out = append(out, s)
		}
		if len(out) > maxSegments {
			return out
		}
	}
	return out
}

// match returns what the pattern captures, joined with slashes.
func (p pattern) match(segments []string) (captured string, ok bool) {
	if len(segments) > maxSegments {
		return "", false
	}
	got, ok := matchSegments(p.segments, segments, nil)
	if !ok {
		return "", false
	}
	return strings.Join(got, "/"), true
}

// matchSegments tries the shortest run for each "**". There are at most two in a pattern.
func matchSegments(pattern, segments, got []string) ([]string, bool) {
	for i, p := range pattern {
		if p == "**" {
			for skip := 0; skip <= len(segments); skip++ {
				if more, ok := matchSegments(pattern[i+1:], segments[skip:], got); ok {
					return more, true
				}
			}
			return nil, false
		}
		if len(segments) == 0 {
			return nil, false
		}
		prefix, open := strings.CutSuffix(p, "*")
		switch {
		case p == "{}":
			got = append(slices.Clip(got), segments[0])
		case open && strings.HasPrefix(segments[0], prefix):
		case p != segments[0]:
			return nil, false
		}
		segments = segments[1:]
	}
	return got, len(segments) == 0
}
