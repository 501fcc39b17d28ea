package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

// What services document of their refusals, through the binary: their throttles close the
// scope until the moment that they tell, and what looks alike and is none does not. Each row
// names the rule that it is of.
func TestServicesRefuse(t *testing.T) {
	t.Parallel()
	const two = 2 * time.Second
	none := &standin.Template{}
	field := func(name, value string) *standin.Template {
		return &standin.Template{Fields: map[string][]string{name: {value}}}
	}
	for _, tt := range []struct {
		rule    string
		profile string
		refusal standin.Refusal
		least   time.Duration // nothing may come for so long after the refusal
	}{
		{"Feishu: 400 with code 99991400, x-ogw-ratelimit-reset in seconds", "feishu",
			standin.Refusal{Status: 400, Hint: field("X-Ogw-Ratelimit-Reset", "2"), Body: `{"code":99991400,"msg":"request trigger frequency limit"}`, Type: "application/json"}, two},
		{"Feishu: 200 with the same code is no document", "feishu",
			standin.Refusal{Status: 200, Hint: field("X-Ogw-Ratelimit-Reset", "2"), Body: `{"code":99991400}`, Type: "application/json"}, two},
		{"Google Drive: 403 with userRateLimitExceeded, without a hint", "google-drive",
			standin.Refusal{Status: 403, Hint: none, Body: `{"error":{"errors":[{"reason":"userRateLimitExceeded"}],"code":403}}`, Type: "application/json"}, time.Second / 2},
		{"GitHub: 403 with a secondary limit in words", "github",
			standin.Refusal{Status: 403, Hint: field("Retry-After", "2"), Body: `{"message":"You have exceeded a secondary rate limit. Please wait."}`, Type: "application/json"}, two},
		{"Slack: 200 with ok:false, ratelimited and Retry-After", "slack",
			standin.Refusal{Status: 200, Hint: field("Retry-After", "2"), Body: `{"ok":false,"error":"ratelimited"}`, Type: "application/json"}, two},
		{"MediaWiki: 200 with maxlag and Retry-After", "mediawiki",
			standin.Refusal{Status: 200, Hint: field("Retry-After", "2"), Body: `{"error":{"code":"maxlag","info":"Waiting for a server"}}`, Type: "application/json"}, two},
		{"Notion: 529 with Retry-After", "notion",
			standin.Refusal{Status: 529, Hint: field("Retry-After", "2"), Body: `{"code":"service_overload"}`, Type: "application/json"}, two},
		{"Discourse: 429 with extras.wait_seconds", "discourse",
			standin.Refusal{Status: 429, Hint: none, Body: `{"error_type":"rate_limit","extras":{"wait_seconds":2}}`, Type: "application/json"}, two},
		{"Graph: a fraction is rounded up", "msgraph",
			standin.Refusal{Status: 429, Hint: field("Retry-After", "1.2"), Body: `{"error":{"code":"TooManyRequests"}}`, Type: "application/json"}, two},
		{"SharePoint: the greater of Retry-After and RateLimit-Reset", "sharepoint",
			standin.Refusal{Status: 429, Hint: &standin.Template{Fields: map[string][]string{"Retry-After": {"1"}, "RateLimit-Reset": {"2"}}}, Body: `{}`, Type: "application/json"}, two},
		{"S3: 503 with SlowDown, without a hint", "s3",
			standin.Refusal{Status: 503, Hint: none, Body: `<Error><Code>SlowDown</Code></Error>`, Type: "application/xml"}, time.Second / 2},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			s := serve(t, standin.Config{Digests: true, Rules: []standin.Rule{
				standin.Where(standin.Select{Arrivals: []standin.Range{{First: 4, Last: 4}}}, standin.Refuse(tt.refusal)),
			}})
			u := newUser(t)
			u.list("l.txt", s, 12)
			u.must(0, "read", "l.txt", "-o", "out", "--profile", tt.profile, "--base-url", s.URL(""), "--scope", "host", "--rate", "200/s", "--burst", "20",
				"--concurrency", "1", "--progress", "none", "--header", "User-Agent: dogear test@example.com")
			got := u.status("l")
			if got.Requests.Throttled != 1 || got.Documents.Done != 12 {
				t.Errorf("%+v %+v: want 12 done and 1 throttled", got.Documents, got.Requests)
			}
			var refused *journal.Arrival
			for _, a := range s.Journal.Arrivals(nil) {
				if refused != nil && a.At.Sub(refused.Sent) < tt.least {
					t.Errorf("arrival %d came %v after the refusal, want %v at least", a.N, a.At.Sub(refused.Sent), tt.least)
				}
				if a.N == 4 {
					refused = &a
				}
			}
			if refused == nil || refused.Refused == "" {
				t.Fatal("nothing was refused: the test proves nothing")
			}
			u.must(0, "verify", "l", "--deep")
		})
	}
}

// The same answers without the reason are about one document, and close nothing.
func TestServicesDeny(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, profile, body string
		status              int
		state               string
	}{
		{"Google Drive: a 403 without a rate reason is about permission", "google-drive", `{"error":{"errors":[{"reason":"insufficientFilePermissions"}]}}`, 403, "denied"},
		{"GitHub: another 403", "github", `{"message":"Resource not accessible"}`, 403, "denied"},
		{"no profile: 403 never is a throttle", "", `{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}`, 403, "denied"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			s := serve(t, standin.Config{Rules: []standin.Rule{standin.On("/doc/3", standin.Page(tt.status, "application/json", tt.body))}})
			u := newUser(t)
			u.list("l.txt", s, 6)
			args := []string{"read", "l.txt", "-o", "out", "--scope", "host", "--progress", "none"}
			if tt.profile != "" {
				args = append(args, "--profile", tt.profile, "--base-url", s.URL(""))
			}
			u.must(65, args...)
			if got := u.status("l"); got.Requests.Throttled != 0 || got.Documents.Done != 5 || got.Documents.Denied != 1 {
				t.Errorf("%+v %+v: want 5 done, 1 denied, none throttled", got.Documents, got.Requests)
			}
			for _, d := range u.remaining("l") {
				if d.State != tt.state {
					t.Errorf("%+v: want %s", d, tt.state)
				}
			}
		})
	}
}

// A quota that stays used up ends the run with its place kept, and a later run goes on.
func TestServicesDailyCap(t *testing.T) {
	t.Parallel()
	s := serve(t, standin.Config{})
	s.SetRules(func(x *standin.Exchange) bool {
		return x.Arrival > 2 && standin.Refuse(standin.Refusal{Status: 403, Hint: &standin.Template{}, Type: "application/json",
			Body: `{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}`})(x)
	})
	u := newUser(t)
	u.list("l.txt", s, 6)
	u.must(75, "read", "l.txt", "-o", "out", "--scope", "host", "--profile", "google-drive", "--base-url", s.URL(""), "--progress", "none",
		"--concurrency", "1", "--max-throttles", "2", "--backoff-base", "100ms", "--backoff-max", "200ms").says(t, "throttles_exhausted")
	s.SetRules()
	u.must(0, "resume", "l", "--progress", "none")
}

// Metadata of Google Drive goes through its batch, contents do not; the one layer that
// retries judges item by item.
func TestGoogleBatch(t *testing.T) {
	t.Parallel()
	const docs = 30
	s := serve(t, standin.Config{First: 1, Last: docs, Google: true, Rules: []standin.Rule{
		standin.On("/drive/v3/files/7", standin.Once(0, standin.Refuse(standin.Refusal{Status: 403, Hint: &standin.Template{},
			Type: "application/json", Body: `{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}`}))),
	}})
	u := newUser(t)
	var all []string
	for n := 1; n <= docs; n++ {
		all = append(all, s.URL(fmt.Sprintf("/drive/v3/files/%d?fields=id,version,headRevisionId,modifiedTime", n)))
	}
	for n := 1; n <= 3; n++ {
		all = append(all, s.URL(fmt.Sprintf("/drive/v3/files/%d?alt=media", n)))
	}
	u.write("l.txt", all...)
	u.must(0, "read", "l.txt", "-o", "out", "--profile", "google-drive", "--base-url", s.URL(""), "--scope", "host", "--concurrency", "1", "--progress", "none", "--backoff-base", "1s")
	var told time.Time
	refusing := 0
	for _, a := range s.Journal.Arrivals(nil) {
		if since := a.At.Sub(told); !told.IsZero() && since < time.Second/2 {
			t.Errorf("arrival %d came %v after a batch with a refused item", a.N, since)
		}
		if told = (time.Time{}); slices.ContainsFunc(a.Items, func(i journal.Item) bool { return i.Status == 403 }) {
			told = a.Sent
			refusing++
		}
	}
	if refusing != 1 {
		t.Errorf("%d batches with a refused item, want 1", refusing)
	}
	batches, items, again, media := 0, 0, 0, 0
	for _, a := range s.Journal.Arrivals(nil) {
		switch {
		case a.Kind == journal.Batch:
			batches++
			items += len(a.Items)
		case a.Kind == journal.Read:
			media++
		case a.Path == "/drive/v3/files/7": // what was refused goes again, and is alone by now
			again++
		}
	}
	if batches == 0 || items != docs || again != 1 || media != 3 || len(s.Journal.Arrivals(nil)) != batches+again+media {
		t.Errorf("%d batches with %d items, %d again, %d contents; want %d items, one of them again, and 3 contents alone", batches, items, again, media, docs)
	}
	if n := u.status("l").Requests.Sent; n != s.Journal.Len() {
		t.Errorf("%d arrived, the ledger has %d", s.Journal.Len(), n)
	}
	for _, d := range u.results("l") {
		if !strings.Contains(d.ID, "alt=media") && !strings.Contains(d.ContentType, "json") {
			t.Errorf("%s is %s, want JSON", d.ID, d.ContentType)
		}
	}
}
