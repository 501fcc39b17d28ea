package msgraph

import (
	"encoding/json"
	"net/http"
	"strings"
)

// expired are the codes, in lower case, with which Graph says that a token is good no more:
// https://learn.microsoft.com/graph/errors, and those of a delta.
var expired = map[string]bool{
	"resyncrequired":                 true,
	"resyncchangesapplydifferences":  true,
	"resyncchangesuploaddifferences": true,
	"resyncapplydifferences":         true,
	"resyncuploaddifferences":        true,
	"syncstatenotfound":              true,
	"invaliddeltatoken":              true,
}

// Again reads an answer that is no page. Ok says that the listing of the drive has to begin
// again, and again is the cursor from which it does: the address that the answer names, if it
// is one of the API's, else the drive's first page. Other drives go on where they are. The
// error matches [ErrCursor].
func (s *Source) Again(cursor string, status int, header http.Header, body []byte) (again string, ok bool, err error) {
	st, err := s.read(cursor)
	if err != nil {
		return "", false, err
	}
	p := st.next()
	if p.what != askDelta || !restarts(status, body) {
		return "", false, nil
	}
	asked := p.asks()
	p.Link = ""
	if link, err := s.relative(header.Get("Location")); err == nil && link != asked {
		p.Link = link
	}
	again, err = st.with(p.at, p.place).write()
	return again, err == nil, err
}

// restarts reports whether an answer says that a token is good no more.
func restarts(status int, body []byte) bool {
	switch status {
	case http.StatusGone:
		return true
	case http.StatusBadRequest, http.StatusNotFound:
	default:
		return false
	}
	type problem struct {
		Code  string   `json:"code"`
		Inner *problem `json:"innerError"` // in the letters of either case
	}
	var answer struct {
		Error *problem `json:"error"`
	}
	_ = json.Unmarshal(body, &answer) // what is not as documented says nothing
	for e := answer.Error; e != nil; e = e.Inner {
		if expired[strings.ToLower(e.Code)] {
			return true
		}
	}
	return false
}
