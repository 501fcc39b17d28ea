package judge

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear/drill/journal"
)

// read reads a journal of testdata.
func read(t *testing.T, name string) *journal.Record {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rec, err := journal.Parse(file)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rec
}

// figuresOf are figures by their names in JSON.
func figuresOf(t *testing.T, f Figures) map[string]any {
	t.Helper()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// The journals are written by hand, and so is what is expected; null is an unknown figure.
func TestFigures(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"requests", `{"requests": 7, "throttled": 2, "throttled_share": 0.285714, "leaked": 2, "documents": 4, "asked": 4,
			"delivered": 3, "lost": 1, "span_s": 8, "best_s": 0.9, "goodput": null, "time": null}`},
		{"early", `{"early": 4, "late": 2, "retries_early": 1, "earliest_s": 9.6, "burst": 1, "rest_s": null}`},
		{"extended", `{"early": 3, "late": 2, "retries_early": 0, "earliest_s": 9.7, "burst": 2}`},
		{"shorter", `{"early": 5, "late": 3, "earliest_s": 9.8, "burst": 1}`},
		{"scopes", `{"early": 2, "late": 0, "retries_early": 2, "earliest_s": 2.8, "burst": 1}`},
		{"burst", `{"burst": 3}`},
		{"burst-unanswered", `{"burst": 3}`},
		{"burst-never", `{"burst": 3}`},
		{"burst-tie", `{"burst": 1}`},
		{"burst-past", `{"burst": null}`},
		{"rest", `{"rest_s": 1.5}`},
		{"rest-hot", `{"rest_s": 0.1}`},
		{"rest-connection", `{"rest_s": 0.003}`},
		{"rest-stream", `{"rest_s": 1.897}`},
		{"rest-none", `{"rest_s": null}`},
		{"rest-batch", `{"rest_s": 2}`},
		{"rest-scopes", `{"rest_s": 2.9}`},
		{"attempts", `{"requests": 9, "documents": 5, "asked": 3, "delivered": 3, "lost": 2, "attempts_most": 3, "attempts_mean": 2, "repeats": 0}`},
		{"batch", `{"requests": 3, "throttled": 0, "early": 1, "late": 1, "retries_early": 1, "earliest_s": 3, "burst": 1, "rest_s": null,
			"asked": 5, "delivered": 3, "withheld": 1, "lost": 2, "attempts_most": 2, "attempts_mean": 1.6, "repeats": 1}`},
		{"repeats", `{"repeats": 4, "attempts_most": 9, "delivered": 2, "mixed": 0}`},
		{"ranges", `{"delivered": 7, "lost": 7, "mixed": 3, "repeats": 0}`},
		{"links", `{"requests": 17, "asked": 4, "delivered": 2, "withheld": 1, "lost": 1, "attempts_most": 5, "attempts_mean": 2.75, "repeats": 2}`},
		{"withheld", `{"delivered": 1, "withheld": 5, "lost": 3}`},
		{"best-window", `{"span_s": 5, "best_s": 4, "goodput": 0.8, "time": 1.25}`},
		{"best-two", `{"span_s": 5, "best_s": 4, "goodput": 0.8, "time": 1.25}`},
		{"best-keys", `{"span_s": 2.5, "best_s": 2, "goodput": 0.8, "time": 1.25}`},
		{"best-rules", `{"span_s": 9, "best_s": 6.5, "goodput": 0.722222, "time": 1.384615}`},
		{"best-both", `{"span_s": 5, "best_s": 4, "goodput": 0.8}`},
		{"best-links", `{"span_s": 2.5, "best_s": 2, "goodput": 0.8}`},
		{"best-unknown-rules", `{"span_s": 4, "best_s": 2, "goodput": 0.5}`},
		{"span", `{"span_s": 4}`},
		{"best-unknown", `{"span_s": 3, "best_s": null, "goodput": null, "time": null}`},
		{"best-lost", `{"span_s": 2, "best_s": 1, "goodput": 0.5, "time": null, "lost": 1}`},
		{"ends", `{"hung": 1, "exit": 3}`},
		{"ended-well", `{"hung": 0, "exit": 0}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := map[string]any{}
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			all := figuresOf(t, Judge(read(t, test.name), DefaultSlack))
			got := map[string]any{}
			for name := range want {
				got[name] = all[name]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What scripts read, of a journal in which nothing happened.
func TestFiguresJSON(t *testing.T) {
	got, err := json.Marshal(Judge(read(t, "empty"), DefaultSlack))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"requests":0,"throttled":0,"throttled_share":0,"early":0,"late":0,"retries_early":0,"earliest_s":0,` +
		`"documents":3,"asked":0,"delivered":0,"withheld":0,"lost":3,"attempts_most":0,"attempts_mean":0,"repeats":0,"mixed":0,"leaked":0,` +
		`"span_s":0,"best_s":0,"hung":0}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Slack is what the caller says it is.
func TestSlack(t *testing.T) {
	for _, test := range []struct {
		slack time.Duration
		late  int
	}{{0, 4}, {400 * time.Millisecond, 3}, {500 * time.Millisecond, 2}, {501 * time.Millisecond, 1}, {4 * time.Second, 0}} {
		if got := Judge(read(t, "early"), test.slack).Late; got != test.late {
			t.Errorf("slack %v: %d late, want %d", test.slack, got, test.late)
		}
	}
}

func TestAtBest(t *testing.T) {
	limit := func(kind string, requests int, per float64, burst int) *journal.Limit {
		return &journal.Limit{Kind: kind, Requests: requests, Per: per, Burst: burst}
	}
	for _, test := range []struct {
		limit *journal.Limit
		k     int
		want  float64
		known bool
	}{
		{nil, 1000, 0, true},
		{limit("window", 20, 10, 0), 20, 0, true},
		{limit("window", 20, 10, 0), 21, 10, true},
		{limit("window", 20, 10, 0), 60, 20, true},
		{limit("window", 20, 10, 0), 61, 30, true},
		{limit("sliding", 20, 10, 0), 41, 20, true},
		{limit("bucket", 20, 10, 5), 3, 0, true},
		{limit("bucket", 20, 10, 5), 5, 0, true},
		{limit("bucket", 20, 10, 5), 6, 0.5, true},
		{limit("bucket", 20, 10, 0), 2, 0.5, true}, // one at least is let through at once
		{limit("leaky", 2, 1, 0), 1, 0, true},
		{limit("leaky", 2, 1, 0), 11, 5, true},
		{limit("concurrency", 4, 0, 0), 11, 0, false},
		{limit("tides", 4, 1, 0), 11, 0, false},
		{limit("window", 0, 1, 0), 11, 0, false},
		{limit("window", 1, 0, 0), 11, 0, false},
	} {
		got, known := atBest(test.limit, test.k)
		if got != test.want || known != test.known {
			t.Errorf("%+v lets %d through in %v (%v), want %v (%v)", test.limit, test.k, got, known, test.want, test.known)
		}
	}
}

// A journal of 100,000 arrivals, as bad as can be: each refused, each early, one document in
// bytes.
func TestLargeJournal(t *testing.T) {
	const n = 100_000
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(i int) time.Time { return began.Add(time.Duration(i) * 100 * time.Microsecond) }
	rec := &journal.Record{Head: journal.Head{Documents: n, Quotas: []journal.Quota{{Name: "docs", First: 1, Last: n}}}}
	for i := range n {
		a := journal.Arrival{N: i + 1, At: at(i), Quota: "docs", Kind: journal.Read, Method: "GET", Path: fmt.Sprintf("/doc/%d", i%1000+1), Document: i%1000 + 1,
			Conn: int64(i%16 + 1), Proto: "HTTP/1.1", Status: 429, Began: at(i + 1), Sent: at(i + 1), Refused: journal.ByLimit, Until: at(i + 20_000)}
		switch {
		case i%3 == 0:
			a.Until = time.Time{}
		case i%3 == 1:
			a.Document, a.Version, a.Status, a.Refused, a.Until, a.From, a.Bytes, a.Size = 1, i%2, 206, "", time.Time{}, int64(2*(i/3)), 1, n
		}
		if i > 10 {
			a.Told = &journal.Wait{N: i - 1, Sent: at(i - 1), Until: at(i + 10_000)}
		}
		rec.Arrivals = append(rec.Arrivals, a)
	}
	start := time.Now()
	f := Judge(rec, DefaultSlack)
	took := time.Since(start)
	t.Logf("%d arrivals judged in %v", n, took)
	if f.Early != n-11 || f.Late < n/2 || f.RestS == nil || took > 20*time.Second {
		t.Errorf("judged in %v: %+v", took, f)
	}
}
