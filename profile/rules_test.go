package profile

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/dogear/dogear"
)

var received = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)

// fields are header fields, name and value in turn.
func fields(list ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(list); i += 2 {
		h.Add(list[i], list[i+1])
	}
	return h
}

// What the services document of their answers: services.md, the lines marked [V].
func TestDocumentedAnswers(t *testing.T) {
	const s = time.Second
	for _, r := range []struct {
		rule    string
		profile string
		status  int
		header  http.Header
		body    string

		throttled bool
		closes    []string      // nil: all
		wait      time.Duration // of a valid hint; negative: there is none
		atLeast   time.Duration
		outcome   dogear.Outcome
		delay     time.Duration
	}{
		{"rule 1: the header name never tells the unit", "generic", 429, fields("X-RateLimit-Reset", "60"), "", true, nil, -1, 0, dogear.Throttled, 0},
		{"rule 4: SharePoint honours the greater of two hints", "sharepoint", 429, fields("Retry-After", "9", "RateLimit-Reset", "31"), "", true, nil, 31 * s, 0, dogear.Throttled, 0},
		{"rule 4: a profile of the drafts satisfies both as well", "ietf-draft03", 429, fields("Retry-After", "40", "RateLimit-Reset", "31"), "", true, nil, 40 * s, 0, dogear.Throttled, 0},
		{"rule 5: Box's 202 is about one file", "box", 202, fields("Retry-After", "10"), "", false, nil, -1, 0, dogear.Transient, 10 * s},
		{"rule 5: a 3xx is about one document", "github", 302, fields("Retry-After", "7"), "", false, nil, -1, 0, 0, 7 * s},
		{"rule 8: waits are rounded up", "msgraph", 429, fields("Retry-After", "0.9"), "", true, nil, s, 0, dogear.Throttled, 0},

		{"Graph 2: 429", "msgraph", 429, nil, `{"error":{"code":"TooManyRequests"}}`, true, nil, -1, 0, dogear.Throttled, 0},
		{"Graph 2: 503 is a throttle, with or without a hint", "msgraph", 503, nil, "", true, nil, -1, 0, dogear.Throttled, 0},
		{"Graph 3: a fraction, as in the vendor's sample", "msgraph", 429, fields("Retry-After", "2.128"), "", true, nil, 3 * s, 0, dogear.Throttled, 0},
		{"Graph 3: RateLimit speaks of the app's minute", "msgraph", 429, fields("Retry-After", "31", "RateLimit-Remaining", "0", "RateLimit-Reset", "31"), "", true, []string{"app+tenant"}, 31 * s, 0, dogear.Throttled, 0},
		{"Graph 3: RateLimit left out: another limit", "msgraph", 429, fields("Retry-After", "9"), "", true, nil, 9 * s, 0, dogear.Throttled, 0},

		{"Drive 2: over quota is a 403 with a reason", "google-drive", 403, nil, `{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}`, true, nil, -1, 0, dogear.Throttled, 0},
		{"Drive 2: rateLimitExceeded too", "google-drive", 403, nil, `{"error":{"errors":[{"reason":"rateLimitExceeded"}]}}`, true, nil, -1, 0, dogear.Throttled, 0},
		{"Drive 2: the back-end answers 429", "google-drive", 429, nil, "", true, nil, -1, 0, dogear.Throttled, 0},
		{"Drive 2: a 403 without a rate reason is none", "google-drive", 403, nil, `{"error":{"errors":[{"reason":"forbidden"}]}}`, false, nil, -1, 0, dogear.Refused, 0},

		{"Notion 2: 429 rate_limited", "notion", 429, fields("Retry-After", "17"), `{"code":"rate_limited"}`, true, nil, 17 * s, 0, dogear.Throttled, 0},
		{"Notion 2: 529 is handled the same way", "notion", 529, nil, `{"code":"service_overload"}`, true, nil, -1, 0, dogear.Throttled, 0},
		{"Notion 3: a workspace's wait is not capped at 60", "notion", 429, fields("Retry-After", "300"), "", true, nil, 300 * s, 0, dogear.Throttled, 0},

		{"Jira 2: a global quota closes the app", "atlassian-cloud", 429, fields("RateLimit-Reason", "jira-quota-global-based", "Retry-After", "5"), "", true, []string{"app"}, 5 * s, 0, dogear.Throttled, 0},
		{"Jira 2: a tenant's quota closes it there", "atlassian-cloud", 429, fields("RateLimit-Reason", "jira-quota-tenant-based", "Retry-After", "5"), "", true, []string{"app+tenant"}, 5 * s, 0, dogear.Throttled, 0},
		{"Jira 2: a burst closes one endpoint and method", "atlassian-cloud", 429, fields("RateLimit-Reason", "jira-burst-based", "Retry-After", "5"), "", true, []string{"burst"}, 5 * s, 0, dogear.Throttled, 0},
		{"Jira 3: no hint is possible", "atlassian-cloud", 429, nil, "", true, nil, -1, 0, dogear.Throttled, 0},
		{"Jira 3: the reset is ISO 8601", "atlassian-cloud", 429, fields("X-RateLimit-Reset", "2026-11-29T20:01:00Z"), "", true, nil, 60 * s, 0, dogear.Throttled, 0},
		{"Jira 3: structured RateLimit, r left out while it is much", "atlassian-cloud", 429, fields("RateLimit", `"global-app-quota";t=200,"jira-burst-based";r=0;t=2`), "", true, nil, 2 * s, 0, dogear.Throttled, 0},
		{"Jira 3: Beta- is informational", "atlassian-cloud", 429, fields("Beta-Retry-After", "50", "Beta-RateLimit", `"q";r=0;t=50`), "", true, nil, -1, 0, dogear.Throttled, 0},
		{"Jira 3: a 503 may carry Retry-After", "atlassian-cloud", 503, fields("Retry-After", "20"), "", true, nil, 20 * s, 0, dogear.Throttled, 0},

		{"Data Center: retry-after 0 on a 200 is no throttle", "atlassian-dc", 200, fields("Retry-After", "0"), "", false, nil, -1, 0, 0, 0},
		{"Data Center: 0 on a 429 is the time for a token", "atlassian-dc", 429, fields("Retry-After", "0", "X-RateLimit-Interval-Seconds", "60", "X-RateLimit-FillRate", "8"), "", true, nil, 8 * s, 0, dogear.Throttled, 0},
		{"Data Center: the time for a token does not lengthen a hint", "atlassian-dc", 429, fields("Retry-After", "3", "X-RateLimit-Interval-Seconds", "60", "X-RateLimit-FillRate", "1"), "", true, nil, 3 * s, 0, dogear.Throttled, 0},
		{"Data Center: a fill rate of zero tells nothing", "atlassian-dc", 429, fields("X-RateLimit-Interval-Seconds", "60", "X-RateLimit-FillRate", "0"), "", true, nil, -1, 0, dogear.Throttled, 0},

		{"GitHub 2: primary, as 403", "github", 403, fields("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1795982430"), "", true, []string{"primary"}, 30 * s, 0, dogear.Throttled, 0},
		{"GitHub 2: primary, as 429", "github", 429, fields("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1795982430"), "", true, []string{"primary"}, 30 * s, 0, dogear.Throttled, 0},
		{"GitHub 2: secondary by its message", "github", 403, fields("X-RateLimit-Remaining", "10"), `{"message":"You have exceeded a secondary rate limit"}`, true, []string{"secondary"}, -1, 60 * s, dogear.Throttled, 0},
		{"GitHub 2: secondary by its documentation", "github", 429, nil, `{"documentation_url":"https://docs.github.com/x#about-secondary-rate-limits"}`, true, []string{"secondary"}, -1, 60 * s, dogear.Throttled, 0},
		{"GitHub 2: another 403 is about permission", "github", 403, fields("X-RateLimit-Remaining", "10"), `{"message":"Not Found"}`, false, nil, -1, 0, dogear.Refused, 0},
		{"GitHub 3: a reset counts only when nothing remains", "github", 429, fields("X-RateLimit-Remaining", "10", "X-RateLimit-Reset", "1795985000"), "", true, nil, -1, 60 * s, dogear.Throttled, 0},
		{"GitHub 3: Retry-After on a 403", "github", 403, fields("Retry-After", "60"), "", true, nil, 60 * s, 0, dogear.Throttled, 0},
		{"GitHub 3: blank Retry-After: at least a minute", "github", 403, fields("Retry-After", ""), `{"message":"secondary rate limit"}`, true, []string{"secondary"}, -1, 60 * s, dogear.Throttled, 0},

		{"GitLab 1: a 429 with quota apparently left", "gitlab", 429, fields("RateLimit-Remaining", "55", "RateLimit-Reset", "1795985000", "Retry-After", "9"), "", true, nil, 9 * s, 0, dogear.Throttled, 0},
		{"GitLab 2: a plain text", "gitlab", 429, fields("Content-Type", "text/plain"), "Retry later", true, nil, -1, 0, dogear.Throttled, 0},
		{"GitLab 3: RateLimit-Reset is a Unix time", "gitlab", 429, fields("RateLimit-Reset", "1795982430"), "", true, nil, 30 * s, 0, dogear.Throttled, 0},

		{"Slack 1: per method", "slack", 429, fields("Retry-After", "30"), "", true, []string{"method"}, 30 * s, 0, dogear.Throttled, 0},

		{"Dropbox 2: the body's type decides what is read", "dropbox", 429, fields("Retry-After", "20", "Content-Type", "text/plain"), "too_many_requests", true, nil, 20 * s, 0, dogear.Throttled, 0},
		{"Dropbox 3: retry_after left out is 1", "dropbox", 429, nil, `{"error":{"reason":{".tag":"too_many_requests"}}}`, true, nil, s, 0, dogear.Throttled, 0},

		{"Box 2: 429", "box", 429, fields("Retry-After", "100"), `{"code":"rate_limit_exceeded"}`, true, nil, 100 * s, 0, dogear.Throttled, 0},

		{"Feishu 2: 429", "feishu", 429, fields("x-ogw-ratelimit-reset", "52"), `{"code":99991400}`, true, nil, 52 * s, 0, dogear.Throttled, 0},
		{"Feishu 2: older interfaces answer 400", "feishu", 400, fields("x-ogw-ratelimit-reset", "52"), `{"code":99991400,"msg":""}`, true, nil, 52 * s, 0, dogear.Throttled, 0},
		{"Feishu 2: another 400 is none", "feishu", 400, nil, `{"code":99991663}`, false, nil, -1, 0, 0, 0},
		{"Feishu 2: sheets have a code of their own", "feishu", 400, nil, `{"code":90217}`, true, nil, -1, 0, dogear.Throttled, 0},

		{"WeCom 3: fixed penalties", "wecom", 200, nil, `{"errcode":45009}`, true, nil, -1, 60 * s, dogear.Throttled, 0},

		{"Zendesk 2: 503 is maintenance", "zendesk", 503, nil, "", false, nil, -1, 0, dogear.Transient, 0},
		{"Zendesk 3: ratelimit-reset is delta seconds", "zendesk", 429, fields("ratelimit-remaining", "0", "ratelimit-reset", "41"), "", true, nil, 41 * s, 0, dogear.Throttled, 0},
		{"Zendesk 3: an endpoint's own field", "zendesk", 429, fields("Zendesk-Ratelimit-Tickets-Index", "total=100; remaining=0; resets=12"), "", true, nil, 12 * s, 0, dogear.Throttled, 0},

		{"Coda 7: a 400 of a stale snapshot means later", "coda", 400, nil, "{}", false, nil, -1, 0, dogear.Transient, 0},

		{"HubSpot 6: 10 s for the rolling policy", "hubspot", 429, nil, `{"policyName":"TEN_SECONDLY_ROLLING"}`, true, []string{"ten-seconds"}, -1, 10 * s, dogear.Throttled, 0},

		{"Discourse 2: the field names a limiter of all requests", "discourse", 429, fields("Retry-After", "42", "Discourse-Rate-Limit-Error-Code", "ip_10_secs_limit"), "Slow down", true, nil, 42 * s, 0, dogear.Throttled, 0},

		{"MediaWiki 2: maxlag at 200", "mediawiki", 200, fields("Retry-After", "5"), `{"error":{"code":"maxlag"}}`, true, nil, 5 * s, 0, dogear.Throttled, 0},
		{"MediaWiki 3: fractions occur", "mediawiki", 429, fields("Retry-After", "1.2"), "", true, nil, 2 * s, 0, dogear.Throttled, 0},

		{"OpenAlex: 403 is too fast", "openalex", 403, fields("X-RateLimit-Reset", "14400"), "", true, []string{"second"}, -1, 0, dogear.Throttled, 0},
		{"OpenAlex: 429 is the day's budget", "openalex", 429, fields("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "14400"), "", true, []string{"day"}, 14400 * s, 0, dogear.Throttled, 0},
		{"OpenAlex: 429 for both, on other pages", "openalex", 429, fields("X-RateLimit-Remaining", "99", "X-RateLimit-Reset", "14400"), "", true, nil, -1, 0, dogear.Throttled, 0},
		{"Semantic Scholar: 429, back-off", "semantic-scholar", 429, nil, "", true, nil, -1, 0, dogear.Throttled, 0},

		{"Nextcloud 2: 429 without a hint", "nextcloud", 429, nil, "[]", true, []string{"action"}, -1, 0, dogear.Throttled, 0},
		{"Nextcloud 2: maintenance closes the host", "nextcloud", 503, fields("X-Nextcloud-Maintenance-Mode", "1"), "", true, []string{"host"}, -1, 0, dogear.Throttled, 0},

		{"RFC 9110: a past date is zero", "generic", 429, fields("Retry-After", "Sun, 29 Nov 2026 19:00:00 GMT"), "", true, nil, 0, 0, dogear.Throttled, 0},
		{"IETF structured: malformed is ignored", "ietf-structured", 429, fields("RateLimit", `"a";r=0;t=3, b;r=0`), "", true, nil, -1, 0, dogear.Throttled, 0},
		{"IETF structured: a positive r is no wait", "ietf-structured", 429, fields("RateLimit", `"a";r=1;t=3`), "", true, nil, -1, 0, dogear.Throttled, 0},
	} {
		t.Run(r.rule, func(t *testing.T) {
			p, ok := Get(r.profile)
			if !ok {
				t.Fatalf("no profile %s", r.profile)
			}
			v := p.Judge(Answer{Status: r.status, Header: r.header, Body: []byte(r.body), Received: received})
			if v.Throttled != r.throttled || v.Outcome != r.outcome || !slices.Equal(v.Closes, r.closes) || v.Delay.Wait != r.delay {
				t.Errorf("throttled %v, closes %v, outcome %q, delay %v; want %v, %v, %q, %v",
					v.Throttled, v.Closes, v.Outcome, v.Delay.Wait, r.throttled, r.closes, r.outcome, r.delay)
			}
			if v.Hint.Valid() != (r.wait >= 0 && r.throttled) || v.Hint.Valid() && v.Hint.Wait != r.wait || v.Hint.AtLeast != r.atLeast {
				t.Errorf("hint %v %v, at least %v; want %v, at least %v", v.Hint.Kind, v.Hint.Wait, v.Hint.AtLeast, r.wait, r.atLeast)
			}
		})
	}
}

// An escalating penalty goes by the events in a row, and the last one repeats.
func TestWaitsByRow(t *testing.T) {
	p, _ := Get("wecom")
	v := p.Judge(Answer{Status: 200, Body: []byte(`{"errcode":45009}`), Received: received})
	for row, want := range map[int]time.Duration{0: time.Minute, 1: time.Minute, 2: time.Hour, 9: time.Hour} {
		if got := v.Wait(row); got != want {
			t.Errorf("event %d: %v, want %v", row, got, want)
		}
	}
	if got := (Verdict{}).Wait(1); got != 0 {
		t.Errorf("without a documented wait: %v", got)
	}
}
