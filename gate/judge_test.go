package gate

import (
	"net/http"
	"testing"
	"time"

	"github.com/dogear/dogear/profile"
)

// R3: a multipart batch is judged by its items: one that is refused closes, of several the
// latest hint counts, and the others say nothing.
func TestR3MultipartItems(t *testing.T) {
	p, ok := profile.Get("google-drive")
	if !ok {
		t.Fatal("there is no profile of Google Drive")
	}
	part := func(id, head, body string) string {
		return "--b\r\nContent-Type: application/http\r\nContent-ID: <response-" + id + ">\r\n\r\n" + head + "\r\n\r\n" + body + "\r\n"
	}
	const rate = `{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}`
	const denied = `{"error":{"errors":[{"reason":"forbidden"}]}}`
	for _, tt := range []struct {
		name      string
		body      string
		throttled bool
		wait      time.Duration
	}{
		{"none refused", part("1", "HTTP/1.1 200 OK", "{}"), false, 0},
		{"denied", part("1", "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json", denied), false, 0},
		{"one refused, without a hint", part("1", "HTTP/1.1 200 OK", "{}") + part("2", "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json", rate), true, 0},
		{"the latest hint", part("1", "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5", "") + part("2", "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60", "") +
			part("3", "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 12", ""), true, time.Minute},
		{"no batch at all", "<html>", false, 0},
	} {
		v := judgeItems(p, profile.Answer{Status: 200, Header: http.Header{"Content-Type": {"multipart/mixed; boundary=b"}},
			Body: []byte(tt.body + "--b--\r\n"), Received: time.Now(), Batch: true})
		if v.Throttled != tt.throttled || v.Hint.Wait != tt.wait {
			t.Errorf("%s: throttled %v, wait %v; want %v, %v", tt.name, v.Throttled, v.Hint.Wait, tt.throttled, tt.wait)
		}
	}
}
