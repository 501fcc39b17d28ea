package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
	"github.com/dogear/dogear/wire"
)

// part is one answer in a batch, as a service might give it.
type part struct {
	ID      string            `json:"id"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    any               `json:"body,omitempty"`
}

// R3: whatever a service answers, no item is lost and none is taken for done that is not; a
// success wins over a failure with the same id; the scope waits for the longest hint.
func TestBatchAnyAnswer(t *testing.T) {
	p, ok := profile.Get("msgraph")
	if !ok {
		t.Fatal("no profile msgraph")
	}
	var mu sync.Mutex
	var answer []part
	outer := 200
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(outer)
		_ = json.NewEncoder(w).Encode(map[string]any{"responses": answer})
	}))
	defer srv.Close()
	w, err := wire.New(wire.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	base, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	here := p.At(base)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(rt, "items")
		var parts []part
		statuses := map[string][]int{} // by id, in order
		longest := 0
		for range rapid.IntRange(1, 2*n).Draw(rt, "answers") {
			a := part{ID: fmt.Sprint(rapid.IntRange(1, n+2).Draw(rt, "id")), Status: rapid.SampledFrom([]int{200, 200, 404, 429, 503, 500, 302}).Draw(rt, "status")}
			if a.Status == 429 || a.Status == 503 {
				wait := rapid.IntRange(1, 3000).Draw(rt, "wait")
				longest = max(longest, wait)
				a.Headers = map[string]string{"Retry-After": fmt.Sprint(wait)}
			}
			parts = append(parts, a)
			statuses[a.ID] = append(statuses[a.ID], a.Status)
		}
		mu.Lock()
		answer, outer = parts, rapid.SampledFrom([]int{200, 207, 424, 429}).Draw(rt, "outer")
		throttledOuter := outer == 429
		mu.Unlock()

		m := newMemory()
		g := start(t, m.process(), func(c *Config) {
			c.Wire, c.Profile = w, func(*url.URL) *profile.Profile { return here }
		})
		var items []Item
		var urls []string
		for i := range n {
			req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/v1.0/d/%d/content", srv.URL, i), nil)
			if err != nil {
				rt.Fatal(err)
			}
			items = append(items, Item{Request: req, Record: dogear.Request{Job: 1, Doc: int64(i + 1), Kind: dogear.Item}})
			urls = append(urls, fmt.Sprintf("/d/%d/content", i))
		}
		contentType, body, err := EncodeBatch(here.Batch, urls)
		if err != nil {
			rt.Fatal(err)
		}
		req, err := http.NewRequest(http.MethodPost, srv.URL+here.Batch.Path, strings.NewReader(string(body)))
		if err != nil {
			rt.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		x, got, unknown, err := g.SendBatch(t.Context(), here.Batch, req, dogear.Request{Job: 1, Scopes: []string{"s"}, Kind: dogear.Batch}, items, nil)
		if err != nil || len(got) != n {
			rt.Fatalf("%v: %d parts of %d items", err, len(got), n)
		}
		for i, part := range got {
			id := fmt.Sprint(i + 1)
			said := statuses[id]
			good := slices.IndexFunc(said, func(s int) bool { return s < 400 })
			switch {
			case len(said) == 0:
				if part.Response != nil || !errors.Is(part.Err, ErrNoAnswer) {
					rt.Errorf("item %s, of which nothing was said: %d, %v", id, part.Status, part.Err)
				}
			case good >= 0 && part.Status != said[good]:
				rt.Errorf("item %s was answered %v, and counts as %d", id, said, part.Status)
			case good < 0 && part.Status != said[0]:
				rt.Errorf("item %s was answered %v, and counts as %d", id, said, part.Status)
			case (part.Outcome == dogear.Throttled) != (part.Status == 429 || part.Status == 503):
				rt.Errorf("item %s, answered %d: outcome %v", id, part.Status, part.Outcome)
			}
			if part.Response != nil && part.Outcome != dogear.Throttled {
				part.End(dogear.OK, 0, nil)
			}
			if part.Response == nil {
				part.End(dogear.Transient, 0, nil)
			}
		}
		for _, id := range unknown {
			if id != fmt.Sprint(n+1) && id != fmt.Sprint(n+2) {
				rt.Errorf("item %s is said to be unknown", id)
			}
		}
		if (x.Outcome == dogear.Throttled) != (longest > 0 || throttledOuter) {
			rt.Errorf("outcome %v where the longest hint is %d s and the envelope's status %d", x.Outcome, longest, x.Status)
		}
		if err := g.Flush(t.Context()); err != nil {
			rt.Fatal(err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if left := time.Until(m.scopes["s"].NotBefore).Seconds(); longest > 0 && (left < float64(longest)-30 || left > float64(longest)+1) {
			rt.Errorf("the scope waits %.1f s, the longest hint was %d s", left, longest)
		}
		if len(m.grants) != n+1 || len(m.ends) != n+1 {
			rt.Errorf("%d rows granted and %d ended, want %d: the batch and its items", len(m.grants), len(m.ends), n+1)
		}
	})
}
