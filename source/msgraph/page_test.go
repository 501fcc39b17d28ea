package msgraph

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear"
)

// listing is the cursor of a listing that is to ask for a drive's page with a link.
func listing(link string) string {
	return fmt.Sprintf(`{"v":1,"places":[{"kind":"drive","id":"D","link":%q}],"at":0}`, link)
}

func TestLinks(t *testing.T) {
	tests := []struct {
		base, link string
		want       string // the address that is asked for next
	}{
		{graph, graph + "/v1.0/drives/D/root/delta?token=x", graph + "/v1.0/drives/D/root/delta?token=x"},
		{graph, graph + "/v1.0/drives('D')/root/microsoft.graph.delta(token='a%2Fb')?$top=5", graph + "/v1.0/drives('D')/root/microsoft.graph.delta(token='a%2Fb')?$top=5"},
		{graph, "HTTPS://Graph.Microsoft.COM:443/v1.0/x", graph + "/v1.0/x"},
		{graph, graph + "/v1.0/a b?$filter=a eq 'b'#top", graph + "/v1.0/a%20b?$filter=a%20eq%20'b'"},
		{"http://127.0.0.1:8080/graph/", "http://127.0.0.1:8080/graph/v1.0/x?y", "http://127.0.0.1:8080/graph/v1.0/x?y"},
		{"http://h.example", "http://h.example:80/v1.0/x", "http://h.example/v1.0/x"},
	}
	for _, tt := range tests {
		s := open(t, tt.base, "msgraph:drive/D")
		page, err := s.Page("", []byte(fmt.Sprintf(`{"value":[],"@odata.nextLink":%q}`, tt.link)))
		if err != nil {
			t.Errorf("link %s: %v", tt.link, err)
			continue
		}
		if got, err := s.Ask(page.Cursor); got != tt.want || err != nil {
			t.Errorf("link %s: then %s, %v, want %s", tt.link, got, err, tt.want)
		}
	}
}

func TestForeignLinks(t *testing.T) {
	tests := []struct{ link, want string }{
		{"https://evil.example/v1.0/drives?token=CANARY", "the listing goes on at another host evil.example: it is not followed, for a credential would be sent there"},
		{"https://graph.microsoft.com.evil.example/v1.0/CANARY", "another host graph.microsoft.com.evil.example:"},
		{"https://graph.microsoft.com:444/v1.0/CANARY", "another host https://graph.microsoft.com:444:"},
		{"http://graph.microsoft.com/v1.0/CANARY", "another host http://graph.microsoft.com:"},
		{"https://graph.microsoft.com@evil.example/v1.0/CANARY", "another host evil.example:"},
		{"https://u:CANARY@graph.microsoft.com/v1.0/x", "another host https://graph.microsoft.com:"},
		{"https://graph.microsoft.com/beta/CANARY", "outside of /v1.0 at graph.microsoft.com:"},
		{"https://graph.microsoft.com/v1.0", "outside of /v1.0"},
		{"https://graph.microsoft.com/v1.0/../beta/CANARY", "outside of /v1.0"},
		{"https://graph.microsoft.com/v1.0/%2e%2E/CANARY", "outside of /v1.0"},
		{"https://graph.microsoft.com/v1.0/a%5c..%5cCANARY", "outside of /v1.0"},
	}
	for _, tt := range tests {
		for _, key := range []string{"@odata.nextLink", "@odata.deltaLink"} {
			s := open(t, graph, "msgraph:drive/D")
			page, err := s.Page("", []byte(fmt.Sprintf(`{"value":[],%q:%q}`, key, tt.link)))
			if !errors.Is(err, ErrForeignLink) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "CANARY") || page.Cursor != "" {
				t.Errorf("%s %s: %v, want %q", key, tt.link, err, tt.want)
			}
		}
	}
	s := open(t, graph, "msgraph:site/h.example")
	_, err := s.Page(`{"v":1,"places":[{"kind":"drives","id":"S"}],"at":0}`, []byte(`{"value":[],"@odata.nextLink":"https://evil.example/v1.0/x"}`))
	if !errors.Is(err, ErrForeignLink) {
		t.Errorf("a link of a site's drives: %v", err)
	}
}

// What is no page is an error that shows nothing of it, and never the end of a listing.
func TestPageRefuses(t *testing.T) {
	delta := listing("/drives/D/root/delta?token=a")
	next := `"@odata.nextLink":"` + api + `/x"`
	wanted := `{"v":1,"places":[{"kind":"drive","id":"D","item":"I"}],"at":0}`
	siteDrives := `{"v":1,"places":[{"kind":"drives","id":"S"},{"kind":"drive","id":"D","name":"D"}],"at":0}`
	tests := []struct {
		cursor, body string
		want         string
	}{
		{delta, `CANARY`, "is no json"},
		{delta, `{"value":["CANARY`, "is no json"},
		{delta, ``, "is no json"},
		{delta, `"CANARY"`, "is no json object"},
		{delta, `{"value":[{"id":"I","size":"CANARY"}]}`, "value.size"},
		{delta, `{"value":[{"id":"I","size":1e999}]}`, "value.size"},
		{delta, `{` + next + `}`, "no list of items"},
		{delta, `{"value":null,` + next + `}`, "no list of items"},
		{delta, `{"error":{"code":"CANARY"}}`, "no list of items"},
		{delta, `null`, "no list of items"},
		{delta, `{"value":[]}`, ErrCut.Error()},
		{delta, `{"value":[],"@odata.nextLink":"` + api + `/drives/D/root/delta?token=a"}`, ErrRepeats.Error()},
		{"", `{"value":[],"@odata.nextLink":"` + api + "/drives/D/root/delta" + selectItem + `"}`, ErrRepeats.Error()},
		{delta, `{"value":[],"@odata.nextLink":"/v1.0/CANARY"}`, "no absolute address"},
		{delta, `{"value":[],"@odata.nextLink":"` + api + `/%zzCANARY"}`, "no absolute address"},
		{delta, `{"value":[],"@odata.nextLink":"` + api + `/CANARY\n"}`, "control character"},
		{delta, `{"value":[{"id":"CANARY","file":{}},{"name":"CANARY","file":{}}],` + next + `}`, "item 2 of the page has no id"},
		{delta, `{"value":[null],` + next + `}`, "item 1 of the page has no id"},
		{delta, `{"value":[{"deleted":{}}],` + next + `}`, "item 1 of the page has no id"},
		{delta, `{"value":[{"id":"..","file":{}}],` + next + `}`, "item 1 of the page has an id that cannot"},
		{delta, `{"value":[{"id":"CANARY/x","file":{}}],` + next + `}`, "item 1 of the page has an id that cannot"},
		{delta, `{"value":[{"id":"` + strings.Repeat("a", 2000) + `","file":{}}],` + next + `}`, "item 1 of the page has an id that cannot"},
		{delta, `{"value":[{"id":"I","remoteItem":{"file":{},"parentReference":{"driveId":"E"}}}],` + next + `}`, "item 1 of the page is a shortcut to what has no id"},
		{delta, `{"value":[{"id":"I","remoteItem":{"id":"J","file":{},"parentReference":{"driveId":".."}}}],` + next + `}`, "is a shortcut to what has an id"},
		{wanted, `{"value":[{"id":"J","file":{}}],` + next + `}`, "item 1 of the page is in no folder"},
		{wanted, `{"value":[{"id":"J","folder":{}}],"@odata.deltaLink":"` + api + `/x"}`, "the folder that is wanted was not in it"},
		{siteDrives, `{"value":[{"id":"E"},{"name":"CANARY"}]}`, "the drives of a site: drive 2 of the page has no id"},
		{siteDrives, `{"value":[{"id":"d","name":"CANARY"}]}`, "drives 1 and 2 of the listing are the same"},
		{siteDrives, `{"value":[{"id":"E"},{"id":"E"}]}`, "drives 1 and 2 of the listing are the same"},
		{siteDrives, `{"value":[]}`, "there is none that the credential may see"},
		{siteDrives, `{}`, "no list of items"},
		{siteDrives, `{"value":[],"@odata.nextLink":"` + api + "/sites/S/drives" + selectName + `"}`, ErrRepeats.Error()},
		{`{"v":1,"places":[{"kind":"me"}],"at":0}`, `{"name":"CANARY"}`, "the person's own drive: what was answered has no id"},
		{`{"v":1,"places":[{"kind":"me"},{"kind":"drive","id":"D"}],"at":0}`, `{"id":"D"}`, "drives 1 and 2 of the listing are the same"},
		{`{"v":1,"places":[{"kind":"site","id":"h.example:/s"}],"at":0}`, `{"id":"a/b"}`, "site h.example:/s: what was answered has an id"},
		{`{"v":1,"places":[{"kind":"drive","id":"D","path":"a/b"}],"at":0}`, `{"id":"I","name":"CANARY"}`, `"a/b" in the drive: is neither a folder nor a file`},
		{`{"v":1,"places":[{"kind":"drive","id":"D","item":"I","file":true}],"at":0}`, `{"name":"CANARY"}`, "has no id"},
	}
	for _, tt := range tests {
		page, err := open(t, graph, "msgraph:drive/D").Page(tt.cursor, []byte(tt.body))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%.100s at %s: %v, want %q", tt.body, tt.cursor, err, tt.want)
		}
		if diff := cmp.Diff(dogear.Page{}, page); diff != "" {
			t.Errorf("%.100s at %s: beside the error (-want +got):\n%s", tt.body, tt.cursor, diff)
		}
	}
}

// Of both links the next page's counts: the listing is not complete before there is none.
func TestNextBeforeDelta(t *testing.T) {
	s := open(t, graph, "msgraph:drive/D")
	page, err := s.Page("", []byte(`{"value":[],"@odata.nextLink":"`+api+`/next","@odata.deltaLink":"https://evil.example/"}`))
	if err != nil || page.Last {
		t.Fatalf("page %+v, %v", page, err)
	}
	if got, err := s.Ask(page.Cursor); got != api+"/next" || err != nil {
		t.Errorf("then %s, %v", got, err)
	}
}

func TestItems(t *testing.T) {
	const in = `"parentReference":{"driveId":"d","id":"P"}`
	doc := func(change func(*dogear.Document)) dogear.Page {
		d := dogear.Document{ID: "msgraph:drive/D/items/I", Address: api + "/drives/D/items/I/content", Name: "n", Parent: "D/P", Size: -1}
		change(&d)
		return dogear.Page{Documents: []dogear.Document{d}}
	}
	tests := []struct {
		item string
		want dogear.Page
	}{
		{`{"id":"I","name":"n","file":{},` + in + `}`, doc(func(*dogear.Document) {})},
		{`{"id":"I","file":{},` + in + `}`, doc(func(d *dogear.Document) { d.Name = "I" })},
		{`{"id":"I","name":"n","file":{}}`, doc(func(d *dogear.Document) { d.Parent = "" })},
		{`{"id":"I","name":"n","file":{},"size":0,"eTag":"e",` + in + `}`, doc(func(d *dogear.Document) { d.Size, d.Version = 0, "e" })},
		{`{"id":"I","name":"n","file":{},"size":-7,"eTag":"e","cTag":"c",` + in + `}`, doc(func(d *dogear.Document) { d.Version = "c" })},
		{`{"id":"I","name":"n","file":{"hashes":{"quickXorHash":"AAAAAAAAAAAAAAAAAAAAAAAAAAA=","sha1Hash":"DA39A3EE5E6B4B0D3255BFEF95601890AFD80709"}},` + in + `}`,
			doc(func(d *dogear.Document) { d.Digest = "quickxor:AAAAAAAAAAAAAAAAAAAAAAAAAAA=" })},
		{`{"id":"I","name":"n","file":{"hashes":{"quickXorHash":"none","sha1Hash":"12","sha256Hash":"zz"}},` + in + `}`, doc(func(*dogear.Document) {})},
		{`{"id":"I %é?","name":"n","file":{},` + in + `}`, doc(func(d *dogear.Document) {
			d.ID, d.Address = "msgraph:drive/D/items/I%20%25%C3%A9%3F", api+"/drives/D/items/I%20%25%C3%A9%3F/content"
		})},
		{`{"id":"I","name":"n","folder":{},` + in + `}`, dogear.Page{Folders: []dogear.Folder{{ID: "D/I", Parent: "D/P", Name: "n"}}}},
		{`{"id":"I","name":"root","folder":{},"root":{}}`, dogear.Page{Folders: []dogear.Folder{{ID: "D/I"}}}},
		{`{"id":"I","name":"root","folder":{},"parentReference":{"driveId":"D"}}`, dogear.Page{Folders: []dogear.Folder{{ID: "D/I"}}}},
		{`{"id":"I","name":"n","package":{"type":"oneNote"}}`, dogear.Page{Others: 1}},
		{`{"id":"I","name":"n","package":{},"folder":{},` + in + `}`, dogear.Page{Others: 1, Folders: []dogear.Folder{{ID: "D/I", Parent: "D/P", Name: "n"}}}},
		{`{"id":"I","name":"n","file":null,` + in + `}`, dogear.Page{Others: 1}},
		{`{"id":"I","file":{},"deleted":{}}`, dogear.Page{Gone: []string{"msgraph:drive/D/items/I"}}},
		{`{"id":"I","deleted":{}}`, dogear.Page{Gone: []string{"msgraph:drive/D/items/I"}}},
		{`{"id":"I","folder":{},"deleted":{}}`, dogear.Page{}},
		{`{"id":"S","name":"n","remoteItem":{"id":"I","name":"m","folder":{},"parentReference":{"driveId":"E"}}}`, dogear.Page{Others: 1}},
		{`{"id":"S","name":"n","remoteItem":{"id":"I","name":"m","file":{}}}`, dogear.Page{Others: 1}},
		{`{"id":"S","name":"n","remoteItem":{"id":"I","parentReference":{"driveId":"E"}}}`, dogear.Page{Others: 1}},
		{`{"id":"S","name":"n","eTag":"s","size":5,"remoteItem":{"id":"I","name":"m","file":{},"parentReference":{"driveId":"E","id":"Q"}},` + in + `}`, doc(func(d *dogear.Document) {
			d.ID, d.Address = "msgraph:drive/E/items/I", api+"/drives/E/items/I/content"
		})},
		// What is listed in its own drive keeps its own name.
		{`{"id":"S","name":"n","remoteItem":{"id":"I","name":"m","file":{},"parentReference":{"driveId":"d"}},` + in + `}`, dogear.Page{}},
	}
	for _, tt := range tests {
		s := open(t, graph, "msgraph:drive/D")
		page, err := s.Page("", []byte(`{"value":[`+tt.item+`],"@odata.nextLink":"`+api+`/next"}`))
		page.Cursor = ""
		if diff := cmp.Diff(tt.want, page); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.item, err, diff)
		}
	}
}

// A site's drives come in pages of which some are empty; a drive without a name is called by
// its id.
func TestDrivesInPages(t *testing.T) {
	g := service{
		api + "/sites/h.example" + selectName:     `{"id":"S"}`,
		api + "/sites/S/drives" + selectName:      `{"value":[],"@odata.nextLink":"` + api + `/sites/S/drives?$skiptoken=2"}`,
		api + "/sites/S/drives?$skiptoken=2":      `{"value":[{"id":"D"}],"@odata.nextLink":"` + api + `/sites/S/drives?$skiptoken=3"}`,
		api + "/sites/S/drives?$skiptoken=3":      `{"value":[]}`,
		api + "/drives/E" + selectName:            `{}`,
		api + "/drives/D/root/delta" + selectItem: `{"value":[{"id":"R","root":{}}],"@odata.deltaLink":"` + api + `/drives/D/since"}`,
		api + "/drives/E/root/delta" + selectItem: `{"value":[{"id":"R","root":{}}],"@odata.deltaLink":"` + api + `/drives/E/since"}`,
	}
	got := whole(g.walk(t, open(t, graph, "msgraph:site/h.example", "msgraph:drive/E"), ""))
	want := dogear.Page{Folders: []dogear.Folder{{ID: "D/R", Name: "D"}, {ID: "E/R", Name: "E"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the listing (-want +got):\n%s", diff)
	}
}

// A shortcut to a drive of which only a folder is listed may lead out of that folder.
func TestShortcutToAListedFolder(t *testing.T) {
	s := open(t, graph, "msgraph:me")
	cursor := `{"v":1,"places":[{"kind":"drive","id":"D","name":"d"},{"kind":"drive","id":"E","name":"e","item":"F"}],"at":0}`
	page, err := s.Page(cursor, []byte(`{"value":[{"id":"S","name":"n","remoteItem":{"id":"I","file":{},"parentReference":{"driveId":"E"}}}],"@odata.nextLink":"`+api+`/next"}`))
	if err != nil || len(page.Documents) != 1 || page.Documents[0].ID != "msgraph:drive/E/items/I" {
		t.Errorf("page %+v, %v", page, err)
	}
}

// A cursor has room for every drive, or it is not written.
func TestCursorIsBounded(t *testing.T) {
	s := open(t, graph, "msgraph:me")
	body := fmt.Sprintf(`{"value":[{"id":"D","name":%q}]}`, strings.Repeat("n", maxCursor))
	page, err := s.Page(`{"v":1,"places":[{"kind":"drives","id":"S"}],"at":0}`, []byte(body))
	if err == nil || page.Cursor != "" || !strings.Contains(err.Error(), "name fewer drives") {
		t.Errorf("a cursor of %d bytes, %v", len(page.Cursor), err)
	}
}

func TestAgain(t *testing.T) {
	const link = "/drives/D/root/delta?token=old"
	first := api + "/drives/D/root/delta" + selectItem
	code := func(c string) string { return `{"error":{"code":"` + c + `","message":"m"}}` }
	tests := []struct {
		cursor   string
		status   int
		location string
		body     string
		want     string // the address that is asked for; empty: it does not begin again
	}{
		{listing(link), 410, "", code("resyncChangesApplyDifferences"), first},
		{listing(link), 410, "", "", first},
		{listing(link), 410, api + "/drives/D/root/delta?token=new", code("resyncChangesUploadDifferences"), api + "/drives/D/root/delta?token=new"},
		{listing(link), 410, api + link, "", first},
		{listing(link), 410, "https://evil.example/v1.0/x", "", first},
		{listing(link), 410, graph + "/beta/x", "", first},
		{listing(link), 410, "/v1.0/drives/D/root/delta?token=new", "", first},
		{listing(link), 400, "", code("resyncRequired"), first},
		{listing(link), 400, "", code("InvalidDeltaToken"), first},
		{listing(link), 404, "", code("syncStateNotFound"), first},
		{listing(link), 404, "", `{"error":{"code":"itemNotFound","innererror":{"code":"resyncApplyDifferences"}}}`, first},
		{listing(link), 404, "", `{"error":{"code":"SyncStateNotFound","innerError":"m"}}`, first},
		{listing(link), 404, "", code("itemNotFound"), ""},
		{listing(link), 400, "", `not json`, ""},
		{listing(link), 403, "", code("resyncRequired"), ""},
		{listing(link), 503, api + "/x", "", ""},
		{"", 410, "", "", first},
		{`{"v":1,"places":[{"kind":"me"}],"at":0}`, 410, "", code("resyncRequired"), ""},
		{`{"v":1,"places":[{"kind":"drive","id":"D","item":"I","file":true}],"at":0}`, 410, "", "", ""},
		{`{"v":1,"places":[{"kind":"drive","id":"E","name":"e","link":"/e"},{"kind":"drive","id":"D","name":"d","item":"I","seen":true,"link":"` + link + `"}],"at":1}`, 410, "", "", first},
	}
	for _, tt := range tests {
		s := open(t, graph, "msgraph:drive/D")
		header := http.Header{}
		if tt.location != "" {
			header.Set("Location", tt.location)
		}
		again, ok, err := s.Again(tt.cursor, tt.status, header, []byte(tt.body))
		if err != nil || ok != (tt.want != "") {
			t.Errorf("Again(%s, %d, %s, %s): %t, %v", tt.cursor, tt.status, tt.location, tt.body, ok, err)
			continue
		}
		if !ok {
			continue
		}
		if got, err := s.Ask(again); got != tt.want || err != nil {
			t.Errorf("Again(%s, %d, %s, %s): then %s, %v, want %s", tt.cursor, tt.status, tt.location, tt.body, got, err, tt.want)
		}
		if other := `"link":"/e"`; strings.Contains(tt.cursor, other) != strings.Contains(again, other) {
			t.Errorf("Again moved another drive: %s", again)
		}
	}
}

func TestSame(t *testing.T) {
	const xor, otherXor = "AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "aCgDG9jwBhDc4Q1yawMZAAAAAAA="
	const sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	doc := dogear.Document{ID: "msgraph:drive/D/items/I", Version: "e1", Digest: "quickxor:" + xor, Size: 3}
	with := func(version, sha, digest string, size int64) dogear.Document {
		d := doc
		d.Version, d.SHA256, d.Digest, d.Size = version, sha, digest, size
		return d
	}
	tests := []struct {
		doc   dogear.Document
		body  string
		found string
		same  bool
	}{
		{doc, `{"id":"I","eTag":"e1","cTag":"c1","size":3,"file":{}}`, "e1", true},
		{doc, `{"id":"I","eTag":"e2","cTag":"c1","size":3,"file":{}}`, "c1", false},
		{doc, `{"id":"I","eTag":"e2","file":{"hashes":{"quickXorHash":"` + xor + `"}}}`, "e2", true},
		{doc, `{"id":"I","eTag":"e2","file":{"hashes":{"quickXorHash":"` + otherXor + `"}}}`, "e2", false},
		{doc, `{"id":"I","file":{"hashes":{"quickXorHash":"` + xor + `"}}}`, "", true},
		{doc, `{"id":"I","eTag":"e1","deleted":{"state":"deleted"}}`, "", false},
		{with("c1", "", "", 3), `{"eTag":"e9","cTag":"c1"}`, "c1", true},
		{with("c1", "", "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709", 3),
			`{"cTag":"c2","file":{"hashes":{"quickXorHash":"` + otherXor + `","sha1Hash":"DA39A3EE5E6B4B0D3255BFEF95601890AFD80709"}}}`, "c2", true},
		{with("c1", "", "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709", 3), `{"cTag":"c2","file":{"hashes":{"quickXorHash":"` + otherXor + `"}}}`, "c2", false},
		{with("c1", sha256, "", 3), `{"cTag":"c2","file":{"hashes":{"sha256Hash":"` + strings.ToUpper(sha256) + `"}}}`, "c2", true},
		{with("", "", "", 3), `{"cTag":"c2","size":3}`, "c2", true},
		{with("", "", "", 3), `{"cTag":"c2","size":4}`, "c2", false},
		{with("", "", "", 3), `{"cTag":"c2"}`, "c2", false},
		{with("", "", "", -1), `{"cTag":"c2","size":4}`, "c2", true},
	}
	s := open(t, graph, "msgraph:drive/D")
	for _, tt := range tests {
		found, same, err := s.Same(tt.doc, []byte(tt.body))
		if found != tt.found || same != tt.same || err != nil {
			t.Errorf("Same(%+v, %s): %q, %t, %v, want %q, %t", tt.doc, tt.body, found, same, err, tt.found, tt.same)
		}
	}
	for _, body := range []string{"CANARY", `[]`, `{}`, `null`, `{"id":"I","size":3,"file":{}}`, `{"eTag":7}`} {
		if _, same, err := s.Same(doc, []byte(body)); err == nil || same || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("Same with %s: %t, %v", body, same, err)
		}
	}
}

// A document is found again by its id alone, which is all that a ledger has to keep.
func TestAddresses(t *testing.T) {
	s := open(t, "http://127.0.0.1:8080/graph", "msgraph:me")
	tests := []struct{ id, at string }{
		{"msgraph:drive/b!x-Y_z/items/01A!7", "/drives/b!x-Y_z/items/01A!7"},
		{"msgraph:drive/D%20%2B/items/I%3F", ""}, // a plus sign is not escaped
		{"msgraph:drive/D%20+/items/I%3F", "/drives/D%20+/items/I%3F"},
		{"https://h.example/a", ""},
		{"msgraph:drive/D", ""},
		{"msgraph:drive/D/items/", ""},
		{"msgraph:drive//items/I", ""},
		{"msgraph:drive/D/items/I/content", ""},
		{"msgraph:drive/D/items/..", ""},
		{"msgraph:drive/D/items/%2E%2E", ""},
		{"msgraph:drive/D/items/I?x", ""},
		{"", ""},
	}
	for _, tt := range tests {
		doc := dogear.Document{ID: tt.id}
		address, err := s.Address(doc)
		check := s.Check(doc)
		if tt.at == "" {
			if err == nil || check != "" {
				t.Errorf("of %q: %s, %s", tt.id, address, check)
			}
			continue
		}
		const root = "http://127.0.0.1:8080/graph/v1.0"
		if err != nil || address != root+tt.at+"/content" || check != root+tt.at+"?$select=id,eTag,cTag,size,file,deleted" {
			t.Errorf("of %q: %s, %s, %v", tt.id, address, check, err)
		}
	}
}

// A Source is read by many at once.
func TestConcurrent(t *testing.T) {
	s, g := open(t, graph, "msgraph:site/contoso.sharepoint.com:/sites/team"), team(t)
	want := whole(g.walk(t, s, ""))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if diff := cmp.Diff(want, whole(g.walk(t, s, ""))); diff != "" {
				t.Errorf("the listing (-want +got):\n%s", diff)
			}
		})
	}
	wait.Wait()
}
