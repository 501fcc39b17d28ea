package standin

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// A driveItem is an item of a drive as Graph writes it: it is what the one facet says that it has.
type driveItem struct {
	ID       string     `json:"id"`
	Name     string     `json:"name,omitempty"`
	Size     *int       `json:"size,omitempty"`
	ETag     string     `json:"eTag,omitempty"`
	CTag     string     `json:"cTag,omitempty"` // a delta of OneDrive for Business leaves it out
	Modified string     `json:"lastModifiedDateTime,omitempty"`
	Parent   *parent    `json:"parentReference,omitempty"` // without a path, as in a delta
	Root     *struct{}  `json:"root,omitempty"`
	Folder   *struct{}  `json:"folder,omitempty"`
	File     *fileFacet `json:"file,omitempty"`
	Package  *typeFacet `json:"package,omitempty"`
	Remote   *driveItem `json:"remoteItem,omitempty"`
	Deleted  *gone      `json:"deleted,omitempty"`
	Download string     `json:"@microsoft.graph.downloadUrl,omitempty"` // it holds a credential
}

type parent struct {
	DriveID   string `json:"driveId"`
	DriveType string `json:"driveType,omitempty"`
	ID        string `json:"id,omitempty"`
}

type fileFacet struct {
	MIMEType string `json:"mimeType"`
	Hashes   hashes `json:"hashes"`
}

type hashes struct {
	QuickXor string `json:"quickXorHash"`
}

type typeFacet struct {
	Type string `json:"type"`
}

type gone struct {
	State string `json:"state"`
}

// eTag grows with each version of an item; cTag is the same of its content alone.
func (d *drive) eTag(at slot, version int) string {
	return fmt.Sprintf(`"{0D211100-%04X-4000-8%03X-%012X},%d"`, at.kind, d.index, at.n, version+1)
}

func cTag(eTag string) string { return strings.Replace(eTag, "{", "c:{", 1) }

// item is an item as a delta has it now.
func (d *drive) item(at slot) driveItem {
	it := driveItem{ID: at.id(), Name: d.name(at), Parent: d.parent(at)}
	if at.kind == ghostSlot || d.gone(at) {
		it.Name, it.Deleted = "", &gone{"deleted"}
		return it
	}
	it.ETag = d.eTag(at, 0)
	switch at.kind {
	case rootSlot:
		it.Root, it.Folder = &struct{}{}, &struct{}{}
	case folderSlot:
		it.Folder = &struct{}{}
		if at.n == d.g.Folders && !at.was {
			it.ETag = d.eTag(at, 1)
		}
	case fileSlot:
		d.describe(&it, at, d.g.s.version(at.n))
	case notebookSlot:
		it.Package = &typeFacet{"oneNote"}
	case shortcutSlot:
		it.Remote = d.remote(at)
	}
	return it
}

// describe says of a file what depends on its version.
func (d *drive) describe(it *driveItem, at slot, version int) {
	size := d.g.s.size(at.n)
	it.Size, it.ETag = &size, d.eTag(at, version)
	it.Modified = Modified(at.n, version).Format(time.RFC3339)
	it.File = &fileFacet{"application/octet-stream", hashes{QuickXor(BodyOf(at.n, size, version))}}
	it.Download = d.g.s.download(at.n)
}

func (d *drive) parent(at slot) *parent {
	p := &parent{DriveID: d.id, DriveType: driveType}
	if at.kind == rootSlot {
		return p
	}
	in := slot{kind: rootSlot}
	if n := d.folder(at); n > 0 {
		in = slot{kind: folderSlot, n: n}
	}
	p.ID = in.id()
	return p
}

// remote is what a shortcut leads to. Where there is no other drive, that is one to which
// nobody here has access.
func (d *drive) remote(at slot) *driveItem {
	other := d.other()
	if other == nil {
		return &driveItem{ID: slot{kind: folderSlot, n: 1}.id(), Name: "elsewhere", Folder: &struct{}{}, Parent: &parent{DriveID: "elsewhere", DriveType: driveType}}
	}
	to := slot{kind: rootSlot}
	switch {
	case at.n == fileShortcut:
		to = slot{kind: fileSlot, n: other.files()[0]}
	case d.g.Folders > 0:
		to = slot{kind: folderSlot, n: 1}
	}
	it := other.item(to)
	return &driveItem{ID: it.ID, Name: it.Name, Size: it.Size, Folder: it.Folder, File: it.File, Parent: it.Parent}
}

// check is the endpoint of an item's metadata.
func (d *drive) check(at slot) *endpoint {
	return &endpoint{kind: journal.Check, answer: func(x *Exchange) {
		switch {
		case !d.there(at):
			graphFail(x, http.StatusNotFound)
			return
		case at.kind == fileSlot && d.g.s.withheldAs(at.n) != 0:
			graphFail(x, d.g.s.withheldAs(at.n))
			return
		}
		it := d.item(at)
		if it.File != nil {
			it.CTag = cTag(it.ETag)
		}
		x.W.Header().Set("ETag", it.ETag)
		if x.knows(it.ETag, it.CTag) {
			x.Status(http.StatusNotModified)
			return
		}
		x.json(http.StatusOK, it)
	}}
}

// knows reports whether a request says that it has one of the tags. They have commas in them.
func (x *Exchange) knows(tags ...string) bool {
	had := x.R.Header.Get("If-None-Match")
	for _, tag := range tags {
		if had == "*" || tag != "" && strings.Contains(had, tag) {
			return true
		}
	}
	return false
}

// content answers a request for the content of a file, which is the document of the request.
func (d *drive) content(x *Exchange) {
	at := slot{kind: fileSlot, n: x.doc.n}
	switch eTag := d.eTag(at, x.doc.version); {
	case x.knows(eTag, cTag(eTag)):
		x.W.Header().Set("ETag", eTag)
		x.Status(http.StatusNotModified)
	default:
		x.deliver()
	}
}
