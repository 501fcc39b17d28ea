package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// spans are numbers such as 3,7-9 or 3-. None at all: all numbers.
type spans []span

// A span is the numbers from first to last; a last of zero leaves the end open.
type span struct{ first, last int }

// parseSpans reads numbers from least to most, or above most if it may be open.
func parseSpans(s string, least, most int, open bool) (spans, error) {
	parts := strings.Split(s, ",")
	if len(parts) > 1000 {
		return nil, errors.New("more than 1000 ranges")
	}
	var list spans
	for _, part := range parts {
		r, ok := parseSpan(strings.TrimSpace(part))
		switch {
		case !ok:
			return nil, fmt.Errorf("%.60q is not a list of numbers such as 3,7-9", s)
		case r.last == 0 && !open:
			return nil, fmt.Errorf("%s: say where it ends: %d-%d", part, r.first, most)
		case r.last != 0 && r.last < r.first:
			return nil, fmt.Errorf("%s ends before it begins", part)
		case r.first < least || !open && r.last > most:
			return nil, fmt.Errorf("%s leaves the numbers %s", part, span{least, most})
		}
		for _, other := range list {
			if r.meets(other) {
				return nil, fmt.Errorf("%s and %s overlap", other, r)
			}
		}
		list = append(list, r)
	}
	return list, nil
}

func parseSpan(s string) (span, bool) {
	from, to, isRange := strings.Cut(s, "-")
	first, ok := parseCount(from)
	if !ok || isRange && to == "" {
		return span{first: first}, ok
	}
	if !isRange {
		return span{first, first}, true
	}
	last, ok := parseCount(to)
	return span{first, last}, ok
}

// parseCount reads a number from 1.
func parseCount(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n > 0 && strconv.Itoa(n) == s
}

func (r span) meets(o span) bool {
	return (r.last == 0 || o.first <= r.last) && (o.last == 0 || r.first <= o.last)
}

func (r span) String() string {
	switch r.last {
	case 0:
		return fmt.Sprintf("%d-", r.first)
	case r.first:
		return strconv.Itoa(r.first)
	}
	return fmt.Sprintf("%d-%d", r.first, r.last)
}
