package judge

import (
	"slices"
	"sort"
)

// A span is bytes of a document, up to before the last.
type span struct{ first, end int64 }

// spans are bytes of a document: in order, and none touches the next.
type spans []span

// add adds bytes.
func (s *spans) add(b span) {
	old := *s
	i := sort.Search(len(old), func(i int) bool { return old[i].end >= b.first })
	j := sort.Search(len(old), func(i int) bool { return old[i].first > b.end })
	if i < j {
		b = span{min(b.first, old[i].first), max(b.end, old[j-1].end)}
	}
	*s = slices.Replace(old, i, j, b)
}

// from is the first byte from one on that is not among them.
func (s spans) from(first int64) int64 {
	i := sort.Search(len(s), func(i int) bool { return s[i].end > first })
	if i < len(s) && s[i].first <= first {
		return s[i].end
	}
	return first
}

// before is how many bytes before one are among them.
func (s spans) before(end int64) (n int64) {
	for _, b := range s {
		if b.first >= end {
			break
		}
		n += min(b.end, end) - b.first
	}
	return n
}
