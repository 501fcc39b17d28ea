package standin

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// decode gets an address and decodes its JSON.
func decode[T any](t *testing.T, c *http.Client, url string, status int) T {
	t.Helper()
	var v T
	resp, body, err := get(t, c, url)
	if err != nil || resp.StatusCode != status || resp.Header.Get("Content-Type") != jsonText {
		t.Fatalf("%s: %v, %v; want %d", url, resp, err, status)
	}
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s: %v in %s", url, err, body)
	}
	return v
}

func TestManifests(t *testing.T) {
	both(t, func() Config {
		return Config{First: 3, Last: 5, Digests: true, Limit: Window(1, time.Hour), Tokens: NewTokens(0), Rules: []Rule{Status(500)}}
	}, func(t *testing.T, s *Service, c *http.Client) {
		s.Change(4)
		_, txt, err := get(t, c, s.URL("/manifest.txt"))
		if want := s.URL("/doc/3") + "\n" + s.URL("/doc/4") + "\n" + s.URL("/doc/5") + "\n"; err != nil || string(txt) != want {
			t.Errorf("manifest.txt: %v\n%s", err, txt)
		}
		_, table, err := get(t, c, s.URL("/manifest.csv"))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
		if err != nil || len(lines) != 4 || strings.Join(lines[0], ",") != "url,id,version,size,sha256" {
			t.Fatalf("manifest.csv: %v\n%s", err, table)
		}
		_, objects, err := get(t, c, s.URL("/manifest.jsonl"))
		if err != nil || bytes.Count(objects, []byte("\n")) != 3 {
			t.Fatalf("manifest.jsonl: %v\n%s", err, objects)
		}
		d := json.NewDecoder(bytes.NewReader(objects))
		for i := range 3 {
			n, version := 3+i, i%2
			var e entry
			if err := d.Decode(&e); err != nil {
				t.Fatal(err)
			}
			want := entry{s.URL("/doc/" + lines[1+i][1]), lines[1+i][1], ETag(n, Size(n), version), Size(n), Sum(BodyOf(n, Size(n), version))}
			if e != want || lines[1+i][0] != want.URL || lines[1+i][2] != want.Version || lines[1+i][4] != want.SHA256 {
				t.Errorf("document %d: %+v, csv %v, want %+v", n, e, lines[1+i], want)
			}
		}
		for _, a := range rows(t, s, 3) {
			if a.Kind != journal.List || a.Status != 200 || a.Quota != "" || a.Document != 0 {
				t.Errorf("journal: %+v", a)
			}
		}
	})
}

// The columns are those that the answers can be compared with.
func TestManifestColumns(t *testing.T) {
	for v, want := range map[Validators]string{ModifiedOnly: Modified(1, 0).Format(http.TimeFormat), NoValidators: "", BothValidators: ETag(1, 10, 0)} {
		s := start(t, Config{Last: 1, Validators: v, Size: 10})
		_, b, err := get(t, client(t, nil), s.URL("/manifest.csv"))
		lines, err2 := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil || err2 != nil || len(lines) != 2 || len(lines[0]) != 4 || lines[1][2] != want || lines[1][3] != "10" {
			t.Errorf("%d: %v, %v\n%s", v, err, err2, b)
		}
	}
	s := start(t, Config{})
	if resp, _, err := get(t, client(t, nil), s.URL("/manifest.txt")); err != nil || resp.StatusCode != 404 {
		t.Errorf("of any number of documents: %v, %v; want 404", resp, err)
	}
}

type page struct {
	Value []struct {
		ID, Name, ETag string
		Size           int
		Download       string `json:"@microsoft.graph.downloadUrl"`
	}
	Next  string `json:"@odata.nextLink"`
	Error struct{ Code, Message string }
}

func TestPages(t *testing.T) {
	both(t, func() Config {
		return Config{Last: 7, Pages: Pages{Size: 3}, Key: ByCredential, Limit: Window(4, time.Hour)}
	},
		func(t *testing.T, s *Service, c *http.Client) {
			var ids []string
			for url := s.URL("/v1.0/documents"); url != ""; {
				p := decode[page](t, c, url, 200)
				for _, d := range p.Value {
					ids = append(ids, d.ID)
				}
				url = p.Next
				if d := p.Value[0]; d.ETag == "" || d.Size == 0 || d.Name == "" || d.Download != s.URL("/doc/"+d.ID) {
					t.Errorf("document: %+v", d)
				}
			}
			if got := strings.Join(ids, " "); got != "1 2 3 4 5 6 7" {
				t.Errorf("listed: %s", got)
			}
			bad := decode[page](t, c, s.URL("/v1.0/documents?$skiptoken=AAAA"), 400)
			if bad.Error.Code != "invalidRequest" {
				t.Errorf("a bad cursor: %+v", bad)
			}
			if resp, _, err := get(t, c, s.URL("/v1.0/documents")); err != nil || resp.StatusCode != 429 {
				t.Errorf("past the limit: %v, %v; want 429", resp, err)
			}
			for i, a := range rows(t, s, 5) {
				if a.Kind != journal.List || a.Quota != "docs" || a.Path != listPath || a.Refused != map[bool]string{true: journal.ByLimit}[i == 4] {
					t.Errorf("journal: %+v", a)
				}
			}
		})
}

func TestCursorsExpire(t *testing.T) {
	s := start(t, Config{Last: 7, Pages: Pages{Size: 3, Cursor: time.Hour}})
	c := client(t, nil)
	next := decode[page](t, c, s.URL("/v1.0/documents"), 200).Next
	if p := decode[page](t, c, next, 200); p.Value[0].ID != "4" {
		t.Errorf("the second page begins with %s", p.Value[0].ID)
	}
	old := s.URL("/v1.0/documents?$skiptoken=" + s.cursor(time.Now().Add(-time.Hour), 4))
	if p := decode[page](t, c, old, 410); p.Error.Code != "resyncRequired" {
		t.Errorf("after its time: %+v", p)
	}
	other := start(t, Config{Last: 7, Pages: Pages{Size: 3}})
	_, query, _ := strings.Cut(next, "?")
	decode[page](t, c, other.URL("/v1.0/documents?"+query), 400)
}
