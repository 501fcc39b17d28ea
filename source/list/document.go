package list

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"unicode"

	"github.com/dogear/dogear"
)

// maxText bounds the id, the name and the version that a list gives, in bytes.
const maxText = 1024

var errNoURL = errors.New("has no url")

var seed = maphash.MakeSeed()

// document makes a document of a record.
func (o *origins) document(rec record) (dogear.Document, error) {
	address := strings.TrimSpace(rec.url)
	if address == "" {
		return dogear.Document{}, errNoURL
	}
	p, err := o.parse(address)
	if err != nil {
		return dogear.Document{}, err
	}
	doc := dogear.Document{
		ID: p.stripped, Name: p.name, Address: p.full, Secret: p.secret, Scopes: p.scopes,
		Line: rec.line, Offset: rec.offset, Size: rec.size,
		Fingerprint: maphash.String(seed, p.full),
	}
	if err := text(&doc.ID, "id", rec.id); err != nil {
		return dogear.Document{}, err
	}
	if err := text(&doc.Version, "version", rec.version); err != nil {
		return dogear.Document{}, err
	}
	if err := text(&doc.Name, "name", strings.Map(blank, rec.name)); err != nil {
		return dogear.Document{}, err
	}
	doc.SHA256, err = digest(rec.sha256)
	return doc, err
}

// text sets a field to what the list gives, if it gives anything, without what is secret.
func text(field *string, what, given string) error {
	if given = strings.TrimSpace(given); given == "" {
		return nil
	}
	if strings.ContainsFunc(given, unicode.IsControl) {
		return fmt.Errorf("the %s holds a control character", what)
	}
	given = strings.TrimSpace(dogear.StripText(given))
	if len(given) > maxText {
		return fmt.Errorf("the %s is longer than %d bytes", what, maxText)
	}
	if given != "" {
		*field = given
	}
	return nil
}

// blank makes blanks of control characters: a name may come with a line break in it.
func blank(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

func digest(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if sum, err := hex.DecodeString(s); s != "" && (err != nil || len(sum) != 32) {
		return "", errors.New("the sha256 is not 64 hexadecimal digits")
	}
	return s, nil
}
