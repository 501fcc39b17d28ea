package profile

import (
	"encoding/json"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// The corpus holds real hints and the right reading of each; it is the one of package hint.
// "linear" is nobody's profile: it stands for a user's own, and is in testdata.
func TestCorpus(t *testing.T) {
	raw, err := os.ReadFile("../hint/testdata/hints.json")
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		Platform string
		Status   int
		Headers  map[string]string
		Body     *string
		Received time.Time `json:"received_at"`
		Expect   struct {
			Wait    *float64 `json:"wait_seconds"`
			AtLeast float64  `json:"at_least_seconds"`
			Kind    string
			Note    string
		}
	}
	if err := json.Unmarshal(raw, &entries); err != nil {
		t.Fatal(err)
	}
	linear, err := Load("testdata/linear.yaml")
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]int{}
	for _, e := range entries {
		p, ok := Get(e.Platform)
		if e.Platform == "linear" {
			p, ok = linear, true
		}
		if !ok {
			t.Errorf("no profile %s", e.Platform)
			continue
		}
		read[e.Platform]++
		a := Answer{Status: e.Status, Header: http.Header{}, Received: e.Received}
		for k, v := range e.Headers {
			a.Header.Set(k, v)
		}
		if e.Body != nil {
			a.Body = []byte(*e.Body)
			a.Batch = strings.Contains(*e.Body, `"responses"`)
		}
		v := p.Judge(a)
		hint := v.Hint
		if throttled := !strings.HasPrefix(e.Expect.Note, "NOT throttled"); v.Throttled != throttled {
			t.Errorf("%s %d %q %s: throttled %v, want %v (%s)", e.Platform, e.Status, e.Headers, a.Body, v.Throttled, throttled, e.Expect.Note)
		} else if !throttled {
			hint = v.Delay
		}
		if v.Kind != e.Expect.Kind || hint.Valid() != (e.Expect.Wait != nil) {
			t.Errorf("%s %d %q %s: kind %s, want %s (%s)", e.Platform, e.Status, e.Headers, a.Body, v.Kind, e.Expect.Kind, e.Expect.Note)
			continue
		}
		if e.Expect.Wait != nil && hint.Wait.Seconds() != math.Ceil(*e.Expect.Wait) {
			t.Errorf("%s %d %q %s: wait %v, want %v s (%s)", e.Platform, e.Status, e.Headers, a.Body, hint.Wait, math.Ceil(*e.Expect.Wait), e.Expect.Note)
		}
		if e.Expect.AtLeast != 0 && hint.AtLeast.Seconds() != e.Expect.AtLeast {
			t.Errorf("%s %d %q: at least %v, want %v s (%s)", e.Platform, e.Status, e.Headers, hint.AtLeast, e.Expect.AtLeast, e.Expect.Note)
		}
		if a.Body != nil && !a.Batch && v.Fact.Line != 0 && !p.NeedsBody(a.Status, a.Header) {
			without := a
			without.Body = nil
			if got := p.Judge(without); got.Throttled != v.Throttled || got.Hint != v.Hint {
				t.Errorf("%s %d %q: the body is said not to be needed, and decides", e.Platform, e.Status, e.Headers)
			}
		}
	}
	if len(entries) != 166 || len(read) != 36 {
		t.Errorf("read %d entries of %d platforms, want 166 of 36", len(entries), len(read))
	}
}
