package gate

import (
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/batch"
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
		items, _ := batch.Decode("multipart", "multipart/mixed; boundary=b", []byte(tt.body+"--b--\r\n"))
		v := judgeItems(p, profile.Answer{Received: time.Now()}, items)
		if v.Throttled != tt.throttled || v.Hint.Wait != tt.wait {
			t.Errorf("%s: throttled %v, wait %v; want %v, %v", tt.name, v.Throttled, v.Hint.Wait, tt.throttled, tt.wait)
		}
	}
}

// A batch of which the service takes some items and refuses others is no row of refusals:
// its hint is kept to, and nothing grows, however often that happens.
func TestPartlyRefusedIsNoRow(t *testing.T) {
	pol := policy{base: time.Second, max: 5 * time.Minute, jitter: func() float64 { return 1 }}
	now := time.Unix(1_800_000_000, 0)
	for _, partly := range []bool{true, false} {
		s, p := &dogear.Scope{}, &pace{}
		for range 6 {
			event(s, p, now, stake{}, reply{kind: throttling, hint: time.Second, hinted: true, partly: partly, received: now}, pol)
			if s.NotBefore.Before(now.Add(time.Second)) {
				t.Errorf("the hint was shortened to %v", s.NotBefore.Sub(now))
			}
			if partly && s.NotBefore.After(now.Add(time.Second)) {
				t.Errorf("partly refused: it waits %v, want what was told", s.NotBefore.Sub(now))
			}
			now = s.NotBefore
		}
		if want := map[bool]int{true: 1, false: 6}[partly]; s.Streak != want {
			t.Errorf("partly %v: %d events in a row, want %d", partly, s.Streak, want)
		}
	}
}
