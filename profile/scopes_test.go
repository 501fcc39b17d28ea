package profile

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func address(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A request belongs to each scope whose match holds; what nobody gave is called default.
func TestBelongs(t *testing.T) {
	type parts = map[string]string
	for _, r := range []struct {
		profile, method, url string
		given                parts
		want                 string // keys with their costs
	}{
		{"msgraph", "GET", "https://graph.microsoft.com/v1.0/drives/D/items/I/content", parts{"tenant": "T", "app": "A"},
			"msgraph:app=A×1 msgraph:tenant=T×1 msgraph:tenant=T,app=A×1"},
		{"msgraph", "GET", "https://graph.microsoft.com/v1.0/drives/D/root/delta", nil,
			"msgraph:app=default×1 msgraph:tenant=default×2 msgraph:tenant=default,app=default×2"},
		{"msgraph", "GET", "https://graph.microsoft.com/v1.0/drives/D/root/delta?token=x", parts{"user": "U"},
			"msgraph:app=default×1 msgraph:tenant=default×1 msgraph:tenant=default,app=default×1 msgraph:tenant=default,user=U×1"},
		{"msgraph", "GET", "https://graph.microsoft.com/v1.0/drives/D/root/delta(token='x')", nil,
			"msgraph:app=default×1 msgraph:tenant=default×1 msgraph:tenant=default,app=default×1"},
		{"msgraph", "GET", "https://graph.microsoft.com/v1.0/me/drive/items/I?$expand=permissions($select=id)", nil,
			"msgraph:app=default×1 msgraph:tenant=default×5 msgraph:tenant=default,app=default×5"},
		{"msgraph", "POST", "https://graph.microsoft.com/v1.0/$batch", nil,
			"msgraph:app=default×1 msgraph:tenant=default×0 msgraph:tenant=default,app=default×0"},
		{"msgraph", "GET", "/drives/D/items/I/children", nil, // an item of a batch
			"msgraph:app=default×1 msgraph:tenant=default×2 msgraph:tenant=default,app=default×2"},
		{"msgraph", "GET", "https://contoso.sharepoint.com/_layouts/download.aspx?tempauth=x", nil, "host:contoso.sharepoint.com×1"},
		{"sharepoint", "GET", "https://contoso.sharepoint.com/_api/web", parts{"tenant": "T", "app": "A"}, "msgraph:tenant=T×1 msgraph:tenant=T,app=A×1"},
		{"google-drive", "GET", "https://www.googleapis.com/drive/v3/files/F?alt=media", parts{"project": "P", "identity": "bot"},
			"google-drive:class=drive,project=P×200 google-drive:class=drive,project=P,user=bot×200"},
		{"google-drive", "GET", "https://docs.googleapis.com/v1/documents/D", nil,
			"google-drive:class=docs,project=default×1 google-drive:class=docs,project=default,user=default×1"},
		{"google-drive", "GET", "https://www.googleapis.com/calendar/v3/x", nil, "host:www.googleapis.com×1"},
		{"github", "GET", "https://api.github.com/search/code", parts{"identity": "bot"}, "github:class=secondary,user=bot×1 github:resource=search,user=bot×1"},
		{"github", "GET", "https://api.github.com/repos/o/r/contents/x", parts{"user": "u", "identity": "bot"}, "github:class=secondary,user=u×1 github:resource=core,user=u×1"},
		{"slack", "POST", "https://slack.com/api/conversations.history", nil, "slack:workspace=default,app=default,method=conversations.history×1"},
		{"feishu", "GET", "https://open.feishu.cn/open-apis/docx/v1/documents/abc/raw_content", nil,
			"feishu:app=default,tenant=default,verb=GET,api=docx/v1/documents/raw_content×1"},
		{"airtable", "GET", "https://api.airtable.com/v0/appX/Table", nil, "airtable:base=appX×1 airtable:user=default×1"},
		{"zendesk", "GET", "https://acme.zendesk.com/api/v2/help_center/en-us/articles/1", nil, "zendesk:class=help-center,host=acme.zendesk.com×1"},
		{"atlassian-cloud", "GET", "https://acme.atlassian.net/rest/api/3/issue/K-1", nil, "atlassian-cloud:class=burst,tenant=default,verb=GET,endpoint=issue×1"},
		{"atlassian-cloud", "GET", "https://api.atlassian.com/ex/confluence/C/wiki/api/v2/pages/1", parts{"app": "A", "tenant": "C"},
			"atlassian-cloud:class=burst,tenant=C,verb=GET,endpoint=pages×1 atlassian-cloud:class=points,app=A×2 atlassian-cloud:class=points,app=A,tenant=C×2"},
		{"atlassian-dc", "GET", "https://jira.example.com:8443/rest/api/2/issue/1", parts{"identity": "me"}, "atlassian-dc:host=jira.example.com:8443,user=me×1"},
		{"openalex", "GET", "https://api.openalex.org/works/W1", nil, "openalex:class=day,key=default×0 openalex:class=second,key=default×1"},
		{"coda", "GET", "https://coda.io/apis/v1/docs", nil, "coda:class=list-docs,user=default×1"},
		{"coda", "GET", "https://coda.io/apis/v1/docs/D/pages", nil, "coda:class=read,user=default×1"},
		{"generic", "GET", "https://docs.example.com/a", nil, "host:docs.example.com×1"},
		{"wps", "GET", "https://wps.example.com:8080/a", nil, "host:wps.example.com:8080×1"},
	} {
		p, _ := Get(r.profile)
		var got []string
		members := p.Belongs(r.method, address(t, r.url), r.given)
		for _, m := range members {
			got = append(got, m.Key+"×"+short64(m.Cost))
		}
		if !slices.IsSortedFunc(members, func(a, b Membership) int { return strings.Compare(a.Key, b.Key) }) {
			t.Errorf("%s: not in key order", r.url)
		}
		slices.Sort(got)
		want := strings.Fields(r.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s %s %v:\n got %s\nwant %s", r.method, r.url, r.given, strings.Join(got, " "), r.want)
		}
	}
}

func short64(f float64) string {
	return strings.TrimSuffix(Limit{Amount: f, Unit: Concurrent}.String(), " at a time")
}

// W6: documented scopes count at another base address too; a path in front of it is no part
// of what patterns see.
func TestAt(t *testing.T) {
	p, _ := Get("slack")
	moved := p.At(address(t, "http://127.0.0.1:8080/stand-in/"))
	got := moved.Keys("GET", address(t, "http://127.0.0.1:8080/stand-in/users.info"), nil)
	if want := []string{"slack:workspace=default,app=default,method=users.info"}; !slices.Equal(got, want) {
		t.Errorf("at another address: %v, want %v", got, want)
	}
	if m := moved.Belongs("GET", address(t, "http://127.0.0.1:8080/stand-in/x"), nil); !m[0].Scope.Confirmed() {
		t.Error("a documented scope is not confirmed at another address")
	}
	if got := p.Keys("GET", address(t, "http://127.0.0.1:8080/stand-in/users.info"), nil); got[0] != "host:127.0.0.1:8080" {
		t.Errorf("without At: %v", got)
	}
	if got := moved.Keys("GET", address(t, "https://cdn.example.com/x"), nil); got[0] != "host:cdn.example.com" {
		t.Errorf("a redirect's target: %v", got)
	}
	dc, _ := Get("discourse")
	if got := dc.At(address(t, "https://forum.example.com/talk")).Keys("GET", address(t, "/t/1.json"), nil); !strings.Contains(got[0], "host=forum.example.com") {
		t.Errorf("an address without a host: %v", got)
	}
}

// W6: only what the service itself writes confirms a scope; a host that stands in for an
// unknown scope is not confirmed.
func TestConfirmed(t *testing.T) {
	var reported []string
	for _, name := range Names() {
		p, _ := Get(name)
		for i := range p.Scopes {
			if s := &p.Scopes[i]; !s.Confirmed() {
				reported = append(reported, name+" "+s.Name)
			}
		}
	}
	want := []string{"arxiv client", "dingtalk app", "dingtalk ip", "discourse action", "hubspot ten-seconds", "hubspot day",
		"hubspot search", "sec-edgar ip", "tencent-docs app", "yuque user"}
	if !slices.Equal(reported, want) {
		t.Errorf("not confirmed: %q\nwant %q", reported, want)
	}
	p, _ := Get("wps")
	if m := p.Belongs("GET", p.Base.URL, nil); m[0].Scope.Confirmed() {
		t.Errorf("%s is confirmed", m[0].Key)
	}
}

// What would be taken for a sign of the key is escaped; what is long is hashed.
func TestSpell(t *testing.T) {
	for in, want := range map[string]string{"": "default", "a": "a", "a,b=c": "a%2Cb%3Dc", "ü x": "%C3%BC%20x", "docs/v1": "docs/v1"} {
		if got := spell(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := spell(strings.Repeat("x", 200)); !strings.HasPrefix(got, "sha256:") || len(got) > 40 {
		t.Errorf("a long value: %q", got)
	}
}

func TestForHost(t *testing.T) {
	for host, want := range map[string]string{
		"graph.microsoft.com": "msgraph", "GRAPH.Microsoft.com:443": "msgraph", "contoso.sharepoint.com": "sharepoint",
		"api.github.com": "github", "acme.zendesk.com": "zendesk", "a.b.zendesk.com": "zendesk", "zendesk.com": "",
		"bucket.s3.eu-west-1.amazonaws.com": "s3", "s3.eu-west-1.amazonaws.com": "s3", "ec2.amazonaws.com": "",
		"acme.atlassian.net": "atlassian-cloud", "docs.example.com": "", "": "", "localhost": "", "[::1]:80": "", "evilgraph.microsoft.com.example": "",
	} {
		p, ok := ForHost(host)
		if got := name(p); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", host, got, ok, want)
		}
	}
}

func name(p *Profile) string {
	if p == nil {
		return ""
	}
	return p.Name
}

func TestPattern(t *testing.T) {
	for _, r := range []struct {
		pattern, path, captured string
		ok                      bool
	}{
		{"/a/{}", "/a/b", "b", true},
		{"/a/{}", "/a/b/c", "", false},
		{"/a/{}/**", "/a/b/c", "b", true},
		{"/a/{}/**", "/a", "", false},
		{"/{}/*/{}", "/a/b/c", "a/c", true},
		{"/**/content", "/x/y/content", "", true},
		{"/**/content", "/content", "", true},
		{"/**/content", "/content/x", "", false},
		{"/**/x/**", "/a/x/b", "", true},
		{"/a/delta(*", "/a/delta(token='1')", "", true},
		{"/a/delta(*", "/a/delta", "", false},
		{"/a", "//a/;jsessionid=secret", "", true},
		{"/{}", "/a;jsessionid=secret", "a", true},
		{"/*/b", "/a/b", "", true},
		{"/**", "/", "", true},
	} {
		got, ok := pattern{r.pattern, split(r.pattern)}.match(split(r.path))
		if got != r.captured || ok != r.ok {
			t.Errorf("%s on %s: %q %v, want %q %v", r.pattern, r.path, got, ok, r.captured, r.ok)
		}
	}
	if _, ok := (pattern{"/**/a/**/b", []string{"**", "a", "**", "b"}}).match(split(strings.Repeat("/a", 5000))); ok {
		t.Error("an endless path matches")
	}
}

// A plan has its own limits and those of all; without one the profile's first is assumed.
func TestPace(t *testing.T) {
	p, _ := Get("msgraph")
	s := p.Scope("app+tenant")
	for _, r := range []struct {
		plan string
		want float64
		n    int
	}{{"", 1250. / 60, 3}, {"up-to-5k-licences", 2500. / 60, 2}, {"no-such-plan", 0, 1}} {
		if rate, _, _ := p.Pace(s, r.plan); rate != r.want || len(p.Limits(s, r.plan)) != r.n {
			t.Errorf("plan %q: %v a second and %v, want %v and %d limits", r.plan, rate, p.Limits(s, r.plan), r.want, r.n)
		}
	}
	gh, _ := Get("github")
	if rate, _, concurrency := gh.Pace(gh.Scope("secondary"), ""); rate != 0 || concurrency != 100 {
		t.Errorf("GitHub's secondary limit: %v a second, %d at a time", rate, concurrency)
	}
	if got := gh.Plans(); got[0] != "user" || len(got) != 5 {
		t.Errorf("plans %v", got)
	}
}
