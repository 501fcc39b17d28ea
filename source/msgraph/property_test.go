package msgraph

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dogear/dogear"
)

// drawDrive draws a drive with files and folders, and puts its pages into a service: in any
// order, with repeats, of which the last has the item as it is, and with empty pages. It
// returns the documents by their ids, with their paths as names.
func drawDrive(t *rapid.T, g service, id, root, wanted string) map[string]string {
	names := []string{root} // of the folders, by number; 0 is the drive's root
	parents := []int{-1}
	path := func(folder int) (p string, inside bool) {
		for folder > 0 {
			if fmt.Sprint("F", folder) == wanted {
				break
			}
			p, folder = names[folder]+"/"+p, parents[folder]
		}
		return p, wanted == "" || fmt.Sprint("F", folder) == wanted
	}
	ref := func(folder int) map[string]any { return map[string]any{"driveId": id, "id": fmt.Sprint("F", folder)} }
	items := []map[string]any{{"id": "F0", "name": "root", "root": struct{}{}, "folder": struct{}{}, "parentReference": map[string]any{"driveId": id}}}
	for range rapid.IntRange(1, 5).Draw(t, "folders") {
		n := len(names)
		names, parents = append(names, fmt.Sprint("folder ", n)), append(parents, rapid.IntRange(0, n-1).Draw(t, "parent"))
		items = append(items, map[string]any{"id": fmt.Sprint("F", n), "name": names[n], "folder": struct{}{}, "parentReference": ref(parents[n])})
	}
	want := map[string]string{}
	for n := range rapid.IntRange(0, 12).Draw(t, "files") {
		in := rapid.IntRange(0, len(names)-1).Draw(t, "in")
		name := rapid.SampledFrom([]string{"a.txt", "Übersicht #1, 50%.docx", "报告.pdf"}).Draw(t, "name")
		items = append(items, map[string]any{"id": fmt.Sprint("I", n), "name": name, "size": n, "file": struct{}{}, "parentReference": ref(in)})
		if p, inside := path(in); inside {
			if root != "" {
				p = root + "/" + p
			}
			want[documentID(id, fmt.Sprint("I", n))] = p + name
		}
	}
	items = rapid.Permutation(items).Draw(t, "order")
	repeated := rapid.IntRange(0, len(items)).Draw(t, "repeated")
	var feed []map[string]any
	for _, it := range items[:repeated] {
		was := maps.Clone(it)
		was["name"] = "what it was called"
		feed = append(feed, was)
	}
	paginate(t, g, id, append(feed, items...))
	return want
}

// paginate puts the pages of a drive into a service.
func paginate(t *rapid.T, g service, id string, feed []map[string]any) {
	at := api + "/drives/" + id + "/root/delta"
	address := at + selectItem
	for n := 1; ; n++ {
		size := min(rapid.IntRange(0, 6).Draw(t, "page"), len(feed))
		page := map[string]any{"value": feed[:size]}
		if feed = feed[size:]; len(feed) > 0 {
			page["@odata.nextLink"] = fmt.Sprintf("%s?token=%d", at, n)
		} else {
			page["@odata.deltaLink"] = at + "?token=since"
		}
		body, err := json.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		g[address] = string(body)
		if len(feed) == 0 {
			return
		}
		address = fmt.Sprintf("%s?token=%d", at, n)
	}
}

// named are the documents of a listing by their ids, with their paths as names, as a ledger
// puts them together: the last word counts.
func named(all dogear.Page) map[string]string {
	folders := map[string]dogear.Folder{}
	for _, f := range all.Folders {
		folders[f.ID] = f
	}
	got := map[string]string{}
	for _, d := range all.Documents {
		name, outside := d.Name, false
		for in := d.Parent; in != ""; in = folders[in].Parent {
			if outside = folders[in].Outside; outside {
				break
			}
			if folder := folders[in].Name; folder != "" {
				name = folder + "/" + name
			}
		}
		if delete(got, d.ID); !outside {
			got[d.ID] = name
		}
	}
	return got
}

// Whatever the drives and their pages, all that is in them is listed, and nothing else.
func TestListedWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, want := service{}, map[string]string{}
		var names []string
		many := rapid.IntRange(1, 3).Draw(t, "drives")
		for n := range many {
			id, root, wanted := fmt.Sprint("b!D_", n), "", ""
			if many > 1 {
				root = fmt.Sprint("Drive ", n)
				g[api+"/drives/"+id+selectName] = `{"id":"` + id + `","name":"` + root + `"}`
			}
			name := Scheme + "drive/" + id
			if rapid.Bool().Draw(t, "a folder of it") {
				wanted, name = "F1", name+"/some folder"
				g[api+"/drives/"+id+"/root:/some%20folder"+selectPath] = `{"id":"F1","folder":{}}`
			}
			names = append(names, name)
			maps.Copy(want, drawDrive(t, g, id, root, wanted))
		}
		pages := g.walk(t, open(t, graph, names...), "")
		if diff := cmp.Diff(want, named(whole(pages))); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		for _, p := range pages[:len(pages)-1] {
			if len(p.Cursor) > many*200 || strings.Contains(p.Cursor, `"F2"`) {
				t.Fatalf("a cursor of %d bytes: %s", len(p.Cursor), p.Cursor)
			}
		}
	})
}
