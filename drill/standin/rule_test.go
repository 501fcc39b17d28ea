package standin

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSelect(t *testing.T) {
	// docs are asked for one after the other, half a second apart; 0 is a request for a list.
	docs := []int{1, 2, 1, 3, 0, 1, 4, 2, 5, 5}
	for _, tt := range []struct {
		name string
		sel  Select
		want string // the numbers of the requests that are chosen, from 1
	}{
		{"all", Select{}, "1 2 3 4 5 6 7 8 9 10"},
		{"documents", Select{Documents: []Range{{2, 3}, {5, 5}}}, "2 4 8 9 10"},
		{"no documents", Select{Documents: []Range{}}, ""},
		{"documents from", Select{Documents: []Range{{3, 0}}}, "4 7 9 10"},
		{"first requests", Select{Requests: []Range{{1, 1}}}, "1 2 4 5 7 9"},
		{"later requests", Select{Requests: []Range{{2, 0}}}, "3 6 8 10"},
		{"arrivals", Select{Arrivals: []Range{{3, 4}, {9, 0}}}, "3 4 9 10"},
		{"after", Select{After: 3 * time.Second}, "7 8 9 10"},
		{"until", Select{Until: time.Second}, "1 2"},
		{"between", Select{After: time.Second, Until: 2 * time.Second}, "3 4"},
		{"every", Select{Every: 3}, "3 6 9"},
		{"every of those", Select{Documents: []Range{{1, 1}}, Every: 2}, "3"},
		{"all of it", Select{Documents: []Range{{1, 2}}, Requests: []Range{{2, 3}}, Arrivals: []Range{{4, 0}}}, "6 8"},
	} {
		rule := Where(tt.sel, func(*Exchange) bool { return true })
		var got []string
		tries := map[int]int{}
		for i, n := range docs {
			x := &Exchange{Try: tries[n], Arrival: i + 1, Since: time.Duration(i) * 500 * time.Millisecond}
			if tries[n]++; n > 0 {
				x.doc = &document{n: n}
			}
			if rule(x) {
				got = append(got, fmt.Sprint(i+1))
			}
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, g, tt.want)
		}
	}
}

// The first rule that answers has the request.
func TestWhereOverHTTP(t *testing.T) {
	s := start(t, Config{First: 1, Last: 9, Rules: []Rule{
		Where(Select{Documents: []Range{{1, 2}}, Requests: []Range{{1, 1}}}, Status(500)),
		Where(Select{Documents: []Range{{2, 3}}}, Status(501)),
		Where(Select{Arrivals: []Range{{6, 6}}}, Status(502)),
	}})
	c := client(t, nil)
	for i, tt := range []struct {
		path string
		want int
	}{{"/doc/1", 500}, {"/doc/1.pdf", 200}, {"/doc/2", 500}, {"/doc/2", 501}, {"/doc/3", 501}, {"/doc/4", 502}, {"/manifest.txt", 200}, {"/doc/4", 200}, {"/doc/10", 404}, {"/doc/0", 404}} {
		if resp, _, err := get(t, c, s.URL(tt.path)); err != nil || resp.StatusCode != tt.want {
			t.Errorf("request %d for %s: %v, %v; want %d", i, tt.path, resp, err, tt.want)
		}
	}
}
