package standin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// Each placeholder tells the wait, never shorter, and until says which moment was told.
func TestPlaceholders(t *testing.T) {
	now := time.Date(2026, 11, 29, 20, 0, 0, 400e6, time.UTC)
	later := func(d time.Duration) time.Time { return now.Add(d) }
	whole := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	const wait = 2100500 * time.Microsecond
	for _, tt := range []struct {
		text  string
		skew  time.Duration
		want  string
		until time.Time
	}{
		{"{seconds}", 0, "3", later(3 * time.Second)},
		{"{seconds}", time.Hour, "3", later(3 * time.Second)}, // no clock has to do with it
		{"{decimal}", 0, "2.101", later(2101 * time.Millisecond)},
		{"{ms}", 0, "2101", later(2101 * time.Millisecond)},
		{"{date}", 0, "Sun, 29 Nov 2026 20:00:03 GMT", whole.Add(3 * time.Second)},
		{"{rfc850}", 0, "Sunday, 29-Nov-26 20:00:03 GMT", whole.Add(3 * time.Second)},
		{"{asctime}", 0, "Sun Nov 29 20:00:03 2026", whole.Add(3 * time.Second)},
		{"{iso}", 0, "2026-11-29T20:00:03Z", whole.Add(3 * time.Second)},
		{"{epoch}", 0, strconv.FormatInt(whole.Unix()+3, 10), whole.Add(3 * time.Second)},
		{"{epoch_ms}", 0, strconv.FormatInt(whole.UnixMilli()+2501, 10), whole.Add(2501 * time.Millisecond)},
		{"{date}", -time.Hour, "Sun, 29 Nov 2026 19:00:03 GMT", later(3 * time.Second)},
		{"{epoch}", 90 * time.Second, strconv.FormatInt(whole.Unix()+93, 10), later(3 * time.Second)},
		{"{seconds:1}", 0, "1", later(time.Second)},
		{"{decimal:0.5} {seconds:7}", 0, "0.500 7", later(7 * time.Second)},
		{"{seconds:1}, {seconds}", 0, "1, 3", later(3 * time.Second)},
		{"{seconds:99999999999999999999}", 0, "3162240000", later(longest * time.Second)},
		{"soon", 0, "soon", time.Time{}},
		{`{"error":{"code":"x"},"n":{5}}`, 0, `{"error":{"code":"x"},"n":{5}}`, time.Time{}},
		{"{Seconds} {seconds:} {seconds:-1} {second}", 0, "{Seconds} {seconds:} {seconds:-1} {second}", time.Time{}},
	} {
		say := &telling{now: now, wait: wait, skew: tt.skew}
		if got := say.fill(tt.text); got != tt.want || !say.until.Equal(tt.until) {
			t.Errorf("%s, skew %v: %q until %v, want %q until %v", tt.text, tt.skew, got, say.until, tt.want, tt.until)
		}
	}
}

// What clients are told arrives, and the journal has the latest of it.
func TestRefusals(t *testing.T) {
	const wait = 2100 * time.Millisecond
	fields := func(kv ...string) map[string][]string {
		out := map[string][]string{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i]] = append(out[kv[i]], kv[i+1])
		}
		return out
	}
	for name, tt := range map[string]struct {
		r           Refusal
		status      int
		least, most time.Duration // of until after began; zero: no wait
		hint        []string      // names of the fields
	}{
		"zero":        {Refusal{Wait: wait}, 429, 3 * time.Second, 3 * time.Second, []string{"Retry-After"}},
		"status":      {Refusal{Status: 503, Wait: wait}, 503, 3 * time.Second, 3 * time.Second, []string{"Retry-After"}},
		"none":        {Refusal{Hint: &None, Wait: wait}, 429, 0, 0, nil},
		"contradicts": {Refusal{Hint: &Contradicting, Wait: wait}, 429, 3 * time.Second, 3 * time.Second, []string{"Retry-After"}},
		"date": {Refusal{Hint: &Template{Fields: fields("Retry-After", IMFDate)}, Wait: wait}, 429, wait, wait + time.Second,
			[]string{"Date", "Retry-After"}},
		"skewed date": {Refusal{Hint: &Template{Fields: fields("Retry-After", RFC850), Skew: time.Hour}, Wait: wait}, 429, wait, wait + 2*time.Second,
			[]string{"Date", "Retry-After"}},
		"two fields": {Refusal{Hint: &Template{Fields: fields("Retry-After", "{seconds:1}", "x-ratelimit-reset", "{seconds:9}")}, Wait: wait}, 429,
			9 * time.Second, 9 * time.Second, []string{"Retry-After", "X-Ratelimit-Reset"}},
		"body":    {Refusal{Hint: &None, Body: `{"retry_after":{ms}}`, Type: jsonText, Wait: wait}, 429, wait, wait, nil},
		"literal": {Refusal{Hint: &Template{Fields: fields("Retry-After", "-5")}, Wait: wait}, 429, 0, 0, []string{"Retry-After"}},
		"invalid": {Refusal{Status: 403, Hint: &Template{Fields: Seconds.Fields, Invalid: true}, Wait: wait}, 403, 0, 0, []string{"Retry-After"}},
		"200":     {Refusal{Status: 200, Hint: &None, Body: `{"ok":false}`, Type: jsonText}, 200, 0, 0, nil},
		"204":     {Refusal{Status: 204, Wait: wait}, 204, 3 * time.Second, 3 * time.Second, []string{"Retry-After"}},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func() Config { return Config{Rules: []Rule{Refuse(tt.r)}} }, func(t *testing.T, s *Service, c *http.Client) {
				resp, body, err := get(t, c, s.URL("/doc/1"))
				if err != nil || resp.StatusCode != tt.status {
					t.Fatalf("%v, %v; want %d", resp, err, tt.status)
				}
				a := rows(t, s, 1)[0]
				if a.Refused != journal.ByRule || a.End != journal.Sent || a.Whole || a.Status != tt.status {
					t.Errorf("%+v", a)
				}
				var names []string
				for name, values := range a.Hint {
					names = append(names, name)
					if !slices.Equal(values, resp.Header[name]) {
						t.Errorf("the journal has %s %q, the answer %q", name, values, resp.Header[name])
					}
				}
				slices.Sort(names)
				if !slices.Equal(names, tt.hint) {
					t.Errorf("hint %v, want %v", a.Hint, tt.hint)
				}
				if told := a.Until.Sub(a.Began); tt.least == 0 != a.Until.IsZero() || tt.least > 0 && (told < tt.least-time.Millisecond || told > tt.most+time.Millisecond) {
					t.Errorf("until %v, %v after it began, want %v to %v", a.Until, told, tt.least, tt.most)
				}
				if name == "body" && string(body) != `{"retry_after":2100}` {
					t.Errorf("body %s", body)
				}
			})
		})
	}
}

// A date is told against the service's own Date: whoever reads it so waits until the end.
func TestDateAgainstDate(t *testing.T) {
	for _, skew := range []time.Duration{0, time.Hour, -5 * time.Minute} {
		s := start(t, Config{Rules: []Rule{Throttle(429, Date(ASCTime, skew), 2*time.Second)}})
		resp, _, err := get(t, client(t, nil), s.URL("/doc/1"))
		if err != nil {
			t.Fatal(err)
		}
		date, err1 := http.ParseTime(resp.Header.Get("Date"))
		until, err2 := http.ParseTime(resp.Header.Get("Retry-After"))
		a := rows(t, s, 1)[0]
		told := a.Until.Sub(a.Began)
		if err1 != nil || err2 != nil || until.Sub(date) < told.Truncate(time.Second) || until.Sub(date) > told+time.Second+time.Millisecond {
			t.Errorf("skew %v: %v, the journal says %v", skew, resp.Header, told)
		}
		if d := time.Until(date) - skew; d > time.Second || d < -time.Minute {
			t.Errorf("skew %v: Date is %v off", skew, d)
		}
	}
}

// Every entry of the corpus of hints can be produced, to the letter.
func TestCorpus(t *testing.T) {
	text, err := os.ReadFile("../../hint/testdata/hints.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct {
		Status  int
		Headers map[string]string
		Body    *string
	}
	if err := json.Unmarshal(text, &corpus); err != nil || len(corpus) < 100 {
		t.Fatalf("%d entries, %v", len(corpus), err)
	}
	var rules []Rule
	for i, e := range corpus {
		r := Refusal{Status: e.Status, Hint: &Template{Fields: map[string][]string{}}}
		for name, value := range e.Headers {
			if name == "Content-Type" {
				r.Type = value
			} else {
				r.Hint.Fields[name] = []string{value}
			}
		}
		if e.Body != nil {
			r.Body = *e.Body
		}
		rules = append(rules, On(fmt.Sprintf("/doc/%d", i), Refuse(r)))
	}
	both(t, func() Config { return Config{Rules: rules} }, func(t *testing.T, s *Service, c *http.Client) {
		for i, e := range corpus {
			resp, body, err := get(t, c, s.URL(fmt.Sprintf("/doc/%d", i)))
			if err != nil || resp.StatusCode != e.Status {
				t.Errorf("entry %d: %v, %v; want status %d", i, resp, err, e.Status)
				continue
			}
			for name, value := range e.Headers {
				if name == "Content-Type" && e.Body == nil {
					continue
				}
				if got := resp.Header.Values(name); len(got) != 1 || strings.TrimSpace(got[0]) != strings.TrimSpace(value) {
					t.Errorf("entry %d: %s %q, want %q", i, name, got, value)
				}
			}
			if e.Body != nil && string(body) != *e.Body {
				t.Errorf("entry %d: body %q, want %q", i, body, *e.Body)
			}
		}
	})
}
