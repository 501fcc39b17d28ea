package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dogear/dogear/drill/journal"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// tick is a moment of few, so that many things happen at the same one; some are unknown.
func tick(t *rapid.T, from int, unknown bool, what string) time.Time {
	n := rapid.IntRange(from, 40).Draw(t, what)
	if unknown && n%8 == 7 {
		return time.Time{}
	}
	return began.Add(time.Duration(n) * 100 * time.Millisecond)
}

const size = 6 // of every document: the oracle keeps bytes apart

func anArrival(t *rapid.T, n int) journal.Arrival {
	pick := func(what string, values ...string) string { return rapid.SampledFrom(values).Draw(t, what) }
	from := rapid.IntRange(0, 40).Draw(t, "at")
	a := journal.Arrival{
		N: n, At: began.Add(time.Duration(from) * 100 * time.Millisecond), Quota: pick("quota", "a", "b"), Key: pick("key", "", "x"),
		Kind:   pick("kind", journal.Read, journal.Read, journal.Read, journal.Hop, journal.Link, journal.Batch, journal.List),
		Method: pick("method", "GET", "GET", "GET", "HEAD"), Path: "/", Document: rapid.IntRange(0, 4).Draw(t, "document"),
		Version: rapid.IntRange(0, 1).Draw(t, "version"), Conn: int64(rapid.IntRange(0, 3).Draw(t, "conn")), Proto: pick("proto", "HTTP/1.1", "HTTP/2.0"),
		Status: rapid.SampledFrom([]int{0, 200, 206, 206, 302, 304, 403, 429}).Draw(t, "status"),
		Began:  tick(t, from, true, "began"), Sent: tick(t, from, true, "sent"), Ended: tick(t, from, true, "ended"),
		End: pick("end", "", journal.Sent, journal.Cut, journal.Gone), From: int64(rapid.IntRange(-1, size).Draw(t, "from")),
		Bytes: int64(rapid.IntRange(-1, size+1).Draw(t, "bytes")), Size: size, Fault: pick("fault", "", "", "login", "delay,login", "cut"),
		Refused: pick("refused", "", "", journal.ByLimit, journal.ByRule),
	}
	if a.Refused != "" || rapid.Bool().Draw(t, "hints") {
		a.Until = tick(t, from, true, "until")
	}
	if a.Kind == journal.Batch {
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			a.Items = append(a.Items, journal.Item{Document: rapid.IntRange(0, 4).Draw(t, "item"), Status: 200, Whole: rapid.Bool().Draw(t, "whole"),
				Refused: pick("refused item", "", journal.ByLimit), Until: tick(t, 0, true, "item until")})
		}
	} else {
		a.Whole = a.Status == 200 && a.From == 0 && a.Bytes == size && a.Fault == "" && a.Document > 0
	}
	return a
}

func aRecord(t *rapid.T) *journal.Record {
	limit := &journal.Limit{Kind: rapid.SampledFrom([]string{"window", "bucket", "leaky", "concurrency"}).Draw(t, "limit"),
		Requests: rapid.IntRange(0, 2).Draw(t, "requests"), Per: float64(rapid.IntRange(0, 2).Draw(t, "per"))}
	rec := &journal.Record{Head: journal.Head{Drill: 1, Documents: rapid.IntRange(0, 4).Draw(t, "documents"),
		Quotas: []journal.Quota{{Name: "a", First: 1, Last: 2, Limit: limit}, {Name: "b", First: 3, Last: 4}}}}
	for n := range rapid.IntRange(0, 25).Draw(t, "arrivals") {
		rec.Arrivals = append(rec.Arrivals, anArrival(t, n+1))
	}
	for i := range rec.Arrivals { // as a journal tells them: the latest that had been sent
		a := &rec.Arrivals[i]
		for _, w := range slowTold(rec, scopeOf(a)) {
			if w.Sent.Before(a.At) && (a.Told == nil || w.Until.After(a.Told.Until)) {
				a.Told = &w
			}
		}
	}
	return rec
}

// Whatever the journal: figures fit each other, and are those that a judge without any care
// for time finds.
func TestFiguresProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := aRecord(t)
		slack := time.Duration(rapid.IntRange(0, 8).Draw(t, "slack")) * 100 * time.Millisecond
		f := Judge(rec, slack)
		if f.Early < f.Late || f.Late < 0 || f.Early < f.RetriesEarly || f.Requests < f.Early || f.Requests < f.Throttled {
			t.Errorf("requests %d, throttled %d, early %d, late %d, retries_early %d", f.Requests, f.Throttled, f.Early, f.Late, f.RetriesEarly)
		}
		if f.ThrottledShare < 0 || f.ThrottledShare > 1 || f.Burst != nil && *f.Burst < 1 || f.RestS != nil && *f.RestS < 0 || f.SpanS < 0 {
			t.Errorf("out of range: %+v", f)
		}
		if f.Delivered+f.Withheld+f.Lost != f.Documents || f.Lost < 0 || f.Mixed > f.Asked || f.Asked > f.Documents {
			t.Errorf("documents: %+v", f)
		}
		if _, err := json.Marshal(f); err != nil {
			t.Error(err)
		}
		if diff := gocmp.Diff(slow(rec, slack), measured{f.Early, f.Late, f.Burst, f.RestS, f.Delivered, f.Mixed, f.Repeats}); diff != "" {
			t.Errorf("-slow +got:\n%s", diff)
		}
		// The order of the lines says nothing, not even to those who ask why.
		mixed := &journal.Record{Head: rec.Head, Arrivals: slices.Clone(rec.Arrivals)}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(mixed.Arrivals), func(i, k int) {
			mixed.Arrivals[i], mixed.Arrivals[k] = mixed.Arrivals[k], mixed.Arrivals[i]
		})
		if got, want := look(mixed, slack), look(rec, slack); fmt.Sprint(figures(t, got.Figures), got.shown) != fmt.Sprint(figures(t, want.Figures), want.shown) {
			t.Errorf("in another order: %+v\n%+v", got, want)
		}
	})
}

func figures(t *rapid.T, f Figures) string {
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// measured are the figures that take some care to find fast.
type measured struct {
	Early, Late              int
	Burst                    *int
	RestS                    *float64
	Delivered, Mixed, Repeat int
}

func slow(rec *journal.Record, slack time.Duration) measured {
	var m measured
	sorted := slices.Clone(rec.Arrivals)
	slices.SortStableFunc(sorted, func(a, b journal.Arrival) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.N, b.N)) })
	for _, s := range []scope{{"a", ""}, {"a", "x"}, {"b", ""}, {"b", "x"}} {
		mine := slices.DeleteFunc(slices.Clone(sorted), func(a journal.Arrival) bool { return scopeOf(&a) != s })
		m.slowWaits(mine, slowTold(rec, s), slack)
		m.slowRest(mine, slack)
	}
	for n := 1; n <= rec.Head.Documents; n++ {
		m.slowDocument(sorted, n)
	}
	return m
}

func slowTold(rec *journal.Record, s scope) (waits []journal.Wait) {
	for _, a := range rec.Arrivals {
		end := a.Until
		for _, it := range a.Items {
			if it.Until.After(end) {
				end = it.Until
			}
		}
		if scopeOf(&a) == s && !a.Sent.IsZero() && end.After(a.Sent) {
			waits = append(waits, journal.Wait{N: a.N, Sent: a.Sent, Until: end})
		}
	}
	return waits
}

func (m *measured) slowWaits(arrivals []journal.Arrival, waits []journal.Wait, slack time.Duration) {
	in := func(at time.Time, after time.Duration) bool {
		return slices.ContainsFunc(waits, func(w journal.Wait) bool { return at.After(w.Sent.Add(after)) && at.Before(w.Until) })
	}
	for _, a := range arrivals {
		if in(a.At, 0) {
			m.Early++
		}
		if in(a.At, slack) {
			m.Late++
		}
	}
	for _, w := range waits {
		goesOn := slices.ContainsFunc(waits, func(o journal.Wait) bool { return !o.Sent.After(w.Until) && o.Until.After(w.Until) })
		first := slices.IndexFunc(arrivals, func(a journal.Arrival) bool { return !a.At.Before(w.Until) })
		if goesOn || first < 0 {
			continue
		}
		n := 1
		answered := cmp.Or(arrivals[first].Began, arrivals[first].Ended)
		for _, a := range arrivals[first+1:] {
			if answered.IsZero() || a.At.Before(answered) {
				n++
			}
		}
		if m.Burst == nil || n > *m.Burst {
			m.Burst = &n
		}
	}
}

func (m *measured) slowRest(arrivals []journal.Arrival, slack time.Duration) {
	rest := func(d time.Duration) {
		if s := decimals(d.Seconds()); m.RestS == nil || s < *m.RestS {
			m.RestS = &s
		}
	}
	for i, r := range arrivals {
		told, refused := !r.Until.IsZero(), r.Refused != ""
		for _, it := range r.Items {
			told, refused = told || !it.Until.IsZero(), refused || it.Refused != ""
		}
		if told || !refused || r.Sent.IsZero() {
			continue
		}
		longest, last := time.Duration(0), r.Sent
		for _, a := range arrivals {
			if !a.At.After(r.Sent) {
				continue
			}
			longest, last = max(longest, a.At.Sub(last)), a.At
			if a.At.After(r.Sent.Add(slack)) {
				rest(longest)
				break
			}
		}
		next := slices.IndexFunc(arrivals[i+1:], func(a journal.Arrival) bool { return a.Conn == r.Conn && a.Proto == "HTTP/1.1" })
		if r.Conn > 0 && r.Proto == "HTTP/1.1" && next >= 0 {
			rest(max(0, arrivals[i+1+next].At.Sub(r.Sent)))
		}
	}
}

// slowDocument keeps one document's bytes, each by itself, and asks anew at each arrival.
func (m *measured) slowDocument(arrivals []journal.Arrival, n int) {
	// have are the bytes of a version that had been sent before a moment, and whether they
	// or a whole answer made a document of them.
	have := func(version int, before time.Time) (bytes [size]bool, whole bool) {
		ordered := slices.Clone(arrivals)
		slices.SortStableFunc(ordered, func(a, b journal.Arrival) int { return answeredAt(&a).Compare(answeredAt(&b)) })
		for _, a := range ordered {
			if !answeredAt(&a).Before(before) {
				continue
			}
			for _, it := range tries(&a) {
				if it.Document != n || it.Version != version {
					continue
				}
				if a.Kind != journal.Batch && (a.Status == 200 || a.Status == 206) && !strings.HasSuffix(a.Fault, "login") && a.From >= 0 {
					for i := a.From; i < min(size, a.From+a.Bytes); i++ {
						bytes[i] = true
					}
				}
				ended := a.Kind != journal.Batch && (a.End == journal.Cut || !a.Sent.IsZero())
				whole = whole || it.Whole || ended && !slices.Contains(bytes[:], false)
			}
		}
		return bytes, whole
	}
	never := began.Add(time.Hour)
	both := [2][size]bool{}
	delivered := false
	for v := range both {
		bytes, whole := have(v, never)
		both[v], delivered = bytes, delivered || whole
	}
	if delivered {
		m.Delivered++
	}
	mixed, links := false, 0
	for _, a := range arrivals {
		for _, it := range tries(&a) {
			if it.Document != n {
				continue
			}
			part := a.Kind != journal.Batch && (a.Status == 200 || a.Status == 206) && !strings.HasSuffix(a.Fault, "login") && a.Bytes > 0
			for i := int64(0); part && a.From < size && i < a.From; i++ {
				mixed = mixed || !both[a.Version][i] && both[1-a.Version][i]
			}
			switch {
			case a.Kind == journal.Hop && a.Status == 302:
				links++
			case a.Kind == journal.Link && links > 0:
				links--
				continue
			}
			if _, whole := have(it.Version, a.At); whole && it.Status != 304 {
				m.Repeat++
			}
		}
	}
	if mixed {
		m.Mixed++
	}
}
