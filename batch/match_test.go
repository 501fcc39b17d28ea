package batch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func answers(pairs ...any) []Answer {
	var out []Answer
	for n := 0; n < len(pairs); n += 2 {
		out = append(out, Answer{ID: pairs[n].(string), Status: pairs[n+1].(int)})
	}
	return out
}

// R3, example by example.
func TestMatch(t *testing.T) {
	for name, tt := range map[string]struct {
		ids         []string
		answers     []Answer
		fold        bool
		want        []Answer
		wantUnknown []string
	}{
		"any order":                   {ids: []string{"1", "2"}, answers: answers("2", 429, "1", 200), want: answers("1", 200, "2", 429)},
		"a missing answer":            {ids: []string{"1", "2"}, answers: answers("2", 200), want: answers("1", 0, "2", 200)},
		"no answers":                  {ids: []string{"1"}, want: answers("1", 0)},
		"success, then a failure":     {ids: []string{"1"}, answers: answers("1", 200, "1", 429), want: answers("1", 200)},
		"a failure, then success":     {ids: []string{"1"}, answers: answers("1", 429, "1", 304), want: answers("1", 304)},
		"two successes: the first":    {ids: []string{"1"}, answers: answers("1", 302, "1", 200), want: answers("1", 302)},
		"two failures: the first":     {ids: []string{"1"}, answers: answers("1", 503, "1", 429), want: answers("1", 503)},
		"no status is no answer":      {ids: []string{"1"}, answers: answers("1", 0, "1", 404), want: answers("1", 404)},
		"never sent":                  {ids: []string{"1"}, answers: answers("9", 200, "1", 200, "8", 500, "9", 404), want: answers("1", 200), wantUnknown: []string{"9", "8"}},
		"case tells apart":            {ids: []string{"a"}, answers: answers("A", 200), want: answers("a", 0), wantUnknown: []string{"A"}},
		"case is nothing":             {ids: []string{"a", "B"}, answers: answers("b", 429, "A", 200, "c", 200, "C", 500), fold: true, want: answers("a", 200, "B", 429), wantUnknown: []string{"c"}},
		"case is nothing: success":    {ids: []string{"a"}, answers: answers("A", 429, "a", 200, "A", 503), fold: true, want: answers("a", 200)},
		"an id sent twice":            {ids: []string{"1", "1"}, answers: answers("1", 200, "1", 200), want: answers("1", 200, "1", 0)},
		"an id sent in two spellings": {ids: []string{"a", "A"}, answers: answers("A", 200), fold: true, want: answers("a", 200, "A", 0)},
		"nothing sent":                {answers: answers("1", 200), want: []Answer{}, wantUnknown: []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, unknown := Match(tt.ids, tt.answers, tt.fold)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tt.wantUnknown, unknown); d != "" {
				t.Error(d)
			}
		})
	}
}

// R3: no item is lost and none is there twice; success wins; what was never sent stands apart.
func TestMatchProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		foldCase := rapid.Bool().Draw(t, "foldCase")
		fold := func(s string) string {
			if foldCase {
				return strings.ToLower(s)
			}
			return s
		}
		word := rapid.StringMatching(`[abAB]{1,2}`)
		ids := rapid.SliceOfNDistinct(word, 0, 6, fold).Draw(t, "ids")
		given := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Answer {
			return Answer{ID: word.Draw(t, "id"), Status: rapid.SampledFrom([]int{200, 206, 302, 304, 399, 400, 404, 429, 503, 599}).Draw(t, "status")}
		}), 0, 20).Draw(t, "answers")
		for n := range given {
			given[n].Body = fmt.Append(nil, n) // which one it is
		}
		matched, unknown := Match(ids, given, foldCase)

		if len(matched) != len(ids) {
			t.Fatalf("%d matched of %d ids", len(matched), len(ids))
		}
		used := map[string]bool{}
		for n, m := range matched {
			if m.ID != ids[n] {
				t.Errorf("item %d is %q, sent as %q", n, m.ID, ids[n])
			}
			mine := slices.DeleteFunc(slices.Clone(given), func(a Answer) bool { return fold(a.ID) != fold(m.ID) })
			success := slices.IndexFunc(mine, func(a Answer) bool { return a.Status < 400 })
			switch {
			case len(mine) == 0:
				if m.Status != 0 || m.Body != nil || m.Header != nil {
					t.Errorf("%q has no answer, but %v", m.ID, m)
				}
				continue
			case success >= 0:
				mine = mine[success:]
			}
			if m.Status != mine[0].Status || string(m.Body) != string(mine[0].Body) {
				t.Errorf("%q has %d %s, want %d %s", m.ID, m.Status, m.Body, mine[0].Status, mine[0].Body)
			}
			if used[string(m.Body)] {
				t.Errorf("answer %s is used twice", m.Body)
			}
			used[string(m.Body)] = true
		}
		known := map[string]bool{}
		for _, id := range ids {
			known[fold(id)] = true
		}
		var want []string
		for _, a := range given {
			if !known[fold(a.ID)] {
				known[fold(a.ID)] = true
				want = append(want, a.ID)
			}
		}
		if d := cmp.Diff(want, unknown); d != "" {
			t.Error(d)
		}
	})
}
