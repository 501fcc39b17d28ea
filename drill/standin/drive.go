package standin

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/dogear/dogear/drill/journal"
)

// A drive is some of a service's documents, in folders.
type drive struct {
	g     *graph
	index int // from 0
	id    string
	// slots are the items as a delta lists them.
	slots []slot
}

// A slot is a place in the order of a drive's items. Of a folder that is there twice, the
// first is as it was.
type slot struct {
	kind byte
	n    int // of a file: its document; else from 1
	was  bool
}

// The kinds of slots, as they stand in ids.
const (
	rootSlot     = 'R'
	fileSlot     = 'F'
	folderSlot   = 'D'
	notebookSlot = 'N'
	shortcutSlot = 'S'
	ghostSlot    = 'X' // it was deleted before anybody saw it
	breakSlot    = 0   // an empty page
)

const (
	folderShortcut = 1 // to a folder of another drive
	fileShortcut   = 2 // to a file of another drive
)

const idPrefix = "01DRILL"

// id is unique within a drive alone, as Graph's are: two drives have folders of one id.
func (at slot) id() string { return fmt.Sprintf("%s%c%06d", idPrefix, at.kind, at.n) }

// layOut puts the items in the order in which a delta lists them: Graph promises none. After
// the root come the files in the order of their documents, and among them the folders from
// the last to the first, so that files come before their folder and folders before the one
// that they are in. In the middle is an empty page, then what is neither, and at the end the
// folder that came first, under another name.
func (d *drive) layOut() {
	d.slots = []slot{{kind: rootSlot}}
	files, folders := d.files(), d.g.Folders
	add := func(documents []int) {
		for _, n := range documents {
			d.slots = append(d.slots, slot{kind: fileSlot, n: n})
		}
	}
	from := 0
	for n := folders; n > 0; n-- { // each behind the first file of its share
		to := (len(files)*(folders-n+1) + folders - 1) / folders
		first := min(from+1, to)
		add(files[from:first])
		d.slots = append(d.slots, slot{kind: folderSlot, n: n, was: n == folders})
		add(files[first:to])
		from = to
	}
	add(files[from:])
	middle := max(len(d.slots)/2, min(len(d.slots), 3))
	others := []slot{{kind: breakSlot}, {kind: notebookSlot, n: 1}, {kind: shortcutSlot, n: folderShortcut}, {kind: ghostSlot, n: 1}}
	if other := d.other(); other != nil && len(other.files()) > 0 {
		others = append(others, slot{kind: shortcutSlot, n: fileShortcut})
	}
	d.slots = slices.Insert(d.slots, middle, others...)
	if folders > 0 {
		d.slots = append(d.slots, slot{kind: folderSlot, n: folders})
	}
}

// other is the drive that shortcuts lead to; nil: there is none here.
func (d *drive) other() *drive {
	if len(d.g.drives) == 1 {
		return nil
	}
	return d.g.drives[(d.index+1)%len(d.g.drives)]
}

// files are the documents that are dealt to the drive.
func (d *drive) files() []int {
	var out []int
	for n := d.g.s.firstDocument() + d.index; n <= d.g.s.cfg.Last; n += len(d.g.drives) {
		out = append(out, n)
	}
	return out
}

// folder is the folder that an item is in; zero: the root.
func (d *drive) folder(at slot) int {
	switch folders := d.g.Folders; {
	case at.kind == fileSlot && folders > 0:
		return (at.n-d.g.s.firstDocument())/len(d.g.drives)%folders + 1
	case at.kind == folderSlot:
		return max(0, at.n-(folders+1)/2)
	}
	return 0
}

// fileNames and folderNames are patterns of names, by turns: some are no ASCII, and some have
// what means something else in an address.
var (
	fileNames   = []string{"report %d.bin", "Übersicht %d.bin", "报告 %d.bin", "rapport d'été #%d, 50%%.bin"}
	folderNames = []string{"folder %d", "Entwürfe & Pläne %d", "資料 %d"}
)

func (d *drive) name(at slot) string {
	switch at.kind {
	case rootSlot:
		return "root"
	case fileSlot:
		return fmt.Sprintf(fileNames[at.n%len(fileNames)], at.n)
	case folderSlot:
		if at.was {
			return "untitled folder"
		}
		return fmt.Sprintf(folderNames[at.n%len(folderNames)], at.n)
	case notebookSlot:
		return "Notebook"
	case shortcutSlot:
		if at.n == fileShortcut {
			return "shortcut to a file.bin"
		}
		return "shortcut to a folder"
	}
	return ""
}

// path is where an item is, by names from the root down.
func (d *drive) path(at slot) string {
	name := d.name(at)
	if n := d.folder(at); n > 0 {
		return d.path(slot{kind: folderSlot, n: n}) + "/" + name
	}
	return name
}

// there reports whether one of the slots is an item that can be asked for.
func (d *drive) there(at slot) bool {
	return at.kind != ghostSlot && at.kind != breakSlot && !at.was && !d.gone(at)
}

// gone reports whether an item is a file that has been deleted.
func (d *drive) gone(at slot) bool {
	if at.kind != fileSlot {
		return false
	}
	status := d.g.s.withheldAs(at.n)
	return status == http.StatusNotFound || status == http.StatusGone
}

// endpoint is what the part of a path behind a drive is for; nil: for nothing that is there.
func (d *drive) endpoint(rest string) *endpoint {
	if rest == "" {
		return &endpoint{kind: journal.List, answer: func(x *Exchange) { x.json(http.StatusOK, d.resource()) }}
	}
	switch what, rest, _ := strings.Cut(rest, "/"); what {
	case "root":
		switch rest {
		case "":
			return d.check(slot{kind: rootSlot})
		case "delta":
			return &endpoint{kind: journal.List, answer: d.delta}
		}
	case "root:":
		return d.check(d.atPath(strings.TrimSuffix(rest, ":")))
	case "items":
		id, what, _ := strings.Cut(rest, "/")
		switch at := d.atID(id); {
		case what == "":
			return d.check(at)
		case what == "content" && at.kind == fileSlot:
			return &endpoint{number: at.n, answer: d.content}
		}
	}
	return nil
}

// atID is the item of an id; if there is none, one that is not there.
func (d *drive) atID(id string) slot {
	if rest, ok := strings.CutPrefix(id, idPrefix); ok && rest != "" {
		n, err := strconv.Atoi(rest[1:])
		if at := (slot{kind: rest[0], n: n}); err == nil && at.id() == id && slices.Contains(d.slots, at) {
			return at
		}
	}
	return slot{kind: ghostSlot}
}

// atPath is the item at a path, in which letters of either case are the same.
func (d *drive) atPath(path string) slot {
	path = strings.Trim(path, "/")
	if path == "" {
		return slot{kind: rootSlot}
	}
	for _, at := range d.slots {
		if d.there(at) && strings.EqualFold(d.path(at), path) {
			return at
		}
	}
	return slot{kind: ghostSlot}
}
