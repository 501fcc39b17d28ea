package standin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// googleFailed is an error as Google writes it.
type googleFailed struct {
	Error struct {
		Code    int
		Message string
		Errors  []struct{ Domain, Reason string }
	}
}

func TestGoogleFiles(t *testing.T) {
	both(t, func() Config { return Config{First: 2, Last: 5, Google: true, Tokens: NewTokens(0)} }, func(t *testing.T, s *Service, c *http.Client) {
		token := s.cfg.Tokens.Valid()
		s.Change(3)
		s.Withhold(4, http.StatusNotFound)
		s.Withhold(5, http.StatusForbidden)
		for _, tt := range []struct {
			path   string
			status int
			want   string
		}{
			{"/drive/v3/files/3", 200, `{"id":"3","kind":"drive#file","name":"3.bin"}`},
			{"/drive/v3/files/2?fields=version,%20headRevisionId", 200, `{"headRevisionId":"0B0drill2r1","version":"1"}`},
			{"/drive/v3/files/3?fields=*", 200, fmt.Sprintf(`{"headRevisionId":"0B0drill3r2","id":"3","kind":"drive#file","modifiedTime":"2020-01-01T01:03:00Z",`+
				`"name":"3.bin","size":"%d","version":"2"}`, Size(3))},
			{"/drive/v3/files/3?fields=what", 400, "badRequest"},
			{"/drive/v3/files/1", 404, "notFound"},
			{"/drive/v3/files/6?alt=media", 404, "notFound"},
			{"/drive/v3/files/x", 404, "notFound"},
			{"/drive/v3/files/4", 404, "notFound"},
			{"/drive/v3/files/4?alt=media", 404, "notFound"},
			{"/drive/v3/files/5", 403, "insufficientFilePermissions"},
		} {
			resp, b := bearer(t, c, s.URL(tt.path), token)
			var failed googleFailed
			got := string(b)
			if tt.status != 200 {
				if err := json.Unmarshal(b, &failed); err != nil || failed.Error.Code != tt.status || len(failed.Error.Errors) != 1 {
					t.Errorf("%s: %v in %s", tt.path, err, b)
					continue
				}
				got = failed.Error.Errors[0].Reason
			}
			if resp.StatusCode != tt.status || got != tt.want {
				t.Errorf("%s: %v, %s; want %d, %s", tt.path, resp.Status, got, tt.status, tt.want)
			}
		}
		n := s.Journal.Len()
		if resp, b := bearer(t, c, s.URL("/drive/v3/files/3?alt=media"), token); resp.StatusCode != 200 || !bytes.Equal(b, BodyOf(3, Size(3), 1)) {
			t.Errorf("content: %v, %d bytes", resp.Status, len(b))
		}
		if resp, _ := bearer(t, c, s.URL("/drive/v3/files/3"), ""); resp.StatusCode != 401 {
			t.Errorf("without a token: %v", resp.Status)
		}
		all := rows(t, s, n+2)
		if a := all[0]; a.Kind != journal.Check || a.Document != 0 {
			t.Errorf("journal: %+v", a)
		}
		if a := all[n]; a.Kind != journal.Read || a.Document != 3 || !a.Whole || a.Try != 0 {
			t.Errorf("journal: %+v", a)
		}
	})
	s := start(t, Config{Last: 5})
	for _, path := range []string{"/drive/v3/files/3", "/batch/drive/v3"} {
		if resp, _, err := get(t, client(t, nil), s.URL(path)); err != nil || resp.StatusCode != 404 {
			t.Errorf("%s of a service that is not Google's: %v, %v", path, resp, err)
		}
	}
}

// A googleAnswer is the answer to a part of a batch.
type googleAnswer struct {
	id     string
	status int
	header http.Header
	body   string
}

// postGoogle sends a batch of parts, each the text of an HTTP request, with the ids 1, 2, ….
func postGoogle(t *testing.T, c *http.Client, s *Service, requests ...string) (*http.Response, []googleAnswer) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i, r := range requests {
		to, err := w.CreatePart(map[string][]string{"Content-Type": {"application/http"}, "Content-Id": {fmt.Sprintf("<%d>", i+1)}})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(to, r)
	}
	w.Close()
	return sendGoogle(t, c, s, "multipart/mixed; boundary="+w.Boundary(), &b)
}

func sendGoogle(t *testing.T, c *http.Client, s *Service, contentType string, body io.Reader) (*http.Response, []googleAnswer) {
	t.Helper()
	resp, err := c.Post(s.URL("/batch/drive/v3"), contentType, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	kind, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != 200 {
		return resp, []googleAnswer{{body: string(text)}}
	}
	if err != nil || kind != "multipart/mixed" {
		t.Fatalf("%v, %v: %s", resp, err, text)
	}
	var out []googleAnswer
	for r := multipart.NewReader(bytes.NewReader(text), params["boundary"]); ; {
		p, err := r.NextPart()
		if err == io.EOF {
			return resp, out
		}
		if err != nil || p.Header.Get("Content-Type") != "application/http" {
			t.Fatalf("%v in %s", err, text)
		}
		inner, err := http.ReadResponse(bufio.NewReader(p), nil)
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		b, err := io.ReadAll(inner.Body)
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		out = append(out, googleAnswer{p.Header.Get("Content-ID"), inner.StatusCode, inner.Header, string(b)})
	}
}

func TestGoogleBatch(t *testing.T) {
	both(t, func() Config {
		return Config{Last: 9, Google: true, Limit: Window(3, time.Hour), Refusal: Refusal{Status: 403, Hint: &None, Body: `{"error":{"code":403}}`, Type: jsonText},
			Rules: []Rule{On("/drive/v3/files/2", Throttle(429, Seconds, 2*time.Second))}}
	}, func(t *testing.T, s *Service, c *http.Client) {
		resp, answers := postGoogle(t, c, s,
			"GET /drive/v3/files/1?fields=id,version HTTP/1.1\r\nAccept: application/json\r\n\r\n",
			"GET /drive/v3/files/2?fields=id HTTP/1.1\r\n\r\n",
			"GET /drive/v3/files/3?fields=id", // the page of Google's has it without a version, and without an end
			"GET /drive/v3/files/4?alt=media HTTP/1.1\r\n\r\n",
			"POST /drive/v3/files/5 HTTP/1.1\r\n\r\n",
			"GET https://www.googleapis.com/drive/v3/files/5 HTTP/1.1\r\n\r\n",
			"GET /v1.0/documents HTTP/1.1\r\n\r\n",
			"GET /drive/v3/files/99 HTTP/1.1\r\n\r\n",
			"GET /drive/v3/files/6 HTTP/1.1\r\nno header\r\n\r\n",
			"GET /drive/v3/files/"+strings.Repeat("6", maxGoogleURL)+" HTTP/1.1\r\n\r\n",
			"",
			"GET /drive/v3/files/7 HTTP/1.1\r\n\r\n",
		)
		if resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
		var statuses []int
		for i, a := range answers {
			statuses = append(statuses, a.status)
			if want := fmt.Sprintf("<response-%d>", i+1); a.id != want {
				t.Errorf("part %d: Content-ID %s, want %s", i+1, a.id, want)
			}
		}
		if want := []int{200, 429, 200, 400, 400, 400, 400, 404, 400, 400, 400, 403}; !slices.Equal(statuses, want) {
			t.Fatalf("%v, want %v", statuses, want)
		}
		if a := answers[0]; a.body != `{"id":"1","version":"1"}` || a.header.Get("Content-Type") != jsonText {
			t.Errorf("part 1: %+v", a)
		}
		if a := answers[1]; a.header.Get("Retry-After") != "2" {
			t.Errorf("part 2: %+v", a)
		}
		if a := answers[3]; !strings.Contains(a.body, "content cannot be asked for in a batch") {
			t.Errorf("part 4: %+v", a)
		}
		if a := answers[11]; a.body != `{"error":{"code":403}}` || a.header.Get("Retry-After") != "" {
			t.Errorf("part 12: %+v", a)
		}
		row := rows(t, s, 1)[0]
		if row.Kind != journal.Batch || row.End != journal.Sent || row.Refused != "" || len(row.Items) != 12 {
			t.Fatalf("journal: %+v", row)
		}
		want := map[int]journal.Item{
			0:  {ID: "1", Kind: journal.Check, Path: "/drive/v3/files/1", Status: 200},
			1:  {ID: "2", Kind: journal.Check, Path: "/drive/v3/files/2", Status: 429, Refused: journal.ByRule},
			3:  {ID: "4", Status: 400},
			11: {ID: "12", Kind: journal.Check, Path: "/drive/v3/files/7", Status: 403, Refused: journal.ByLimit},
		}
		for _, i := range slices.Sorted(maps.Keys(want)) {
			got := row.Items[i]
			if got.Until.IsZero() != (i != 1) {
				t.Errorf("item %d waits until %v", i+1, got.Until)
			}
			got.Bytes, got.Until = 0, time.Time{}
			if got != want[i] {
				t.Errorf("item %d: %+v, want %+v", i+1, got, want[i])
			}
		}
	})
}

func TestBadGoogleBatches(t *testing.T) {
	s := start(t, Config{Last: 200, Google: true})
	c := client(t, nil)
	const one = "--b\r\nContent-Type: application/http\r\n\r\nGET /drive/v3/files/1 HTTP/1.1\r\n\r\n\r\n"
	for name, tt := range map[string]struct{ contentType, body, says string }{
		"no type":     {"", one + "--b--\r\n", "multipart/mixed"},
		"another":     {"multipart/form-data; boundary=b", one + "--b--\r\n", "multipart/mixed"},
		"no boundary": {"multipart/mixed", one + "--b--\r\n", "no batch"},
		"no parts":    {"multipart/mixed; boundary=b", "--b--\r\n", "1 to 100"},
		"too many":    {"multipart/mixed; boundary=b", strings.Repeat(one, 101) + "--b--\r\n", "1 to 100"},
		"cut":         {"multipart/mixed; boundary=b", one + one[:70], "no batch"},
	} {
		resp, a := sendGoogle(t, c, s, tt.contentType, strings.NewReader(tt.body))
		if resp.StatusCode != 400 || !strings.Contains(a[0].body, tt.says) {
			t.Errorf("%s: %v, %+v; want 400 that says %q", name, resp.Status, a, tt.says)
		}
	}
	if resp, a := sendGoogle(t, c, s, "multipart/mixed; boundary=b", strings.NewReader(strings.Repeat(one, 100)+"--b--\r\n")); resp.StatusCode != 200 || len(a) != 100 || a[99].status != 200 || a[99].id != "" {
		t.Errorf("100 requests: %v, %d answers", resp.Status, len(a))
	}
	if _, a := sendGoogle(t, c, s, "multipart/mixed; boundary=b", strings.NewReader(strings.Replace(one, "application/http", "text/plain", 1)+"--b--\r\n")); a[0].status != 400 {
		t.Errorf("a part of another type: %+v", a)
	}
	if got := decode[googleFailed](t, c, s.URL("/batch/drive/v3"), 405); got.Error.Errors[0].Reason != "httpMethodNotAllowed" {
		t.Errorf("GET: %+v", got)
	}
}

// Google's content is a document like any other: behind a link where there are links.
func TestGoogleContentBehindLinks(t *testing.T) {
	s := start(t, Config{Last: 3, Google: true, Links: NewLinks(0)})
	c := client(t, nil)
	resp, _, err := get(t, c, s.URL("/drive/v3/files/2?alt=media"))
	if err != nil || resp.StatusCode != 302 {
		t.Fatalf("%v, %v", resp, err)
	}
	if _, b, err := get(t, c, resp.Header.Get("Location")); err != nil || !bytes.Equal(b, Body(2)) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
