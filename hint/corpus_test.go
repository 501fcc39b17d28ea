package hint

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"
)

// The corpus holds real hints and the right reading of each. Entries of services that have a
// profile are the profile's to test.
func TestCorpus(t *testing.T) {
	raw, err := os.ReadFile("testdata/hints.json")
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		Platform string
		Status   int
		Headers  map[string]string
		Received time.Time `json:"received_at"`
		Expect   struct {
			Wait    *float64 `json:"wait_seconds"` // whole ones in the entries that are read here
			AtLeast int64    `json:"at_least_seconds"`
			Kind    string
			Note    string
		}
	}
	if err := json.Unmarshal(raw, &entries); err != nil {
		t.Fatal(err)
	}
	fields := map[string][]Field{
		"generic":         nil,
		"ietf-draft03":    {RateLimitDraft03},
		"ietf-structured": {RateLimitStructured},
	}
	read := 0
	for _, e := range entries {
		other, ours := fields[e.Platform]
		if !ours {
			continue
		}
		read++
		header := http.Header{}
		for k, v := range e.Headers {
			header.Set(k, v)
		}
		got := FromResponse(e.Status, header, e.Received, other...)
		if got.Kind.String() != e.Expect.Kind || got.Valid() != (e.Expect.Wait != nil) {
			t.Errorf("%s %d %q: kind %v, want %s (%s)", e.Platform, e.Status, e.Headers, got.Kind, e.Expect.Kind, e.Expect.Note)
			continue
		}
		if e.Expect.Wait != nil && got.Wait != time.Duration(*e.Expect.Wait)*time.Second {
			t.Errorf("%s %d %q: wait %v, want %v s (%s)", e.Platform, e.Status, e.Headers, got.Wait, *e.Expect.Wait, e.Expect.Note)
		}
		if want := time.Duration(e.Expect.AtLeast) * time.Second; want != 0 && got.AtLeast != want {
			t.Errorf("%s %d %q: at least %v, want %v (%s)", e.Platform, e.Status, e.Headers, got.AtLeast, want, e.Expect.Note)
		}
	}
	if read != 76 {
		t.Errorf("read %d entries of the corpus, want 76", read)
	}
}
