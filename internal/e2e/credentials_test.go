package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

// K7: no credential, no signed link and no body is in the ledger, in a log, in a report or in
// an error, and no credential reaches another origin.
func TestCredentialsStay(t *testing.T) {
	t.Parallel()
	// The documented list: what each of the signing schemes and token habits uses.
	params := []string{"sig", "Signature", "token", "access_token", "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token",
		"X-Goog-Signature", "AWSAccessKeyId", "GoogleAccessId", "OSSAccessKeyId", "Key-Pair-Id", "security-token", "q-signature", "q-ak",
		"x-oss-signature", "x-cos-security-token", "x-tos-signature", "x-obs-security-token", "tempauth", "guestaccesstoken",
		"api_key", "apikey", "key", "password", "client_secret", "jwt", "sid", "PHPSESSID", "subscription-key", "hdnts", "__token__",
		"private_token", "os_password", "tenant_access_token", "user_access_token", "auth_key", "ticket", "Token[]", "refresh_token", "id_token"}
	const body = "canary-of-a-body"

	elsewhere := serve(t, standin.Config{})
	var away []string // credentials that reached the other origin
	elsewhere.SetRules(func(x *standin.Exchange) bool {
		for name, values := range x.R.Header {
			if strings.Contains(strings.Join(values, " "), "canary") {
				away = append(away, name)
			}
		}
		return false
	})
	reached := map[string]bool{} // credentials that reached their own origin, as they must
	own := serve(t, standin.Config{})
	note := standin.Do(func(x *standin.Exchange) {
		for _, name := range []string{"Authorization", "X-Api-Key", "X-Team"} {
			reached[name+"="+x.R.Header.Get(name)] = true
		}
		for name, values := range x.R.URL.Query() {
			reached[name+"="+values[0]] = true
		}
	})
	refuse := func(code int) standin.Rule {
		return standin.Page(code, "text/html", body+" https://x.example/?sig=canary-of-an-error-page")
	}
	own.SetRules(serial(note),
		standin.On("/doc/900", standin.Redirect(302, elsewhere.URL("/doc/900?X-Amz-Signature=canary-of-a-target&sig=canary-of-a-target"))),
		standin.On("/doc/901", standin.Redirect(302, own.URL("/doc/902?token=canary-of-a-hop"))),
		standin.On("/doc/903", refuse(403)), standin.On("/doc/904", refuse(500)), standin.On("/doc/905", refuse(404)),
		standin.On("/doc/906", standin.Redirect(302, "https://user:canary-of-a-bad-target@nowhere.invalid:1/x?sig=canary-of-a-bad-target")),
		standin.On("/doc/907", standin.Redirect(302, "::canary-of-a-broken-target")),
		standin.On("/doc/908", standin.Cut(10)),
		standin.On("/doc/909", standin.Header("ETag", "canary-is-no-etag"), standin.Page(200, "text/plain", body)),
	)

	u := newUser(t)
	var list []string
	for i, p := range params {
		list = append(list, own.URL(fmt.Sprintf("/doc/%d?a=1&%s=canary-of-%d&b=2", i, url.QueryEscape(p), i)))
	}
	for i := 900; i <= 909; i++ {
		list = append(list, own.URL(fmt.Sprintf("/doc/%d?sig=canary-of-%d", i, i)))
	}
	list = append(list, strings.Replace(own.URL("/doc/800"), "http://", "http://user:canary-of-a-password@", 1))
	list = append(list, own.URL("/doc/801;jsessionid=canary-of-a-path"), own.URL("/doc/802#access_token=canary-of-a-fragment"),
		own.URL("/doc/803?next="+url.QueryEscape("https://x.example/?sig=canary-of-an-inner-address")))
	u.write("l.txt", list...)
	u.write("token.txt", "canary-of-a-bearer-file")
	u.vars = []string{"KEY=canary-of-a-variable"}
	args := []string{"--scope", "host", "-o", "out", "--header", "X-Api-Key: ${KEY}", "--header", "X-Team: docs",
		"--bearer-file", "token.txt", "--attempts", "2", "--backoff-base", "50ms", "--progress", "plain"}
	said := u.must(65, append([]string{"read", "l.txt", "--json"}, args...)...)
	all := []result{said}
	for _, args := range [][]string{{"resume", "l", "--attempts", "3"}, {"status", "l"}, {"status", "l", "--json"}, {"remaining", "l"}, {"remaining", "l", "--json"},
		{"results", "l"}, {"results", "l", "--json"}, {"requests", "l"}, {"requests", "l", "--json"}, {"runs", "l", "--json"}, {"scopes", "--json"},
		{"changed", "l"}, {"verify", "l", "--deep"}} {
		all = append(all, u.run(args...))
	}
	for _, r := range all {
		if i := strings.Index(r.stdout+r.stderr, "canary"); i >= 0 {
			t.Errorf("dogear %v writes a credential: …%s", r.args[0], excerpt(r.stdout+r.stderr, i))
		}
	}
	if len(away) > 0 {
		t.Errorf("these reached another origin: %v", away)
	}
	if elsewhere.Journal.Len() == 0 {
		t.Error("nothing reached the other origin: the test proves nothing")
	}
	for _, want := range []string{"Authorization=Bearer canary-of-a-bearer-file", "X-Api-Key=canary-of-a-variable", "X-Team=docs", "sig=canary-of-0", "token=canary-of-a-hop"} {
		if !reached[want] {
			t.Errorf("%s did not reach its own origin", want)
		}
	}
	if done := u.status("l").Documents.Done; done < len(params) {
		t.Errorf("%d documents are done, want at least %d", done, len(params))
	}

	// Everything that dogear wrote: the ledger with its journals, and the sink but for bodies.
	looked := 0
	for _, dir := range []string{u.state, u.path("out")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if strings.Contains(path, "canary") {
				t.Errorf("a file is named %s", path)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if filepath.Base(path) == "doc_909" { // a document may hold what it will
				return nil
			}
			looked++
			if i := bytes.Index(b, []byte("canary")); i >= 0 {
				t.Errorf("%s holds a credential: …%q", path, excerpt(string(b), i))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if looked < len(params) {
		t.Errorf("looked at %d files", looked)
	}
	// While it runs, arguments and journals hold no more than at the end.
	if strings.Contains(said.stdout, body) || strings.Contains(said.stderr, body) {
		t.Error("a body is in the output")
	}
}

func excerpt(s string, i int) string { return s[max(0, i-80):min(len(s), i+80)] }

// serial lets one exchange at a time through a rule.
func serial(rule standin.Rule) standin.Rule {
	turn := make(chan struct{}, 1)
	return func(x *standin.Exchange) bool {
		turn <- struct{}{}
		defer func() { <-turn }()
		return rule(x)
	}
}

// R4: a bearer file is read again after a 401, and the run goes on.
func TestBearerIsRenewed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{})
	u.write("token.txt", "first")
	s.SetRules(standin.When(func(x *standin.Exchange) bool {
		if x.Service.Journal.Len() == 6 {
			u.write("token.txt", "second")
		}
		want := "Bearer first"
		if x.Service.Journal.Len() >= 6 {
			want = "Bearer second"
		}
		return x.R.Header.Get("Authorization") != want
	}, standin.Status(401)))
	u.list("l.txt", s, 20)
	u.must(0, "read", "l.txt", "--scope", "host", "--bearer-file", "token.txt", "--concurrency", "1")
	refused := s.Journal.Arrivals(func(a journal.Arrival) bool { return a.Status == 401 })
	if len(refused) == 0 || len(refused) > 2 {
		t.Errorf("%d requests were refused, want one or two", len(refused))
	}
}

// R4: a redirect's target that has aged in a wait is asked for again, from the document's own
// address: it may be a signed link that has run out meanwhile.
func TestR4LinkIsResolvedAgain(t *testing.T) {
	t.Parallel()
	const life, wait = 60 * time.Second, 61 * time.Second
	u := newUser(t)
	var aged atomic.Int64
	store := serve(t, standin.Config{Rules: []standin.Rule{
		standin.Do(func(x *standin.Exchange) {
			issued, err := strconv.ParseInt(x.R.URL.Query().Get("sig"), 10, 64)
			if err != nil || time.Since(time.Unix(0, issued)) > life+2*time.Second {
				aged.Add(1)
			}
		}),
		standin.Once(0, standin.Throttle(429, standin.Seconds, wait)),
	}})
	s := serve(t, standin.Config{Rules: []standin.Rule{func(x *standin.Exchange) bool {
		to := fmt.Sprintf("%s?sig=%d", store.URL(x.R.URL.Path), time.Now().UnixNano())
		return standin.Redirect(302, to)(x)
	}}})
	u.list("l.txt", s, 6)
	// An agreed pace: one that is learnt of two answers and a minute would take its time.
	p := u.start("read", "l.txt", "--scope", "host", "-o", "out", "--concurrency", "3", "--rate", "50/s")
	p.wait(wait+patience).want(t, 0)
	if n := aged.Load(); n != 0 {
		t.Errorf("%d requests went to links that had aged in the wait", n)
	}
	if n := s.Journal.Len(); n <= 6 {
		t.Errorf("%d links were asked for: none again after the wait", n)
	}
}
