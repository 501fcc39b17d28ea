package drill

import (
	"slices"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	p := place{scenario: "s", base: "http://h:1", urls: []string{"http://h:1/doc/1", "http://h:1/doc/2"}, list: "/d/list.txt", out: "/d/out",
		workers: 16, clients: 2, ca: "/d/ca.pem", tokenFile: "/d/token"}
	tests := []struct {
		arg  string
		want []string
	}{
		{"{list}", []string{"/d/list.txt"}},
		{"@{list}", []string{"@/d/list.txt"}},
		{"{urls}", []string{"http://h:1/doc/1", "http://h:1/doc/2"}},
		{"get {urls};", []string{"get http://h:1/doc/1 http://h:1/doc/2;"}},
		{"{base}/v1.0/documents", []string{"http://h:1/v1.0/documents"}},
		{"--output-dir={out}", []string{"--output-dir=/d/out"}},
		{"-P{workers}", []string{"-P16"}},
		{"{out}/{client}.log", []string{"/d/out/2.log"}},
		{"{ca}", []string{"/d/ca.pem"}},
		{"{token_file}", []string{"/d/token"}},
		{`{"a":{workers}}`, []string{`{"a":16}`}},
		{"{list}}", []string{"/d/list.txt}"}},
		// Not ours.
		{"", []string{""}},
		{"{}", []string{"{}"}},
		{"{a,b}[1-3]", []string{"{a,b}[1-3]"}},
		{"%{http_code}", []string{"%{http_code}"}},
		{"{{list}}", []string{"{{list}}"}},
		{"{{ .list }}", []string{"{{ .list }}"}},
		{"{List}", []string{"{List}"}},
		{"{token}", []string{"{token}"}},
		{"${list", []string{"${list"}},
	}
	for _, tt := range tests {
		if got := p.command([]string{"cmd", tt.arg}, 2)[1:]; !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.arg, got, tt.want)
		}
	}
}

// What is filled in is not looked at again.
func TestCommandOnce(t *testing.T) {
	p := place{out: "/d/{list}", list: "/l"}
	if got, want := p.command([]string{"{out}"}, 1)[0], "/d/{list}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEnviron(t *testing.T) {
	t.Setenv("DRILL_CA", "of an outer drill")
	t.Setenv("OTHER", "stays")
	p := place{scenario: "s", base: "http://h:1", list: "/d/list.txt", out: "/d/out", workers: 16, clients: 2, ca: "/d/ca.pem", tokenFile: "/d/token"}
	drillOf := func(env []string) []string {
		return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return !strings.HasPrefix(v, "DRILL_") })
	}
	want := []string{"DRILL_SCENARIO=s", "DRILL_BASE=http://h:1", "DRILL_LIST=/d/list.txt", "DRILL_OUT=/d/out", "DRILL_WORKERS=16", "DRILL_CLIENT=2", "DRILL_CLIENTS=2"}
	env := p.environ(2, "")
	if got := drillOf(env); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Contains(env, "OTHER=stays") {
		t.Errorf("OTHER is missing in %q", env)
	}
	p.tls, p.token = true, true
	want = append(want, "DRILL_CA=/d/ca.pem", "DRILL_TOKEN=secret", "DRILL_TOKEN_FILE=/d/token")
	if got := drillOf(p.environ(2, "secret")); !slices.Equal(got, want) {
		t.Errorf("with TLS and a token: got %q, want %q", got, want)
	}
}
