package msgraph

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear"
)

const graph = "https://graph.microsoft.com"

// A failer is a test of package testing or of rapid.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// open opens sources of Graph at a base.
func open(t failer, base string, names ...string) *Source {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(names, u)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A service answers addresses with bodies.
type service map[string]string

// walk follows a listing from a cursor to its last page.
func (g service) walk(t failer, s *Source, cursor string) []dogear.Page {
	t.Helper()
	var pages []dogear.Page
	for range 1000 {
		address, err := s.Ask(cursor)
		if err != nil {
			t.Fatal(err)
		}
		body, ok := g[address]
		if !ok {
			t.Fatalf("it asks for %s", address)
		}
		page, err := s.Page(cursor, []byte(body))
		if err != nil {
			t.Fatalf("the answer to %s: %v", address, err)
		}
		pages = append(pages, page)
		if page.Last {
			return pages
		}
		cursor = page.Cursor
	}
	t.Fatal("the listing does not end")
	return nil
}

// whole is a listing as one page, without its cursor.
func whole(pages []dogear.Page) (all dogear.Page) {
	for _, p := range pages {
		all.Documents = append(all.Documents, p.Documents...)
		all.Folders = append(all.Folders, p.Folders...)
		all.Gone = append(all.Gone, p.Gone...)
		all.Others += p.Others
	}
	return all
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const (
	api    = graph + "/v1.0"
	siteID = "contoso.sharepoint.com,2C712604-1370-44E7-A1F5-426573FDA80A,2D2244C3-251A-49EA-93A8-39E1C3A060FE"
)

// team is a site with two drives, and what has changed in them since.
func team(t testing.TB) service {
	return service{
		api + "/sites/contoso.sharepoint.com:/sites/team?$select=id,name":                testdata(t, "site.json"),
		api + "/sites/" + siteID + "/drives?$select=id,name":                             testdata(t, "drives-1.json"),
		api + "/sites/" + siteID + "/drives?$select=id,name&$skiptoken=MQ":               testdata(t, "drives-2.json"),
		api + "/drives/b!x-Y_z/root/delta" + selectItem:                                  testdata(t, "delta-1.json"),
		api + "/drives/b!x-Y_z/root/delta?$select=id,name&token=NDslMjM0OyUyMzE":         testdata(t, "delta-2.json"),
		api + "/drives/b!arch1VE/root/delta" + selectItem:                                testdata(t, "delta-archive.json"),
		api + "/drives/b!x-Y_z/root/delta?$select=id,name&token=NDslMjM0OyUyMzM":         testdata(t, "changes.json"),
		api + "/drives/b!x-Y_z/root/delta?$select=id,name&token=NDslMjM0OyUyMzQ":         `{"value":[],"@odata.deltaLink":"` + api + `/drives/b!x-Y_z/root/delta?$select=id,name&token=NDslMjM0OyUyMzQ"}`,
		api + "/drives/b!arch1VE/root/delta(token='MzslMjM0')":                           testdata(t, "delta-archive.json"),
		api + "/drives/b!x-Y_z?$select=id,name":                                          `{"id":"b!x-Y_z","name":"Documents"}`,
		api + "/drives/b!x-Y_z/root:/Reports?$select=id,name,folder,file":                `{"id":"01REPORTS","name":"Reports","folder":{"childCount":2}}`,
		api + "/drives/b!x-Y_z/root:/Reports/Budget%202026%20%231.xlsx" + selectPath:     `{"id":"01BUDGET","name":"Budget 2026 #1.xlsx","file":{}}`,
		api + "/drives/b!x-Y_z/items/01BUDGET" + selectItem:                              `{"id":"01BUDGET","name":"Budget 2026 #1.xlsx","cTag":"c5","size":11,"file":{},"parentReference":{"id":"01REPORTS"}}`,
		api + "/me/drive?$select=id,name":                                                `{"id":"b!x-Y_z","name":"OneDrive"}`,
		api + "/sites/contoso.sharepoint.com?$select=id,name":                            `{"id":"root,site"}`,
		api + "/sites/root,site/drives?$select=id,name":                                  `{"value":[{"id":"b!arch1VE","name":"Archive"}]}`,
		api + "/drives/b!arch1VE/root:/" + "Entw%C3%BCrfe%20&%20Pl%C3%A4ne" + selectPath: `{"id":"01NOWHERE","folder":{}}`,
	}
}

// documents are those of the site's first drive.
var documents = []dogear.Document{
	{
		ID: "msgraph:drive/b!x-Y_z/items/01BUDGET", Address: api + "/drives/b!x-Y_z/items/01BUDGET/content",
		Name: "Budget 2026 #1.xlsx", Parent: "b!x-Y_z/01REPORTS", Version: `"{5E3F7C1A-0000-4C2B-9D61-000000000002},4"`,
		Digest: "quickxor:aCgDG9jwBhDc4Q1yawMZAAAAAAA=", Size: 11,
	}, {
		ID: "msgraph:drive/b!x-Y_z/items/01EMPTY", Address: api + "/drives/b!x-Y_z/items/01EMPTY/content",
		Name: "empty.txt", Parent: "b!x-Y_z/01ROOT", Version: `"c:{5E3F7C1A-0000-4C2B-9D61-000000000003},1"`,
		SHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		Digest: "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709",
	}, {
		ID: "msgraph:drive/b!board/items/01MINUTES", Address: api + "/drives/b!board/items/01MINUTES/content",
		Name: "Minutes of the board.docx", Parent: "b!x-Y_z/01REPORTS", Version: `"{77AA0F11-0000-4C2B-9D61-000000000001},9"`, Size: 7,
	},
}

// A site is listed drive by drive, and its last cursor tells what has changed in all of them.
func TestSite(t *testing.T) {
	s, g := open(t, graph, "msgraph:site/contoso.sharepoint.com:/sites/team"), team(t)
	pages := g.walk(t, s, "")
	want := dogear.Page{
		Documents: documents,
		Folders: []dogear.Folder{
			{ID: "b!x-Y_z/01ROOT", Name: "Documents"},
			{ID: "b!x-Y_z/01REPORTS", Parent: "b!x-Y_z/01ROOT", Name: "Reports"},
			{ID: "b!x-Y_z/01NOTES", Parent: "b!x-Y_z/01ROOT", Name: "Notes"},
			{ID: "b!arch1VE/01ROOT", Name: "Archive & more"},
		},
		Gone:   []string{"msgraph:drive/b!x-Y_z/items/01FORMER"},
		Others: 2,
	}
	if diff := cmp.Diff(want, whole(pages)); diff != "" {
		t.Errorf("the listing (-want +got):\n%s", diff)
	}
	for _, p := range pages {
		if strings.Contains(p.Cursor, "graph.microsoft.com") || strings.Contains(p.Cursor, "01REPORTS") || strings.Contains(p.Cursor, "CANARY") {
			t.Errorf("a cursor holds more than it should: %s", p.Cursor)
		}
	}

	last := pages[len(pages)-1].Cursor
	pages = g.walk(t, s, last)
	changed := whole(pages)
	if len(pages) != 2 || len(changed.Documents) != 1 || changed.Documents[0].Digest != "quickxor:AAAAAAAAAAAAAAAAAAAAAAAAAAA=" {
		t.Errorf("changes in %d pages: %+v", len(pages), changed)
	}
	if diff := cmp.Diff([]string{"msgraph:drive/b!x-Y_z/items/01EMPTY"}, changed.Gone); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	last = pages[len(pages)-1].Cursor
	pages = g.walk(t, s, last)
	if got := whole(pages); len(got.Documents)+len(got.Gone) > 0 || pages[len(pages)-1].Cursor != last {
		t.Errorf("when nothing has changed: %+v", got)
	}
}

// What is named decides what is asked first, and what the root folders are.
func TestKinds(t *testing.T) {
	root := func(name string) dogear.Folder { return dogear.Folder{ID: "b!x-Y_z/01ROOT", Name: name} }
	reports := dogear.Folder{ID: "b!x-Y_z/01REPORTS", Parent: "b!x-Y_z/01ROOT", Name: "Reports"}
	notes := dogear.Folder{ID: "b!x-Y_z/01NOTES", Parent: "b!x-Y_z/01ROOT", Name: "Notes"}
	outside := dogear.Folder{ID: "b!x-Y_z/01ROOT", Outside: true}
	tests := []struct {
		names     []string
		first     string
		folders   []dogear.Folder
		documents int
	}{
		{[]string{"msgraph:drive/b!x-Y_z"}, "/drives/b!x-Y_z/root/delta" + selectItem, []dogear.Folder{root(""), reports, notes}, 3},
		{[]string{"msgraph:me"}, "/me/drive?$select=id,name", []dogear.Folder{root(""), reports, notes}, 3},
		{[]string{"msgraph:site/Contoso.SharePoint.com"}, "/sites/contoso.sharepoint.com?$select=id,name", []dogear.Folder{{ID: "b!arch1VE/01ROOT"}}, 0},
		{[]string{"msgraph:site/contoso.sharepoint.com:/"}, "/sites/contoso.sharepoint.com?$select=id,name", []dogear.Folder{{ID: "b!arch1VE/01ROOT"}}, 0},
		{[]string{"msgraph:drive/b!x-Y_z/Reports/"}, "/drives/b!x-Y_z/root:/Reports" + selectPath, []dogear.Folder{outside, {ID: "b!x-Y_z/01REPORTS"}, notes}, 3},
		{[]string{"msgraph:drive/b!x-Y_z/Reports/Budget 2026 #1.xlsx"}, "/drives/b!x-Y_z/root:/Reports/Budget%202026%20%231.xlsx" + selectPath,
			[]dogear.Folder{{ID: "b!x-Y_z/01REPORTS"}}, 1},
		{[]string{"msgraph:me", "msgraph:site/contoso.sharepoint.com"}, "/me/drive?$select=id,name",
			[]dogear.Folder{root("OneDrive"), reports, notes, {ID: "b!arch1VE/01ROOT", Name: "Archive"}}, 3},
		{[]string{"msgraph:site/contoso.sharepoint.com", "msgraph:drive/b!x-Y_z"}, "/sites/contoso.sharepoint.com?$select=id,name",
			[]dogear.Folder{{ID: "b!arch1VE/01ROOT", Name: "Archive"}, root("Documents"), reports, notes}, 3},
		{[]string{"msgraph:drive/b!x-Y_z/Reports", "msgraph:site/contoso.sharepoint.com"}, "/drives/b!x-Y_z/root:/Reports" + selectPath,
			[]dogear.Folder{outside, {ID: "b!x-Y_z/01REPORTS", Name: "Documents"}, notes, {ID: "b!arch1VE/01ROOT", Name: "Archive"}}, 3},
		{[]string{"msgraph:drive/b!x-Y_z/Reports/Budget 2026 #1.xlsx", "msgraph:site/contoso.sharepoint.com"}, "/drives/b!x-Y_z/root:/Reports/Budget%202026%20%231.xlsx" + selectPath,
			[]dogear.Folder{{ID: "b!x-Y_z/01REPORTS", Name: "Documents"}, {ID: "b!arch1VE/01ROOT", Name: "Archive"}}, 1},
	}
	for _, tt := range tests {
		s, g := open(t, graph+"/", tt.names...), team(t)
		first, err := s.Ask("")
		if err != nil || first != api+tt.first {
			t.Errorf("%v: first asks for %s, %v", tt.names, first, err)
		}
		pages := g.walk(t, s, "")
		got := whole(pages)
		if diff := cmp.Diff(tt.folders, got.Folders); diff != "" {
			t.Errorf("%v: folders (-want +got):\n%s", tt.names, diff)
		}
		if len(got.Documents) != tt.documents {
			t.Errorf("%v: %d documents, want %d", tt.names, len(got.Documents), tt.documents)
		}
		g.walk(t, s, pages[len(pages)-1].Cursor)
	}
}

func TestOpenRefuses(t *testing.T) {
	base, err := url.Parse(graph)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		names string
		want  string
	}{
		{"", "nothing is named"},
		{"list.txt", "is no source of microsoft graph"},
		{"msgraph:", "names neither"},
		{"msgraph:group/CANARY", "names neither"},
		{"msgraph:me/CANARY", "names neither"},
		{"msgraph:drive", "has no drive id"},
		{"msgraph:drive/", "has no drive id"},
		{"msgraph:drive//CANARY", "has no drive id"},
		{"msgraph:drive/..", "a character that is in none"},
		{"msgraph:drive/u:CANARY@host", "a character that is in none"},
		{"msgraph:drive/b%21CANARY", "a character that is in none"},
		{"msgraph:drive/b!x?token=CANARY", "has a query"},
		{"msgraph:drive/b!x/a/../CANARY", "segment"},
		{"msgraph:drive/b!x/a//CANARY", "segment"},
		{"msgraph:drive/b!x/a:/CANARY", "colon"},
		{"msgraph:drive/b!x/a\\CANARY", "backslash"},
		{"msgraph:drive/b!x/CANARY\x00", "control character"},
		{"msgraph:drive/b!x/CANARY\xff", "UTF-8"},
		{"msgraph:site/", "has no host"},
		{"msgraph:site/:/sites/CANARY", "has no host"},
		{"msgraph:site/contoso.sharepoint.com/sites/CANARY", "no colon"},
		{"msgraph:site/contoso.sharepoint.com:sites/CANARY", "segment"},
		{"msgraph:site/contoso.sharepoint.com:", "segment"},
		{"msgraph:site/CANARY@contoso.sharepoint.com", "has a host that is none"},
		{"msgraph:site/contoso..com", "has a host that is none"},
		{"msgraph:site/contoso.sharepoint.com:/sites/../CANARY", "segment"},
		{"msgraph:me msgraph:me", "sources 1 and 2 are the same"},
		{"msgraph:drive/AB msgraph:me msgraph:drive/ab/CANARY", "sources 1 and 3 are the same"},
		{"msgraph:site/a.b msgraph:site/A.b:/", "sources 1 and 2 are the same"},
	}
	for _, tt := range tests {
		_, err := Open(strings.Fields(tt.names), base)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("Open(%q): %v, want %q and nothing of the name", tt.names, err, tt.want)
		}
		if err != nil && !strings.Contains(err.Error(), "msgraph:drive/ID") && !strings.Contains(err.Error(), "name it once") {
			t.Errorf("Open(%q) gives no example: %v", tt.names, err)
		}
	}
	for _, bad := range []string{"", "graph.microsoft.com", "ftp://graph.microsoft.com", "https://u:CANARY@graph.microsoft.com",
		"https://graph.microsoft.com?CANARY", "https://graph.microsoft.com/#CANARY", "https://graph.microsoft.com/a/../b"} {
		u, err := url.Parse(bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open([]string{"msgraph:me"}, u); err == nil || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("Open at %s: %v", bad, err)
		}
	}
	if _, err := Open([]string{"msgraph:me"}, nil); err == nil {
		t.Error("Open at nil does not fail")
	}
}

func TestCursorsThatAreNone(t *testing.T) {
	s := open(t, graph, "msgraph:me")
	for _, cursor := range []string{
		"x", "{}", "null", "[]", `"at"`, `{"v":1}`, `{"v":1,"places":[],"at":0}`,
		`{"v":2,"places":[{"kind":"me"}],"at":0}`,
		`{"v":1,"places":[{"kind":"me"}],"at":1}`,
		`{"v":1,"places":[{"kind":"me"}],"at":-1}`,
		`{"v":1,"places":[{"kind":"me"},{"kind":"me"}],"at":0}`,
		`{"v":1,"places":[{"kind":"me"}],"at":0} {}`,
		`{"v":1,"places":[{"kind":"me"}],"at":0}]`,
		`{"v":1,"places":[{"kind":"me"}],"at":0,"host":"evil.example"}`,
		`{"v":1,"places":[{"kind":"me"},{"kind":"drive","id":"D","name":"D"}],"at":1}`,
		`{"v":1,"places":[{"kind":"me","link":"/drives/D"}],"at":0}`,
		`{"v":1,"places":[{"kind":"list"}],"at":0}`,
		`{"v":1,"places":[{"kind":"site","id":"u@h"}],"at":0}`,
		`{"v":1,"places":[{"kind":"site","id":"H.example"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drives"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":".."}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D/../E"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","file":true}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","seen":true}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","item":"a/b"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","path":"a/../b"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","path":"a","item":"I"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","link":"https://evil.example/v1.0/drives"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","link":"@evil.example/"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","link":"drives/D"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","link":"/../beta/me"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","link":"/%2e%2e/beta/me"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","link":"/drives/D#x"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","link":"/drives/D?a b"}],"at":0}`,
		`{"v":1,"places":[{"kind":"drive","id":"D","link":"/drives/D?` + strings.Repeat("a", maxLink) + `"}],"at":0}`,
		strings.Repeat(" ", maxCursor) + `{"v":1,"places":[{"kind":"me"}],"at":0}`,
	} {
		_, err := s.Ask(cursor)
		_, pageErr := s.Page(cursor, []byte(`{"value":[]}`))
		_, _, againErr := s.Again(cursor, 410, nil, nil)
		if !errors.Is(err, ErrCursor) || !errors.Is(pageErr, ErrCursor) || !errors.Is(againErr, ErrCursor) {
			t.Errorf("cursor %.200q: %v, %v, %v", cursor, err, pageErr, againErr)
		}
	}
}
