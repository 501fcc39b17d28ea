package msgraph

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dogear/dogear"
)

// Page reads the whole body of an answer with status 200 to what [Source.Ask] said. The pages
// before the first drive's have a cursor alone. Errors hold nothing of the body but the host
// of a link that leads elsewhere; they match [ErrCursor], [ErrForeignLink], [ErrRepeats] or
// [ErrCut] where they are one of these.
func (s *Source) Page(cursor string, body []byte) (dogear.Page, error) {
	st, err := s.read(cursor)
	if err != nil {
		return dogear.Page{}, err
	}
	p := st.next()
	page, st, err := s.take(st, p, body)
	if err == nil {
		page.Cursor, err = st.write()
	}
	if err != nil {
		return dogear.Page{}, fmt.Errorf("%s: %w", p, err)
	}
	return page, nil
}

// take reads the answer to a step. The state that it returns is the one behind the step.
func (s *Source) take(st state, p step, body []byte) (page dogear.Page, _ state, err error) {
	switch p.what {
	case askDelta:
		return s.takeDelta(st, p, body)
	case askFile:
		return s.takeFile(st, p, body)
	case askDrives:
		st, err = s.takeDrives(st, p, body)
	default:
		st, err = s.takeOne(st, p, body)
	}
	if err != nil {
		return dogear.Page{}, state{}, err
	}
	if first, second, twice := st.twice(); twice {
		return dogear.Page{}, state{}, fmt.Errorf("drives %d and %d of the listing are the same: name it once", first+1, second+1)
	}
	return page, st, nil
}

// takeOne reads an answer that is about one thing: the drive of a person, a site, a drive's
// name, or what a path leads to.
func (s *Source) takeOne(st state, p step, body []byte) (state, error) {
	var it item
	if err := decode(body, &it); err != nil {
		return state{}, err
	}
	if err := checkID(it.ID); err != nil && p.what != askName {
		return state{}, fmt.Errorf("what was answered %w", err)
	}
	next := p.place
	switch p.what {
	case askMe:
		next = place{Kind: drive, ID: it.ID, Name: cmp.Or(it.Name, it.ID)}
	case askSite:
		next = place{Kind: drives, ID: it.ID}
	case askName:
		next.Name = cmp.Or(it.Name, p.ID)
	case askPath:
		if it.Folder == nil && it.File == nil {
			return state{}, errors.New("is neither a folder nor a file: name one that is")
		}
		next.Path, next.Item, next.File = "", it.ID, it.Folder == nil
	}
	return st.with(p.at, next), nil
}

// takeDrives reads a page of a site's drives.
func (s *Source) takeDrives(st state, p step, body []byte) (state, error) {
	var answer struct {
		Value itemList `json:"value"`
		Next  string   `json:"@odata.nextLink"`
	}
	if err := decode(body, &answer); err != nil {
		return state{}, err
	}
	if answer.Value == nil {
		return state{}, errNoValue
	}
	var found []place
	for i, it := range answer.Value {
		if err := checkID(it.ID); err != nil {
			return state{}, fmt.Errorf("drive %d of the page %w", i+1, err)
		}
		found = append(found, place{Kind: drive, ID: it.ID, Name: cmp.Or(it.Name, it.ID)})
	}
	p.Seen = p.Seen || len(found) > 0
	if answer.Next != "" {
		link, err := s.follow(p, answer.Next)
		if err != nil {
			return state{}, err
		}
		p.Link = link
		return st.with(p.at, append(found, p.place)...), nil
	}
	if st = st.with(p.at, found...); !p.Seen || len(st.Places) == 0 {
		return state{}, errors.New("there is none that the credential may see: check its permissions")
	}
	return st, nil
}

// takeDelta reads a page of a drive.
func (s *Source) takeDelta(st state, p step, body []byte) (dogear.Page, state, error) {
	var answer struct {
		Value itemList `json:"value"`
		Next  string   `json:"@odata.nextLink"`
		Delta string   `json:"@odata.deltaLink"`
	}
	if err := decode(body, &answer); err != nil {
		return dogear.Page{}, state{}, err
	}
	if answer.Value == nil {
		return dogear.Page{}, state{}, errNoValue
	}
	page, err := s.items(st, &p, answer.Value)
	if err != nil {
		return dogear.Page{}, state{}, err
	}
	if answer.Next != "" {
		p.Link, err = s.follow(p, answer.Next)
		return page, st.with(p.at, p.place), err
	}
	switch {
	case answer.Delta == "":
		return dogear.Page{}, state{}, ErrCut
	case p.Item != "" && !p.Seen:
		return dogear.Page{}, state{}, errors.New("the folder that is wanted was not in it: was it deleted while the drive was listed? begin the listing again")
	}
	p.Link, err = s.relative(answer.Delta)
	st = st.with(p.at, p.place)
	page.Last = st.advance()
	return page, st, err
}

// takeFile reads an answer about the one file that is wanted of a drive.
func (s *Source) takeFile(st state, p step, body []byte) (dogear.Page, state, error) {
	var it item
	if err := decode(body, &it); err != nil {
		return dogear.Page{}, state{}, err
	}
	page, err := s.items(st, &p, []item{it})
	if err != nil {
		return dogear.Page{}, state{}, err
	}
	for _, d := range page.Documents {
		if d.Parent != "" {
			page.Folders = append(page.Folders, dogear.Folder{ID: d.Parent, Name: p.root()})
		}
	}
	page.Last = st.advance()
	return page, st, nil
}

// advance goes on with the next drive, and reports whether that was the last.
func (st *state) advance() bool {
	st.At = (st.At + 1) % len(st.Places)
	return st.At == 0
}

// follow is where a listing goes on.
func (s *Source) follow(p step, next string) (string, error) {
	link, err := s.relative(next)
	if err == nil && link == p.asks() {
		err = ErrRepeats
	}
	return link, err
}

var errNoValue = errors.New("the answer has no list of items: is this microsoft graph?")

// checkID continues a sentence.
func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("has no id")
	case !sound(id):
		return errors.New("has an id that cannot be part of an address")
	}
	return nil
}

// decode reads an answer. The errors of package encoding/json show some of what they could
// not read; its own do not.
func decode(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	if errors.Is(err, errMany) {
		return errMany
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return errors.New("the answer is no json, or was cut: ask for it again")
	case wrong.Field == "":
		return errors.New("the answer is no json object: is this microsoft graph?")
	}
	return fmt.Errorf("the answer's %s is not of the kind that is documented", wrong.Field)
}
