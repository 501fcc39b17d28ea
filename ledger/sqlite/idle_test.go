package sqlite

import (
	"fmt"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/dogear/dogear"
)

// A decision that changes nothing writes nothing, so that nobody pays for an fsync: another
// connection sees no commit, and the log does not grow.
func TestDecideNothing(t *testing.T) {
	s := openTest(t, machine{boot: "b", since: func() time.Duration { return 0 }, wall: time.Now})
	other, err := connect(s.path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	version := func() string {
		t.Helper()
		v, err := other.number(`PRAGMA data_version`)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(v)
	}
	decide := func(decide func(*dogear.Docket)) {
		t.Helper()
		if err := s.Decide(t.Context(), []string{"host:a", "host:b"}, decide); err != nil {
			t.Fatal(err)
		}
	}
	decide(func(d *dogear.Docket) { d.Scopes["host:a"].Pace = []byte("{}") })
	was := version()
	for range 3 {
		decide(func(*dogear.Docket) {})
		decide(func(d *dogear.Docket) { // the same, said again
			d.Scopes["host:a"].Pace = []byte("{}")
			d.Scopes["host:b"].InFlight = 7
			d.Ends = append(d.Ends, dogear.End{Request: 12345, Fate: &dogear.Fate{Doc: 1}}) // of nobody
		})
	}
	if now := version(); now != was {
		t.Errorf("decisions that change nothing were committed: data_version %s, was %s", now, was)
	}
	decide(func(d *dogear.Docket) { d.Scopes["host:a"].Generation++ })
	if version() == was {
		t.Error("a decision was not committed, or the test is blind")
	}
}
