package msgraph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A state is what a cursor holds: the places of the listing, in order. Sites, persons and
// paths are resolved into drives before the first drive is listed, because the drives of a
// listing of several are named. When the last drive is complete it begins again with the
// first: each drive's link is where its changes are told.
type state struct {
	Version int     `json:"v"`
	Places  []place `json:"places"`
	At      int     `json:"at"` // the drive that is listed, when nothing is left to resolve
}

const cursorVersion = 1

// maxCursor bounds a cursor, in bytes. It has room for thousands of drives.
const maxCursor = 4 << 20

// A place is a drive, or what is to be resolved into drives.
type place struct {
	Kind kind   `json:"kind"`
	ID   string `json:"id,omitempty"`   // of a site as it is named: HOST or HOST:/path
	Name string `json:"name,omitempty"` // of a drive; empty: not known
	Path string `json:"path,omitempty"` // of a drive: what is wanted of it, until that has an Item
	Item string `json:"item,omitempty"` // the id of the folder or file that is wanted; empty: all
	File bool   `json:"file,omitempty"` // Item is a file
	Link string `json:"link,omitempty"` // where it goes on, under the API's root; empty: at its beginning
	// Seen says that what was to be found was there: the wanted folder, a site's first drive.
	Seen bool `json:"seen,omitempty"`
}

type kind string

const (
	me     kind = "me"
	site   kind = "site"
	drives kind = "drives" // those of the site whose id this is
	drive  kind = "drive"
)

// key tells places apart that may not be named twice. Ids that differ in case alone are one:
// OneDrive writes the same id both ways.
func (p place) key() string { return string(p.Kind) + " " + strings.ToLower(p.ID) }

// valid reports whether a place is one that this package can have written.
func (s *Source) valid(p place) bool {
	if p.Link != "" {
		if link, err := s.relative(s.api + p.Link); err != nil || link != p.Link {
			return false
		}
	}
	switch p.Kind {
	case me:
		return p == place{Kind: me}
	case site:
		named, err := parseSite(p.ID)
		return err == nil && p == named
	case drives:
		return sound(p.ID) && p == place{Kind: drives, ID: p.ID, Link: p.Link, Seen: p.Seen}
	case drive:
		listed := p.Path == "" || p.Item == "" && p.Link == "" && !p.File && soundPath(p.Path)
		return sound(p.ID) && listed && (p.Item != "" || !p.File && !p.Seen) && (p.Item == "" || sound(p.Item))
	}
	return false
}

// read reads a cursor.
func (s *Source) read(cursor string) (state, error) {
	if cursor == "" {
		return state{Version: cursorVersion, Places: s.named}, nil
	}
	var st state
	d := json.NewDecoder(strings.NewReader(cursor))
	d.DisallowUnknownFields()
	if len(cursor) > maxCursor || d.Decode(&st) != nil || st.Version != cursorVersion || st.At < 0 || st.At >= len(st.Places) {
		return state{}, ErrCursor
	}
	if _, err := d.Token(); err != io.EOF {
		return state{}, ErrCursor
	}
	for _, p := range st.Places {
		if !s.valid(p) || st.At > 0 && p.unresolved(len(st.Places) > 1) != askDelta {
			return state{}, ErrCursor
		}
	}
	if _, _, twice := st.twice(); twice {
		return state{}, ErrCursor
	}
	return st, nil
}

// write is the cursor of a state.
func (st state) write() (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // links are full of ampersands
	if err := e.Encode(st); err != nil {
		return "", fmt.Errorf("write the listing's cursor: %w", err)
	}
	if b.Len() > maxCursor {
		return "", fmt.Errorf("the cursor of %d drives has %d bytes: name fewer drives or sites in one listing", len(st.Places), b.Len())
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// with is the state with other places in the place of one.
func (st state) with(i int, places ...place) state {
	st.Places = slices.Replace(slices.Clone(st.Places), i, i+1, places...)
	return st
}

// twice finds two places that are the same.
func (st state) twice() (first, second int, found bool) {
	seen := make(map[string]int, len(st.Places))
	for i, p := range st.Places {
		if first, found := seen[p.key()]; found {
			return first, i, true
		}
		seen[p.key()] = i
	}
	return 0, 0, false
}
