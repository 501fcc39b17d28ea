package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestMistakes: whatever is impossible is refused, where it stands.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, at, says string }{
		// What is no scenario at all.
		{"", "", "nothing in it"},
		{"# only a comment\n", "", "nothing in it"},
		{"---\n", "", "nothing in it"},
		{"- a\n", "1:1", "a scenario is a mapping"},
		{"about\n", "1:1", "a scenario is a mapping"},
		{"about: x\n---\nabout: y\n", "2:1", "a second document"},
		{"---\n---\nabout: y\n", "2:1", "a second document"},
		{"about: x\n...\nsize: 3\n", "3:1", "a second document"},
		{"about: &a x\n", "1:8", "anchors"},
		{"about: *a\n", "1:8", "aliases"},
		{"<<: {about: x}\n", "1:1", "merge keys"},
		{"about: !!str x\n", "1:8", "tags"},
		{"%YAML 1.1\n---\nabout: x\n", "1:1", "directives"},
		{"? about\n: x\n", "1:1", "without ?"},
		{"about: [x\n", "1:8", "']'"},
		{"about: x: y\n", "1:8", "not allowed"},
		{"about: 'x\n", "1:8", "quote"},
		{"about: \xff\n", "1:8", "UTF-8"},
		{"# ä\n\xe4: x\n", "2:1", "UTF-8"},
		{"\xff\xfea\x00", "1:1", "UTF-8"},
		{"about: x\x00\n", "1:9", "U+0000"},
		{"about: x\ndocuments: 3\rsize: 4\n", "2:13", "U+000D"},
		{"a\ufeffbout: x\n", "1:2", "U+FEFF"},
		{strings.Repeat("#", 128<<10), "", "128 KiB or more"},
		{"about: " + strings.Repeat("[", 100000), "1:24", "too deep"},
		{strings.Repeat("- ", 50000), "1:33", "too deep"},
		{"quotas: " + strings.Repeat("{a: ", 100), "1:73", "too deep"},
		{deep(300), "258:258", "too deep"},

		// Keys and types.
		{"name: x\nabout: y\n", "1:1", `unknown key "name"`},
		{"about: x\ndocument: 3\n", "2:1", "did you mean documents?"},
		{"about: x\nabout: y\n", "2:1", "already defined"},
		{"about: x\n5: y\n", "2:1", `unknown key "5"`},
		{"documents: 3\n", "1:1", "about is missing"},
		{"about:\n", "1:8", "about wants a text"},
		{"about: 5\n", "1:8", "about wants a text"},
		{"about: true\n", "1:8", "about wants a text"},
		{"about: {a: b}\n", "1:8", "about wants a text"},
		{"about: ''\n", "1:8", "empty"},
		{"about: |\n  x\n  y\n", "1:8", "one line"},
		{"about: " + strings.Repeat("x", 201) + "\n", "1:8", "one line"},

		// Numbers.
		{"about: x\ndocuments: 0\n", "2:12", "from 1 to 100000"},
		{"about: x\ndocuments: -3\n", "2:12", "from 1 to"},
		{"about: x\ndocuments: 2.0\n", "2:12", "a whole number"},
		{"about: x\ndocuments: '20'\n", "2:12", "a whole number"},
		{"about: x\ndocuments: 0x10\n", "2:12", "a whole number"},
		{"about: x\ndocuments: 1_000\n", "2:12", "a whole number"},
		{"about: x\ndocuments: +5\n", "2:12", "a whole number"},
		{"about: x\ndocuments: 99999999999999999999\n", "2:12", "a whole number"},
		{"about: x\ndocuments: [1]\n", "2:12", "a whole number"},
		{"about: x\ndocuments: ~\n", "2:12", "a whole number"},
		{"about: x\nworkers: 1001\n", "2:10", "from 1 to 1000"},
		{"about: x\nclients: 65\n", "2:10", "from 1 to 64"},
		{"about: x\nsize: 0\n", "2:7", "a size such as"},
		{"about: x\nsize: 4KB\n", "2:7", "a size such as"},
		{"about: x\nsize: 1.5MiB\n", "2:7", "a size such as"},
		{"about: x\nsize: 65MiB\n", "2:7", "at most 64 MiB"},
		{"about: x\nsize: 999999999MiB\n", "2:7", "at most 64 MiB"},
		{"about: x\ndigests: yes\n", "2:10", "true or false"},
		{"about: x\nvalidators: etags\n", "2:13", "did you mean etag?"},
		{"about: x\ntime_limit: 30\n", "2:13", "a time with its unit"},
		{"about: x\ntime_limit: soon\n", "2:13", "a time with its unit"},
		{"about: x\ntime_limit: 500ms\n", "2:13", "from 1s to 1h0m0s"},
		{"about: x\ntime_limit: 61m\n", "2:13", "from 1s to 1h0m0s"},
		{"about: x\ntime_limit: 9999999999h\n", "2:13", "a time with its unit"},
		{"about: x\nkill: 2s\n", "2:7", "kill is a list"},
		{"about: x\nkill: []\n", "2:7", "empty list"},
		{"about: x\nkill: [2s, 2s]\n", "2:12", "not after 2s"},
		{"about: x\nkill: [0s]\n", "2:8", "from 1ms"},
		{"about: x\nkill: [5]\n", "2:8", "a time with its unit"},
		{"about: x\ntime_limit: 5s\nkill: [5s]\n", "3:8", "from 1ms to 4.999s"},
		{"about: x\ntoken: 3s\n", "2:8", "token is a mapping"},
		{"about: x\nlinks: {lifetime: 0s}\n", "2:19", "from 1ms"},
		{"about: x\nlinks: {life: 1s}\n", "2:9", `unknown key "life"`},
		{"about: x\npages: {size: 0}\n", "2:15", "from 1 to"},
		{"about: x\ngraph: true\n", "2:8", "graph is a mapping"},
		{"about: x\ngraph: {drives: 0}\n", "2:17", "from 1 to 20"},
		{"about: x\ngraph: {folder: 3}\n", "2:9", "did you mean folders?"},
		{"about: x\ngraph: {page: 2s}\n", "2:15", "from 1 to"},
		{"about: x\ngraph: {cursor: 5}\n", "2:17", "a time with its unit"},
		{"about: x\ngoogle: drive\n", "2:9", "true or false"},
		{"about: x\nexpect: late == 0\n", "2:9", "expect is a list"},
		{"about: x\nexpect: []\n", "2:9", "leave the key out"},
		{"about: x\nexpect: [lat == 0]\n", "2:10", "lat"},
		{"about: x\nexpect: [5]\n", "2:10", "an expectation is a text"},

		// Quotas and their shares.
		{"about: x\nquotas: docs\n", "2:9", "quotas is a list"},
		{"about: x\nquotas: [docs]\n", "2:10", "a quota is a mapping"},
		{quotas("{}", "{}"), "3:5", "a name of small letters"},
		{quotas("{name: a}", "{name: a}"), "4:12", `a second quota "a"`},
		{quotas("{name: A}"), "3:12", "a name of small letters"},
		{quotas("{name: a}", "{name: b}"), "4:5", "documents is missing: one quota may leave it out, and a does"},
		{quotas("{name: a, documents: 1-12}", "{name: b, documents: 12-20}"), "4:26", "documents 12-20 and those of quota a, 1-12, overlap"},
		{quotas("{name: a, documents: 1-5}", "{name: b, documents: 7-20}"), "3:3", "document 6 is in no quota"},
		{quotas("{name: a, documents: 1-20}", "{name: b}"), "3:3", "no document is left for quota b"},
		{quotas("{name: a, documents: 5-6}", "{name: b}"), "3:3", "not one range: 1-4 and 7-20"},
		{quotas("{documents: 1-21}"), "3:17", "leaves the numbers 1-20"},
		{quotas("{documents: 0-5}"), "3:17", "not a list of numbers"},
		{quotas("{documents: 5-}"), "3:17", "say where it ends"},
		{quotas("{documents: 5-3}"), "3:17", "ends before it begins"},
		{quotas("{documents: '1,3'}"), "3:17", "are one range"},
		{quotas("{documents: all}"), "3:17", "not a list of numbers"},
		{quotas(slices.Repeat([]string{"{name: a}"}, 17)...), "3:3", "at most 16"},

		// Limits.
		{quotas("{limit: 5}"), "3:13", "a limit is a mapping"},
		{quotas("{limit: {}}"), "3:13", "a limit needs one of window, sliding, bucket, leaky, concurrency"},
		{quotas("{limit: {window: 5, bucket: 5, per: 1s}}"), "3:25", "window and bucket: a limit is one of"},
		{quotas("{limit: {window: 5}}"), "3:13", "per is missing"},
		{quotas("{limit: {window: 0, per: 1s}}"), "3:22", "from 1 to"},
		{quotas("{limit: {window: 5, per: 0s}}"), "3:30", "from 1ms"},
		{quotas("{limit: {window: 5, per: -1s}}"), "3:30", "from 1ms"},
		{quotas("{limit: {concurrency: 5, per: 1s}, refusal: {wait: 1s}}"), "3:30", "per does not belong to a limit by concurrency"},
		{quotas("{limit: {window: 5, per: 1s, burst: 3}}"), "3:34", "burst does not belong"},
		{quotas("{limit: {bucket: 5, per: 1s, burst: 0}}"), "3:41", "from 1 to"},
		{quotas("{limit: {bucket: 1, per: 8760h, burst: 2}}"), "3:44", "more than a year"},
		{quotas("{limit: {leaky: 1, per: 1h, queue: 9999}}"), "3:40", "more than a year"},
		{quotas("{limit: {bucket: 5, per: 1s, queue: 3}}"), "3:34", "queue does not belong"},
		{quotas("{limit: {window: 5, per: 1s, takes: 1s}}"), "3:34", "takes does not belong"},
		{quotas("{limit: {window: 5, per: 1s, refused: counted}}"), "3:34", "refused does not belong to a limit by window"},
		{quotas("{limit: {sliding: 5, per: 1s, refused: count}}"), "3:44", "did you mean counted?"},
		{quotas("{limit: {window: 5, per: 1s, key: tenant}}"), "3:39", "all, credential, or a header field"},
		{quotas("{limit: {window: 5, per: 1s, key: header }}"), "3:39", "all, credential, or a header field"},
		{quotas("{limit: {window: 5, per: 1s, key: 'header a b'}}"), "3:39", "all, credential, or a header field"},
		{quotas("{limit: {window: 5, per: 1s, ban: 0s}}"), "3:39", "from 1ms"},

		// Refusals.
		{quotas("{refusal: {status: 503}}"), "3:15", "no limit that would refuse"},
		{refusing("{state: 503}"), "4:13", "did you mean status?"},
		{refusing("{status: 199}"), "4:21", "from 200 to 599"},
		{refusing("{status: 600}"), "4:21", "from 200 to 599"},
		{refusing("{status: 204}"), "4:21", "no body"},
		{refusing("{headers: soon}"), "4:22", "a mapping of field names"},
		{refusing("{headers: {'a b': c}}"), "4:23", "no name of a header field"},
		{refusing("{headers: {A: \"b\\nc\"}}"), "4:26", "no value of a header field"},
		{refusing("{headers: {A: ' b'}}"), "4:26", "no value of a header field"},
		{refusing("{headers: {A: }}"), "4:25", "a value of A is a text"},
		{refusing("{headers: {A: {b: c}}}"), "4:26", "a value of A is a text"},
		{refusing("{headers: {A: []}}"), "4:26", "A has 0 values"},
		{refusing("{headers: {A: b, a: c}}"), "4:29", "A is there twice"},
		{refusing("{headers: {content-length: 5}}"), "4:23", "Content-Length is written by the service itself"},
		{refusing("{headers: {Content-Type: a}}"), "4:23", "in the key type"},
		{refusing("{headers: {Retry-After: '{second}'}}"), "4:22", "did you mean seconds?"},
		{refusing("{headers: {Retry-After: '{seconds:x}'}}"), "4:22", "a number of seconds"},
		{refusing("{headers: {Retry-After: '{seconds:0}'}}"), "4:22", "a number of seconds"},
		{refusing("{headers: {Retry-After: '{seconds:2s}'}}"), "4:22", "a number of seconds"},
		{refusing("{headers: {Retry-After: '{seconds:1e3}'}}"), "4:22", "a number of seconds"},
		{refusing("{headers: {Retry-After: '{seconds:}'}}"), "4:22", "a number of seconds"},
		{refusing("{body: 'wait {sec}'}"), "4:19", "unknown placeholder {sec}"},
		{refusing("{type: text/html}"), "4:19", "no body"},
		{refusing("{body: a, type: \"a\\nb\"}"), "4:28", "no content type"},
		{refusing("{wait: 0s}"), "4:19", "from 1ms"},
		{refusing("{headers: {}, wait: 1s}"), "4:32", "no placeholder that would tell it"},
		{refusing("{headers: {}, valid: true}"), "4:33", "no placeholder says what the wait is"},
		{refusing("{valid: 1}"), "4:20", "true or false"},
		{refusing("{skew: 1y}"), "4:19", "a time with its unit"},
		{quotas("{limit: {concurrency: 5}}"), "3:13", "wait is missing"},
		{quotas("{limit: {concurrency: 5}, refusal: {status: 503}}"), "3:40", "wait is missing"},

		// Rules.
		{rules("throttle"), "3:12", "a rule is a mapping"},
		{rules("{documents: 3}"), "3:12", "do is missing"},
		{rules("{do: throtle}"), "3:17", "did you mean throttle?"},
		{rules("{do: cut, byte: 3}"), "3:22", "did you mean bytes?"},
		{rules("{do: throttle}"), "3:12", "wait is missing"},
		{rules("{do: throttle, headers: {A: '{ms}'}}"), "3:12", "wait is missing"},
		{rules("{do: throttle, wait: 1s, bytes: 3}"), "3:37", "bytes does not belong to do: throttle"},
		{rules("{do: cut, wait: 1s}"), "3:22", "wait does not belong to do: cut"},
		{rules("{do: login, status: 200}"), "3:24", "status does not belong to do: login"},
		{rules("{do: status}"), "3:12", "status is missing"},
		{rules("{do: status, status: 0}"), "3:33", "from 200 to 599"},
		{rules("{do: status, status: 500, type: a}"), "3:44", "no body"},
		{rules("{do: slow}"), "3:12", "pause is missing"},
		{rules("{do: delay, pause: 0s}"), "3:31", "from 1ms"},
		{rules("{do: digest}"), "3:17", "needs digests: true"},
		{rules("{do: cut, bytes: -1}"), "3:29", "from 0 to"},
		{rules("{do: cut, documents: 1, bytes: 100000}"), "3:43", "from 0 to"},
		{rules("{do: cut, documents: 21}"), "3:33", "leaves the numbers 1-20"},
		{rules("{do: cut, documents: '3,3'}"), "3:33", "3 and 3 overlap"},
		{rules("{do: cut, documents: '3-9,5-7'}"), "3:33", "3-9 and 5-7 overlap"},
		{rules("{do: cut, documents: 3,5}"), "3:35", "stands in quotes"},
		{rules("{do: cut, requests: 0}"), "3:32", "not a list of numbers"},
		{rules("{do: cut, requests: '2-,5'}"), "3:32", "2- and 5 overlap"},
		{rules("{do: cut, arrivals: x}"), "3:32", "not a list of numbers"},
		{rules("{do: cut, arrivals: [1]}"), "3:32", "a text such as 3,7-9"},
		{rules("{do: cut, after: 5s, until: 5s}"), "3:40", "not later than after"},
		{rules("{do: cut, after: 5}"), "3:29", "a time with its unit"},
		{rules("{do: cut, every: 1}"), "3:29", "from 2 to"},
	} {
		_, err := Parse("f", []byte(c.text))
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%q: got %v, want a mistake at %s that says %q", short(c.text), err, c.at, c.says)
			continue
		}
		at := ""
		if e.Line > 0 {
			at = fmt.Sprintf("%d:%d", e.Line, e.Column)
		}
		if at != c.at || !strings.Contains(e.Message, c.says) {
			t.Errorf("%q:\ngot  %s: %s\nwant %s: …%s…", short(c.text), at, e.Message, c.at, c.says)
		}
		if want := "f:" + at; at != "" && !strings.HasPrefix(e.Error(), want+": ") {
			t.Errorf("%q: got %s, want it to begin with %s", short(c.text), e, want)
		}
	}
}

func short(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}

// deep is mappings in mappings, each on a line of its own.
func deep(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%*s:\n", i+1, "a")
	}
	return b.String()
}

// quotas is a scenario with quotas on lines of their own, from the third on.
func quotas(q ...string) string { return "about: x\nquotas:\n  - " + strings.Join(q, "\n  - ") + "\n" }

// refusing is a scenario with a refusal on line 4.
func refusing(s string) string {
	return "about: x\nquotas:\n- limit: {window: 5, per: 1s}\n  refusal: " + s + "\n"
}

// rules is a scenario with a rule on line 3.
func rules(s string) string { return "about: x\nquotas:\n- rules: [ " + s + " ]\n" }
