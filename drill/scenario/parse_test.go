package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// whole has every key of a scenario once, as far as they go together.
const whole = `# A comment.
about: All of it.
documents: 60
size: 4KiB
digests: true
validators: both
workers: 16
clients: 2
kill: [2s, 5s]
time_limit: 30s
token: {lifetime: 3s}
links: {lifetime: 5s}
pages: {size: 20, cursor: 30s}
graph: {drives: 2, folders: 8, page: 50, cursor: 5s}
google: true
quotas:
  - name: first
    documents: 1-10
    limit: {bucket: 20, per: 10s, burst: 5, key: credential, refused: counted, ban: 5s}
    refusal:
      status: 503
      headers:
        retry-after: ["{seconds:1}", "{date}", 7]
        X-Empty: ""
      body: '{"error":{"wait":{ms}}}'
      type: application/json
      wait: 5s
      valid: false
      skew: -5m
  - name: rest
    limit: {concurrency: 4, takes: 100ms, key: header X-Tenant}
    refusal: {wait: 2s}
    rules:
      - {documents: "13,17-19", requests: 1-2, arrivals: "10-", after: 3s, until: 9s, every: 5, do: throttle, wait: 1s}
      - {documents: 20, do: status, status: 500, body: oops, type: text/html}
      - {documents: 21, do: cut, bytes: 4095}
      - {documents: 22, do: slow, pause: 200ms}
      - {documents: 23, do: error, body: '{"ok":false}', type: application/json}
      - {do: digest}
expect:
  - late == 0
  - burst <= 1
`

func TestParse(t *testing.T) {
	s, err := Parse("dir/whole.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	three, five := lifetime(3*time.Second), lifetime(5*time.Second)
	want := &Scenario{
		Name: "whole", About: "All of it.", Documents: 60, Size: 4096, Workers: 16, Clients: 2,
		Kill: []time.Duration{2 * time.Second, 5 * time.Second}, TimeLimit: 30 * time.Second,
		Expect:  []string{"late == 0", "burst <= 1"},
		digests: true, validators: "both", token: &three, links: &five, pages: &pages{20, 30 * time.Second},
		graph: &graph{2, 8, 50, 5 * time.Second}, google: true,
		quotas: []quota{
			{
				name: "first", share: span{1, 10},
				limit: &limit{kind: "bucket", requests: 20, per: 10 * time.Second, burst: 5, by: "credential", counted: true, ban: 5 * time.Second},
				refusal: refusal{
					status: 503, headers: map[string][]string{"Retry-After": {"{seconds:1}", "{date}", "7"}, "X-Empty": {""}},
					body: `{"error":{"wait":{ms}}}`, typ: "application/json", wait: 5 * time.Second, skew: -5 * time.Minute,
				},
			},
			{
				name: "rest", share: span{11, 60},
				limit:   &limit{kind: "concurrency", requests: 4, burst: 4, takes: 100 * time.Millisecond, by: "header", header: "X-Tenant"},
				refusal: refusal{status: 429, headers: map[string][]string{"Retry-After": {"{seconds}"}}, wait: 2 * time.Second, valid: true},
				rules: []rule{
					{
						documents: spans{{13, 13}, {17, 19}}, requests: spans{{1, 2}}, arrivals: spans{{10, 0}},
						after: 3 * time.Second, until: 9 * time.Second, every: 5, do: "throttle",
						refusal: refusal{status: 429, headers: map[string][]string{"Retry-After": {"{seconds}"}}, wait: time.Second, valid: true},
					},
					{documents: spans{{20, 20}}, do: "status", status: 500, body: "oops", typ: "text/html", bytes: -1},
					{documents: spans{{21, 21}}, do: "cut", bytes: 4095},
					{documents: spans{{22, 22}}, do: "slow", pause: 200 * time.Millisecond, bytes: -1},
					{documents: spans{{23, 23}}, do: "error", body: `{"ok":false}`, typ: "application/json", bytes: -1},
					{do: "digest", bytes: -1},
				},
			},
		},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

func TestParseDefaults(t *testing.T) {
	s, err := Parse("least", []byte("\ufeffabout: The least.\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{
		Name: "least", About: "The least.", Documents: 20, Workers: 8, Clients: 1, TimeLimit: time.Minute,
		Expect:     []string{"late == 0", "lost == 0", "repeats == 0", "leaked == 0", "mixed == 0", "hung == 0"},
		validators: "etag",
		quotas:     []quota{{name: "docs", share: span{1, 20}}},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

// TestParseForms: the same thing may be written in several ways.
func TestParseForms(t *testing.T) {
	for _, text := range []string{
		"# c\n---\n# d\nabout: x\n",
		"---\nabout: x\n...\n",
		"about: x\nexpect: [late == 0]\n",
		"about: |-\n  x\nquotas: [{limit: {window: 1, per: 1s}}]\n",
		"about: >-\n  x\n  y\nquotas:\n- name: a\n  documents: 3\n- name: b\n  documents: 1-2\ndocuments: 3\n",
		"about: x\nsize: 500\n",
		"about: x\ngraph: {}\n",
		"about: x\ngraph: {drives: 20, folders: 0}\ndocuments: 1\n",
		"about: x\nsize: 1MiB\n",
		"about: x\nquotas: [{rules: [{do: throttle, headers: {Retry-After: -5}}]}]\n",
		"about: x\nquotas: [{rules: [{do: throttle, headers: {Retry-After: \"{seconds:1.5}\"}}]}]\n",
		"about: x\nquotas: [{limit: {concurrency: 1}, refusal: {headers: {}}}]\n",
		"about: x\nquotas: [{limit: {concurrency: 1, ban: 1s}}]\n",
	} {
		if _, err := Parse("x", []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestErrorShowsTheLine(t *testing.T) {
	_, err := Parse("busy.yaml", []byte("about: x\n# ä\nquotas:\n  - limit: {window: 3, per: 2s, brust: 4}\n"))
	want := `busy.yaml:4:33: unknown key "brust"; did you mean burst? (a limit has window, sliding, bucket, leaky, concurrency, per, burst, queue, takes, key, refused, ban)
> 4 |   - limit: {window: 3, per: 2s, brust: 4}
    |                                 ^`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Line != 4 || e.Column != 33 || e.File != "busy.yaml" {
		t.Errorf("got %+v", e)
	}
}

func TestErrorExcerpt(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		line        string
		column      int
		text, caret string
	}{
		{"a:\t  b", 5, "a:\t  b", "  \t "},
		{"about", 9, "about", "     "},
		{"äöü: b", 6, "äöü: b", "     "},
		{long, 1, long[:120] + "…", ""},
		{long, 500, "…" + long[:60] + long[:59] + "…", strings.Repeat(" ", 61)},
		{long, 1000, "…" + long[:61], strings.Repeat(" ", 61)},
	} {
		e := &Error{File: "x", Line: 12, Column: c.column, Message: "m", Text: c.line}
		want := fmt.Sprintf("x:12:%d: m\n> 12 | %s\n     | %s^", c.column, c.text, c.caret)
		if got := e.Error(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestErrorIsShort: what is wrong may be long.
func TestErrorIsShort(t *testing.T) {
	for _, text := range []string{strings.Repeat(":", 100_000), "about: x\nvalidators: " + strings.Repeat("x", 100_000), strings.Repeat("k", 50_000) + ": 1\n" + strings.Repeat("k", 50_000) + ": 2\n"} {
		_, err := Parse("f", []byte(text))
		if err == nil || len(err.Error()) > 2000 {
			t.Errorf("%s: got an error of %d bytes", short(text), len(fmt.Sprint(err)))
		}
	}
}
