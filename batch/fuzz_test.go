package batch

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzDecodeGraph(f *testing.F) {
	for _, seed := range []string{
		`{"responses":[{"id":"1","status":200,"headers":{"Content-Type":"application/json","Retry-After":[1,"2",2.128]},"body":{"value":[]}},{"id":2,"status":"429"}]}`,
		`{"responses":[{"id":"1","status":200,"headers":{"content-type":"image/png"},"body":"/9j/4AA="},{"id":"1","status":302,"headers":{"Location":"https://a/"}},null,7]}`,
		`{"responses":[{"id":"","status":0},{"id":"x","status":1e9,"headers":[]},{"id":"\ud800","status":200,"body":"\u0000"}],"@odata.nextLink":""}`,
		`{"responses":[],"responses":[]}`, `{"error":{}}`, `[`, "\ufeff{}", ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		answers, err := Decode("graph", "application/json", body)
		sane(t, answers, err)
	})
}

func FuzzDecodeMultipart(f *testing.F) {
	f.Add(batched, crlf(drive))
	f.Add("multipart/mixed; boundary=b", crlf("--b\nContent-ID: <response-1>\n\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nhel\n2\nlo\n0\n\n\n--b--"))
	f.Add(`multipart/mixed; boundary="b c"`, []byte("--b c\r\n\r\n--b c\r\nContent-ID: response-\r\n\r\nHTTP/1.1 999 x\r\n\r\n--b c--"))
	f.Add("text/html", []byte("<html>"))
	f.Add("multipart/mixed; boundary=b", []byte("--b\nContent-ID: <1>\nContent-Type: application/http\n\nHTTP/1.1 304 x\nContent-Length: 99999999999999999999\n\nbody\n--b--"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		answers, err := Decode("multipart", contentType, body)
		sane(t, answers, err)
	})
}

// sane holds what Decode promises of answers, whatever they were read from.
func sane(t *testing.T, answers []Answer, err error) {
	t.Helper()
	if err != nil && (len(err.Error()) > 2000 || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' || r > '~' })) {
		t.Errorf("an error that is long or not to be printed: %q", err)
	}
	if len(answers) > maxAnswers {
		t.Errorf("%d answers", len(answers))
	}
	var ids []string
	for _, a := range answers {
		if a.ID == "" || len(a.ID) > maxID || !utf8.ValidString(a.ID) || strings.ContainsAny(a.ID, "\r\n\x00\x1b") {
			t.Errorf("the id %q", a.ID)
		}
		if a.Status < 200 || a.Status > 599 || a.Header == nil {
			t.Errorf("the status %d, headers %v", a.Status, a.Header)
		}
		for name, values := range a.Header {
			if name != http.CanonicalHeaderKey(name) || strings.ContainsAny(name+strings.Join(values, ""), "\r\n\x00") {
				t.Errorf("the header %q: %q", name, values)
			}
		}
		ids = append(ids, a.ID)
	}
	if _, unknown := Match(ids, answers, true); unknown != nil {
		t.Errorf("unknown %q among %q", unknown, ids)
	}
}
