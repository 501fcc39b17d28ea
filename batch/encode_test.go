package batch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A sent is a request as the service would read it: decoders of requests, small and of their own.
type sent struct {
	ID, Method, URL string
	Header          map[string]string // the values of one name joined
}

func readGraph(contentType string, body []byte) ([]sent, error) {
	if contentType != "application/json" {
		return nil, fmt.Errorf("the type is %q", contentType)
	}
	var in struct {
		Requests []struct {
			ID, Method, URL string
			Headers         map[string]string
		}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return nil, err
	}
	var out []sent
	for _, r := range in.Requests {
		out = append(out, sent{r.ID, r.Method, r.URL, r.Headers})
	}
	return out, nil
}

func readMultipart(contentType string, body []byte) ([]sent, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/mixed" {
		return nil, fmt.Errorf("the type is %q: %v", contentType, err)
	}
	body, ok := bytes.CutSuffix(body, []byte("\r\n--"+params["boundary"]+"--\r\n"))
	if !ok {
		return nil, fmt.Errorf("the last boundary is not there")
	}
	parts := strings.Split("\r\n"+string(body), "\r\n--"+params["boundary"]+"\r\n")
	if parts[0] != "" {
		return nil, fmt.Errorf("%q before the first boundary", parts[0])
	}
	var out []sent
	for _, p := range parts[1:] {
		head, message, ok := strings.Cut(p, "\r\n\r\n")
		lines := strings.Split(head, "\r\n")
		slices.Sort(lines)
		if !ok || len(lines) != 2 || lines[1] != "Content-Type: application/http" {
			return nil, fmt.Errorf("the head of a part is %q", head)
		}
		id, ok := strings.CutPrefix(strings.ToLower(lines[0][:13])+lines[0][13:], "content-id: <")
		if id, ok2 := strings.CutSuffix(id, ">"); !ok || !ok2 {
			return nil, fmt.Errorf("the id is %q", id)
		}
		message, ok = strings.CutSuffix(message, "\r\n\r\n")
		if !ok {
			return nil, fmt.Errorf("a request without its end: %q", message)
		}
		lines = strings.Split(message, "\r\n")
		words := strings.Split(lines[0], " ")
		if len(words) != 3 || words[2] != "HTTP/1.1" {
			return nil, fmt.Errorf("the request line is %q", lines[0])
		}
		r := sent{ID: strings.TrimSuffix(id, ">"), Method: words[0], URL: words[1]}
		for _, l := range lines[1:] {
			name, value, _ := strings.Cut(l, ": ")
			if r.Header == nil {
				r.Header = map[string]string{}
			}
			if before, ok := r.Header[name]; ok {
				value = before + ", " + value
			}
			r.Header[name] = value
		}
		out = append(out, r)
	}
	return out, nil
}

var readers = map[string]func(string, []byte) ([]sent, error){"graph": readGraph, "multipart": readMultipart}

func TestEncode(t *testing.T) {
	items := []Item{
		{ID: "1", URL: "/drives/b!x/items/01A/content?a=1&b=<%20>", Header: http.Header{"If-None-Match": {`"v1"`, `"v2"`}, "Prefer": {"respond-async"}}},
		{ID: "Zwei_2@dogear.example", URL: "/me"},
		{ID: "3", URL: "/x", Header: http.Header{"Empty": nil, "Accept": {""}}},
	}
	contentType, body, err := Encode("graph", items)
	want := `{"requests":[{"id":"1","method":"GET","url":"/drives/b!x/items/01A/content?a=1&b=<%20>","headers":{"If-None-Match":"\"v1\", \"v2\"","Prefer":"respond-async"}},` +
		`{"id":"Zwei_2@dogear.example","method":"GET","url":"/me"},{"id":"3","method":"GET","url":"/x","headers":{"Accept":""}}]}`
	if err != nil || contentType != "application/json" || string(body) != want {
		t.Errorf("graph: %s, %s, %v, want %s", contentType, body, err, want)
	}
	contentType, body, err = Encode("multipart", items)
	if err != nil {
		t.Fatal(err)
	}
	_, params, _ := mime.ParseMediaType(contentType)
	want = string(crlf(strings.ReplaceAll(`--B
Content-Id: <1>
Content-Type: application/http

GET /drives/b!x/items/01A/content?a=1&b=<%20> HTTP/1.1
If-None-Match: "v1"
If-None-Match: "v2"
Prefer: respond-async


--B
Content-Id: <Zwei_2@dogear.example>
Content-Type: application/http

GET /me HTTP/1.1


--B
Content-Id: <3>
Content-Type: application/http

GET /x HTTP/1.1
Accept: `+`


--B--
`, "--B", "--"+params["boundary"])))
	if d := cmp.Diff(want, string(body)); d != "" || !strings.HasPrefix(contentType, "multipart/mixed; boundary=") {
		t.Errorf("multipart, %s: %s", contentType, d)
	}
	if again, _, _ := Encode("multipart", items); again == contentType {
		t.Errorf("the same boundary twice: %s", again)
	}
}

// Whatever Encode takes, the service reads as it was meant.
func TestEncodeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom([]string{"graph", "multipart"}).Draw(t, "form")
		items := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Item {
			i := Item{
				ID:  rapid.StringMatching(`[!-~]{1,12}`).Draw(t, "id"),
				URL: "/" + rapid.StringMatching(`[!-~]{0,20}`).Draw(t, "url"),
			}
			for name, v := range rapid.MapOfN(rapid.StringMatching(`[A-Z]{1,5}`), rapid.StringMatching(`[!-~é][ -~é\t]{0,9}[!-~é]`), 0, 3).Draw(t, "headers") {
				if i.Header == nil {
					i.Header = http.Header{}
				}
				i.Header[name] = []string{v, v}
			}
			return i
		}), 1, 8, func(i Item) string { return strings.ToLower(i.ID) }).Draw(t, "items")
		contentType, body, err := Encode(form, items)
		if err != nil {
			if slices.ContainsFunc(items, func(i Item) bool { return i.check(form) != nil }) {
				return // it says so
			}
			t.Fatal(err)
		}
		got, err := readers[form](contentType, body)
		if err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		var want []sent
		for _, i := range items {
			s := sent{ID: i.ID, Method: "GET", URL: i.URL}
			for name, v := range i.Header {
				if s.Header == nil {
					s.Header = map[string]string{}
				}
				s.Header[name] = strings.Join(v, ", ")
			}
			want = append(want, s)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// A service of a few lines answers what Encode wrote; Decode and Match give back what it answered.
func TestThereAndBack(t *testing.T) {
	items := []Item{{ID: "1", URL: "/a"}, {ID: "2", URL: "/b"}, {ID: "3", URL: "/c"}}
	for form, read := range readers {
		contentType, body, err := Encode(form, items)
		if err != nil {
			t.Fatal(err)
		}
		requests, err := read(contentType, body)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(requests)
		var responses, parts []string
		for _, r := range requests {
			responses = append(responses, fmt.Sprintf(`{"id":%q,"status":200,"headers":{"Content-Type":"text/plain"},"body":"read %s"}`, r.ID, r.URL))
			parts = append(parts, fmt.Sprintf("--x\r\nContent-ID: <response-%s>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nread %s\r\n", r.ID, r.URL))
		}
		contentType, body = "application/json", []byte(`{"responses":[`+strings.Join(responses, ",")+`]}`)
		if form == "multipart" {
			contentType, body = "multipart/mixed; boundary=x", []byte(strings.Join(parts, "")+"--x--")
		}
		answers, err := Decode(form, contentType, body)
		if err != nil {
			t.Fatal(err)
		}
		matched, unknown := Match([]string{"1", "2", "3"}, answers, true)
		for n, a := range matched {
			if want := "read " + items[n].URL; a.ID != items[n].ID || a.Status != 200 || string(a.Body) != want || unknown != nil {
				t.Errorf("%s: %s has %d %q, want %q; unknown %v", form, a.ID, a.Status, a.Body, want, unknown)
			}
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	ok := Item{ID: "1", URL: "/a"}
	for name, tt := range map[string]struct {
		form  string // "" for both
		items []Item
		says  string
	}{
		"none":                      {"", nil, "1 to 10000 items, not 0"},
		"too many":                  {"", make([]Item, 10_001), "not 10001"},
		"no id":                     {"", []Item{ok, {URL: "/a"}}, `item 2 of the batch, "": it has no id`},
		"an id too long":            {"", []Item{{ID: strings.Repeat("x", 257), URL: "/a"}}, "257 bytes"},
		"an id with a space":        {"", []Item{{ID: "a b", URL: "/a"}}, "visible ASCII"},
		"an id with a line break":   {"", []Item{{ID: "a\r\nX: y", URL: "/a"}}, `"a\r\nX: y": its id cannot be printed`},
		"an id of other letters":    {"", []Item{{ID: "é", URL: "/a"}}, `"\u00e9": its id has other letters`},
		"an id in brackets":         {"multipart", []Item{{ID: "<1>", URL: "/a"}}, "bracket"},
		"an id like an answer's":    {"multipart", []Item{{ID: "Response-1", URL: "/a"}}, "response-"},
		"an id twice":               {"", []Item{ok, ok}, `item 2 of the batch, "1": its id is there twice`},
		"ids that differ in case":   {"graph", []Item{{ID: "a", URL: "/a"}, {ID: "A", URL: "/b"}}, "twice"},
		"no address":                {"", []Item{{ID: "1"}}, "address"},
		"a whole address":           {"", []Item{{ID: "1", URL: "https://CANARY.example/"}}, "address"},
		"another host":              {"", []Item{{ID: "1", URL: "//CANARY.example/"}}, "address"},
		"an address with a space":   {"", []Item{{ID: "1", URL: "/a HTTP/1.1 CANARY"}}, "address"},
		"an address with a break":   {"", []Item{{ID: "1", URL: "/a\r\nCANARY: x"}}, "address"},
		"an address, not in ASCII":  {"", []Item{{ID: "1", URL: "/é"}}, "address"},
		"an address with a place":   {"", []Item{{ID: "1", URL: "/a#CANARY"}}, "address"},
		"a header without a name":   {"", []Item{{ID: "1", URL: "/a", Header: http.Header{"": {"CANARY"}}}}, "not the name of a header"},
		"a header with a break":     {"", []Item{{ID: "1", URL: "/a", Header: http.Header{"X": {"1\r\nCANARY: 2"}}}}, `its header "X" has`},
		"a header that is no UTF-8": {"", []Item{{ID: "1", URL: "/a", Header: http.Header{"X": {"CANARY\xff"}}}}, `its header "X" has`},
		"a name with a break":       {"", []Item{{ID: "1", URL: "/a", Header: http.Header{"X\r\nY": {"CANARY"}}}}, "not the name of a header"},
		"a header for a body":       {"", []Item{{ID: "1", URL: "/a", Header: http.Header{"content-length": {"5"}}}}, "no body"},
	} {
		t.Run(name, func(t *testing.T) {
			for form := range readers {
				if tt.form != "" && tt.form != form {
					continue
				}
				contentType, body, err := Encode(form, tt.items)
				if err == nil || !strings.Contains(err.Error(), tt.says) || contentType != "" || body != nil || strings.Contains(err.Error(), "CANARY") {
					t.Errorf("%s: %q, %q, %v, want an error that says %q", form, contentType, body, err, tt.says)
				}
			}
		})
	}
	if _, _, err := Encode("multipart", []Item{{ID: "a", URL: "/a"}, {ID: "A", URL: "/b"}}); err != nil {
		t.Errorf("multipart tells case apart: %v", err)
	}
}

func TestUnknownForm(t *testing.T) {
	for _, form := range []string{"", "Graph", "soap"} {
		_, _, err1 := Encode(form, []Item{{ID: "1", URL: "/a"}})
		answers, err2 := Decode(form, "application/json", []byte(`{"responses":[]}`))
		for _, err := range []error{err1, err2} {
			if err == nil || answers != nil || !strings.Contains(err.Error(), "no form of a batch") {
				t.Errorf("form %q: %v, %v", form, answers, err)
			}
		}
	}
}

// K7: what is logged has no address, header or body.
func TestLogValue(t *testing.T) {
	var b bytes.Buffer
	secret := http.Header{"Location": {"https://x.example/?sig=CANARY"}}
	slog.New(slog.NewTextHandler(io.MultiWriter(&b, t.Output()), nil)).Info("batch", "item", Item{"1", "/a?sig=CANARY", secret},
		"answer", Answer{"1", 200, secret, []byte("CANARY")})
	if got := b.String(); strings.Contains(got, "CANARY") || !strings.Contains(got, "answer.status=200 answer.bytes=6") {
		t.Errorf("logged: %s", got)
	}
}
