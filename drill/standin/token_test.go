package standin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// bearer asks with a token.
func bearer(t *testing.T, c *http.Client, address, token string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp, b.Bytes()
}

func TestTokens(t *testing.T) {
	tokens, file := NewTokens(time.Hour), &bytes.Buffer{}
	both(t, func() Config {
		file = &bytes.Buffer{}
		return Config{Last: 5, Tokens: tokens, Key: ByCredential, Journal: journal.New(file)}
	}, func(t *testing.T, s *Service, c *http.Client) {
		resp, err := c.Post(s.URL("/token"), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got struct {
			Token   string `json:"access_token"`
			Type    string `json:"token_type"`
			Expires int    `json:"expires_in"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Type != "Bearer" || got.Expires != 3600 || got.Token == "" {
			t.Fatalf("POST /token: %+v, %v", got, err)
		}
		for _, token := range []string{got.Token, tokens.Valid()} {
			if resp, b := bearer(t, c, s.URL("/doc/1"), token); resp.StatusCode != 200 || !bytes.Equal(b, Body(1)) {
				t.Errorf("with a token: %v", resp)
			}
		}
		for token, want := range map[string]string{"": `Bearer realm="drill"`, "made-up": `Bearer realm="drill", error="invalid_token"`} {
			for _, path := range []string{"/doc/1", "/v1.0/documents"} {
				resp, _ := bearer(t, c, s.URL(path), token)
				if resp.StatusCode != 401 || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), want) {
					t.Errorf("%s with %q: %v", path, token, resp)
				}
			}
		}
		tokens.mu.Lock()
		tokens.end[got.Token] = time.Now()
		tokens.mu.Unlock()
		if resp, _ := bearer(t, c, s.URL("/doc/1"), got.Token); resp.StatusCode != 401 {
			t.Errorf("after its time: %v", resp)
		}
		all := rows(t, s, 8)
		if all[0].Kind != journal.Token || all[1].Key == all[2].Key || all[3].Status != 401 {
			t.Errorf("journal: %+v", all)
		}
		if strings.Contains(file.String(), got.Token) || strings.Contains(file.String(), "made-up") {
			t.Errorf("a token is in the journal:\n%s", file)
		}
	})
	if _, kept := tokens.end[tokens.Valid()]; !kept || len(tokens.end) != 3 {
		t.Errorf("%d tokens are kept, want the 3 that are good", len(tokens.end))
	}
}

// A document is behind a signed link at another origin, which is good for a while and wants
// no other credential.
func TestLinks(t *testing.T) {
	var file *bytes.Buffer
	both(t, func() Config {
		file = &bytes.Buffer{}
		return Config{Last: 5, Tokens: NewTokens(0), Links: NewLinks(time.Hour), Digests: true, Journal: journal.New(file)}
	}, func(t *testing.T, s *Service, c *http.Client) {
		token := s.cfg.Tokens.Valid()
		s.Change(2)
		resp, _ := bearer(t, c, s.URL("/doc/2"), token)
		to, err := url.Parse(resp.Header.Get("Location"))
		if err != nil || resp.StatusCode != 302 || to.Host == s.Addr() || to.Query().Get("sig") == "" || to.Query().Get("expires") == "" {
			t.Fatalf("%v, %v", resp, err)
		}
		want := BodyOf(2, Size(2), 1)
		resp, b := bearer(t, c, to.String(), "")
		if resp.StatusCode != 200 || !bytes.Equal(b, want) || resp.Header.Get("ETag") != ETag(2, Size(2), 1) || resp.Header.Get("Repr-Digest") != digest(want) {
			t.Errorf("the link: %v, %d bytes", resp, len(b))
		}
		if resp, _ := bearer(t, c, to.String(), token); resp.StatusCode != 200 {
			t.Errorf("with a credential: %v", resp)
		}
		forged := *to
		forged.Path = "/files/3"
		longer := *to
		longer.RawQuery = strings.Replace(to.RawQuery, "expires=", "expires=9", 1)
		for _, u := range []url.URL{forged, longer} {
			if resp, _ := bearer(t, c, u.String(), ""); resp.StatusCode != 403 {
				t.Errorf("forged: %v", resp)
			}
		}
		s.cfg.Links.mu.Lock()
		s.cfg.Links.signed[to.Query().Get("sig")].end = time.Now()
		s.cfg.Links.mu.Unlock()
		resp, b = bearer(t, c, to.String(), "")
		if resp.StatusCode != 403 || resp.Header.Get("Content-Type") != "application/xml" || !strings.Contains(string(b), "<Code>AccessDenied</Code>") {
			t.Errorf("after its time: %v\n%s", resp, b)
		}
		all := rows(t, s, 6)
		if a := all[0]; a.Kind != journal.Hop || a.Quota != "docs" || a.Document != 2 || a.Leaked != nil {
			t.Errorf("hop: %+v", a)
		}
		if a := all[1]; a.Kind != journal.Link || a.Quota != "links" || a.Document != 2 || a.Version != 1 || !a.Whole || a.Path != "/files/2" || a.Leaked != nil {
			t.Errorf("link: %+v", a)
		}
		if a := all[2]; len(a.Leaked) != 1 || a.Leaked[0] != "Authorization" {
			t.Errorf("leaked: %+v", a)
		}
		if text := file.String(); strings.Contains(text, to.Query().Get("sig")) || strings.Contains(text, token) {
			t.Errorf("a secret is in the journal:\n%s", text)
		}
	})
}

// What a rule does to a document's bytes happens where they are: behind the link, once.
func TestFaultsBehindLinks(t *testing.T) {
	both(t, func() Config {
		return Config{Last: 5, Links: NewLinks(0), Rules: []Rule{On("/doc/1", Cut(10)), On("/doc/2", Status(500)), On("/doc/3", Deny)}}
	}, func(t *testing.T, s *Service, c *http.Client) {
		c.CheckRedirect = nil
		if _, b, err := get(t, c, s.URL("/doc/1")); err == nil || len(b) != 10 {
			t.Errorf("document 1: %d bytes, %v; want a cut after 10", len(b), err)
		}
		for path, want := range map[string]int{"/doc/2": 500, "/doc/3": 403, "/doc/4": 200} {
			if resp, _, err := get(t, c, s.URL(path)); err != nil || resp.StatusCode != want {
				t.Errorf("%s: %v, %v; want %d", path, resp, err, want)
			}
		}
		s.SetRules()
		if _, b, err := get(t, c, s.URL("/doc/1")); err != nil || !bytes.Equal(b, Body(1)) {
			t.Errorf("document 1 again: %d bytes, %v", len(b), err)
		}
		all := rows(t, s, 8)
		if a := all[1]; a.Fault != "cut" || a.End != journal.Cut || a.Kind != journal.Link || all[0].Fault != "" || all[0].Status != 302 {
			t.Errorf("cut: %+v, then %+v", all[0], a)
		}
		if a := all[7]; a.Try != 1 || !a.Whole || all[6].Try != 1 {
			t.Errorf("the second time: %+v, then %+v", all[6], a)
		}
	})
}

// Services share their links' origin, and it ends with them.
func TestSharedLinks(t *testing.T) {
	links, j := NewLinks(0), &journal.Journal{}
	a := start(t, Config{Quota: "a", First: 1, Last: 2, Links: links, Journal: j})
	b := start(t, Config{Quota: "b", First: 3, Last: 4, Links: links, Journal: j})
	c := client(t, nil)
	c.CheckRedirect = nil
	for n, address := range map[int]string{1: a.URL("/doc/1"), 3: b.URL("/doc/3")} {
		if resp, got, err := get(t, c, address); err != nil || !bytes.Equal(got, Body(n)) || resp.Request.URL.Host != links.Service().Addr() {
			t.Errorf("document %d: %v, %v", n, resp, err)
		}
	}
	if _, err := Start(Config{Links: links}); err == nil || !strings.Contains(err.Error(), "journal") {
		t.Errorf("with another journal: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := get(t, c, links.Service().URL("/files/1")); err == nil {
		t.Error("the links are there after the end of their service")
	}
}
