package gate

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
)

// refused sends a request that is refused, and tells how long its scopes are closed after it.
func refused(t *testing.T, g *Gate, resp func(*http.Request) *http.Response, address string) time.Duration {
	t.Helper()
	client := &http.Client{Transport: &Transport{Gate: g, Base: origin(resp)}}
	got, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	var left time.Duration
	for _, v := range g.View() {
		left = max(left, v.Left)
	}
	return left
}

func startService(t *testing.T, m *memory, name string, change func(*Config)) *Gate {
	t.Helper()
	p, ok := profile.Get(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return start(t, m.process(), func(c *Config) {
		c.Profile = func(*url.URL) *profile.Profile { return p }
		if change != nil {
			change(c)
		}
	})
}

// Without a valid hint a scope waits at least what its service documents for the nth refusal
// in a row, and at least a step of the back-off (W4). A hint is followed as it is.
func TestDocumentedPenalties(t *testing.T) {
	const s, m = time.Second, time.Minute
	const wecom, hubspot, github = "https://qyapi.weixin.qq.com/cgi-bin/doc/get", "https://api.hubapi.com/crm/v3/objects/notes", "https://api.github.com/repos/a/b/contents/c"
	tenSeconds := `{"status":"error","policyName":"TEN_SECONDLY_ROLLING"}`
	secondary := `{"message":"You have exceeded a secondary rate limit"}`
	for _, c := range []struct {
		name, profile, address string
		status                 int
		body                   string
		fields                 []string
		base                   time.Duration // of the back-off
		least, most            []time.Duration
	}{
		{"a minute, then an hour", "wecom", wecom, 200, `{"errcode":45009}`, nil, s, []time.Duration{m, time.Hour, time.Hour}, []time.Duration{m, time.Hour, time.Hour}},
		{"ten seconds each time", "hubspot", hubspot, 429, tenSeconds, nil, s, []time.Duration{10 * s, 10 * s, 10 * s}, []time.Duration{10 * s, 10 * s, 10 * s}},
		{"the back-off passes it", "hubspot", hubspot, 429, tenSeconds, nil, 8 * s, []time.Duration{10 * s, 10 * s, 16 * s}, []time.Duration{10 * s, 16 * s, 32 * s}},
		{"longer than the largest step", "wecom", wecom, 200, `{"errcode":45009}`, nil, 4 * m, []time.Duration{2 * m, time.Hour, time.Hour}, []time.Duration{4 * m, time.Hour, time.Hour}},
		{"what is no hint still counts", "hubspot", hubspot, 429, tenSeconds, []string{"Retry-After", "20.5"}, s, []time.Duration{21 * s, 21 * s, 21 * s}, []time.Duration{21 * s, 21 * s, 21 * s}},
		{"a hint is followed", "github", github, 403, secondary, []string{"Retry-After", "5"}, s, []time.Duration{5 * s, 5 * s, 5 * s}, []time.Duration{5 * s, 5 * s, 5 * s}},
		{"and without one", "github", github, 403, secondary, nil, s, []time.Duration{m, m, m}, []time.Duration{m, m, m}},
		{"nothing is documented", "hubspot", hubspot, 429, `{"policyName":"DAILY"}`, nil, s, []time.Duration{s / 2, s, 2 * s}, []time.Duration{s, 2 * s, 4 * s}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := startService(t, newMemory(), c.profile, func(cfg *Config) { cfg.BackoffBase = c.base })
				for i := range c.least {
					got := refused(t, g, func(r *http.Request) *http.Response {
						return answer(r, c.status, strings.NewReader(c.body), append([]string{"Content-Type", "application/json"}, c.fields...)...)
					}, c.address)
					if got < c.least[i] || got > c.most[i] {
						t.Errorf("refusal %d in a row: waits %v, want %v to %v", i+1, got, c.least[i], c.most[i])
					}
				}
			})
		})
	}
}

// The row goes on in another process and ends with an answer. A documented penalty is no
// hint: who is refused after it as often as is borne has come to the end (W4).
func TestPenaltiesInARow(t *testing.T) {
	const address = "https://qyapi.weixin.qq.com/cgi-bin/doc/get"
	said := func(body string) func(*http.Request) *http.Response {
		return func(r *http.Request) *http.Response {
			return answer(r, 200, strings.NewReader(body), "Content-Type", "application/json")
		}
	}
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := startService(t, m, "wecom", nil), startService(t, m, "wecom", func(c *Config) { c.MaxThrottles = 2 })
		for i, want := range []time.Duration{time.Minute, time.Hour} {
			g := []*Gate{a, b}[i]
			if got := refused(t, g, said(`{"errcode":45009}`), address); got != want {
				t.Errorf("refusal %d in a row, in another process each: waits %v, want %v", i+1, got, want)
			}
		}
		_, err := b.Admit(context.Background(), dogear.Request{Scopes: b.profile(mustURL(t, address)).Keys("GET", mustURL(t, address), nil)})
		if x, ok := errors.AsType[*ExhaustedError](err); !ok || x.Streak != 2 {
			t.Errorf("after two penalties of two that are borne: %v, want an ExhaustedError", err)
		}
		read(t, a, said(`{"errcode":0}`), address)
		if got := refused(t, a, said(`{"errcode":45009}`), address); got != time.Minute {
			t.Errorf("a refusal after an answer waits %v, want the first penalty", got)
		}
	})
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
