package gate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
)

// store is a service with one quota for an app, and one for each class of requests.
const store = `
name: store
title: A store
sources: {docs: "https://store.example.com/limits"}
parts:
  area: {path: "/{}/**", else: other}
scopes:
  - {name: app, key: [host], source: docs, known: documented}
  - {name: area, key: [host, area], source: docs, known: documented}
throttles:
  - {status: [429], closes: [app], source: docs, known: documented}
hints:
  - {field: Retry-After, form: seconds, source: docs, known: documented}
batch: {form: graph, method: POST, path: "/$batch", most: 20, charged: each, source: docs, known: documented}
ratelimit:
  - {form: fields, limit: RateLimit-Limit, remaining: RateLimit-Remaining, reset: RateLimit-Reset, reset_form: seconds, scopes: [app], steers: STEERS, source: docs, known: documented}
  - {form: structured, field: RateLimit, policy: RateLimit-Policy, policies: {"area": area}, steers: STEERS, source: docs, known: documented}
unknown: [whether refused requests count]
`

// origin answers requests without a network.
type origin func(*http.Request) *http.Response

func (o origin) RoundTrip(r *http.Request) (*http.Response, error) { return o(r), nil }

// answer is one with these fields, name and value in turn.
func answer(r *http.Request, status int, body io.Reader, fields ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(fields); i += 2 {
		h.Set(fields[i], fields[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(body), Request: r, ContentLength: -1}
}

func startStore(t *testing.T, s Store, steers bool) *Gate {
	t.Helper()
	p, err := profile.Parse("store", []byte(strings.ReplaceAll(store, "STEERS", fmt.Sprint(steers))))
	if err != nil {
		t.Fatal(err)
	}
	return start(t, s, func(c *Config) { c.Profile = func(*url.URL) *profile.Profile { return p } })
}

// slowly is a body that takes its time.
type slowly struct{ io.Reader }

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(50 * time.Millisecond)
	return s.Reader.Read(p)
}

// read gets an address to its end, and tells how long it waited for admission.
func read(t *testing.T, g *Gate, o origin, address string) time.Duration {
	t.Helper()
	begin := time.Now()
	var left time.Duration
	client := &http.Client{Transport: &Transport{Gate: g, Base: origin(func(r *http.Request) *http.Response {
		left = time.Since(begin)
		return o(r)
	})}}
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	resp.Body.Close()
	if err := g.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return left
}

// What an answer tells slows the scopes that it speaks of, where the service means it.
func TestAnswersSteer(t *testing.T) {
	const app, area = "store:host=x.test", "store:host=x.test,area=docs"
	for _, c := range []struct {
		name   string
		steers bool
		status int
		fields []string
		rates  map[string]float64 // of the scopes afterwards
	}{
		{"fields of draft 03", true, 200, []string{"RateLimit-Limit", "1000", "RateLimit-Remaining", "100", "RateLimit-Reset", "50"}, map[string]float64{app: 2}},
		{"nothing left", true, 200, []string{"RateLimit-Limit", "1000", "RateLimit-Remaining", "0", "RateLimit-Reset", "50"}, map[string]float64{app: 0.02}},
		{"in a 404", true, 404, []string{"RateLimit-Limit", "1000", "RateLimit-Remaining", "100", "RateLimit-Reset", "50"}, map[string]float64{app: 2}},
		{"in a 500", true, 500, []string{"RateLimit-Limit", "1000", "RateLimit-Remaining", "100", "RateLimit-Reset", "50"}, map[string]float64{app: 2}},
		{"in a refusal", true, 429, []string{"Retry-After", "5", "RateLimit-Remaining", "100", "RateLimit-Reset", "50"}, map[string]float64{app: 2}},
		{"structured, for a named policy", true, 200, []string{"RateLimit", `"area";r=100;t=20`, "RateLimit-Policy", `"area";q=2000;w=60`}, map[string]float64{area: 5}},
		{"structured, for all scopes", true, 200, []string{"RateLimit", `"other";r=100;t=20`}, map[string]float64{app: 5, area: 5}},
		{"the strictest of several", true, 200, []string{"RateLimit", `"other";r=100;t=20, "hour";r=20;t=100`}, map[string]float64{app: 0.2, area: 0.2}},
		{"both forms", true, 200, []string{"RateLimit-Remaining", "100", "RateLimit-Reset", "50", "RateLimit", `"area";r=100;t=20`}, map[string]float64{app: 2, area: 5}},

		{"it does not mean it", false, 200, []string{"RateLimit-Limit", "1000", "RateLimit-Remaining", "0", "RateLimit-Reset", "50"}, nil},
		{"for information alone", true, 200, []string{"Beta-RateLimit", `"area";r=0;t=20`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "50"}, nil},
		{"plenty", true, 200, []string{"RateLimit-Limit", "1000", "RateLimit-Remaining", "900", "RateLimit-Reset", "50"}, nil},
		{"no reset", true, 200, []string{"RateLimit-Limit", "1000", "RateLimit-Remaining", "0"}, nil},
		{"no remainder", true, 200, []string{"RateLimit-Limit", "1000", "RateLimit-Reset", "50"}, nil},
		{"a reset within what seconds are rounded by", true, 200, []string{"RateLimit-Remaining", "0", "RateLimit-Reset", "1"}, nil},
		{"malformed", true, 200, []string{"RateLimit-Remaining", "-3", "RateLimit-Reset", "50", "RateLimit", `area;r=0;t=50`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				g := startStore(t, m.process(), c.steers)
				read(t, g, func(r *http.Request) *http.Response {
					return answer(r, c.status, strings.NewReader("text"), c.fields...)
				}, "https://x.test/docs/1")
				for _, v := range g.View() {
					if v.Rate != c.rates[v.Key] || Rate(v.Scope) != v.Rate {
						t.Errorf("scope %s is held to %v/s, and shows %v/s; want %v/s", v.Key, v.Rate, Rate(v.Scope), c.rates[v.Key])
					}
					if wait := 5 * time.Second; v.Left != 0 && !(c.status == 429 && v.Key == app && v.Left == wait) {
						t.Errorf("W10: scope %s is closed for %v", v.Key, v.Left)
					}
				}
			})
		})
	}
}

// Nothing left: the next request leaves when there is more, and is admitted all the same.
// Every process that shares the ledger goes by it.
func TestNothingLeftIsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := startStore(t, m.process(), true), startStore(t, m.process(), true)
		read(t, a, func(r *http.Request) *http.Response {
			return answer(r, 200, strings.NewReader("text"), "RateLimit-Limit", "1000", "RateLimit-Remaining", "0", "RateLimit-Reset", "30")
		}, "https://x.test/docs/1")
		plain := func(r *http.Request) *http.Response { return answer(r, 200, strings.NewReader("text")) }
		if got := read(t, b, plain, "https://x.test/docs/2"); got < 30*time.Second || got > 32*time.Second {
			t.Errorf("the next request left after %v, want 30 s", got)
		}
		if got := read(t, b, plain, "https://x.test/docs/3"); got != 0 {
			t.Errorf("the one after it waited %v: what was told is over", got)
		}
		for key, s := range m.scopes {
			if !s.NotBefore.IsZero() || s.Probing || s.Generation != 0 {
				t.Errorf("W10: scope %s was closed: %+v", key, s)
			}
		}
	})
}

// deaf hears nothing of other processes.
type deaf struct{ *process }

func (deaf) Await(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// A tight budget counts as soon as the head is read, though the body goes on for long; a later
// answer that has more to tell wakes those who wait.
func TestHeadSteers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startStore(t, deaf{newMemory().process()}, true)
		client := &http.Client{Transport: &Transport{Gate: g, Base: origin(func(r *http.Request) *http.Response {
			switch r.URL.Path {
			case "/docs/few":
				return answer(r, 200, strings.NewReader("text"), "RateLimit-Remaining", "0", "RateLimit-Reset", "60")
			case "/docs/more":
				time.Sleep(2 * time.Second)
				return answer(r, 200, strings.NewReader("text"), "RateLimit-Remaining", "100", "RateLimit-Reset", "10")
			}
			return answer(r, 200, strings.NewReader("text"))
		})}}
		var wg sync.WaitGroup
		wg.Go(func() {
			resp, err := client.Get("https://x.test/docs/more")
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
		synctest.Wait()
		held, err := client.Get("https://x.test/docs/few")
		if err != nil {
			t.Fatal(err)
		}
		defer held.Body.Close() // its body is not read before the next has left
		synctest.Wait()
		begin := time.Now()
		resp, err := client.Get("https://x.test/docs/2")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := time.Since(begin); got < 2*time.Second || got > 3*time.Second {
			t.Errorf("left after %v, want the 2 s until an answer told more", got)
		}
		wg.Wait()
	})
}

// An answer that tells nothing new costs no commit of its own.
func TestTellingCostsNoCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		decided := map[string]int{}
		for name, fields := range map[string][]string{
			"nothing": nil,
			"plenty":  {"RateLimit-Limit", "1000", "RateLimit-Remaining", "900", "RateLimit-Reset", "50"},
			"as told": {"RateLimit-Remaining", "1000", "RateLimit-Reset", "10"},
		} {
			m := newMemory()
			g := startStore(t, m.process(), true)
			client := &http.Client{Transport: &Transport{Gate: g, Base: origin(func(r *http.Request) *http.Response {
				return answer(r, 200, slowly{strings.NewReader("text")}, fields...)
			})}}
			for i := range 10 {
				resp, err := client.Get(fmt.Sprintf("https://x.test/docs/%d", i))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				time.Sleep(time.Second) // what is settled is in the ledger
			}
			m.mu.Lock()
			decided[name] = m.decided
			m.mu.Unlock()
		}
		if decided["plenty"] != decided["nothing"] || decided["as told"] > decided["nothing"]+1 {
			t.Errorf("commits by what the answers tell: %v", decided)
		}
	})
}

// A budget of a scope speaks of the user's scopes, where the user has named them otherwise.
func TestBudgetOfNamedScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startStore(t, newMemory().process(), true)
		client := &http.Client{Transport: &Transport{Gate: g, Scopes: func(*http.Request) []string { return []string{"mine"} },
			Base: origin(func(r *http.Request) *http.Response {
				return answer(r, 200, strings.NewReader("text"), "RateLimit-Remaining", "100", "RateLimit-Reset", "50")
			})}}
		resp, err := client.Get("https://x.test/docs/1")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if err := g.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if v := g.View(); len(v) != 1 || v[0].Key != "mine" || v[0].Rate != 2 {
			t.Errorf("%+v, want the one scope held to 2/s", v)
		}
	})
}

// Items of a batch tell what is left, throttled or not.
func TestBatchItemsTell(t *testing.T) {
	for _, status := range []int{200, 429} {
		synctest.Test(t, func(t *testing.T) {
			g := startStore(t, newMemory().process(), true)
			r := dogear.Request{Scopes: []string{"store:host=x.test"}, Kind: dogear.Batch, Items: []dogear.Request{{Kind: dogear.Item}}}
			p, err := g.Admit(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequest(http.MethodGet, "https://x.test/docs/1", nil)
			if err != nil {
				t.Fatal(err)
			}
			x := &Exchange{permit: p.items[0], Received: time.Now()}
			g.judge(x, req, answer(req, status, strings.NewReader("text"), "RateLimit-Remaining", "100", "RateLimit-Reset", "50"), false)
			if x.Outcome == dogear.Throttled {
				x.endThrottled(x)
			} else {
				x.End(dogear.OK, 4, nil)
			}
			ok(p)
			if err := g.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
			if v := g.View(); len(v) != 1 || v[0].Rate != 2 {
				t.Errorf("%+v, want the one scope held to 2/s by an item's %d", v, status)
			}
		})
	}
}

// A scope whose requests are held back for another one's sake learns nothing of its own pace.
func TestSiblingOfSteeredScopeLearnsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		g := startStore(t, m.process(), true)
		plain := func(r *http.Request) *http.Response { return answer(r, 200, strings.NewReader("text")) }
		tell := func(r *http.Request) *http.Response {
			return answer(r, 200, strings.NewReader("text"), "RateLimit-Remaining", "20", "RateLimit-Reset", "100")
		}
		for i := range 10 {
			read(t, g, slices.Repeat([]origin{tell, plain}, 5)[i], "https://x.test/docs/1")
		}
		const area = "store:host=x.test,area=docs"
		throttledBy(t, admit1(t, g, area), time.Second, true)
		ok(admit1(t, g, area))
		if err := g.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := Rate(m.scope(area)); got != 0 {
			t.Errorf("it learnt %v/s from requests that the app's quota held to one in 5 s", got)
		}
	})
}
