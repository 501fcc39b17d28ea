package msgraph

import (
	"errors"
	"net/url"
	"strings"

	"github.com/dogear/dogear"
)

const (
	idPrefix = Scheme + "drive/"
	idItem   = "/items/"
)

// documentID names an item over all drives. Ids of a usual form are in it as they are.
func documentID(drive, item string) string { return idPrefix + escape(drive) + idItem + escape(item) }

func folderID(drive, item string) string { return escape(drive) + "/" + escape(item) }

// itemOf is where a document's item is, under the API's root.
func itemOf(doc dogear.Document) (string, error) {
	rest, ok := strings.CutPrefix(doc.ID, idPrefix)
	driveID, itemID, found := strings.Cut(rest, idItem)
	for _, id := range []string{driveID, itemID} {
		raw, err := url.PathUnescape(id)
		ok = ok && err == nil && sound(raw) && escape(raw) == id
	}
	if !ok || !found {
		return "", errors.New("the document is in no drive of microsoft graph: its id begins with " + idPrefix)
	}
	return "/drives/" + driveID + idItem + itemID, nil
}

// Address is where a document's content is read.
func (s *Source) Address(doc dogear.Document) (string, error) {
	at, err := itemOf(doc)
	if err != nil {
		return "", err
	}
	return s.api + at + "/content", nil
}

// Check is the address that tells the version of a document; empty for one of another source.
func (s *Source) Check(doc dogear.Document) (address string) {
	at, err := itemOf(doc)
	if err != nil {
		return ""
	}
	return s.api + at + selectSame
}

// Same reads the answer to [Source.Check], the body of a 200: which version the document has
// now, and whether its content is that of the version that was listed. The version that was
// listed may be that of the content or of the whole item; equal digests prove the content
// though somebody gave the file another name. Where the listing told neither, the size has to
// do. A document that was deleted is not the same.
func (s *Source) Same(doc dogear.Document, body []byte) (found string, same bool, err error) {
	var it item
	if err := decode(body, &it); err != nil {
		return "", false, err
	}
	if it.Deleted != nil {
		return "", false, nil
	}
	name, _, _ := strings.Cut(doc.Digest, ":")
	sum, sum256 := it.digest(name), it.sha256()
	switch {
	case it.version() == "" && it.quickXor() == "" && it.sha1() == "" && sum256 == "":
		return "", false, errors.New("the answer tells no version of the document: is this microsoft graph?")
	case doc.Version != "" && (doc.Version == it.ETag || doc.Version == it.CTag):
		return doc.Version, true, nil
	case doc.SHA256 != "" && sum256 != "":
		same = doc.SHA256 == sum256
	case sum != "":
		same = doc.Digest == sum
	case doc.Version == "":
		same = doc.Size < 0 || it.Size != nil && *it.Size == doc.Size
	}
	return it.version(), same, nil
}
