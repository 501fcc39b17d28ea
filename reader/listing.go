package reader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
)

// Pages is a service that lists its documents in pages, and tells a document's version
// without its content. It sends nothing itself: it says what to ask, and reads the answers.
type Pages interface {
	// Ask is the address of the page at a cursor; "" begins the listing, and the cursor of its
	// last page asks for changes since.
	Ask(cursor string) (address string, err error)
	// Page reads the answer to it.
	Page(cursor string, body []byte) (dogear.Page, error)
	// Again reads an answer that is no page. Ok says that the cursor is good no more, and
	// again is where the listing begins anew.
	Again(cursor string, status int, header http.Header, body []byte) (again string, ok bool, err error)
	// Check is the address that tells the version of a document.
	Check(doc dogear.Document) (address string)
	// Same reads the answer to it: which version the document has, and whether its content is
	// the listed one's.
	Same(doc dogear.Document, body []byte) (found string, same bool, err error)
}

const (
	maxPage = 64 << 20 // bytes of one page
	barren  = 1000     // pages in a row without a new document, beyond one for each that is known
	anew    = 5        // how often a listing may begin again in one run
)

// A paging is a listing in progress.
type paging struct {
	*run
	cursor string
	fresh  bool            // its documents are new to the job; else it tells changes
	seen   map[uint64]bool // cursors of this pass
	barren int64           // pages in a row that brought nothing new
	passes int
	tries  int // failures in a row
}

var cursorSeed = maphash.MakeSeed()

// listed sees to it that the listing is complete, and in a later run asks what has changed
// since: nothing is read before that. It reports false where the run reads nothing.
func (r *run) listed(first bool) bool {
	p := &paging{run: r, cursor: r.Job.Cursor, fresh: r.Job.Listing, seen: map[uint64]bool{}}
	if r.Pages == nil || !p.fresh && (first || r.Job.Cursor == "") {
		return true
	}
	err := p.list()
	stop, hard := errors.AsType[*Stop](err)
	switch {
	case err == nil:
		return true
	case hard && stop.Reason == dogear.SourceRefused && !p.fresh: // each document is checked when it is read
		r.Log.Warn("what has changed since the listing is not told", "err", stop.Err)
		return true
	case hard:
		r.stop(stop)
	case r.dispatch.Err() == nil && r.ends(err):
		r.note(err)
		r.unlisted = p.fresh
	}
	return false
}

func (p *paging) list() error {
	if p.fresh {
		p.counted(func(c *Progress) { c.Listing, c.Listed = true, p.Job.Total })
		defer p.counted(func(c *Progress) { c.Listing = false })
	} else if counts, err := p.Store.Counts(p.dispatch, p.Job.ID); err != nil || counts.Documents[dogear.Pending]+counts.Documents[dogear.Changed] == 0 {
		return err
	}
	for {
		page, err := p.next()
		if err != nil {
			return err
		}
		if page == nil { // asked again
			continue
		}
		if err := p.take(*page); err != nil {
			return err
		}
		if page.Last {
			p.Job.Listing, p.Job.Cursor = false, page.Cursor
			return p.Listed(p.dispatch)
		}
	}
}

// next asks for the page at the cursor. Without an error it returns nil where it has to be
// asked again.
func (p *paging) next() (*dogear.Page, error) {
	address, err := p.Pages.Ask(p.cursor)
	if err != nil {
		return nil, refusedSource(err)
	}
	req, err := http.NewRequestWithContext(p.flight, http.MethodGet, address, nil)
	if err != nil {
		return nil, refusedSource(errors.New("the listing's address cannot be read"))
	}
	req.Header.Set("Accept", "application/json")
	rec := dogear.Request{Job: p.Job.ID, Run: p.id, Scopes: p.Scopes(req.URL), Kind: dogear.List}
	x, err := p.send(p.dispatch, req, rec, p.signed(req.URL))
	if err != nil {
		return nil, err
	}
	p.tally(x)
	switch {
	case x.Outcome == dogear.Throttled: // the next one waits with its scope
		drain(x.Response)
		return nil, nil
	case x.Response == nil:
		x.End(x.Outcome, 0, nil)
		return nil, p.failed(dogear.StripText(x.Err.Error()), 0)
	}
	body, err := readAll(x, maxPage)
	if err != nil {
		x.End(dogear.Transient, int64(len(body.data)), nil)
		return nil, p.failed("the page was cut: "+dogear.StripText(err.Error()), 0)
	}
	return p.read(req, x, body.data)
}

// read reads an answer to a request for a page.
func (p *paging) read(req *http.Request, x *gate.Exchange, body []byte) (*dogear.Page, error) {
	n := int64(len(body))
	if x.Status == http.StatusOK {
		page, err := p.Pages.Page(p.cursor, body)
		if err != nil {
			x.End(dogear.Invalid, n, nil)
			return nil, refusedSource(err)
		}
		x.End(dogear.OK, n, nil)
		p.tries = 0
		p.accepted()
		return &page, nil
	}
	again, ok, err := p.Pages.Again(p.cursor, x.Status, x.Response.Header, body)
	if err == nil && ok {
		x.End(dogear.Missing, n, nil)
		return nil, p.begin(again)
	}
	outcome, _, reason := verdict(x.Status, x.Means)
	x.End(outcome, n, nil)
	if outcome != dogear.Unauthorized {
		p.accepted()
	}
	switch {
	case err != nil:
		return nil, refusedSource(err)
	case outcome == dogear.Unauthorized:
		if ok, err := p.renewed(p.dispatch, req); ok || err != nil {
			return nil, err
		}
		return nil, &Stop{Reason: dogear.StopUnauthorized, Err: fmt.Errorf("%s answered the listing with %s", req.URL.Host, reason)}
	case outcome == dogear.Transient && x.Status/100 != 3:
		return nil, p.failed(reason, x.Hint.Wait)
	}
	return nil, refusedSource(fmt.Errorf("%s answered the listing of %s with %s", req.URL.Host, dogear.StripText(strings.Join(p.set.Source, ", ")), reason))
}

// begin begins the listing again: what the job has is not listed twice.
func (p *paging) begin(cursor string) error {
	if p.passes++; p.passes > anew {
		return refusedSource(fmt.Errorf("the listing was told %d times to begin again: the service's cursors do not last", anew))
	}
	p.Log.Warn("the service's cursor has expired: the listing begins again, and skips what the job has")
	p.cursor = cursor
	clear(p.seen)
	p.barren = 0
	return nil
}

// take adds a page to the job.
func (p *paging) take(page dogear.Page) error {
	id := maphash.String(cursorSeed, page.Cursor)
	if !page.Last && (p.seen[id] || page.Cursor == p.cursor) {
		return refusedSource(errors.New("the listing repeats a cursor: it would never end"))
	}
	p.seen[id] = true
	ctx, cancel := p.finishing() // a page that came is kept, though the run is ending
	defer cancel()
	got, err := p.Store.AddPage(ctx, p.Job.ID, page)
	if err != nil {
		return err
	}
	p.cursor = page.Cursor
	p.Job.Total += got.New - got.Dropped
	p.counted(func(c *Progress) {
		c.Listed = p.Job.Total
		c.Others += int64(page.Others)
		c.Changed += got.Changed
		c.Gone += got.Gone
	})
	if p.barren++; got.New > 0 {
		p.barren = 0
	}
	if p.barren > barren+p.Job.Total {
		return refusedSource(fmt.Errorf("%d pages in a row brought no new document: the listing does not end", p.barren))
	}
	return nil
}

// failed waits after a failure that may pass.
func (p *paging) failed(reason string, least time.Duration) error {
	if p.dispatch.Err() != nil {
		return context.Cause(p.dispatch)
	}
	if p.tries++; p.tries >= p.set.Attempts {
		return &Stop{Reason: dogear.SourceUnreachable, Err: fmt.Errorf("the listing failed %d times in a row: %s", p.tries, reason)}
	}
	p.Log.Warn("no page came: it is asked for again", "why", reason)
	return p.pause(p.dispatch, max(least, p.step(p.tries)))
}

func refusedSource(err error) error { return &Stop{Reason: dogear.SourceRefused, Err: err} }

// scopesOfListing are the scopes that the next request of the listing is counted against.
func (r *run) scopesOfListing() ([]string, error) {
	address, err := r.Pages.Ask(r.Job.Cursor)
	if err != nil {
		return nil, refusedSource(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, refusedSource(errors.New("the listing's address cannot be read"))
	}
	return r.Scopes(u), nil
}

// A wholeBody is a body that was read to its end.
type wholeBody struct {
	*bytes.Reader
	data []byte
}

func (b wholeBody) Close() error { return nil }

// readAll reads a body of at most n bytes, its content coding undone. What was read is there
// though it broke.
func readAll(x *gate.Exchange, n int64) (wholeBody, error) {
	body, _, err := x.Body()
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(body, n+1))
	}
	x.Response.Body.Close()
	if err == nil && int64(len(data)) > n {
		err = fmt.Errorf("it has more than %d bytes", n)
	}
	return wholeBody{bytes.NewReader(data), data}, err
}
