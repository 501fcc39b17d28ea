package clients

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/dogear/dogear/drill"
)

// seen is what docs/clients.md is made from: testdata/seen.json.
type seen struct {
	Machine string                 `json:"machine"`
	About   map[string]string      `json:"about"` // by scenario
	Clients map[string]*seenClient `json:"clients"`
}

type seenClient struct {
	Version string             `json:"version"`
	Rounds  map[string][]round `json:"rounds"` // by scenario
}

// A round is one run of a client in a scenario.
type round struct {
	Pass      bool     `json:"pass"`
	Failed    []string `json:"failed,omitempty"` // the figures of what did not hold
	Requests  int      `json:"requests"`
	Throttled int      `json:"throttled"`
	Early     int      `json:"early"`
	Late      int      `json:"late"`
	Burst     *int     `json:"burst,omitempty"`
	RestS     *float64 `json:"rest_s,omitempty"`
	Leaked    int      `json:"leaked"`
	Delivered int      `json:"delivered"`
	Documents int      `json:"documents"`
}

func newRound(r drill.Result) round {
	f := r.Figures
	var failed []string
	for _, c := range r.Checks {
		if name, _, _ := strings.Cut(c.Assert, " "); !c.Pass && !slices.Contains(failed, name) {
			failed = append(failed, name)
		}
	}
	return round{
		Pass: r.Pass, Failed: failed, Requests: f.Requests, Throttled: f.Throttled, Early: f.Early, Late: f.Late,
		Burst: f.Burst, RestS: f.RestS, Leaked: f.Leaked, Delivered: f.Delivered, Documents: f.Documents,
	}
}

func (s *seen) add(c client, in scenario, r drill.Result) {
	s.About[in.name] = r.About
	was := s.Clients[c.name]
	was.Rounds[in.name] = append(was.Rounds[in.name], newRound(r))
}

func (s *seen) version(c *client) string {
	if was := s.Clients[c.name]; was != nil {
		return was.Version
	}
	return ""
}

func (s *seen) rounds(c *client, in scenario) []round {
	if was := s.Clients[c.name]; was != nil {
		return was.Rounds[in.name]
	}
	return nil
}

// verdict is what rounds, of which there is one at least, agree on; same is false where they
// do not.
func verdict(rounds []round) (pass, same bool) {
	for _, r := range rounds {
		if r.Pass != rounds[0].Pass {
			return false, false
		}
	}
	return rounds[0].Pass, true
}

func readSeen() (*seen, error) {
	text, err := os.ReadFile("testdata/seen.json")
	if err != nil {
		return nil, err
	}
	var s seen
	return &s, json.Unmarshal(text, &s)
}

func (s *seen) write() error {
	text, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile("testdata/seen.json", append(text, '\n'), 0o644)
}
