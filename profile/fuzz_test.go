package profile

import (
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
)

// Whatever a file holds: a profile or mistakes with their places, never a panic; and a
// profile that was read can be asked.
func FuzzParse(f *testing.F) {
	f.Add(whole)
	for _, file := range shipped() {
		f.Add(string(file.text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("x.yaml", []byte(text))
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		if err := p.Show(io.Discard); err != nil {
			t.Error(err)
		}
		a := Answer{Status: 429, Header: fields("Retry-After", "5"), Body: []byte(`{"a":1}`), Received: received}
		if v := p.Judge(a); !v.Throttled && v.Outcome == 0 {
			t.Errorf("a 429 is nothing")
		}
		if len(p.Belongs("GET", &url.URL{Scheme: "https", Host: "example.com", Path: "/a"}, nil)) == 0 {
			t.Error("a request of no scope")
		}
		p.NeedsBody(200, a.Header)
		p.Left(a.Header, received)
	})
}

// Whatever an answer holds: no panic and no negative wait, a wait only where the hint is
// valid, and the same verdict each time.
func FuzzJudge(f *testing.F) {
	f.Add(0, 429, "Retry-After", "5", "RateLimit", `"a";r=0;t=3`, `{"error":{"code":"x"}}`, false)
	f.Add(3, 403, "X-RateLimit-Reset", "1795982430", "X-RateLimit-Remaining", "0", ``, false)
	f.Add(20, 200, "Retry-After", "1.5", "Date", "Sun, 29 Nov 2026 20:00:00 GMT", `{"responses":[{"id":"1","status":429,"headers":{"Retry-After":"5"}}]}`, true)
	f.Add(7, 429, "X-RateLimit-Interval-Seconds", "9223372036854775807", "X-RateLimit-FillRate", "1", `[[[[`, false)
	names := Names()
	f.Fuzz(func(t *testing.T, which, status int, name1, value1, name2, value2, body string, batch bool) {
		p, _ := Get(names[uint(which)%uint(len(names))])
		a := Answer{Status: status, Header: fields(name1, value1, name2, value2), Body: []byte(body), Received: received, Batch: batch}
		v := p.Judge(a)
		for _, h := range []struct {
			valid bool
			wait  int64
			least int64
		}{{v.Hint.Valid(), int64(v.Hint.Wait), int64(v.Hint.AtLeast)}, {v.Delay.Valid(), int64(v.Delay.Wait), int64(v.Delay.AtLeast)}} {
			if h.wait < 0 || h.least < 0 || !h.valid && h.wait != 0 || h.valid && h.least != 0 {
				t.Errorf("%s %d %q: %+v", p.Name, status, a.Header, h)
			}
		}
		if v.Hint.Valid() && !v.Throttled || v.Kind == "" {
			t.Errorf("%s: %+v", p.Name, v)
		}
		if again := p.Judge(a); again.Hint != v.Hint || again.Throttled != v.Throttled || again.From != v.From && !strings.Contains(p.Name, "zendesk") {
			t.Errorf("%s: %+v, then %+v", p.Name, v, again)
		}
		if v.Wait(1) < 0 || v.Wait(100) < v.Wait(1) {
			t.Errorf("%s: documented waits %v", p.Name, v.Waits)
		}
		for _, b := range p.Left(a.Header, received) {
			if b.Window < 0 || b.Limit < -1 || b.Remaining < -1 {
				t.Errorf("%s: %+v", p.Name, b)
			}
		}
		p.NeedsBody(status, a.Header)
	})
}
