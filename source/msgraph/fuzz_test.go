package msgraph

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/dogear/dogear"
)

// cursors are one of each question.
var cursors = []string{
	`{"v":1,"places":[{"kind":"drive","id":"b!x-Y_z"}],"at":0}`,
	`{"v":1,"places":[{"kind":"drive","id":"D","item":"01REPORTS","link":"/drives/D/root/delta?token=a"}],"at":0}`,
	`{"v":1,"places":[{"kind":"drive","id":"E","name":"e","link":"/e"},{"kind":"drive","id":"D","name":"d","link":"/drives/D/root/delta?token=a"}],"at":1}`,
	`{"v":1,"places":[{"kind":"drive","id":"D","item":"I","file":true}],"at":0}`,
	`{"v":1,"places":[{"kind":"drive","id":"D","path":"a/b"},{"kind":"me"}],"at":0}`,
	`{"v":1,"places":[{"kind":"drive","id":"E"},{"kind":"drive","id":"D","name":"d"}],"at":0}`,
	`{"v":1,"places":[{"kind":"me"}],"at":0}`,
	`{"v":1,"places":[{"kind":"site","id":"h.example:/sites/a"}],"at":0}`,
	`{"v":1,"places":[{"kind":"drives","id":"S"}],"at":0}`,
	`{"v":1,"places":[{"kind":"drive","id":"D","name":"d"},{"kind":"drives","id":"S","link":"/sites/S/drives?$skiptoken=a","seen":true}],"at":0}`,
}

// FuzzPage: whatever a cursor and an answer are, there is an error that shows neither, or a
// page on which everything leads to the API, and a cursor that can be asked with.
func FuzzPage(f *testing.F) {
	for _, cursor := range cursors {
		for _, name := range []string{"site.json", "drives-1.json", "drives-2.json", "delta-1.json", "delta-2.json", "changes.json"} {
			f.Add(cursor, []byte(testdata(f, name)))
		}
		f.Add(cursor, []byte(`{"id":"I","folder":{},"value":[{"id":"é %?","file":{}},{"id":"b","remoteItem":{"id":"c","file":{},"parentReference":{"driveId":"d"}}}],`+
			`"@odata.nextLink":"https://graph.microsoft.com/v1.0/drives('a b')/%2a?x y"}`))
	}
	s := open(f, graph, "msgraph:drive/D")
	f.Fuzz(func(t *testing.T, cursor string, body []byte) {
		under := func(address string) {
			if u, err := url.Parse(address); err != nil || u.Host != "graph.microsoft.com" || u.User != nil || u.Fragment != "" ||
				!strings.HasPrefix(u.Path, "/v1.0/") || dotted(u.Path) || strings.ContainsAny(address, " \r\n") {
				t.Errorf("%q is not under the API (%v)", address, err)
			}
		}
		ask := func(cursor string) {
			address, err := s.Ask(cursor)
			if err != nil {
				t.Fatalf("its own cursor %q: %v", cursor, err)
			}
			under(address)
		}
		if _, err := s.Ask(cursor); err == nil {
			ask(cursor)
			again, ok, err := s.Again(cursor, http.StatusGone, http.Header{"Location": {string(body)}}, body)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				ask(again)
			}
		}
		page, err := s.Page(cursor, body)
		if err != nil {
			return
		}
		ask(page.Cursor)
		for _, d := range page.Documents {
			address, err := s.Address(d)
			if d.ID == "" || d.Name == "" || err != nil || address != d.Address {
				t.Errorf("document %+v: %s, %v", d, address, err)
			}
			under(d.Address)
			under(s.Check(d))
			s.Same(d, body)
		}
		for _, folder := range page.Folders {
			if folder.ID == "" || folder.Outside && folder.Parent != "" {
				t.Errorf("folder %+v", folder)
			}
		}
		for _, id := range page.Gone {
			if _, err := s.Address(dogear.Document{ID: id}); err != nil {
				t.Errorf("gone %q: %v", id, err)
			}
		}
	})
}

// FuzzOpen: a name is refused, or leads to an address of the API.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"msgraph:me", "msgraph:drive/b!x-Y_z", "msgraph:drive/ID/Entwürfe & Pläne/50%.docx", "msgraph:drive/../..",
		"msgraph:site/contoso.sharepoint.com", "msgraph:site/contoso.sharepoint.com:/sites/team", "msgraph:site/u@h:/x", "msgraph:drive/a?b#c", ""} {
		f.Add(name)
	}
	base, err := url.Parse(graph)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s, err := Open([]string{name}, base)
		if err != nil {
			return
		}
		address, err := s.Ask("")
		u, parseErr := url.Parse(address)
		if err != nil || parseErr != nil || u.Host != "graph.microsoft.com" || u.User != nil || u.Fragment != "" || !strings.HasPrefix(u.Path, "/v1.0/") || dotted(u.Path) {
			t.Fatalf("%q asks for %q, %v, %v", name, address, err, parseErr)
		}
		if query := strings.Split(address, "?"); len(query) != 2 || !strings.HasPrefix(query[1], "$select=id,name") {
			t.Errorf("%q asks for %q", name, address)
		}
		cursor, err := state{Version: cursorVersion, Places: s.named}.write()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Ask(cursor); again != address || err != nil {
			t.Errorf("%q through a cursor: %q, %v", name, again, err)
		}
	})
}
