package plan

import (
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
)

// service is a profile with one scope for each list of limits; each limit is written as in a
// profile's file. Further lines are added as they are.
func service(t testing.TB, limits []string, more ...string) *profile.Profile {
	t.Helper()
	var b strings.Builder
	b.WriteString("name: demo\ntitle: Demo\nbase: {url: \"https://demo.example.com\", source: \"https://example.com/a\", known: documented}\nunknown: [Whether refused requests count]\nscopes:\n")
	for i, l := range limits {
		fmt.Fprintf(&b, "  - name: s%d\n    class: s%d\n    key: [host]\n    source: https://example.com/s%d\n    known: documented\n", i, i, i)
		if l != "" {
			b.WriteString("    limits:\n")
			for one := range strings.SplitSeq(l, ";") {
				fact := ", source: \"https://example.com/limits\""
				if !strings.Contains(one, "known:") {
					fact += ", known: documented"
				}
				fmt.Fprintf(&b, "      - {%s%s}\n", strings.TrimSpace(one), fact)
			}
		}
	}
	b.WriteString(strings.Join(more, "\n"))
	p, err := profile.Parse("demo.yaml", []byte(b.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return p
}

const (
	costsTwo  = "costs: [{units: 2, source: \"https://example.com/c\", known: documented}]"
	costsHalf = "costs: [{units: 0.5, source: \"https://example.com/c\", known: documented}]"
	batchEach = "batch: {form: graph, method: POST, path: /batch, most: 20, charged: each, source: \"https://example.com/b\", known: documented}\ncosts: [{match: {paths: [/batch]}, units: 0, source: \"https://example.com/c\", known: documented}, {units: 1, source: \"https://example.com/c\", known: documented}]"
	batchOnce = "batch: {form: graph, method: POST, path: /batch, most: 20, charged: once, source: \"https://example.com/b\", known: documented}"
)

// ask is a question about so many documents of a service.
func ask(p *profile.Profile, documents int64) Ask {
	u := &url.URL{Scheme: "https", Host: "demo.example.com", Path: "/"}
	return Ask{Profile: p, Loads: []Load{LoadOf(p, u, nil, documents)}, Placed: true, Batch: -1}
}

func made(t testing.TB, a Ask) *Plan {
	t.Helper()
	p, err := New(a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each kind of limit, with answers that were worked out by hand.
func TestLimits(t *testing.T) {
	const size = 1_000_000
	for _, tt := range []struct {
		name      string
		limits    string
		more      string
		documents int64
		change    func(*Ask)
		shortest  time.Duration
		done      int64 // by two hours
		verdict   Verdict
	}{
		{"one window is enough", "requests: 100, per: 1m", "", 100, nil, 0, 100, Fits},
		{"the next window for one more", "requests: 100, per: 1m", "", 101, nil, time.Minute, 101, Fits},
		{"windows that are full", "requests: 100, per: 1m", "", 1000, nil, 9 * time.Minute, 1000, Fits},
		// Windows begin at 0, 1, … 119 minutes; at 120 nothing leaves any more.
		{"more than two hours", "requests: 100, per: 1m", "", 12_001, nil, 2 * time.Hour, 12_000, TooMuch},
		{"exactly what is possible", "requests: 100, per: 1m", "", 12_000, nil, 119 * time.Minute, 12_000, Fits},
		// 5 units hold 2 documents of 2 units; the fifth unit is of no use.
		{"units that do not come out even", "units: 5, per: 1m", costsTwo, 7, nil, 3 * time.Minute, 7, Fits},
		{"half units", "units: 5, per: 1m", costsHalf, 21, nil, 2 * time.Minute, 21, Fits},
		{"units of one's own", "units: 5, per: 1m", costsTwo, 7, func(a *Ask) { a.Cost = big.NewRat(5, 2) }, 3 * time.Minute, 7, Fits},
		{"a document that is too dear", "units: 5, per: 1m", costsTwo, 1, func(a *Ask) { a.Cost = big.NewRat(51, 10) }, 0, 0, TooMuch},
		{"a day's quota", "requests: 1000, per: 24h", "", 2500, nil, 48 * time.Hour, 1000, TooMuch},
		// 60 in the first minute at 6 a second: the last of them in the tenth second; so again in
		// the second minute.
		{"two windows at once", "requests: 6, per: 1s; requests: 60, per: 1m", "", 120, nil, 69 * time.Second, 120, Fits},
		{"three windows at once", "requests: 6, per: 1s; requests: 60, per: 1m; requests: 100, per: 1h", "", 161, nil, time.Hour + time.Minute, 161, Fits},
		// 10 at once, then one in 0.6 s.
		{"a burst", "requests: 100, per: 1m, burst: 10", "", 60, nil, 30 * time.Second, 60, Fits},
		{"a burst alone", "requests: 100, per: 1m, burst: 10", "", 10, nil, 0, 10, Fits},
		// 10 at once and 5 a second as long as 100 in a minute allow it: 18 s for the 100th, and
		// the next ones a minute after the first ten.
		{"a burst and a window", "requests: 5, per: 1s, burst: 10; requests: 100, per: 1m", "", 110, nil, time.Minute, 110, Fits},
		{"a burst in the second window", "requests: 5, per: 1s, burst: 10; requests: 100, per: 1m", "", 111, nil, time.Minute + 200*time.Millisecond, 111, Fits},
		// 1 GB holds 1000 documents of 1 MB.
		{"bytes", "bytes: 1 GB, per: 1h", "", 3000, func(a *Ask) { a.Size = size }, 2 * time.Hour, 2000, TooMuch},
		{"bytes of known sizes", "bytes: 1 GB, per: 1h", "", 3000, func(a *Ask) { a.Loads[0].Sized, a.Loads[0].Bytes = 3000, 2_000_000_000 }, time.Hour, 3000, Fits},
		{"some sizes are known", "bytes: 1 GB, per: 1h", "", 3000, func(a *Ask) { a.Loads[0].Sized, a.Loads[0].Bytes, a.Size = 1000, 1_000_000_000, size/2 }, time.Hour, 3000, Fits},
		{"no sizes", "bytes: 1 GB, per: 1h", "", 3000, nil, 0, 0, Unsaid},
		{"two requests a document", "requests: 100, per: 1m", "", 125, func(a *Ask) { a.Requests = 2 }, 2 * time.Minute, 125, Fits},
		// 3 requests hold one document and a half.
		{"half documents", "requests: 3, per: 1m", "", 3, func(a *Ask) { a.Requests = 2 }, time.Minute, 3, Fits},
		// Of 10 at a time a round takes 300 ms: 11 rounds, the last answer after the eleventh.
		{"concurrency", "concurrent: 10", "", 101, func(a *Ask) { a.Latency, a.Concurrency = 300*time.Millisecond, 16 }, 3300 * time.Millisecond, 101, Fits},
		{"concurrency without a time", "concurrent: 10", "", 101, nil, 0, 0, Unsaid},
		// dogear's own 16 at a time: 24 000 rounds of 300 ms are the two hours.
		{"dogear's own concurrency", "requests: 1000000, per: 1s", "", 384_000, func(a *Ask) { a.Latency = 300 * time.Millisecond }, 2 * time.Hour, 384_000, Fits},
		{"and one more", "requests: 1000000, per: 1s", "", 384_001, func(a *Ask) { a.Latency = 300 * time.Millisecond }, 2*time.Hour + 300*time.Millisecond, 384_000, TooMuch},
		{"nothing is written", "", "", 10, nil, 0, 0, Unsaid},
		{"an agreed rate", "", "", 36_001, func(a *Ask) { a.Rate = &Rate{ratInt(5), time.Second, 0} }, 2 * time.Hour, 36_000, TooMuch},
		{"an agreed rate in time", "", "", 36_000, func(a *Ask) { a.Rate = &Rate{ratInt(5), time.Second, 0} }, 2*time.Hour - 200*time.Millisecond, 36_000, Fits},
		{"an agreed burst", "", "", 36_005, func(a *Ask) { a.Rate = &Rate{ratInt(5), time.Second, 5} }, 2 * time.Hour, 36_004, TooMuch},
		// A third of a second is no whole number of nanoseconds: it is rounded up, once, at the end.
		{"thirds", "", "", 4, func(a *Ask) { a.Rate = &Rate{ratInt(3), time.Second, 0} }, time.Second, 4, Fits},
		{"a rate that others report", "requests: 100, per: 1m, known: reported", "", 101, nil, time.Minute, 101, Unsaid},
		{"and that is too slow", "requests: 100, per: 1h, known: reported", "", 301, nil, 3 * time.Hour, 200, Unsaid},
		// 62 batches of 20 are 1240 of the 1250 units.
		{"batches", "units: 1250, per: 1m", batchEach, 120_000, func(a *Ask) { a.Batch = 0 }, 96 * time.Minute, 120_000, Fits},
		{"one by one", "units: 1250, per: 1m", batchEach, 120_000, nil, 95 * time.Minute, 120_000, Fits},
		// The 63rd batch has 10 documents, which the window still holds.
		{"a small last batch", "units: 1250, per: 1m", batchEach, 1250, func(a *Ask) { a.Batch = 0 }, 0, 1250, Fits},
		{"and one document more", "units: 1250, per: 1m", batchEach, 1251, func(a *Ask) { a.Batch = 0 }, time.Minute, 1251, Fits},
		{"batches that count as one", "requests: 100, per: 1m", batchOnce, 2001, func(a *Ask) { a.Batch = 0 }, time.Minute, 2001, Fits},
		{"a batch over the window", "units: 15, per: 1m", batchEach, 100, func(a *Ask) { a.Batch = 16 }, 0, 0, TooMuch},
		{"as many as fit", "units: 15, per: 1m", batchEach, 100, func(a *Ask) { a.Batch = 0 }, 6 * time.Minute, 100, Fits},
		{"batches and one request each", "requests: 100, per: 1m", batchOnce, 400, func(a *Ask) { a.Batch, a.Requests = 0, 2 }, 4 * time.Minute, 400, Fits},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limits := tt.limits
			if tt.more == batchEach { // costs belong to a profile with units
				limits = strings.ReplaceAll(limits, "requests", "units")
			}
			a := ask(service(t, []string{limits}, tt.more), tt.documents)
			if tt.change != nil {
				tt.change(&a)
			}
			a.Deadline = Within(2 * time.Hour)
			p := made(t, a)
			if p.Shortest != tt.shortest || p.Done != tt.done || p.Verdict != tt.verdict {
				t.Errorf("got %v, %d done, %v; want %v, %d, %v", p.Shortest, p.Done, p.Verdict, tt.shortest, tt.done, tt.verdict)
			}
		})
	}
}

// Of several limits each has its own time, and the longest is the binding one.
func TestBinding(t *testing.T) {
	a := ask(service(t, []string{"requests: 100, per: 1m; requests: 5000, per: 1h", "requests: 20, per: 1s"}), 6000)
	a.Deadline = Within(3 * time.Hour)
	p := made(t, a)
	var got []string
	for _, b := range p.Bounds {
		got = append(got, fmt.Sprintf("%s %v %v %v", b.Quota.Name(), b.Limit, b.Shortest, b.Binding))
	}
	want := "s0 100 requests in 1m 59m0s false, s0 5000 requests in 1h 1h0m0s true, s1 20 requests in 1s 4m59s false"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	// The first 5000 by minutes, 100 at a time, then the others an hour after them.
	// Of the others the last 100 leave 20 a second.
	if want := time.Hour + 9*time.Minute + 4*time.Second; p.Shortest != want {
		t.Errorf("all together take %v, want %v", p.Shortest, want)
	}
}

// Two hosts with quotas of their own under one that both share.
func TestTwoLoads(t *testing.T) {
	p := service(t, []string{"requests: 100, per: 1m"})
	shared := &profile.Scope{Name: "all", Fact: profile.Fact{Known: profile.Documented, Source: "https://example.com"},
		Limits: []profile.Limit{{Fact: profile.Fact{Known: profile.Documented}, Unit: profile.Requests, Amount: 120, Per: time.Minute}}}
	load := func(host string, n int64) Load {
		return Load{Profile: p, Documents: n, Members: []profile.Membership{{Key: "all", Scope: shared, Cost: 1}, {Key: "host=" + host, Scope: &p.Scopes[0], Cost: 1}}}
	}
	a := Ask{Profile: p, Placed: true, Listed: true, Loads: []Load{load("a", 300), load("b", 60)}, Deadline: Within(150 * time.Second)}
	got := made(t, a)
	// Alone a takes two minutes; all together 360 at 120 a minute take two as well.
	if got.Shortest != 2*time.Minute || got.Done != 360 || got.Verdict != Fits {
		t.Errorf("got %v, %d done, %v", got.Shortest, got.Done, got.Verdict)
	}
	// Within a minute each has its first 100, but together they have 120.
	a.Deadline = Within(time.Minute)
	if got := made(t, a); got.Done != 120 || got.Verdict != TooMuch {
		t.Errorf("within a minute: %d done, %v, want 120", got.Done, got.Verdict)
	}
}

// What is not known can still be said as a condition.
func TestUpTo(t *testing.T) {
	a := ask(service(t, []string{"bytes: 400 GB, per: 1h", "concurrent: 4"}), 120_000)
	a.Deadline = Within(2 * time.Hour)
	p := made(t, a)
	// Two windows of 60 000 documents: 400 GB / 60 000. 30 000 rounds in two hours.
	if got := p.Bounds[0].UpTo; got != 6_666_666 {
		t.Errorf("documents of up to %d bytes, want 6666666", got)
	}
	if got := time.Duration(p.Bounds[1].UpTo); got != 240*time.Millisecond {
		t.Errorf("answers of up to %v, want 240ms", got)
	}
	a.Size, a.Latency, a.Concurrency = 6_666_666, 240*time.Millisecond, 4
	if p := made(t, a); p.Verdict != Fits || p.Done != 120_000 {
		t.Errorf("with just that: %v, %d done, %v", p.Verdict, p.Done, p.Shortest)
	}
	a.Size = 6_700_000
	if p := made(t, a); p.Verdict != TooMuch {
		t.Errorf("with larger documents: %v", p.Verdict)
	}
	a.Size, a.Latency = 6_666_666, 241*time.Millisecond
	if p := made(t, a); p.Verdict != TooMuch {
		t.Errorf("with longer answers: %v", p.Verdict)
	}
}

// What the ledger has of a scope counts, unless a run put it there from the profile.
func TestLedger(t *testing.T) {
	a := ask(nil, 100)
	a.Profile, a.Loads[0].Profile = nil, nil
	a.Deadline = Within(time.Hour)
	if p := made(t, a); p.Verdict != Unsaid || len(p.Reasons) != 2 {
		t.Errorf("nothing is known: %v, %v", p.Verdict, p.Reasons)
	}
	scope := dogear.Scope{Key: "host:demo.example.com", Rate: 0.1, Confirmed: dogear.Confirmation{By: "anna", Source: "a ticket", At: time.Unix(1, 0)}}
	a.Scopes = map[string]dogear.Scope{scope.Key: scope}
	if p := made(t, a); p.Verdict != Fits || p.Shortest != 990*time.Second {
		t.Errorf("with an agreed rate: %v, %v", p.Verdict, p.Shortest)
	}
	scope.Confirmed.By = "profile demo"
	a.Scopes[scope.Key] = scope
	if p := made(t, a); len(p.Bounds) != 0 {
		t.Errorf("a run's pace is taken for a limit: %v", p.Bounds)
	}
}

// Absurd figures end in the longest time, not in a short one.
func TestSaturates(t *testing.T) {
	a := ask(service(t, []string{"requests: 1, per: 24h; bytes: 1 B, per: 1ms"}), 1<<63-1)
	a.Size, a.Latency, a.Deadline = 1, 1<<62, Within(1<<63-1)
	// An answer takes half of all time, and 16 are awaited together.
	if p := made(t, a); p.Shortest != 1<<63-1 || p.Done != 16 || p.Verdict != TooMuch {
		t.Errorf("got %v, %d done, %v", p.Shortest, p.Done, p.Verdict)
	}
	a.Requests = 1 << 62
	if p := made(t, a); p.Shortest != 1<<63-1 || p.Done != 0 || p.Sent != 1<<63-1 || p.Verdict != TooMuch {
		t.Errorf("with more requests a document than anybody can send: %v, %d done, %v", p.Shortest, p.Done, p.Verdict)
	}
}

// What contradicts itself is said.
func TestBadAsks(t *testing.T) {
	plans := service(t, []string{"requests: 1, per: 1s, plan: small; requests: 2, per: 1s, plan: large"})
	for want, a := range map[string]Ask{
		"there is no document":                 {},
		"no tier huge; there are small, large": func() Ask { a := ask(plans, 1); a.Tier = "huge"; return a }(),
		"no tier to choose":                    func() Ask { a := ask(service(t, []string{""}), 1); a.Tier = "x"; return a }(),
		"no batch call":                        func() Ask { a := ask(plans, 1); a.Batch = 3; return a }(),
		"at most 20 in one batch":              func() Ask { a := ask(service(t, []string{""}, batchOnce), 1); a.Batch = 21; return a }(),
		"carries no contents": func() Ask {
			a := ask(service(t, []string{""}, strings.Replace(batchOnce, "most", "no_media: true, most", 1)), 1)
			a.Batch = 2
			return a
		}(),
		"how long one takes": func() Ask { a := ask(plans, 1); a.Concurrency = 3; return a }(),
	} {
		if _, err := New(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// More documents never take less time; what is done by a deadline grows with it and with
// nothing else; and a deadline is kept exactly if everything is done by it.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var scopes []string
		for range rapid.IntRange(1, 3).Draw(rt, "scopes") {
			var limits []string
			for range rapid.IntRange(1, 2).Draw(rt, "limits") {
				unit := rapid.SampledFrom([]string{"requests", "units"}).Draw(rt, "unit")
				l := fmt.Sprintf("%s: %d, per: %ds", unit, rapid.IntRange(1, 300).Draw(rt, "amount"), rapid.IntRange(1, 4000).Draw(rt, "per"))
				if rapid.Bool().Draw(rt, "bucket") {
					l += fmt.Sprintf(", burst: %d", rapid.IntRange(1, 50).Draw(rt, "burst"))
				}
				limits = append(limits, l)
			}
			limits = append(limits, "units: 1000000, per: 1s", "bytes: 40 MB, per: 10m", "concurrent: 7")
			scopes = append(scopes, strings.Join(limits, ";"))
		}
		more := rapid.SampledFrom([]string{costsTwo, costsHalf, batchEach, costsTwo + "\n" + batchOnce}).Draw(rt, "more")
		p := service(t, scopes, more)
		n := rapid.Int64Range(1, 5000).Draw(rt, "documents")
		plan := func(documents int64, within time.Duration) *Plan {
			a := ask(p, documents)
			a.Batch, a.Requests, a.Size = rapid.Just(int64(0)).Draw(rt, "batch"), 1, 12_345
			a.Deadline = Within(within)
			return a.plan(rt)
		}
		within := time.Duration(rapid.Int64Range(1, 20_000).Draw(rt, "deadline")) * time.Second
		one, next := plan(n, within), plan(n+1, within)
		if !one.Never && !next.Never && next.Shortest < one.Shortest {
			rt.Errorf("%d documents take %v, one more %v", n, one.Shortest, next.Shortest)
		}
		if later := plan(n, within+time.Second); later.Done < one.Done {
			rt.Errorf("%d done by %v, %d a second later", one.Done, within, later.Done)
		}
		if one.Never {
			return
		}
		if all, kept := one.Done == n, one.kept(one.exact); all != kept {
			rt.Errorf("%d of %d done by %v, and all take %v", one.Done, n, within, one.Shortest)
		}
		if one.Done > 0 {
			if some := plan(one.Done, within); !some.Never && some.Done != one.Done {
				rt.Errorf("%d are done by %v, and of those %d", one.Done, within, some.Done)
			}
		}
	})
}

func (a Ask) plan(t *rapid.T) *Plan {
	p, err := New(a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
