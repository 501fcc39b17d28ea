package standin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

type answered struct {
	Responses []struct {
		ID      string
		Status  int
		Headers map[string]string
		Body    json.RawMessage
	}
	Error struct{ Code, Message string }
}

// post sends a batch.
func post(t *testing.T, c *http.Client, s *Service, body string) (*http.Response, answered) {
	t.Helper()
	resp, err := c.Post(s.URL("/v1.0/$batch"), jsonText, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body) // to its end: over HTTP/2 who stops before has gone away
	if err != nil {
		t.Fatal(err)
	}
	var a answered
	if err := json.Unmarshal(text, &a); err != nil && resp.StatusCode != 429 {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	return resp, a
}

// gets is a batch of GETs with the ids 1, 2, …
func gets(urls ...string) string {
	var parts []string
	for i, u := range urls {
		parts = append(parts, fmt.Sprintf(`{"id":"%d","method":"GET","url":%q}`, i+1, u))
	}
	return `{"requests":[` + strings.Join(parts, ",") + `]}`
}

func TestBatch(t *testing.T) {
	both(t, func() Config {
		return Config{Last: 9, Digests: true, Limit: Window(4, time.Hour), Refusal: Refusal{Body: `{"error":{"code":"TooManyRequests"}}`, Type: jsonText},
			Rules: []Rule{On("/doc/2", Throttle(503, Seconds, 2*time.Second)), On("/doc/3", Deny)}}
	}, func(t *testing.T, s *Service, c *http.Client) {
		resp, a := post(t, c, s, gets("/doc/1", "doc/2", "/doc/3", "/documents/4/content", "/v1.0/documents", "/doc/99", "/doc/5"))
		if resp.StatusCode != 200 || len(a.Responses) != 7 {
			t.Fatalf("%v: %+v", resp, a)
		}
		var ids []string
		byID := map[string]int{}
		for i, r := range a.Responses {
			ids = append(ids, r.ID)
			byID[r.ID] = i
		}
		if got := strings.Join(ids, ""); got == "1234567" {
			t.Error("the responses are in the order of the requests")
		}
		for id, want := range map[string]int{"1": 200, "2": 503, "3": 403, "4": 200, "5": 200, "6": 404, "7": 429} {
			if got := a.Responses[byID[id]].Status; got != want {
				t.Errorf("request %s: %d, want %d", id, got, want)
			}
		}
		for id, n := range map[string]int{"1": 1, "4": 4} {
			r := a.Responses[byID[id]]
			var text string
			err := json.Unmarshal(r.Body, &text)
			body, err2 := base64.StdEncoding.DecodeString(text)
			if err != nil || err2 != nil || !bytes.Equal(body, Body(n)) || r.Headers["Content-Type"] != "application/octet-stream" || r.Headers["Etag"] == "" {
				t.Errorf("document %d: %+v", n, r.Headers)
			}
		}
		if r := a.Responses[byID["2"]]; r.Headers["Retry-After"] != "2" || string(r.Body) != `"503 Service Unavailable\n"` {
			t.Errorf("refused by a rule: %+v", r)
		}
		if r := a.Responses[byID["7"]]; r.Headers["Retry-After"] != "3600" || string(r.Body) != `{"error":{"code":"TooManyRequests"}}` {
			t.Errorf("refused by the limit: %+v", r)
		}
		if r := a.Responses[byID["5"]]; !strings.HasPrefix(string(r.Body), `{"value":[`) {
			t.Errorf("the list: %s", r.Body)
		}
		row := rows(t, s, 1)[0]
		if row.Kind != journal.Batch || row.End != journal.Sent || row.Refused != "" || row.Whole || len(row.Items) != 7 {
			t.Fatalf("journal: %+v", row)
		}
		if it := row.Items[0]; it.ID != "1" || it.Document != 1 || !it.Whole || it.Bytes != int64(Size(1)) || it.Status != 200 {
			t.Errorf("item 1: %+v", it)
		}
		if it := row.Items[1]; it.Refused != journal.ByRule || it.Document != 2 || it.Until.Sub(row.At) < 1900*time.Millisecond || it.Whole {
			t.Errorf("item 2: %+v", it)
		}
		if it := row.Items[6]; it.Refused != journal.ByLimit || it.Until.Sub(row.At) < 3599*time.Second {
			t.Errorf("item 7: %+v", it)
		}
		if _, _, err := get(t, c, s.URL("/doc/1")); err != nil {
			t.Fatal(err)
		}
		if a := rows(t, s, 2)[1]; a.Told == nil || !a.Told.Until.Equal(row.Items[6].Until) || a.Try != 1 {
			t.Errorf("what came after it was told %+v, try %d", a.Told, a.Try)
		}
	})
}

func TestBadBatches(t *testing.T) {
	s := start(t, Config{Last: 50})
	c := client(t, nil)
	var many []string
	for n := range 21 {
		many = append(many, fmt.Sprintf("/doc/%d", n+1))
	}
	for name, tt := range map[string]struct{ body, says string }{
		"too many":       {gets(many...), "1 to 20"},
		"none":           {`{"requests":[]}`, "1 to 20"},
		"no JSON":        {`{"requests":[`, "no batch"},
		"an id twice":    {`{"requests":[{"id":"a","method":"GET","url":"/doc/1"},{"id":"A","method":"GET","url":"/doc/2"}]}`, "there twice"},
		"no id":          {`{"requests":[{"method":"GET","url":"/doc/1"}]}`, "empty"},
		"no url":         {`{"requests":[{"id":"1","method":"GET"}]}`, "no url"},
		"unknown parent": {`{"requests":[{"id":"1","method":"GET","url":"/doc/1","dependsOn":["2"]}]}`, "not in the batch"},
		"a circle":       {`{"requests":[{"id":"1","method":"GET","url":"/doc/1","dependsOn":["2"]},{"id":"2","method":"GET","url":"/doc/2","dependsOn":["1"]}]}`, "depends on itself"},
	} {
		resp, a := post(t, c, s, tt.body)
		if resp.StatusCode != 400 || a.Error.Code != "BadRequest" || !strings.Contains(a.Error.Message, tt.says) {
			t.Errorf("%s: %v, %+v; want 400 that says %q", name, resp.Status, a, tt.says)
		}
	}
	if resp, a := post(t, c, s, gets(many[:20]...)); resp.StatusCode != 200 || len(a.Responses) != 20 {
		t.Errorf("20 requests: %v, %d responses", resp.Status, len(a.Responses))
	}
	for _, bad := range []string{`"method":"POST","url":"/doc/1"`, `"method":"GET","url":"https://example.com/doc/1"`, `"method":"GET","url":"/v1.0/$batch"`, `"method":"GET","url":"/manifest.txt"`} {
		resp, a := post(t, c, s, `{"requests":[{"id":"1",`+bad+`},{"id":"2","method":"GET","url":"/doc/1"}]}`)
		if resp.StatusCode != 200 || len(a.Responses) != 2 || a.Responses[1].Status != 400 || a.Responses[0].Status != 200 {
			t.Errorf("%s: %v, %+v", bad, resp.Status, a)
		}
	}
	if resp, _, err := get(t, c, s.URL("/v1.0/$batch")); err != nil || resp.StatusCode != 405 {
		t.Errorf("GET: %v, %v; want 405", resp, err)
	}
}

// What depends on a request that failed fails with it, and so on; what it depends on is
// answered first wherever it stands.
func TestDependsOn(t *testing.T) {
	s := start(t, Config{Last: 9, Rules: []Rule{On("/doc/1", Status(500))}})
	_, a := post(t, client(t, nil), s, `{"requests":[
		{"id":"c","method":"GET","url":"/doc/3","dependsOn":["b"]},
		{"id":"b","method":"GET","url":"/doc/2","dependsOn":["A"]},
		{"id":"a","method":"GET","url":"/doc/1"},
		{"id":"e","method":"GET","url":"/doc/5","dependsOn":["d"]},
		{"id":"d","method":"GET","url":"/doc/4"}]}`)
	got := map[string]int{}
	for _, r := range a.Responses {
		got[r.ID] = r.Status
	}
	if want := map[string]int{"a": 500, "b": 424, "c": 424, "d": 200, "e": 200}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	var order []string
	for _, it := range rows(t, s, 1)[0].Items {
		order = append(order, it.ID)
	}
	if got := strings.Join(order, ""); got != "abcde" {
		t.Errorf("answered in the order %s, want abcde", got)
	}
}

// A batch can be refused as a whole, need a token, and be cut by what happens to an item.
func TestBatchAsAWhole(t *testing.T) {
	both(t, func() Config {
		return Config{Last: 9, Tokens: NewTokens(0), Rules: []Rule{On("/v1.0/$batch", First(1, Throttle(429, Seconds, time.Second))), On("/doc/2", First(1, Cut(10)))}}
	}, func(t *testing.T, s *Service, c *http.Client) {
		if resp, _ := post(t, c, s, gets("/doc/1")); resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" {
			t.Errorf("the first batch: %v, want 429", resp)
		}
		if resp, _ := post(t, c, s, gets("/doc/1")); resp.StatusCode != 401 {
			t.Errorf("without a token: %v, want 401", resp)
		}
		send := func() (*http.Response, error) {
			req, _ := http.NewRequest(http.MethodPost, s.URL("/v1.0/$batch"), strings.NewReader(gets("/doc/1", "/doc/2", "/doc/3")))
			req.Header.Set("Authorization", "Bearer "+s.cfg.Tokens.Valid())
			return c.Do(req)
		}
		if resp, err := send(); err == nil {
			t.Errorf("with a cut item: %v, want none", resp)
		}
		resp, err := send()
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("the last batch: %v, %v", resp, err)
		}
		resp.Body.Close()
		all := rows(t, s, 4)
		if a := all[2]; a.End != journal.Cut || a.Fault != "cut" || len(a.Items) != 2 || a.Items[0].Whole || a.Items[0].Status != 200 {
			t.Errorf("cut: %+v", a)
		}
		if a := all[3]; len(a.Items) != 3 || a.Items[1].Try != 1 || a.Items[2].Try != 0 {
			t.Errorf("the last: %+v", a)
		}
	})
}

// Items are redirected to signed links as single requests are.
func TestBatchOfLinks(t *testing.T) {
	s := start(t, Config{Last: 3, Links: NewLinks(0)})
	c := client(t, nil)
	_, a := post(t, c, s, gets("/doc/1"))
	if len(a.Responses) != 1 || a.Responses[0].Status != 302 {
		t.Fatalf("%+v", a)
	}
	if _, b, err := get(t, c, a.Responses[0].Headers["Location"]); err != nil || !bytes.Equal(b, Body(1)) {
		t.Errorf("the link: %d bytes, %v", len(b), err)
	}
}
