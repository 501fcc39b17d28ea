// Package msgraph lists the files in drives of OneDrive and SharePoint, as Microsoft Graph
// tells them by delta: https://learn.microsoft.com/graph/api/driveitem-delta.
//
// Think of it as a reader of a serial. [Source.Ask] says which address has the next
// instalment, [Source.Page] reads what it answered, and the cursor between the two is the
// bookmark: a text that holds all there is to know, so that another process goes on from it.
// The cursor of the last page is the bookmark of what has not been written yet: asked with
// it, the drives tell what has changed since.
//
//	src, err := msgraph.Open([]string{"msgraph:site/contoso.sharepoint.com:/sites/team"}, base)
//	…
//	for page := (dogear.Page{}); !page.Last; {
//		address, err := src.Ask(page.Cursor)
//		…	// body is the answer from address
//		page, err = src.Page(page.Cursor, body)
//		…
//	}
//
// Drives are found before any is listed: sites are asked for theirs, and a path for the
// folder that it names. Graph documents the delta of a whole drive only, so where a folder is
// wanted the drive's root is a [dogear.Folder] outside the listing, and the wanted one is the
// listing's root.
//
// Nothing here sends anything, and no address leaves this package that is not under the API
// that it was opened for.
package msgraph

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Scheme is how its sources are written: "msgraph:".
const Scheme = "msgraph:"

// What callers may match.
var (
	// ErrForeignLink says that a link in an answer leads away from the API.
	ErrForeignLink = errors.New("it is not followed, for a credential would be sent there")
	// ErrRepeats says that an answer names itself as the page that comes next.
	ErrRepeats = errors.New("the next page is the page itself: the listing would never end")
	// ErrCut says that a listing stops in the middle.
	ErrCut = errors.New("the answer names neither a next page nor where changes are told: the listing is cut; ask for the page again")
	// ErrCursor says that a cursor is none of this package's.
	ErrCursor = errors.New("the cursor is none of a listing of drives: begin the listing again")
)

// A Source is what is to be listed. It does not change, and is safe for concurrent use.
type Source struct {
	origin *url.URL // where Graph is
	root   string   // the path of the API's root, escaped
	api    string   // the address of the API's root
	named  []place
}

// Open reads the names of sources:
//
//	msgraph:drive/ID                a drive
//	msgraph:drive/ID/path           a folder of it, or a file
//	msgraph:site/HOST               the root site of a host: all its drives
//	msgraph:site/HOST:/path         a site
//	msgraph:me                      the drive of whoever the token is
//
// A path is written as people read it, not escaped. Base is where Graph is, such as
// https://graph.microsoft.com; the API's root is the base's path and "/v1.0".
func Open(names []string, base *url.URL) (*Source, error) {
	switch {
	case base == nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("where microsoft graph is has to be an http or https address, such as https://graph.microsoft.com")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "" || dotted(base.Path):
		return nil, errors.New("the address of microsoft graph may have no credential, query, fragment or \"..\" in it")
	case len(names) == 0:
		return nil, fmt.Errorf("nothing is named to be listed: %s", examples)
	}
	s := &Source{origin: base, root: strings.TrimRight(base.EscapedPath(), "/") + "/v1.0"}
	s.api = base.Scheme + "://" + base.Host + s.root
	for i, name := range names {
		p, err := parse(name)
		if err != nil {
			return nil, fmt.Errorf("source %d %w; %s", i+1, err, examples)
		}
		s.named = append(s.named, p)
	}
	if first, second, twice := (state{Places: s.named}).twice(); twice {
		return nil, fmt.Errorf("sources %d and %d are the same drive or site: name it once", first+1, second+1)
	}
	return s, nil
}

// Ask is the address of the page at a cursor; "" begins a new listing. The error matches
// [ErrCursor].
func (s *Source) Ask(cursor string) (address string, err error) {
	st, err := s.read(cursor)
	if err != nil {
		return "", err
	}
	return s.api + st.next().asks(), nil
}
