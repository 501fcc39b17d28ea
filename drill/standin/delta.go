package standin

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// A deltaToken says where in a delta a client is, and what of.
type deltaToken struct {
	drive  int
	resync int // how often tokens had been declared too old
	since  int // how many changes there had been at the delta before; whole: there was none
	until  int // how many there were when this one began; begin: it begins now
	place  int // in the list of all items, or in that of the changes
}

const (
	whole = -1
	begin = -1
)

// deltaPage is a page of a delta. It has one of the two links.
type deltaPage struct {
	Value []driveItem `json:"value"`
	Next  string      `json:"@odata.nextLink,omitempty"`
	Delta string      `json:"@odata.deltaLink,omitempty"`
}

// delta answers with a page of all items of the drive, or of those that have changed.
func (d *drive) delta(x *Exchange) {
	at, ok := d.at(x)
	if !ok {
		return
	}
	slots := d.slots
	if at.since != whole {
		slots = d.changes(at.since, at.until)
	}
	page := deltaPage{Value: []driveItem{}}
	end := at.place
	for size := d.pageSize(x); end < len(slots) && end-at.place < size && slots[end].kind != breakSlot; end++ {
		if at.since == whole && d.gone(slots[end]) {
			continue // nobody has been told of it
		}
		page.Value = append(page.Value, d.item(slots[end]))
	}
	if end == at.place && end < len(slots) {
		end++ // the empty page
	}
	if end < len(slots) {
		at.place = end
		page.Next = d.deltaLink(x, at)
	} else {
		page.Delta = d.deltaLink(x, deltaToken{since: at.until, until: begin})
	}
	x.json(http.StatusOK, page)
}

// pageSize is how many items a page has. A request can ask for fewer.
func (d *drive) pageSize(x *Exchange) int {
	if top, err := strconv.Atoi(x.R.URL.Query().Get("$top")); err == nil && top > 0 {
		return min(top, d.g.Page)
	}
	return d.g.Page
}

// at is where in which delta a request wants to go on. If it cannot, that has been answered.
func (d *drive) at(x *Exchange) (deltaToken, bool) {
	s := d.g.s
	changes, resync := s.changesUntilNow()
	q := x.R.URL.Query()
	if !q.Has("token") {
		return deltaToken{since: whole, until: changes}, true
	}
	if q.Get("token") == "latest" {
		return deltaToken{since: changes, until: changes}, true
	}
	n, given, ok := s.parseCursor(q.Get("token"), 5)
	if !ok || n[0] != d.index {
		x.problem(http.StatusBadRequest, "invalidRequest", "the token is none of this drive")
		return deltaToken{}, false
	}
	at := deltaToken{drive: n[0], resync: n[1], since: n[2], until: n[3], place: n[4]}
	if life := d.g.Cursor; at.resync != resync || life > 0 && x.row.At.Sub(given) >= life {
		x.W.Header().Set("Location", d.deltaLink(x, deltaToken{since: whole, until: begin}))
		x.problem(http.StatusGone, "resyncChangesApplyDifferences", "the token is too old: begin the delta again")
		return deltaToken{}, false
	}
	if at.until == begin {
		at.until = changes
	}
	return at, true
}

// deltaLink is the address at which a delta goes on from a place.
func (d *drive) deltaLink(x *Exchange, at deltaToken) string {
	s := d.g.s
	_, resync := s.changesUntilNow()
	query := "?"
	if top := x.R.URL.Query().Get("$top"); top != "" {
		query = "?$top=" + strconv.Itoa(d.pageSize(x)) + "&"
	}
	return s.URL(graphPath(d.id, "/root/delta") + query + "token=" + s.cursor(time.Now(), d.index, resync, at.since, at.until, at.place))
}

// changes are the drive's files that have changed, each once, in the order of their first
// change.
func (d *drive) changes(since, until int) []slot {
	s := d.g.s
	s.mu.Lock()
	changed := s.changed[since:until] // more may come behind it, and what is there stays
	s.mu.Unlock()
	files := d.files()
	seen := map[int]bool{}
	var out []slot
	for _, n := range changed {
		if _, ours := slices.BinarySearch(files, n); ours && !seen[n] {
			seen[n] = true
			out = append(out, slot{kind: fileSlot, n: n})
		}
	}
	return out
}

// changesUntilNow is how many changes there have been, and how often tokens were declared
// too old.
func (s *Service) changesUntilNow() (changes, resync int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.changed), s.resync
}

// ExpireTokens makes all tokens of deltas too old that have been given until now.
func (s *Service) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resync++
}
