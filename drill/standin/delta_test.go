package standin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// walk reads a delta from an address to its end.
func walk(t *testing.T, c *http.Client, address string) []deltaPage {
	t.Helper()
	var pages []deltaPage
	for address != "" {
		page := decode[deltaPage](t, c, address, 200)
		if (page.Next == "") == (page.Delta == "") || len(pages) > 1000 {
			t.Fatalf("page %d has the links %q and %q", len(pages)+1, page.Next, page.Delta)
		}
		pages = append(pages, page)
		address = page.Next
	}
	return pages
}

// ids are the items of pages in their order, a page a group.
func ids(pages []deltaPage) string {
	var out []string
	for _, p := range pages {
		var of []string
		for _, it := range p.Value {
			id := strings.TrimPrefix(it.ID, idPrefix)
			of = append(of, id[:1]+strings.TrimLeft(id[1:], "0"))
		}
		out = append(out, strings.Join(of, " "))
	}
	return strings.Join(out, " | ")
}

func TestDelta(t *testing.T) {
	for _, tt := range []struct {
		documents int
		graph     Graph
		query     string
		want      string // of the last drive
	}{
		{8, Graph{Folders: 4}, "", "R F1 D4 F2 F3 D3 |  | N1 S1 X1 F4 F5 D2 F6 F7 D1 F8 D4"},
		{8, Graph{Folders: 4, Page: 4}, "", "R F1 D4 F2 | F3 D3 |  | N1 S1 X1 F4 | F5 D2 F6 F7 | D1 F8 D4"},
		{8, Graph{Folders: 4, Page: 4}, "?$top=7", "R F1 D4 F2 | F3 D3 |  | N1 S1 X1 F4 | F5 D2 F6 F7 | D1 F8 D4"},
		{3, Graph{}, "?$top=2", "R F1 | F2 |  | N1 S1 | X1 F3"},
		{1, Graph{Folders: 1}, "", "R F1 D1 |  | N1 S1 X1 D1"},
		{1, Graph{Drives: 2, Folders: 3}, "", "R D3 D2 |  | N1 S1 X1 S2 D1 D3"}, // no file is left for it
		{5, Graph{Drives: 2, Folders: 1}, "", "R F2 D1 |  | N1 S1 X1 S2 F4 D1"},
	} {
		s := start(t, Config{Last: tt.documents, Graph: &tt.graph})
		d := s.graph.drives[len(s.graph.drives)-1]
		pages := walk(t, client(t, nil), s.URL("/v1.0/drives/"+d.id+"/root/delta"+tt.query))
		if got := ids(pages); got != tt.want {
			t.Errorf("%+v%s: got  %s\nwant %s", tt.graph, tt.query, got, tt.want)
		}
	}
}

// What a delta lists is the drive: each file once, everything in a folder that comes before
// or after it, and each item what its one facet says.
func TestDeltaIsTheDrive(t *testing.T) {
	both(t, func() Config {
		return Config{First: 4, Last: 53, Links: NewLinks(0), Graph: &Graph{Drives: 2, Folders: 6, Page: 7}}
	}, func(t *testing.T, s *Service, c *http.Client) {
		s.Change(5)
		documents := map[string]bool{}
		for _, drive := range []string{"D1", "D2"} {
			pages := walk(t, c, s.URL("/v1.0/drives/"+drive+"/root/delta"))
			if pages[0].Value[0].Root == nil || pages[0].Value[0].Folder == nil {
				t.Errorf("%s begins with %+v", drive, pages[0].Value[0])
			}
			last := map[string]driveItem{}
			kinds := map[string]int{}
			empty, orphans, renamed := 0, 0, 0
			for _, p := range pages {
				if len(p.Value) == 0 {
					empty++
				}
				for _, it := range p.Value {
					if was, twice := last[it.ID]; twice && was.Name != it.Name && was.ETag != it.ETag {
						renamed++
					} else if twice {
						t.Errorf("%s is there twice: %+v", it.ID, it)
					}
					last[it.ID] = it
					if it.Root == nil && it.Deleted == nil && last[it.Parent.ID].ID == "" {
						orphans++
					}
				}
			}
			for id, it := range last {
				switch {
				case it.Root != nil:
					kinds["root"]++
					continue
				case it.Deleted != nil:
					kinds["deleted"]++
					if it.Name != "" || it.File != nil {
						t.Errorf("a deleted item: %+v", it)
					}
					continue
				case it.Folder != nil:
					kinds["folder"]++
				case it.Package != nil:
					kinds["package"]++
				case it.Remote != nil:
					kinds["shortcut"]++
					if it.Remote.Parent.DriveID == drive || (it.Remote.Folder == nil) == (it.Remote.File == nil) {
						t.Errorf("a shortcut: %+v to %+v", it, it.Remote)
					}
				case it.File != nil:
					kinds["file"]++
					documents[id] = true
					if it.CTag != "" || it.Size == nil || !strings.HasPrefix(it.Download, s.cfg.Links.Service().URL("/files/")) {
						t.Errorf("a file: %+v", it)
					}
				}
				if parent := last[it.Parent.ID]; parent.Folder == nil || it.Parent.DriveID != drive {
					t.Errorf("%+v is in %+v", it, parent)
				}
			}
			if got, want := fmt.Sprint(kinds), "map[deleted:1 file:25 folder:6 package:1 root:1 shortcut:2]"; got != want {
				t.Errorf("%s has %s, want %s", drive, got, want)
			}
			if empty != 1 || orphans == 0 || renamed != 1 || len(pages) < 6 {
				t.Errorf("%d pages, %d of them empty, %d items before their folder, %d folders renamed", len(pages), empty, orphans, renamed)
			}
			if drive == "D2" {
				if got, want := last[fileID(5)].File.Hashes.QuickXor, QuickXor(BodyOf(5, Size(5), 1)); got != want {
					t.Errorf("quickXorHash %s, want %s", got, want)
				}
			}
		}
		if len(documents) != 50 {
			t.Errorf("%d documents, want 50", len(documents))
		}
		for _, a := range s.Journal.Arrivals(nil) {
			if a.Kind != journal.List || a.Document != 0 || strings.Contains(a.Path, "token") {
				t.Errorf("journal: %+v", a)
			}
		}
	})
}

// The link at the end of a delta leads to what has changed since it began.
func TestDeltaOfChanges(t *testing.T) {
	s := start(t, Config{Last: 9, Graph: &Graph{Drives: 2, Folders: 2, Page: 3}})
	c := client(t, nil)
	s.Withhold(9, http.StatusNotFound)
	s.Change(1)
	first := decode[deltaPage](t, c, s.URL("/v1.0/drives/D1/root/delta"), 200)
	s.Change(3) // while the list is being read
	pages := append([]deltaPage{first}, walk(t, c, first.Next)...)
	if got := ids(pages); strings.Contains(got, "F9") {
		t.Errorf("a file that was deleted before is listed: %s", got)
	}
	for _, change := range []struct {
		do   func()
		want string
	}{
		{func() {}, "F3"},
		{func() {}, ""},
		{func() { s.Change(2) }, ""}, // in the other drive
		{func() {
			s.Change(1)
			s.Withhold(5, http.StatusNotFound)
			s.Change(7)
			s.Change(1)
			s.Withhold(3, http.StatusForbidden)
		}, "F1 F5 F7 | F3"},
		{func() { s.Withhold(5, 0) }, "F5"}, // it is back
	} {
		change.do()
		pages = walk(t, c, pages[len(pages)-1].Delta)
		if got := ids(pages); got != change.want {
			t.Errorf("got %s, want %s", got, change.want)
		}
		if len(pages) > 1 {
			a, b := pages[0].Value[0], pages[0].Value[1]
			if !strings.HasSuffix(a.ETag, `,4"`) || a.File.Hashes.QuickXor != QuickXor(BodyOf(1, Size(1), 3)) {
				t.Errorf("changed: %+v", a)
			}
			if b.Deleted == nil || b.Name != "" || b.ETag != "" || b.File != nil {
				t.Errorf("deleted: %+v", b)
			}
		}
	}
	latest := walk(t, c, s.URL("/v1.0/drives/D1/root/delta?token=latest"))
	s.Change(7)
	if got := ids(latest) + ids(walk(t, c, latest[0].Delta)); got != "F7" {
		t.Errorf("from the latest token: %s", got)
	}
}

// A token that is too old leads to a new beginning; one that is none, or another drive's, to
// nothing.
func TestDeltaTokens(t *testing.T) {
	s := start(t, Config{Last: 9, Graph: &Graph{Drives: 2, Page: 4, Cursor: time.Hour}})
	c := client(t, nil)
	start := s.URL("/v1.0/drives/D1/root/delta")
	all := walk(t, c, start)
	resync := func(address string) {
		t.Helper()
		resp, body, err := get(t, c, address)
		if err != nil || resp.StatusCode != 410 || !strings.Contains(string(body), `"resyncChangesApplyDifferences"`) {
			t.Fatalf("%v, %v: %s", resp, err, body)
		}
		if got := ids(walk(t, c, resp.Header.Get("Location"))); got != ids(all) {
			t.Errorf("from the new beginning: %s, want %s", got, ids(all))
		}
	}
	old := time.Now().Add(-time.Hour)
	resync(start + "?token=" + s.cursor(old, 0, 0, whole, 0, 4))
	resync(start + "?token=" + s.cursor(old, 0, 0, 0, begin, 0))
	decode[deltaPage](t, c, start+"?token="+s.cursor(old.Add(time.Minute), 0, 0, 0, begin, 0), 200)
	s.ExpireTokens()
	resync(all[0].Next)
	resync(all[len(all)-1].Delta)
	again := walk(t, c, start)
	if got := ids(walk(t, c, again[len(again)-1].Delta)); got != "" {
		t.Errorf("nothing has changed, and the delta has %s", got)
	}
	next, err := url.Parse(again[0].Next)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{s.URL("/v1.0/drives/D2/root/delta?" + next.RawQuery), start + "?token=", start + "?token=AAAA", start + "?token=" + s.cursor(time.Now(), 1)} {
		if got := decode[failed](t, c, address, 400); got.Error.Code != "invalidRequest" {
			t.Errorf("%s: %+v", address, got)
		}
	}
}

// Changes, readers and new beginnings do not get in each other's way.
func TestDeltaWhileItChanges(t *testing.T) {
	s := start(t, Config{Last: 20, Graph: &Graph{Folders: 3, Page: 5}})
	c := client(t, nil)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for address := s.URL("/v1.0/me/drive/root/delta"); address != ""; {
				resp, b, err := get(t, c, address)
				var page deltaPage
				if err := errors.Join(err, json.Unmarshal(b, &page)); err != nil || resp.StatusCode != 200 && resp.StatusCode != 410 {
					t.Errorf("%s: %v, %v", address, resp, err)
					return
				}
				address = cmp.Or(page.Next, resp.Header.Get("Location"))
			}
		})
	}
	all.Go(func() {
		for n := range 20 {
			s.Change(n + 1)
			s.ExpireTokens()
			s.Withhold(n+1, http.StatusNotFound)
		}
	})
	all.Wait()
	if got := ids(walk(t, c, s.URL("/v1.0/me/drive/root/delta"))); strings.Contains(got, "F") {
		t.Errorf("all files are deleted, and the drive has %s", got)
	}
}
