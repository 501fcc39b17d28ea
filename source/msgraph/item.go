package msgraph

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dogear/dogear"
)

// An item is what is read of a driveItem; of a drive and of a site it is the id and the name.
// Its kind is told by the facets that it has. What opens a file without a credential,
// @microsoft.graph.downloadUrl, is not read.
type item struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Size    *int64    `json:"size"`
	ETag    string    `json:"eTag"`
	CTag    string    `json:"cTag"` // of the content alone; a delta of OneDrive for Business has none
	Parent  reference `json:"parentReference"`
	File    *file     `json:"file"`
	Folder  *struct{} `json:"folder"`
	Package *struct{} `json:"package"`
	Root    *struct{} `json:"root"`
	Deleted *struct{} `json:"deleted"`
	Remote  *item     `json:"remoteItem"`
}

// mostItems is how many items a page may have: Graph's have some hundreds.
const mostItems = 10_000

var errMany = fmt.Errorf("the page has more than %d items: is this microsoft graph?", mostItems)

// An itemList is the items of a page, as many as are bearable.
type itemList []item

// UnmarshalJSON reads items one by one, so that a page of too many is refused before they
// take memory.
func (l *itemList) UnmarshalJSON(b []byte) error {
	if !bytes.HasPrefix(b, []byte("[")) {
		if string(b) == "null" {
			return nil
		}
		return &json.UnmarshalTypeError{Field: "value", Type: reflect.TypeFor[itemList]()}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for *l = (itemList{}); d.More(); {
		if len(*l) == mostItems {
			return errMany
		}
		var it item
		if err := d.Decode(&it); err != nil {
			if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
				wrong.Field = strings.TrimSuffix("value."+wrong.Field, ".")
			}
			return err
		}
		*l = append(*l, it)
	}
	return nil
}

type reference struct {
	ID    string `json:"id"`
	Drive string `json:"driveId"`
}

type file struct {
	Hashes struct {
		QuickXor string `json:"quickXorHash"`
		SHA1     string `json:"sha1Hash"`
		SHA256   string `json:"sha256Hash"`
	} `json:"hashes"`
}

// A reading puts the items of one drive into a page.
type reading struct {
	*step
	api   string
	whole func(drive string) bool // reports whether all of a drive is listed
	page  dogear.Page
}

// items are the items of a drive as a page. It notes in the step that the folder that is
// wanted was there.
func (s *Source) items(st state, p *step, items []item) (dogear.Page, error) {
	r := reading{step: p, api: s.api, whole: func(id string) bool {
		return slices.ContainsFunc(st.Places, func(p place) bool { return p.Item == "" && strings.EqualFold(p.ID, id) })
	}}
	for i, it := range items {
		err := checkID(it.ID)
		if err == nil {
			err = r.add(it)
		}
		if err != nil {
			return dogear.Page{}, fmt.Errorf("item %d of the page %w", i+1, err)
		}
	}
	return r.page, nil
}

// add adds an item. Its error continues a sentence.
func (r *reading) add(it item) error {
	switch {
	case it.Deleted != nil:
		if it.Folder == nil && it.Root == nil {
			r.deleted(documentID(r.ID, it.ID))
		}
	case it.Remote != nil:
		return r.shortcut(it)
	case it.Package != nil:
		r.page.Others++
		if it.Parent.ID != "" {
			r.folder(it)
		}
	case it.Root != nil || it.Folder != nil:
		r.folder(it)
	case it.File != nil:
		return r.document(r.ID, it, it)
	default:
		r.page.Others++
	}
	return nil
}

// folder adds a folder. A notebook is one too: it cannot be read, and what a drive lists in it
// is where the notebook is. Of a drive's root some answers tell only that it is in no folder.
func (r *reading) folder(it item) {
	f := dogear.Folder{ID: folderID(r.ID, it.ID), Name: it.Name}
	root := it.Root != nil || it.Parent.ID == ""
	switch wanted := r.Item != "" && !r.File; {
	case wanted && strings.EqualFold(it.ID, r.Item):
		f.Name, r.Seen = r.root(), true
	case root && wanted:
		f.Name, f.Outside = "", true
	case root:
		f.Name = r.root()
	default:
		f.Parent = folderID(r.ID, it.Parent.ID)
	}
	r.page.Folders = append(r.page.Folders, f)
}

// shortcut adds what a shortcut leads to. Where that drive is listed too, the document is
// listed there under its own name.
func (r *reading) shortcut(it item) error {
	to := *it.Remote
	if to.Folder != nil || to.Package != nil || to.File == nil && it.File == nil || to.Parent.Drive == "" {
		r.page.Others++
		return nil
	}
	for _, id := range []string{to.Parent.Drive, to.ID} {
		if err := checkID(id); err != nil {
			return fmt.Errorf("is a shortcut to what %w", err)
		}
	}
	if r.whole(to.Parent.Drive) {
		return nil
	}
	return r.document(to.Parent.Drive, to, it)
}

// document adds a document. Its place and name are those of the item as which it is there.
func (r *reading) document(drive string, it, as item) error {
	d := dogear.Document{
		ID:      documentID(drive, it.ID),
		Address: r.api + itemPath(drive, it.ID) + "/content",
		Name:    cmp.Or(as.Name, it.Name, it.ID),
		Version: it.version(),
		SHA256:  it.sha256(),
		Digest:  cmp.Or(it.quickXor(), it.sha1()),
		Size:    -1,
	}
	if it.Size != nil {
		d.Size = max(*it.Size, -1)
	}
	if as.Parent.ID != "" {
		d.Parent = folderID(r.ID, as.Parent.ID)
	} else if r.Item != "" && !r.File {
		return errors.New("is in no folder: whether it is in the one that is wanted cannot be told")
	}
	r.lists(d)
	return nil
}

// version is that of the content, where it is told apart from that of the whole item.
func (it item) version() string { return cmp.Or(it.CTag, it.ETag) }

// sha256 is the SHA-256 in lower-case hex; empty if there is none. Of none of the digests is
// one that has another form than documented: nothing could be compared with it.
func (it item) sha256() string {
	if it.File == nil {
		return ""
	}
	sum, err := hex.DecodeString(it.File.Hashes.SHA256)
	if err != nil || len(sum) != sha256.Size {
		return ""
	}
	return hex.EncodeToString(sum)
}

func (it item) sha1() string {
	if it.File == nil {
		return ""
	}
	sum, err := hex.DecodeString(it.File.Hashes.SHA1)
	if err != nil || len(sum) != sha1.Size {
		return ""
	}
	return sha1Name + ":" + hex.EncodeToString(sum)
}

func (it item) quickXor() string {
	if it.File == nil {
		return ""
	}
	sum, err := base64.StdEncoding.Strict().DecodeString(it.File.Hashes.QuickXor)
	if err != nil || len(sum) != quickXorSize {
		return ""
	}
	return quickXorName + ":" + base64.StdEncoding.EncodeToString(sum)
}

// digest is the digest of an algorithm, as a document has it.
func (it item) digest(algorithm string) string {
	switch algorithm {
	case quickXorName:
		return it.quickXor()
	case sha1Name:
		return it.sha1()
	}
	return ""
}

const (
	quickXorName = "quickxor"
	sha1Name     = "sha1"
	quickXorSize = 20
)

// lists puts a document into the page. The last word on it counts: it is not gone.
func (r *reading) lists(d dogear.Document) {
	r.page.Gone = slices.DeleteFunc(r.page.Gone, func(id string) bool { return id == d.ID })
	r.page.Documents = append(r.page.Documents, d)
}

// deleted notes that a document is deleted, whatever the page has said of it before.
func (r *reading) deleted(id string) {
	r.page.Documents = slices.DeleteFunc(r.page.Documents, func(d dogear.Document) bool { return d.ID == id })
	r.page.Gone = append(r.page.Gone, id)
}
