package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// failed is an error as Graph writes it.
type failed struct {
	Error struct{ Code, Message string }
}

// fileID is the id of a document's file.
func fileID(n int) string { return slot{kind: fileSlot, n: n}.id() }

func TestDrives(t *testing.T) {
	both(t, func() Config { return Config{Last: 5, Graph: &Graph{Drive: "b!one", Drives: 3}} }, func(t *testing.T, s *Service, c *http.Client) {
		for path, want := range map[string]resource{
			"/v1.0/drives/b!one": {ID: "b!one", Name: "Documents", DriveType: "documentLibrary"},
			"/v1.0/me/drive":     {ID: "b!one", Name: "Documents", DriveType: "documentLibrary"},
			"/v1.0/drives/D3":    {ID: "D3", Name: "Documents 3", DriveType: "documentLibrary"},

			"/v1.0/sites/contoso.sharepoint.com":             {ID: siteID, Name: "drill", DisplayName: "The drill"},
			"/v1.0/sites/contoso.sharepoint.com:/teams/hr":   {ID: siteID, Name: "drill", DisplayName: "The drill"},
			"/v1.0/sites/contoso.sharepoint.com:/sites/a:":   {ID: siteID, Name: "drill", DisplayName: "The drill"},
			"/v1.0/sites/contoso.sharepoint.com:/the/drives": {ID: siteID, Name: "drill", DisplayName: "The drill"},
			"/v1.0/sites/" + siteID:                          {ID: siteID, Name: "drill", DisplayName: "The drill"},
		} {
			if got := decode[resource](t, c, s.URL(path), 200); got != want {
				t.Errorf("%s: %+v, want %+v", path, got, want)
			}
		}
		for _, from := range []string{"/v1.0/sites/" + siteID + "/drives", "/v1.0/sites/contoso.sharepoint.com:/teams/hr:/drives"} {
			var ids []string
			for next, pages := s.URL(from), 0; next != ""; pages++ {
				page := decode[struct {
					Value []resource
					Next  string `json:"@odata.nextLink"`
				}](t, c, next, 200)
				if next = page.Next; len(page.Value) != 1 || pages > 3 {
					t.Fatalf("%s: page %d has %v", from, pages+1, page.Value)
				}
				ids = append(ids, page.Value[0].ID)
			}
			if got := strings.Join(ids, " "); got != "b!one D2 D3" {
				t.Errorf("%s: %s", from, got)
			}
		}
		for _, path := range []string{"/v1.0/drives/D4", "/v1.0/drives/D1", "/v1.0/drives", "/v1.0/me", "/v1.0/sites/", "/v1.0/sites/a,b,c", "/v1.0/drives/D2/what", "/v1.0/drives/D2/root/what"} {
			if got := decode[failed](t, c, s.URL(path), 404); got.Error.Code != "itemNotFound" {
				t.Errorf("%s: %+v", path, got)
			}
		}
		if got := decode[failed](t, c, s.URL("/v1.0/sites/"+siteID+"/drives?$skiptoken=AAAA"), 400); got.Error.Code != "invalidRequest" {
			t.Errorf("a bad cursor: %+v", got)
		}
		resp, err := c.Post(s.URL("/v1.0/me/drive"), jsonText, nil)
		if err != nil || resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET" {
			t.Errorf("POST: %v, %v; want 405", resp, err)
		}
		resp.Body.Close()
	})
}

// An item is found by its id and by its path, and only where it is.
func TestItems(t *testing.T) {
	both(t, func() Config { return Config{Last: 8, Graph: &Graph{Drives: 2, Folders: 2}, Validators: NoValidators} },
		func(t *testing.T, s *Service, c *http.Client) {
			s.Change(3)
			it := decode[driveItem](t, c, s.URL("/v1.0/drives/D1/items/"+fileID(3)), 200)
			want := driveItem{
				ID: fileID(3), Name: "rapport d'été #3, 50%.bin", Size: it.Size, Modified: "2020-01-01T01:03:00Z",
				ETag: `"{0D211100-0046-4000-8000-000000000003},2"`, CTag: `"c:{0D211100-0046-4000-8000-000000000003},2"`,
			}
			if it.ID != want.ID || it.Name != want.Name || *it.Size != Size(3) || it.ETag != want.ETag || it.CTag != want.CTag || it.Modified != want.Modified {
				t.Errorf("%+v, want %+v", it, want)
			}
			if got, want := it.File.Hashes.QuickXor, QuickXor(BodyOf(3, Size(3), 1)); got != want {
				t.Errorf("quickXorHash %s, want %s", got, want)
			}
			if p := it.Parent; p.DriveID != "D1" || p.ID != "01DRILLD000002" {
				t.Errorf("its parent: %+v", p)
			}
			for path, want := range map[string]string{
				"/v1.0/drives/D1/root":  "01DRILLR000000",
				"/v1.0/me/drive/root:/": "01DRILLR000000",
				"/v1.0/drives/D1/root:/" + url.PathEscape("Entwürfe & Pläne 1"):                                "01DRILLD000001",
				"/v1.0/drives/D1/root:/" + url.PathEscape("ENTWÜRFE & PLÄNE 1") + "/" + url.PathEscape("資料 2"): "01DRILLD000002",
				"/v1.0/drives/D1/root:/" + url.PathEscape("Entwürfe & Pläne 1/資料 2/"+it.Name) + ":":            fileID(3),
				"/v1.0/drives/D1/root:/Notebook":           "01DRILLN000001",
				"/v1.0/drives/D2/items/" + fileID(4):       fileID(4),
				"/v1.0/drives/D1/items/01DRILLN000001":     "01DRILLN000001",
				"/v1.0/drives/D2/items/01DRILLD000001?x=y": "01DRILLD000001",
			} {
				if got := decode[driveItem](t, c, s.URL(path), 200); got.ID != want {
					t.Errorf("%s: %+v, want %s", path, got, want)
				}
			}
			for _, path := range []string{"items/" + fileID(4), "items/" + fileID(9), "items/01DRILLF3", "items/01DRILLX000001", "items/01DRILL", "items/x", "root:/what"} {
				if got := decode[failed](t, c, s.URL("/v1.0/drives/D1/"+path), 404); got.Error.Code != "itemNotFound" {
					t.Errorf("%s: %+v", path, got)
				}
			}
			for _, a := range s.Journal.Arrivals(nil) {
				if a.Kind != journal.Check || a.Document != 0 || a.Quota != "docs" {
					t.Errorf("journal: %+v", a)
				}
			}
		})
}

// Whoever knows the version of an item is told that it is the one, and no more.
func TestChecks(t *testing.T) {
	s := start(t, Config{Last: 3, Graph: &Graph{}})
	c := client(t, nil)
	ask := func(path, tag string) int {
		req, _ := http.NewRequest(http.MethodGet, s.URL(path), nil)
		req.Header.Set("If-None-Match", tag)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	item, content := "/v1.0/drives/D1/items/"+fileID(2), "/v1.0/drives/D1/items/"+fileID(2)+"/content"
	it := decode[driveItem](t, c, s.URL(item), 200)
	for _, path := range []string{item, content} {
		for tag, want := range map[string]int{it.ETag: 304, it.CTag: 304, `"a", W/` + it.ETag: 304, "*": 304, `"{0},1"`: 200, "": 200} {
			if got := ask(path, tag); got != want {
				t.Errorf("%s with %s: %d, want %d", path, tag, got, want)
			}
		}
	}
	s.Change(2)
	if got := ask(item, it.ETag); got != 200 {
		t.Errorf("a changed item: %d", got)
	}
	s.Withhold(1, http.StatusForbidden)
	if got := decode[failed](t, c, s.URL("/v1.0/drives/D1/items/"+fileID(1)), 403); got.Error.Code != "accessDenied" {
		t.Errorf("a denied item: %+v", got)
	}
	s.Withhold(2, http.StatusNotFound)
	for _, path := range []string{item, content} {
		if got := decode[failed](t, c, s.URL(path), 404); got.Error.Code != "itemNotFound" {
			t.Errorf("a deleted item: %+v", got)
		}
	}
}

// Content is behind a signed link where there are such, and is a document to rules.
func TestContent(t *testing.T) {
	both(t, func() Config {
		return Config{Last: 5, Graph: &Graph{}, Links: NewLinks(time.Hour), Tokens: NewTokens(0), Key: ByCredential,
			Rules: []Rule{Where(Select{Documents: []Range{{2, 2}}, Requests: []Range{{1, 1}}}, Throttle(429, Seconds, time.Second))}}
	}, func(t *testing.T, s *Service, c *http.Client) {
		token := s.cfg.Tokens.Valid()
		path := "/v1.0/drives/D1/items/" + fileID(2)
		for i, want := range []int{401, 401, 401, 200, 200, 429, 302} {
			address := []string{path, "/v1.0/me/drive", "/v1.0/drives/D1/root/delta", path, path, path + "/content", path + "/content"}[i]
			as := token
			if want == 401 {
				as = ""
			}
			resp, _ := bearer(t, c, s.URL(address), as)
			if resp.StatusCode != want {
				t.Fatalf("%s: %v, want %d", address, resp.Status, want)
			}
			if want != 302 {
				continue
			}
			to := resp.Header.Get("Location")
			if resp, b := bearer(t, c, to, ""); resp.StatusCode != 200 || !bytes.Equal(b, Body(2)) || resp.Header.Get("ETag") != ETag(2, Size(2), 0) {
				t.Errorf("the link: %v, %d bytes", resp, len(b))
			}
		}
		kinds := []string{journal.Check, journal.List, journal.List, journal.Check, journal.Check, journal.Hop, journal.Hop, journal.Link}
		for i, a := range rows(t, s, len(kinds)) {
			document := map[bool]int{true: 2}[i > 4]
			if a.Kind != kinds[i] || a.Document != document || a.Try != map[bool]int{true: 1}[i == 6] {
				t.Errorf("journal: %+v, want %s of document %d", a, kinds[i], document)
			}
		}
	})
	direct := start(t, Config{Last: 5, Graph: &Graph{}})
	c := client(t, nil)
	if _, b, err := get(t, c, direct.URL("/v1.0/me/drive/items/"+fileID(5)+"/content")); err != nil || !bytes.Equal(b, Body(5)) {
		t.Errorf("without links: %d bytes, %v", len(b), err)
	}
	if a := rows(t, direct, 1)[0]; a.Kind != journal.Read || a.Document != 5 || !a.Whole {
		t.Errorf("journal: %+v", a)
	}
}

// Each of Graph's addresses can be in a batch, and counts there as it does alone.
func TestGraphBatch(t *testing.T) {
	s := start(t, Config{Last: 9, Graph: &Graph{}, Links: NewLinks(0), Limit: Window(7, time.Hour)})
	c := client(t, nil)
	it := decode[driveItem](t, c, s.URL("/v1.0/drives/D1/items/"+fileID(3)), 200)
	body := strings.TrimSuffix(gets("/me/drive", "/sites/a.example:/b", "/drives/D1/root/delta?$top=2",
		"/drives/D1/items/"+fileID(1), "drives/D1/items/"+fileID(2)+"/content", "/drives/D1/items/"+fileID(4)), "]}") +
		fmt.Sprintf(`,{"id":"7","method":"GET","url":"/drives/D1/items/%s","headers":{"If-None-Match":%q}}]}`, fileID(3), it.ETag)
	_, a := post(t, c, s, body)
	got := map[string]int{}
	for _, r := range a.Responses {
		got[r.ID] = r.Status
		if r.ID == "5" {
			if _, b, err := get(t, c, r.Headers["Location"]); err != nil || !bytes.Equal(b, Body(2)) {
				t.Errorf("the link: %d bytes, %v", len(b), err)
			}
		}
		if r.ID == "4" {
			var it driveItem
			if err := json.Unmarshal(r.Body, &it); err != nil || it.ID != fileID(1) || it.CTag == "" {
				t.Errorf("metadata: %v in %s", err, r.Body)
			}
		}
	}
	if want := map[string]int{"1": 200, "2": 200, "3": 200, "4": 200, "5": 302, "6": 200, "7": 429}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	want := []journal.Item{
		{Kind: journal.List, Path: "/v1.0/me/drive"},
		{Kind: journal.List, Path: "/v1.0/sites/a.example:/b"},
		{Kind: journal.List, Path: "/v1.0/drives/D1/root/delta"},
		{Kind: journal.Check, Path: "/v1.0/drives/D1/items/" + fileID(1)},
		{Kind: journal.Hop, Path: "/v1.0/drives/D1/items/" + fileID(2) + "/content", Document: 2},
		{Kind: journal.Check, Path: "/v1.0/drives/D1/items/" + fileID(4)},
		{Kind: journal.Check, Path: "/v1.0/drives/D1/items/" + fileID(3), Refused: journal.ByLimit},
	}
	for i, it := range rows(t, s, 3)[1].Items {
		if w := want[i]; it.Kind != w.Kind || it.Path != w.Path || it.Document != w.Document || it.Refused != w.Refused || it.Whole {
			t.Errorf("item %s: %+v, want %+v", it.ID, it, w)
		}
	}
}

func TestGraphNeedsAnEnd(t *testing.T) {
	if _, err := Start(Config{Graph: &Graph{}}); err == nil || !strings.Contains(err.Error(), "Last") {
		t.Errorf("of any number of documents: %v", err)
	}
}
