package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

func TestSpan(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0 s"},
		{420 * time.Microsecond, "0.42 ms"},
		{999_600 * time.Nanosecond, "1 ms"},
		{420 * time.Millisecond, "420 ms"},
		{999_600 * time.Microsecond, "1 s"},
		{1234 * time.Millisecond, "1.2 s"},
		{59_960 * time.Millisecond, "1 min"},
		{64 * time.Second, "1 min 4 s"},
		{time.Hour - time.Millisecond, "1 h"},
		{3*time.Hour + 12*time.Minute, "3 h 12 min"},
		{53 * time.Hour, "2 d 5 h"},
		{-3 * time.Second, "-3 s"},
		{math.MinInt64, "-106,751 d 23 h"},
	} {
		got := []rune(span(tt.d))
		for i, r := range got {
			if r == '\u202f' {
				got[i] = ' '
			}
		}
		if string(got) != tt.want {
			t.Errorf("span(%v) = %q, want %q", tt.d, string(got), tt.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := number(n); got != want {
			t.Errorf("number(%d) = %q, want %q", n, got, want)
		}
	}
	for share, want := range map[float64]string{0: "0 %", 0.004: "< 1 %", 0.97: "97 %", 0.996: "> 99 %", 1: "100 %", 1.4: "140 %", math.Inf(1): unknown} {
		got := []rune(percentage(share))
		for i, r := range got {
			if r == '\u202f' {
				got[i] = ' '
			}
		}
		if string(got) != want {
			t.Errorf("percentage(%v) = %q, want %q", share, string(got), want)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		long        time.Duration
		last        string
		least, most int
	}{
		{0, "100 ms", 5, 9},
		{7400 * time.Millisecond, "7 s", 6, 9},
		{30 * time.Second, "30 s", 6, 9},
		{200 * time.Second, "180 s", 5, 9},
		{10 * time.Minute, "10 min", 5, 9},
		{20 * time.Hour, "18 h", 6, 9},
		{90 * 24 * time.Hour, "80 d", 5, 9},
		{math.MaxInt64, "", 3, 10},
	} {
		ticks := newAxis(epoch, epoch.Add(tt.long)).ticks()
		if len(ticks) < tt.least || len(ticks) > tt.most+1 {
			t.Errorf("%v has %d ticks, want %d to %d", tt.long, len(ticks), tt.least, tt.most)
		}
		last := []rune(ticks[len(ticks)-1].Label)
		for i, r := range last {
			if r == '\u202f' {
				last[i] = ' '
			}
		}
		if tt.last != "" && string(last) != tt.last {
			t.Errorf("the last tick of %v is %q, want %q", tt.long, string(last), tt.last)
		}
	}
}

func TestNatural(t *testing.T) {
	names := []string{"w10", "w2", "b", "w1", "", "a10b", "a9z", "w02x"}
	slices.SortFunc(names, natural)
	if want := []string{"", "a9z", "a10b", "b", "w1", "w2", "w02x", "w10"}; !slices.Equal(names, want) {
		t.Errorf("sorted: %q, want %q", names, want)
	}
}

// Packed lanes keep apart what was under way at the same time, and are no more than needed.
func TestPack(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		var all []*journal.Arrival
		at := epoch
		for range 60 {
			at = at.Add(time.Duration(random.IntN(4)) * time.Millisecond)
			all = append(all, &journal.Arrival{At: at, Ended: at.Add(time.Duration(random.IntN(20)) * time.Millisecond)})
		}
		l := newLanes(requests(all), lanesMost)
		if most := atOnce(requests(all)); l.count != most || l.full {
			t.Fatalf("seed %d: %d lanes (full: %v) for up to %d at once", seed, l.count, l.full, most)
		}
		for i, a := range all {
			for k, b := range all[:i] {
				if l.of[i] == l.of[k] && b.Ended.After(a.At) {
					t.Fatalf("seed %d: %d and %d overlap in lane %d", seed, k, i, l.of[i])
				}
			}
		}
		if l := newLanes(requests(all), 3); l.count > 3 || l.full != (atOnce(requests(all)) > 3) {
			t.Fatalf("seed %d: %d lanes, full: %v, want at most 3", seed, l.count, l.full)
		}
	}
}

func TestLanes(t *testing.T) {
	arrival := func(worker string, conn int64, proto string) *journal.Arrival {
		return &journal.Arrival{At: epoch, Worker: worker, Conn: conn, Proto: proto}
	}
	for _, tt := range []struct {
		name     string
		arrivals []*journal.Arrival
		most     int
		want     string
	}{
		{"workers", []*journal.Arrival{arrival("b", 1, "HTTP/2.0"), arrival("a", 1, "HTTP/2.0")}, 9, "2 workers"},
		{"connections", []*journal.Arrival{arrival("", 7, "HTTP/1.1"), arrival("a", 8, "HTTP/1.1")}, 9, "2 connections"},
		{"streams", []*journal.Arrival{arrival("", 7, "HTTP/2.0"), arrival("", 7, "HTTP/2.0")}, 9, "up to 2 at once"},
		{"too many", []*journal.Arrival{arrival("a", 1, ""), arrival("b", 2, ""), arrival("c", 3, "")}, 2, "up to 3 at once"},
		{"nobody knows", []*journal.Arrival{arrival("", 0, "")}, 9, "one at a time"},
	} {
		if got := newLanes(requests(tt.arrivals), tt.most).words; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Many limits share the room: the bands are bounded, and no request is left out.
func TestGroups(t *testing.T) {
	var all []*journal.Arrival
	for i := range 300 {
		all = append(all, &journal.Arrival{N: i, At: epoch, Quota: "q", Key: string(rune('a' + i%30)), Worker: string(rune('A' + i))})
	}
	groups := groupsOf(&journal.Record{}, all)
	arrange(groups)
	n, lanes := 0, 0
	for _, g := range groups {
		n += len(g.requests)
		lanes += g.lanes.count
	}
	if len(groups) != groupsMost || n != len(all) || lanes > lanesMost {
		t.Errorf("%d bands with %d requests in %d lanes, want %d with all %d in at most %d", len(groups), n, lanes, groupsMost, len(all), lanesMost)
	}
	if last := groups[len(groups)-1]; last.name != "23 more quotas" || !last.mixed {
		t.Errorf("the last band is %q", last.name)
	}
}

func TestUnion(t *testing.T) {
	w := func(from, to float64) wait { return wait{moment(from), moment(to), 1} }
	got := union([]wait{w(0, 2), w(1, 4), w(1.5, 3), w(4, 5), w(6, 7), w(7.1, 8)}, 200*time.Millisecond)
	want := []wait{{moment(0), moment(5), 1}, {moment(6), moment(8), 2}}
	if !slices.Equal(got, want) {
		t.Errorf("union = %v, want %v", got, want)
	}
}

// Labels of one row do not overlap, neither on paper nor, where they are shown, on a phone.
func TestPlace(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 3))
		labels := make([]label, random.IntN(12))
		for i := range labels {
			x := percent(random.Float64() * 100)
			labels[i] = label{From: x, To: min(x+percent(random.IntN(10)), 100), Text: "client 12 killed"[:1+random.IntN(16)]}
		}
		slices.SortFunc(labels, func(a, b label) int { return int(math.Copysign(1, float64(a.From-b.From))) })
		rows := place(labels, 3)
		for i, l := range labels {
			if l.Text == "" {
				continue
			}
			if l.Row >= rows {
				t.Fatalf("seed %d: row %d of %d", seed, l.Row, rows)
			}
			for _, other := range labels[:i] {
				if other.Text == "" || other.Row != l.Row {
					continue
				}
				if overlap(l, other, letterWide) || !l.Wide && !other.Wide && overlap(l, other, letterNarrow) {
					t.Fatalf("seed %d: %+v and %+v overlap", seed, other, l)
				}
			}
		}
	}
}

func overlap(a, b label, letter percent) bool {
	ends := func(l label) (percent, percent) {
		long := percent(len(l.Text)) * letter
		if l.Anchor == "end" {
			return l.X - long, l.X
		}
		return l.X, l.X + long
	}
	a0, a1 := ends(a)
	b0, b1 := ends(b)
	return a0 < b1-1e-9 && b0 < a1-1e-9
}
