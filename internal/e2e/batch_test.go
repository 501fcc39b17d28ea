package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

// batched writes a list of documents 1 to n under the address that batches take.
func (u *user) batched(name string, s *standin.Service, n int) {
	var all []string
	for i := 1; i <= n; i++ {
		all = append(all, s.URL(fmt.Sprintf("/v1.0/documents/%d/content", i)))
	}
	u.write(name, all...)
}

// R2, R3: a batch is judged item by item. Done items are not sent again, refused ones wait
// for the longest hint and go again together, and what arrived equals the ledger's requests.
func TestBatchItemByItem(t *testing.T) {
	t.Parallel()
	const docs = 60
	s := serve(t, standin.Config{First: 1, Last: docs, Digests: true, Rules: []standin.Rule{
		standin.Where(standin.Select{Documents: []standin.Range{{First: 3, Last: 3}}, Requests: []standin.Range{{First: 1, Last: 1}}}, standin.Throttle(429, standin.Seconds, time.Second)),
		standin.Where(standin.Select{Documents: []standin.Range{{First: 5, Last: 5}}, Requests: []standin.Range{{First: 1, Last: 1}}}, standin.Throttle(429, standin.Seconds, 3*time.Second)),
		standin.Where(standin.Select{Documents: []standin.Range{{First: 7, Last: 7}}}, standin.Gone),
		standin.Where(standin.Select{Documents: []standin.Range{{First: 9, Last: 9}}, Requests: []standin.Range{{First: 1, Last: 1}}}, standin.Status(500)),
	}})
	u := newUser(t)
	u.batched("l.txt", s, docs)
	u.must(65, "read", "l.txt", "-o", "out", "--profile", "msgraph", "--base-url", s.URL(""), "--concurrency", "1", "--progress", "none", "--backoff-base", "200ms")

	got := u.status("l")
	if got.Documents.Done != docs-1 || got.Documents.Gone != 1 {
		t.Errorf("%+v: want %d done and 1 gone", got.Documents, docs-1)
	}
	rows := u.requests("l")
	if n := sent(rows); n != s.Journal.Len() || got.Requests.Sent != n {
		t.Errorf("%d arrived, the ledger has %d requests, status says %d", s.Journal.Len(), n, got.Requests.Sent)
	}
	asked := map[int]int{}
	var refused time.Time
	batches := 0
	for _, a := range s.Journal.Arrivals(nil) {
		if a.Kind == journal.Batch {
			batches++
		} else {
			asked[a.Document]++
		}
		for _, it := range a.Items {
			asked[it.Document]++
			if it.Document == 5 && it.Refused != "" {
				refused = it.Until
			}
		}
		if a.Told != nil && a.At.Before(a.Told.Until) {
			t.Errorf("arrival %d came %v before the wait was over", a.N, a.Told.Until.Sub(a.At))
		}
	}
	if batches < docs/20 || refused.IsZero() {
		t.Errorf("%d batches, document 5 refused until %v: the test proves nothing", batches, refused)
	}
	for doc := 1; doc <= docs; doc++ {
		want := 1
		if slices.Contains([]int{3, 5, 9}, doc) {
			want = 2
		}
		if asked[doc] != want {
			t.Errorf("document %d was asked for %d times, want %d", doc, asked[doc], want)
		}
	}
	for _, r := range rows {
		if r.Kind == "item" && r.Parent == 0 {
			t.Errorf("item %d names no batch", r.N)
		}
	}
	u.must(0, "verify", "l", "--deep")
}

// R4: an item that is a redirect to a signed link is followed by itself, without the
// credential, while the link is good.
func TestBatchOfLinks(t *testing.T) {
	t.Parallel()
	const docs = 45
	links, tokens := standin.NewLinks(5*time.Second), standin.NewTokens(0)
	s := serve(t, standin.Config{First: 1, Last: docs, Digests: true, Links: links, Tokens: tokens})
	t.Cleanup(func() { _ = links.Service().Close() })
	u := newUser(t)
	u.vars = append(u.vars, "TOKEN="+tokens.Valid())
	u.batched("l.txt", s, docs)
	u.must(0, "read", "l.txt", "-o", "out", "--profile", "msgraph", "--base-url", s.URL(""), "--bearer-env", "TOKEN", "--progress", "none")
	batches := 0
	for _, a := range s.Journal.Arrivals(nil) {
		if a.Kind == journal.Batch {
			batches++
		}
		if len(a.Leaked) > 0 {
			t.Errorf("arrival %d brought %v to the link's origin", a.N, a.Leaked)
		}
	}
	if batches == 0 {
		t.Error("no batch arrived")
	}
	if n := u.status("l").Requests.Sent; n != s.Journal.Len() {
		t.Errorf("%d arrived, the ledger has %d", s.Journal.Len(), n)
	}
	u.must(0, "verify", "l", "--deep")
}

// A batch whose envelope is refused is made smaller; where batches are not taken at all the
// documents are read one by one.
func TestBatchRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		rule standin.Rule
		code int
	}{
		{"throttled", standin.On("/v1.0/$batch", standin.First(2, standin.Throttle(429, standin.Seconds, time.Second))), 0},
		{"not taken", standin.On("/v1.0/$batch", standin.Status(404)), 0},
		{"no JSON", standin.On("/v1.0/$batch", standin.First(1, standin.Page(200, "text/html", "<html>sorry</html>"))), 0},
		{"down for a moment", standin.On("/v1.0/$batch", standin.First(1, standin.Status(502))), 0},
		{"forbidden to all", standin.On("/v1.0/$batch", standin.Status(401)), 77},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, standin.Config{First: 1, Last: 40, Digests: true, Rules: []standin.Rule{tt.rule}})
			u := newUser(t)
			u.batched("l.txt", s, 40)
			u.must(tt.code, "read", "l.txt", "-o", "out", "--profile", "msgraph", "--base-url", s.URL(""), "--progress", "none", "--backoff-base", "200ms", "--concurrency", "2")
			if n := u.status("l").Requests.Sent; n != s.Journal.Len() {
				t.Errorf("%d arrived, the ledger has %d", s.Journal.Len(), n)
			}
			if tt.code == 0 {
				u.must(0, "verify", "l", "--deep")
			}
			if tt.name != "throttled" {
				return
			}
			var sizes []int
			for _, a := range s.Journal.Arrivals(func(a journal.Arrival) bool { return len(a.Items) > 0 }) {
				sizes = append(sizes, len(a.Items))
			}
			if len(sizes) == 0 || slices.Max(sizes) > 10 {
				t.Errorf("batches of %v after envelopes were refused, want 10 at most", sizes)
			}
		})
	}
}
