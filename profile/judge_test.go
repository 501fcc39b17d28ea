package profile

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/hint"
)

// W10: a throttle closes the scopes that its reason names, of those that the request has; all
// where it names none of them; another answer none.
func TestClosed(t *testing.T) {
	p, _ := Get("github")
	of := p.Belongs("GET", address(t, "https://api.github.com/repos/o/r"), nil)
	for _, r := range []struct {
		v    Verdict
		want int
	}{
		{Verdict{Throttled: true}, 2},
		{Verdict{Throttled: true, Closes: []string{"primary"}}, 1},
		{Verdict{Throttled: true, Closes: []string{"another"}}, 2},
		{Verdict{Closes: []string{"primary"}}, 0},
	} {
		if got := r.v.Closed(of); len(got) != r.want {
			t.Errorf("%+v closes %v, want %d", r.v, got, r.want)
		}
	}
}

// R3: the items decide, whatever the outer status; the longest hint counts, and a wait that
// is only documented for one item is kept.
func TestJudgeBatch(t *testing.T) {
	p, _ := Get("msgraph")
	item := func(id, status, header string) string {
		return `{"id":"` + id + `","status":` + status + `,"headers":{` + header + `}}`
	}
	for _, r := range []struct {
		name      string
		status    int
		header    http.Header
		items     []string
		throttled bool
		wait      time.Duration
		kind      string
	}{
		{"longest of items", 200, nil, []string{item("1", "429", `"Retry-After":"5"`), item("2", "429", `"retry-after":"60"`), item("3", "200", "")}, true, 60 * time.Second, "body"},
		{"a fraction is rounded up", 200, nil, []string{item("1", "429", `"Retry-After":"0.249"`)}, true, time.Second, "body"},
		{"a number", 200, nil, []string{item("1", "429", `"Retry-After":7`)}, true, 7 * time.Second, "body"},
		{"424 outside, 429 inside", 424, nil, []string{item("1", "429", `"Retry-After":"3"`), item("2", "424", "")}, true, 3 * time.Second, "body"},
		{"the envelope's hint is longer", 429, fields("Retry-After", "90"), []string{item("1", "429", `"Retry-After":"3"`)}, true, 90 * time.Second, "delta-seconds"},
		{"503 inside", 200, nil, []string{item("1", "503", "")}, true, 0, "none"},
		{"failures alone", 200, nil, []string{item("1", "404", ""), item("2", "424", "")}, false, 0, "none"},
		{"by the envelope's clock", 200, fields("Date", "Sun, 29 Nov 2026 21:00:00 GMT"), []string{item("1", "429", `"Retry-After":"Sun, 29 Nov 2026 21:00:09 GMT"`)}, true, 9 * time.Second, "body"},
	} {
		body := `{"responses":[` + strings.Join(r.items, ",") + `]}`
		v := p.Judge(Answer{Status: r.status, Header: r.header, Body: []byte(body), Received: received, Batch: true})
		if v.Throttled != r.throttled || v.Hint.Wait != r.wait || v.Kind != r.kind {
			t.Errorf("%s: throttled %v, wait %v, kind %s; want %v, %v, %s", r.name, v.Throttled, v.Hint.Wait, v.Kind, r.throttled, r.wait, r.kind)
		}
	}
	document := Answer{Status: 200, Body: []byte(`{"responses":[` + item("1", "429", "") + `]}`), Received: received}
	if p.Judge(document).Throttled {
		t.Error("a document that looks like a batch is taken for one")
	}
	for _, body := range []string{"", "{", `{"responses":[]}`, `{"responses":"x"}`, `{"responses":[{"status":"x"}]}`} {
		if v := p.Judge(Answer{Status: 200, Body: []byte(body), Received: received, Batch: true}); v.Throttled {
			t.Errorf("%q is a throttle", body)
		}
	}
}

// The body is asked for only where it decides.
func TestNeedsBody(t *testing.T) {
	json := fields("Content-Type", "application/json; charset=utf-8")
	pdf := fields("Content-Type", "application/pdf")
	for _, r := range []struct {
		profile string
		status  int
		header  http.Header
		want    bool
	}{
		{"generic", 429, json, false},
		{"msgraph", 429, json, false},
		{"msgraph", 200, json, false},
		{"google-drive", 403, json, true},
		{"google-drive", 429, json, false},
		{"github", 403, json, true},
		{"github", 403, fields("X-RateLimit-Remaining", "0"), false},
		{"github", 200, json, false},
		{"feishu", 200, json, true},
		{"feishu", 200, nil, true},
		{"feishu", 200, pdf, false},
		{"feishu", 200, fields("Content-Type", "application/octet-stream"), false},
		{"feishu", 429, json, false},
		{"dropbox", 429, json, true}, // the hint is there
		{"dropbox", 409, json, false},
		{"s3", 503, fields("Content-Type", "application/xml"), true},
		{"s3", 200, nil, false},
		{"sec-edgar", 403, fields("Content-Type", "text/html"), true},
		{"mediawiki", 200, json, true},
		{"mediawiki", 200, pdf, false},
		{"discourse", 429, fields("Discourse-Rate-Limit-Error-Code", "x"), true}, // a hint may be there
		{"wecom", 200, json, true},
	} {
		p, _ := Get(r.profile)
		if got := p.NeedsBody(r.status, r.header); got != r.want {
			t.Errorf("%s %d %v: %v, want %v", r.profile, r.status, r.header, got, r.want)
		}
	}
}

// A value is found wherever the JSON is cut behind it, and nothing else is taken for it.
func TestLookup(t *testing.T) {
	for _, r := range []struct{ body, path, want string }{
		{`{"a":{"b":1}}`, "a/b", "1"},
		{`{"x":[{"y":{}}],"a":{"b":"v"},"tail":"...`, "a/b", "v"},
		{`{"a":{"b":"v`, "a/b", ""},
		{`[{"c":"X"},{"c":"Y"}]`, "*/c", "X Y"},
		{`[{"c":"X"},{"c":"Y"}]`, "1/c", "Y"},
		{`{"a":{".tag":true}}`, "a/.tag", "true"},
		{`{"a":99991400}`, "a", "99991400"},
		{`{"a":1e3}`, "a", "1e3"},
		{`{"a":{"b":2}}`, "a", ""},
		{`{"a":null}`, "a", ""},
		{"\ufeff  {\"a\":\"b\"}", "a", "b"},
		{`"a"`, "a", ""},
		{`<html>`, "a", ""},
		{``, "a", ""},
	} {
		got, _ := lookup([]byte(r.body), strings.Split(r.path, "/"))
		if strings.Join(got, " ") != r.want {
			t.Errorf("%s in %s: %q, want %q", r.path, r.body, got, r.want)
		}
	}
	if _, present := lookup([]byte(`{"a":{"b":{}}}`), []string{"a", "b"}); !present {
		t.Error("a mapping is not there")
	}
	if _, present := lookup([]byte(`{"a":{"b":null}}`), []string{"a", "b"}); present {
		t.Error("a null is there")
	}
}

// Each form reads what it says and nothing else.
func TestForms(t *testing.T) {
	const s = time.Second
	for _, r := range []struct {
		form        Form
		value       string
		valid       bool
		wait, least time.Duration
	}{
		{Seconds, "52", true, 52 * s, 0},
		{Seconds, "1.5", false, 0, 2 * s},
		{Seconds, "Sun, 29 Nov 2026 20:02:00 GMT", false, 0, 120 * s},
		{Decimal, "1.2", true, 2 * s, 0},
		{Decimal, "2", true, 2 * s, 0},
		{Decimal, "1.2, 5", true, 5 * s, 0},
		{Decimal, "1.2s", false, 0, 0},
		{Decimal, "-1.2", false, 0, 0},
		{Decimal, "Sun, 29 Nov 2026 20:02:00 GMT", false, 0, 120 * s},
		{Milliseconds, "1500", true, 1500 * time.Millisecond, 0},
		{Milliseconds, "1.5", false, 0, 0},
		{HTTPDate, "Sun, 29 Nov 2026 20:00:30 GMT", true, 30 * s, 0},
		{HTTPDate, "30", false, 0, 0},
		{EpochSeconds, "1795982430", true, 30 * s, 0},
		{EpochSeconds, "1795982399", true, 0, 0},
		{EpochSeconds, "0", false, 0, 0},
		{EpochSeconds, "-5", false, 0, 0},
		{EpochSeconds, "99999999999999999999", true, maxWait, 0},
		{EpochMilliseconds, "1795982430500", true, 30500 * time.Millisecond, 0},
		{EpochMilliseconds, "1795982430", false, 0, 0},
		{ISO8601, "2026-11-29T20:01:00Z", true, 60 * s, 0},
		{ISO8601, "2026-11-29T21:01+01:00", true, 60 * s, 0},
		{ISO8601, "2026-11-29T20:01:00.5Z", true, 60500 * time.Millisecond, 0},
		{ISO8601, "2026-11-29T20:01:00", false, 0, 0},
		{ISO8601, "2026-13-29T20:01:00Z", false, 0, 0},
		{Pairs, "total=100; remaining=0; resets=41", true, 41 * s, 0},
		{Pairs, "total=100; remaining=1; resets=41", false, 0, 0},
	} {
		a := Answer{Header: fields("X", r.value), Received: received}
		got := Hint{Field: "X", Form: r.form}.read(a, received)
		if got.Valid() != r.valid || got.Wait != r.wait || got.AtLeast != r.least {
			t.Errorf("%v %q: %v %v, at least %v; want valid %v, %v, %v", r.form, r.value, got.Kind, got.Wait, got.AtLeast, r.valid, r.wait, r.least)
		}
	}
}

// W2: of several hints the later wins, valid over invalid, and what the other asked for at
// least is kept.
func TestLater(t *testing.T) {
	valid := func(s int) reading {
		return reading{Hint: hint.Hint{Kind: hint.DeltaSeconds, Wait: time.Duration(s) * time.Second}}
	}
	invalid := func(s int) reading {
		return reading{Hint: hint.Hint{Kind: hint.Invalid, AtLeast: time.Duration(s) * time.Second}}
	}
	list := []reading{{}, valid(0), valid(3), valid(9), invalid(0), invalid(5), {Hint: hint.Hint{AtLeast: 30 * time.Second}}}
	for _, a := range list {
		for _, b := range list {
			got := later(a, b)
			if got.Wait < max(a.Wait, b.Wait) || max(got.Wait, got.AtLeast) < max(a.AtLeast, b.AtLeast) ||
				got.Valid() != (a.Valid() || b.Valid()) {
				t.Errorf("%+v and %+v: %+v", a, b, got)
			}
		}
	}
}

// RateLimit fields steer only where the service means them; Beta- and unknown ones never do.
func TestLeft(t *testing.T) {
	sp, _ := Get("msgraph")
	got := sp.Left(fields("RateLimit-Limit", "1200", "RateLimit-Remaining", "120", "RateLimit-Reset", "5"), received)
	if len(got) != 1 || got[0].Limit != 1200 || got[0].Remaining != 120 || got[0].Reset != 5*time.Second || !slices.Equal(got[0].Scopes, []string{"app+tenant"}) {
		t.Errorf("SharePoint: %+v", got)
	}
	at, _ := Get("atlassian-cloud")
	got = at.Left(fields("RateLimit", `"global-app-quota";t=200,"jira-burst-based";r=7;t=1`, "RateLimit-Policy", `"global-app-quota";q=65000;w=3600`), received)
	if len(got) != 2 || got[0].Limit != 65000 || got[0].Window != time.Hour || got[0].Remaining != -1 || got[1].Remaining != 7 || got[1].Scopes[0] != "burst" {
		t.Errorf("Atlassian: %+v", got)
	}
	for _, h := range []http.Header{
		fields("Beta-RateLimit", `"global-app-quota";r=0;t=50`),
		fields("X-RateLimit-Remaining", "0"),
		fields("RateLimit", `"a";r=x`),
		fields("RateLimit", `"a";r=-1`),
		fields("RateLimit", `a;r=1`),
	} {
		if got := at.Left(h, received); len(got) != 0 {
			t.Errorf("%v steers: %+v", h, got)
		}
	}
	gh, _ := Get("github")
	got = gh.Left(fields("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4999", "X-RateLimit-Reset", "1795982430"), received)
	if len(got) != 1 || got[0].Remaining != 4999 || got[0].Reset != 30*time.Second {
		t.Errorf("GitHub: %+v", got)
	}
	cr, _ := Get("crossref")
	got = cr.Left(fields("x-rate-limit-limit", "3", "x-rate-limit-interval", "1s"), received)
	if len(got) != 1 || got[0].Limit != 3 || got[0].Window != time.Second || got[0].Remaining != -1 {
		t.Errorf("Crossref: %+v", got)
	}
	for _, name := range []string{"generic", "gitlab", "hubspot", "yuque"} { // known, and not meant for that
		p, _ := Get(name)
		if got := p.Left(fields("RateLimit-Limit", "60", "RateLimit-Remaining", "1", "X-RateLimit-Remaining", "1", "X-HubSpot-RateLimit-Remaining", "1"), received); len(got) != 0 {
			t.Errorf("%s steers: %+v", name, got)
		}
	}
}
