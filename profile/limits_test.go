package profile

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// What the services document of their limits: services.md, the lines marked [V], and what was
// found written since.
func TestDocumentedLimits(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	for _, r := range []struct {
		rule, profile, scope, plan string
		unit                       Unit
		amount                     float64
		per                        time.Duration
	}{
		{"Graph 1: over all tenants", "msgraph", "app", "", Requests, 2000, s},
		{"SharePoint 1: app and tenant, smallest band", "msgraph", "app+tenant", "up-to-1k-licences", Units, 1250, m},
		{"SharePoint 1: ≤5k", "msgraph", "app+tenant", "up-to-5k-licences", Units, 2500, m},
		{"SharePoint 1: ≤15k", "msgraph", "app+tenant", "up-to-15k-licences", Units, 3750, m},
		{"SharePoint 1: ≤50k", "msgraph", "app+tenant", "up-to-50k-licences", Units, 5000, m},
		{"SharePoint 1: above", "msgraph", "app+tenant", "above-50k-licences", Units, 6250, m},
		{"SharePoint 1: a day, from", "msgraph", "app+tenant", "up-to-1k-licences", Units, 1.2e6, 24 * h},
		{"SharePoint 1: a day, to", "msgraph", "app+tenant", "above-50k-licences", Units, 6e6, 24 * h},
		{"SharePoint 1: egress", "msgraph", "app+tenant", "", Bytes, 400e9, h},
		{"SharePoint 1: tenant, from", "msgraph", "tenant", "up-to-1k-licences", Units, 18750, 5 * m},
		{"SharePoint 1: tenant, to", "msgraph", "tenant", "above-50k-licences", Units, 93750, 5 * m},
		{"SharePoint 1: user", "msgraph", "user", "", Requests, 3000, 5 * m},
		{"SharePoint 1: user's egress", "msgraph", "user", "", Bytes, 100e9, h},
		{"SharePoint 1: search by an app", "msgraph", "search-app", "", Requests, 25, s},
		{"SharePoint 1: search for a user", "msgraph", "search-user", "", Requests, 10, s},
		{"Drive 1: project", "google-drive", "drive-project", "", Units, 1e6, m},
		{"Drive 1: user", "google-drive", "drive-user", "", Units, 325000, m},
		{"Docs 1: reads, project", "google-drive", "docs-project", "", Requests, 3000, m},
		{"Docs 1: reads, user", "google-drive", "docs-user", "", Requests, 300, m},
		{"Docs 1: writes, project", "google-drive", "docs-write-project", "", Requests, 600, m},
		{"Docs 1: writes, user", "google-drive", "docs-write-user", "", Requests, 60, m},
		{"Notion 1: older text", "notion", "connection", "", Requests, 3, s},
		{"Jira 1: points of tier 1", "atlassian-cloud", "app", "tier-1", Units, 65000, h},
		{"Jira 1: points of reviewed apps", "atlassian-cloud", "app+tenant", "reviewed", Units, 100000, h},
		{"Jira 1: burst", "atlassian-cloud", "burst", "", Requests, 100, s},
		{"GitHub 1: user", "github", "primary", "user", Requests, 5000, h},
		{"GitHub 1: Enterprise Cloud", "github", "primary", "enterprise", Requests, 15000, h},
		{"GitHub 1: installation", "github", "primary", "installation", Requests, 5000, h},
		{"GitHub 1: GITHUB_TOKEN", "github", "primary", "actions-token", Requests, 1000, h},
		{"GitHub 1: without a token", "github", "primary", "anonymous", Requests, 60, h},
		{"GitHub 1: secondary", "github", "secondary", "", Concurrent, 100, 0},
		{"GitLab 1: authenticated", "gitlab", "user", "authenticated", Requests, 7200, h},
		{"GitLab 1: anonymous", "gitlab", "user", "anonymous", Requests, 3600, h},
		{"Box 1: user", "box", "user", "", Requests, 1000, m},
		{"Box 1: search of a user", "box", "search-user", "", Requests, 6, s},
		{"Box 1: search of a user, a minute", "box", "search-user", "", Requests, 60, m},
		{"Box 1: search of an enterprise", "box", "search-enterprise", "", Requests, 12, s},
		{"WeCom 1: company", "wecom", "corp", "", Requests, 10000, m},
		{"WeCom 1: company, an hour", "wecom", "corp", "", Requests, 150000, h},
		{"WeCom 1: address", "wecom", "ip", "own-app", Requests, 20000, m},
		{"WeCom 1: address, an hour", "wecom", "ip", "own-app", Requests, 600000, h},
		{"WeCom 1: provider's address", "wecom", "ip", "provider", Requests, 40000, m},
		{"WeCom 1: provider's address, an hour", "wecom", "ip", "provider", Requests, 1.2e6, h},
		{"Zendesk 1: Help Center", "zendesk", "help-center", "third", Requests, 700, m},
		{"Zendesk 1: Support has as much", "zendesk", "support", "third", Requests, 700, m},
		{"Zendesk 1: incremental export", "zendesk", "incremental", "", Requests, 10, m},
		{"Airtable 1: base (support.airtable.com)", "airtable", "base", "", Requests, 5, s},
		{"Airtable 1: token's owner (support.airtable.com)", "airtable", "user", "", Requests, 50, s},
		{"arXiv 1: one in 3 s", "arxiv", "client", "", Requests, 1, 3 * s},
		{"OpenAlex: 1 USD a day", "openalex", "day", "", Units, 10000, 24 * h},
		{"OpenAlex: 100 a second", "openalex", "second", "", Requests, 100, s},
		{"Semantic Scholar: 1 a second", "semantic-scholar", "key", "", Requests, 1, s},
	} {
		p, ok := Get(r.profile)
		if !ok || p.Scope(r.scope) == nil {
			t.Errorf("%s: no scope %s in %s", r.rule, r.scope, r.profile)
			continue
		}
		scope, found := p.Scope(r.scope), false
		for _, l := range p.Limits(scope, r.plan) {
			found = found || l.Unit == r.unit && l.Amount == r.amount && l.Per == r.per && l.Known == Documented
		}
		if !found {
			t.Errorf("%s: no such documented limit in %v", r.rule, p.Limits(scope, r.plan))
		}
	}
}

// What the services document for people, and how their clients retry: services.md, [V].
func TestDocumentedFacts(t *testing.T) {
	for _, r := range []struct{ rule, profile, says string }{
		{"rule 2: refused requests count", "msgraph", "Refused requests count"},
		{"rule 2: who goes on may be banned", "github", "may be banned"},
		{"Graph 1: several limits at once, the first decides", "msgraph", "the first that is reached decides"},
		{"Graph 1: several app ids are an abuse", "msgraph", "named an abuse"},
		{"Graph 2: a long 503 is a block", "msgraph", "503 for long means"},
		{"Graph 4: the wait is for new requests too", "msgraph", "for new requests"},
		{"Graph 4: all searches of the kind pause", "msgraph", "all of them pause"},
		{"Graph 5: the outer status", "msgraph", "200 whatever its items say"},
		{"Graph 5: 424 for what depends", "msgraph", "gets 424"},
		{"Graph 5: the Go core splits at 19", "msgraph", "at 19 items"},
		{"Graph 6: MaxRetries 0 means 3", "msgraph", "MaxRetries 0 means 3"},
		{"Graph 9: content is a redirect to a signed address", "msgraph", "no Authorization does"},
		{"Graph 9: a User-Agent of a form", "msgraph", "NONISV|Company|App/1.0"},
		{"Drive 3: back-off is the instruction", "google-drive", "exponential back-off with jitter"},
		{"Drive 6: Go", "google-drive", "never read Retry-After"},
		{"Drive 6: Python", "google-drive", "num_retries=0"},
		{"Notion 1: endpoints with limits of their own", "notion", "limits of their own"},
		{"Notion 6: the SDK caps at 60 s", "notion", "caps Retry-After at 60 s"},
		{"Jira 2: no gradual slow-down", "atlassian-cloud", "until the hour ends"},
		{"Jira 4: state is shared", "atlassian-cloud", "Threads and nodes are to share"},
		{"Jira 6: the vendor's back-off", "atlassian-cloud", "jitter 0.7 to 1.3"},
		{"GitHub 4: serially", "github", "one after the other"},
		{"GitHub 4: 304 is free", "github", "a 304 costs nothing"},
		{"GitHub 6: go-github refuses by itself", "github", "made-up 403"},
		{"GitHub 8: pages by Link", "github", "Link field"},
		{"GitLab 3: normalised to 60 s", "gitlab", "converted to 60 seconds"},
		{"GitLab 6: go-gitlab reads RateLimit-Reset only", "gitlab", "not Retry-After"},
		{"Slack 1: tiers", "slack", "1, 20, 50 and 100 a minute"},
		{"Slack 6: Node pauses everything", "slack", "all methods of the client pause"},
		{"Dropbox 1: numbers are not published", "dropbox", "no numbers are published"},
		{"Dropbox 4: equal list_folder calls", "dropbox", "Two equal list_folder calls"},
		{"Dropbox 6: Python retries for ever", "dropbox", "for ever"},
		{"Box 9: a signed address", "box", "signed address"},
		{"Feishu 1: store apps", "feishu", "Apps from the store"},
		{"Feishu 4: further operations are refused", "feishu", "further operations"},
		{"WeCom 9: export", "wecom", "at most 10 jobs"},
		{"Tencent 2: version 3 tells by status", "tencent-docs", "Version 3 tells errors by a status"},
		{"Tencent 9: three fields", "tencent-docs", "Access-Token"},
		{"Yuque 9: X-Auth-Token", "yuque", "X-Auth-Token"},
		{"Zendesk 2: TooManyJobs", "zendesk", "TooManyJobs"},
		{"Salesforce 3: Sforce-Limit-Info", "salesforce", "Sforce-Limit-Info"},
		{"Airtable 6: JavaScript retries without end", "airtable", "for ever"},
		{"Coda 8: the page size", "coda", "not to be relied on"},
		{"HubSpot 6: gives up on DAILY", "hubspot", "gives up on DAILY"},
		{"MediaWiki 3: Retry-After does not tell the lag", "mediawiki", "does not tell the lag"},
		{"MediaWiki 3: pywikibot's shared gate", "mediawiki", "under a lock for each site"},
		{"OpenAlex: a key is required", "openalex", "2026-02-13"},
		{"Semantic Scholar: back-off is required", "semantic-scholar", "a condition of use"},
		{"S3 6: retry tokens", "s3", "bucket of 500 retry tokens"},
		{"Nextcloud 2: no Retry-After from the middleware", "nextcloud", "sets no Retry-After"},
		{"RFC 9110: delay-seconds", "generic", "without sign, fraction or unit"},
		{"IETF: what remains is no promise", "ietf-structured", "no promise"},
	} {
		p, _ := Get(r.profile)
		var b strings.Builder
		if p == nil || p.Show(&b) != nil {
			t.Fatalf("%s: %s cannot be shown", r.rule, r.profile)
		}
		if !strings.Contains(b.String(), r.says) {
			t.Errorf("%s: %s does not say %q", r.rule, r.profile, r.says)
		}
	}
}

// The batch calls and versions that are documented.
func TestDocumentedBatchAndVersion(t *testing.T) {
	graph, _ := Get("msgraph")
	if b := graph.Batch; b.Path != "/v1.0/$batch" || b.Most != 20 || b.Charged != "each" || !b.CaseBlindIDs || b.Known != Documented {
		t.Errorf("Graph 5: %+v", b)
	}
	drive, _ := Get("google-drive")
	for address, takes := range map[string]bool{"/drive/v3/files/F?fields=version": true, "/drive/v3/files/F?alt=media": false,
		"/drive/v3/files/F/export?mimeType=text/plain": false} {
		if u, err := url.Parse("https://www.googleapis.com" + address); err != nil || drive.Batch.Takes(u) != takes {
			t.Errorf("Drive 5: a batch takes no contents: %s", address)
		}
	}
	if b := drive.Batch; b.Path != "/batch/drive/v3" || b.Most != 100 || b.Charged != "each" || !b.NoMedia || b.MaxURL != 8000 {
		t.Errorf("Drive 5: %+v", b)
	}
	for _, r := range []struct{ rule, profile, field, check string }{
		{"Graph 7", "msgraph", "eTag", "if-none-match"},
		{"GitHub 7", "github", "sha", "if-none-match"},
		{"Dropbox 7", "dropbox", "rev", "field"},
		{"Box 7", "box", "etag", "if-none-match"},
		{"Feishu 7", "feishu", "revision_id", "field"},
		{"Notion 7", "notion", "last_edited_time", "field"},
	} {
		p, _ := Get(r.profile)
		if v := p.Version; v == nil || v.Field != r.field || v.Check != r.check || v.Known != Documented {
			t.Errorf("%s: %+v", r.rule, p.Version)
		}
	}
}
