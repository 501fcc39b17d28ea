package profile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// whole is a small profile without a mistake.
const whole = `name: wiki
title: A wiki
sources:
  manual: https://wiki.example.com/limits
base: {url: "https://wiki.example.com", source: manual, known: documented}
hosts: [wiki.example.com]
parts:
  user: {given: the user of the token, or: identity}
scopes:
  - name: user
    key: [host, user]
    source: manual
    known: documented
    limits:
      - {requests: 10, per: 1s, source: manual, known: documented}
throttles:
  - {status: [429], closes: [user], source: manual, known: documented}
hints:
  - {field: Retry-After, form: seconds, source: manual, known: documented}
unknown:
  - Whether refused requests count
`

// Each mistake is told with its line, its column and what to do.
func TestMistakes(t *testing.T) {
	if _, err := Parse("wiki.yaml", []byte(whole)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ name, old, with, want string }{
		{"a rate without a source", "per: 1s, source: manual, known", "per: 1s, known", "15:9: a limit without a source"},
		{"a fact that nobody knows", "{requests: 10, per: 1s, source: manual, known: documented}", "{requests: 10, per: 1s, source: manual}", "15:9: a limit without known"},
		{"known in other words", "source: manual, known: documented}\nhosts", "source: manual, known: sure}\nhosts", "5:64: known is \"sure\": it is one of documented, reported"},
		{"a source that is not there", "per: 1s, source: manual", "per: 1s, source: manuel", `15:41: there is no source "manuel"; did you mean manual?`},
		{"a source that is no address", "https://wiki.example.com/limits", "page 7", "4:11: source manual is \"page 7\""},
		{"a source that nobody cites", "  manual: https", "  other: https://example.com\n  manual: https", "4:3: source other is never cited"},
		{"an unknown unit", "requests: 10", "tokens: 10", `15:10: unknown key "tokens"`},
		{"two units", "requests: 10", "requests: 10, units: 10", "a limit counts one of requests, units, bytes, concurrent"},
		{"no time", "requests: 10, per: 1s", "requests: 10", "per is missing"},
		{"a time without a unit", "per: 1s", "per: 10", "15:29: per is a time with its unit"},
		{"a time of nothing", "per: 1s", "per: 0s", "15:29: per is 0s: it is a time from 1ms"},
		{"a rate of zero", "requests: 10", "requests: 0", "15:20: requests of zero lets nothing through"},
		{"a rate that is no number", "requests: 10", "requests: many", "15:20: requests is a number"},
		{"a rate below zero", "requests: 10", "requests: -1", "15:20: requests is a number"},
		{"units without costs", "requests: 10", "units: 10", "limits in units and no costs"},
		{"a part that nothing gives", "key: [host, user]", "key: [host, usr]", `11:17: nothing gives the part "usr"; did you mean user?`},
		{"a part that no key has", "key: [host, user]", "key: [host]", "8:3: part user is in no scope's key"},
		{"a part with a name that is taken", "  user: {given", "  host: {given: x}\n  user: {given", `8:3: "host" cannot be the name of a part`},
		{"a part that is given twice", "or: identity}", "or: identity, path: \"/{}\"}", "8:3: part user has one of given"},
		{"a path that captures nothing", "{given: the user of the token, or: identity}", "{path: /a/*}", `8:16: "/a/*" captures nothing`},
		{"an empty scope", "key: [host, user]", "key: []", "11:10: key is an empty list"},
		{"a scope without a key", "    key: [host, user]\n", "", "10:5: key is missing in a scope"},
		{"two scopes that overlap", "throttles:", "  - {name: other, key: [host, user], source: manual, known: documented}\nthrottles:", "16:24: scopes user and other have the same key and overlap"},
		{"two scopes of one name", "throttles:", "  - {name: user, key: [host], source: manual, known: documented}\nthrottles:", "16:12: there are two scopes user"},
		{"an empty match", "    source: manual\n    known: documented\n    limits", "    match: {}\n    source: manual\n    known: documented\n    limits", "12:12: an empty match"},
		{"a match that cannot hold", "    source: manual\n    known: documented\n    limits", "    match: {given: [user], not_given: [user]}\n    source: manual\n    known: documented\n    limits", "12:39: user cannot be given and not given"},
		{"a method in small letters", "    source: manual\n    known: documented\n    limits", "    match: {methods: [get]}\n    source: manual\n    known: documented\n    limits", "12:23: a method is written in capitals: GET"},
		{"a scope that is closed and not there", "closes: [user]", "closes: [usr]", `17:30: there is no scope "usr"; did you mean user?`},
		{"a status that is none", "status: [429]", "status: [42]", "17:15: a status is a number from 200 to 599"},
		{"a status that is a text", "status: [429]", `status: ["429"]`, "17:15: a status is a number"},
		{"a throttle without a status", "status: [429], ", "", "17:5: status is missing in a throttle"},
		{"a rule that is never reached", "hints:", "  - {status: [429], source: manual, known: documented}\nhints:", "18:5: this is never reached: line 17 takes all of it"},
		{"a body with two tests", "closes: [user]", "body: {path: a, in: [1], contains: x}", "17:27: a body's path has one of in, not_in, contains and present"},
		{"a place in JSON that is none", "closes: [user]", "body: {path: a//b, in: [1]}", `17:34: "a//b" is no place in JSON`},
		{"a wait that shrinks", "closes: [user]", "waits: [60s, 30s]", "17:34: 30s is less than the wait before it"},
		{"an unknown form", "form: seconds", "form: second", "19:32: form is \"second\": it is one of"},
		{"a hint from nowhere", "field: Retry-After, ", "", "19:5: a hint has one of field"},
		{"a form that is a header's", "field: Retry-After, form: seconds", "path: a, form: structured", "19:21: structured is a form of header fields"},
		{"a field name with a colon", "field: Retry-After,", `field: "Retry-After:",`, `19:13: "Retry-After:" is no name of a header field`},
		{"an unknown key", "title:", "titel:", `2:1: unknown key "titel"; did you mean title?`},
		{"a key twice", "title: A wiki\n", "title: A wiki\ntitle: B\n", "3:1: "},
		{"a key that is missing", "title: A wiki\n", "", "1:1: title is missing in a profile"},
		{"a list that is a text", "hosts: [wiki.example.com]", "hosts: wiki.example.com", "6:8: hosts is a list"},
		{"a host that is an address", "hosts: [wiki.example.com]", "hosts: [\"https://wiki.example.com\"]", "6:9: \"https://wiki.example.com\" is no host"},
		{"a host that is nearly everything", "hosts: [wiki.example.com]", "hosts: [\"*.com\"]", `6:9: "*.com" is no host`},
		{"a name in capitals", "name: wiki", "name: Wiki", `1:7: name is "Wiki": it is a short name`},
		{"a title that is a number", "title: A wiki", "title: 7", "2:8: title wants a text"},
		{"a base with a query", `"https://wiki.example.com"`, `"https://wiki.example.com?a=b"`, "5:13: url is"},
		{"generic and yet", "title: A wiki", "title: A wiki\ngeneric: true", "3:10: generic: true says that nothing was found"},
		{"no unknowns", "unknown:\n  - Whether refused requests count\n", "", "1:1: unknown is missing"},
		{"a text with a comma", "known: documented}\nhints", "known: documented, note: one, two}\nhints", "goes in quotes"},
		{"an anchor", "title: A wiki", "title: &a A wiki", "2:8: anchors, aliases and merge keys"},
		{"a tag", "title: A wiki", "title: !!str A wiki", "2:8: tags are not used"},
		{"a second document", "name: wiki\n", "name: wiki\n---\nname: b\n", "2:1: a second document"},
		{"what is no text", "A wiki", "A \x00wiki", "2:10: the character U+0000"},
		{"what is no UTF-8", "A wiki", "A \xffwiki", "2:10: a byte that is not UTF-8"},
		{"what is no YAML", "hosts: [wiki.example.com]", "hosts: [wiki.example.com", ":"},
		{"a batch without a size", "unknown:", "batch: {form: graph, method: POST, path: /b, charged: each, source: manual, known: documented}\nunknown:", "20:8: most is missing in batch"},
		{"a reset without its unit", "unknown:", "ratelimit:\n  - {form: fields, limit: L, reset: R, steers: true, source: manual, known: documented}\nunknown:", "21:5: reset goes with reset_form"},
		{"a policy's scope that is not there", "unknown:", "ratelimit:\n  - {form: structured, field: R, policies: {a: usr}, steers: true, source: manual, known: documented}\nunknown:", `there is no scope "usr"; did you mean user?`},
	} {
		text := strings.Replace(whole, r.old, r.with, 1)
		if text == whole {
			t.Errorf("%s: nothing was replaced", r.name)
			continue
		}
		p, err := Parse("wiki.yaml", []byte(text))
		if err == nil {
			t.Errorf("%s: no error (%v)", r.name, p)
			continue
		}
		first, ok := errors.AsType[*Error](err)
		if !ok || first.Line == 0 || first.Column == 0 || first.File != "wiki.yaml" {
			t.Errorf("%s: %v has no place", r.name, err)
		}
		if !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: got\n%v\nwant %s", r.name, err, r.want)
		}
	}
}

// Several mistakes are told together, in the order of the file.
func TestAllMistakes(t *testing.T) {
	text := strings.NewReplacer("closes: [user]", "closes: [usr]", "form: seconds", "form: second", "per: 1s", "per: 1").Replace(whole)
	_, err := Parse("wiki.yaml", []byte(text))
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("one error: %v", err)
	}
	var lines []string
	for _, e := range joined.Unwrap() {
		lines = append(lines, fmt.Sprint(e.(*Error).Line))
	}
	if got := strings.Join(lines, " "); got != "15 17 19" {
		t.Errorf("mistakes in lines %s, want 15 17 19:\n%v", got, err)
	}
}

// Files that hold nothing, or too much.
func TestNoProfile(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "comment": "# nothing\n", "list": "- a\n", "text": "hello\n",
		"large": strings.Repeat("# a long comment\n", 20_000), "null": "~\n", "deep": strings.Repeat("[", 1000)} {
		if p, err := Parse("x.yaml", []byte(text)); err == nil {
			t.Errorf("%s is a profile: %v", name, p)
		} else if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("%s: %T", name, err)
		}
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("a folder is a profile")
	}
	if _, err := Load(t.TempDir() + "/none.yaml"); err == nil {
		t.Error("a file that is not there is a profile")
	}
}
