package batch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const batched = `multipart/mixed; boundary=batch_Qb-7`

func crlf(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }

// The shapes of Google's pages and of answers that clients have put into their issues, with names of ours.
const drive = `
--batch_Qb-7
Content-Type: application/http
Content-ID: <response-2>

HTTP/1.1 403 Forbidden
Content-Type: application/json; charset=UTF-8
Date: Sun, 29 Nov 2026 20:02:00 GMT
Retry-After: 5
Retry-After: 60
Content-Length: 61

{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}


--batch_Qb-7
Content-Type: application/http
Content-ID: response-1

HTTP/1.1 200 OK
Content-Type: application/json; charset=UTF-8
ETag: "abc"
Vary: Origin
Vary: X-Origin

{
 "id": "doc1",
 "version": "7"
}

--batch_Qb-7
Content-Type: application/http; msgtype=response
content-id: <Response-item3:a@b.example>
Content-Transfer-Encoding: binary

HTTP/1.1 304 Not Modified
ETag: "abc"
Content-Length: 12


--batch_Qb-7
Content-ID: <4>

HTTP/1.1 204
Content-Length: 0


--batch_Qb-7--
whatever follows
`

func TestDecodeMultipart(t *testing.T) {
	got, err := Decode("multipart", batched, crlf(drive))
	if err != nil {
		t.Fatal(err)
	}
	want := []Answer{
		{"2", 403, header("Content-Type", "application/json; charset=UTF-8", "Date", "Sun, 29 Nov 2026 20:02:00 GMT",
			"Retry-After", "5", "Retry-After", "60", "Content-Length", "61"),
			[]byte(`{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}` + "\r\n\r\n")},
		{"1", 200, header("Content-Type", "application/json; charset=UTF-8", "Etag", `"abc"`, "Vary", "Origin", "Vary", "X-Origin"),
			[]byte("{\r\n \"id\": \"doc1\",\r\n \"version\": \"7\"\r\n}\r\n")},
		{"item3:a@b.example", 304, header("Etag", `"abc"`, "Content-Length", "12"), []byte{}},
		{"4", 204, header("Content-Length", "0"), []byte{}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDecodeMultipartTolerates(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\n\nhello"
	for name, tt := range map[string]struct{ kind, body string }{
		"line feeds alone":        {"multipart/mixed; boundary=b", "--b\nContent-ID: <response-1>\n\n" + answer + "\n--b--\n"},
		"a quoted boundary":       {`Multipart/Mixed; boundary="b:1"; x=y`, "--b:1\nContent-ID: <response-1>\n\n" + answer + "\n--b:1--"},
		"another multipart":       {`multipart/parallel; boundary=b`, "--b\nContent-ID: <response-1>\n\n" + answer + "\n--b--"},
		"something before":        {"multipart/mixed; boundary=b", "This is MIME.\n--b\nContent-ID: <response-1>\n\n" + answer + "\n--b--"},
		"a folded Content-ID":     {"multipart/mixed; boundary=b", "--b\nContent-ID:\n <response-1>\n\n" + answer + "\n--b--"},
		"empty lines before HTTP": {"multipart/mixed; boundary=b", "--b\nContent-ID: <response-1>\n\n\n\n" + answer + "\n--b--"},
		"other part headers":      {"multipart/mixed; boundary=b", "--b\nContent-ID: <response-1>\nX-What: is it\n\n" + answer + "\n--b--"},
		"chunks":                  {"multipart/mixed; boundary=b", string(crlf("--b\nContent-ID: <response-1>\n\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nhel\n2\nlo\n0\n\n\n--b--"))},
		"a length and line feeds": {"multipart/mixed; boundary=b", "--b\nContent-ID: <response-1>\n\nHTTP/1.1 200 OK\nContent-Length: 5\n\nhello\n\n\n--b--"},
		"HTTP/1.0":                {"multipart/mixed; boundary=b", "--b\nContent-ID: <response-1>\n\nHTTP/1.0 200 Fine\n\nhello\n--b--"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode("multipart", tt.kind, []byte(tt.body))
			if err != nil || len(got) != 1 || got[0].ID != "1" || got[0].Status != 200 || string(got[0].Body) != "hello" {
				t.Errorf("%q: %+v, %v", tt.body, got, err)
			}
		})
	}
	if got, err := Decode("multipart", batched, []byte("--batch_Qb-7--\r\n")); err != nil || len(got) != 0 {
		t.Errorf("no answers at all: %v, %v", got, err)
	}
}

func TestDecodeMultipartBroken(t *testing.T) {
	whole := string(crlf(drive))
	part := "--batch_Qb-7\r\nContent-ID: <response-1>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\r\n"
	for name, tt := range map[string]struct{ kind, body, says string }{
		"no type":               {"", whole, "no Content-Type"},
		"a type of no sort":     {"multipart/mixed; boundary", whole, "no Content-Type"},
		"another type":          {"application/json", `{"error":{"message":"CANARY"}}`, `is "application/json", not multipart/mixed`},
		"no boundary":           {"multipart/mixed", whole, "no boundary"},
		"an empty boundary":     {`multipart/mixed; boundary=""`, whole, "no boundary"},
		"another boundary":      {"multipart/mixed; boundary=other", whole, "last boundary"},
		"nothing":               {batched, "", "last boundary"},
		"no multipart":          {batched, "<html>CANARY</html>", "last boundary"},
		"cut in an answer":      {batched, whole[:strings.Index(whole, "doc1")], "last boundary"},
		"cut in the headers":    {batched, whole[:strings.Index(whole, "onse-1")], "last boundary"},
		"cut before its end":    {batched, whole[:strings.Index(whole, "--batch_Qb-7--")], "last boundary"},
		"cut in the boundary":   {batched, whole[:strings.Index(whole, "--batch_Qb-7--")+13], "last boundary"},
		"no last boundary":      {batched, part + part, "last boundary"},
		"a false last boundary": {batched, part + "--batch_Qb-7--CANARY\r\n", "after 1 parts"},
		"only a false one":      {batched, "--batch_Qb-7\r\nA: b\r\n\r\nx\r\n--batch_Qb-7--CANARY", "after 1 parts"},
		"part headers of words": {batched, "--batch_Qb-7\r\nCANARY\r\n\r\n--batch_Qb-7--\r\n", "after 0 parts"},
		"too many":              {batched, strings.Repeat(part, 10_001) + "--batch_Qb-7--\r\n", "more than 10000"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode("multipart", tt.kind, []byte(tt.body))
			if err == nil || got != nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%.80q: %v, %v, want no answers and an error that says %q", tt.body, got, err, tt.says)
			}
		})
	}
	if got, err := Decode("multipart", batched, []byte(strings.Repeat(part, 10_000)+"--batch_Qb-7--\r\n")); err != nil || len(got) != 10_000 {
		t.Errorf("10,000 answers: %d, %v", len(got), err)
	}
}

// R3: a broken answer does not take the others with it.
func TestDecodeMultipartSparesTheOthers(t *testing.T) {
	const ok = "\n\nHTTP/1.1 200 OK\n\nx"
	for name, tt := range map[string]struct{ part, says string }{
		"no Content-ID":              {"Content-Type: application/http" + ok, "answer 2 of the batch: its part has no Content-ID"},
		"the id of nothing sent":     {"Content-ID: response-" + ok, "it has no id"},
		"an empty id":                {"Content-ID: <>" + ok, "it has no id"},
		"one bracket":                {"Content-ID: <response-2" + ok, "one bracket"},
		"two Content-IDs":            {"Content-ID: <response-2>\nContent-ID: <response-3>" + ok, "2 Content-IDs"},
		"an id too long":             {"Content-ID: " + strings.Repeat("x", 300) + ok, "its id has 300 bytes"},
		"an id not to print":         {"Content-ID: <response-\x80>" + ok, "cannot be printed"},
		"another type":               {"Content-ID: <response-2>\nContent-Type: text/html" + ok, `answer 2 of the batch, "2": its part is "text/html"`},
		"a transfer encoding":        {"Content-ID: <response-2>\nContent-Transfer-Encoding: base64" + ok, "Content-Transfer-Encoding"},
		"no HTTP":                    {"Content-ID: <response-2>\n\nCANARY", "no HTTP response"},
		"nothing":                    {"Content-ID: <response-2>\n\n", "no HTTP response"},
		"no status":                  {"Content-ID: <response-2>\n\nHTTP/1.1 CANARY\n\n", "no HTTP response"},
		"a status of four":           {"Content-ID: <response-2>\n\nHTTP/1.1 2000 OK\n\n", "no HTTP response"},
		"a status on the way":        {"Content-ID: <response-2>\n\nHTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\n\n", "100 is no status"},
		"a status beyond":            {"Content-ID: <response-2>\n\nHTTP/1.1 999 What\n\n", "999 is no status"},
		"headers of words":           {"Content-ID: <response-2>\n\nHTTP/1.1 200 OK\nCANARY\n\nx", "no HTTP response"},
		"a control character":        {"Content-ID: <response-2>\n\nHTTP/1.1 200 OK\nX: \x01CANARY\n\nx", "no HTTP response"},
		"headers without an end":     {"Content-ID: <response-2>\n\nHTTP/1.1 200 OK\nX: y", "no HTTP response"},
		"a length of no number":      {"Content-ID: <response-2>\n\nHTTP/1.1 200 OK\nContent-Length: CANARY\n\nx", "no HTTP response"},
		"a body shorter than said":   {"Content-ID: <response-2>\n\nHTTP/1.1 200 OK\nContent-Length: 9\n\nCANARY", "ends after 6 bytes"},
		"a body longer than said":    {"Content-ID: <response-2>\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nxyCANARY", "goes on for 6 bytes"},
		"chunks without their end":   {"Content-ID: <response-2>\n\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n6\nCANARY\n", "ends after"},
		"a coding that is not there": {"Content-ID: <response-2>\n\nHTTP/1.1 200 OK\nTransfer-Encoding: CANARY\n\nx", "no HTTP response"},
	} {
		t.Run(name, func(t *testing.T) {
			body := "--batch_Qb-7\nContent-ID: <response-1>\n\nHTTP/1.1 200 OK\n\none\n--batch_Qb-7\n" + tt.part +
				"\n--batch_Qb-7\nContent-ID: <response-3>\n\nHTTP/1.1 404 Not Found\nX: y\n\n\n--batch_Qb-7--\n"
			got, err := Decode("multipart", batched, crlf(body))
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%q: %v, want an error that says %q", tt.part, err, tt.says)
			}
			if d := cmp.Diff([]Answer{{"1", 200, header(), []byte("one")}, {"3", 404, header("X", "y"), []byte{}}}, got); d != "" {
				t.Errorf("%q: %s", tt.part, d)
			}
		})
	}
}
