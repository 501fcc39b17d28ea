package standin

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// serve journals a request and answers it.
func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	s.serving.Add(1)
	defer s.serving.Done()
	x := s.arrive(w, r)
	defer x.finish()
	s.answer(x)
	if x.raw {
		return
	}
	err := http.NewResponseController(x.W).Flush()
	at := time.Now()
	x.change(func() {
		switch {
		case x.row.End != "":
		case err != nil && !x.declares(0):
			x.row.End = journal.Gone
		default:
			x.row.End, x.row.Sent = journal.Sent, at
		}
	})
}

// declares reports whether n more bytes are the last that the head declares. A client may
// close as soon as it has them: over HTTP/2 their writing then fails though they have left.
// One that goes away while the last are on their way is taken for one that has them.
func (x *Exchange) declares(n int) bool {
	all, err := strconv.ParseInt(x.W.Header().Get("Content-Length"), 10, 64)
	return err == nil && x.R.ProtoMajor == 2 && x.row.Bytes+int64(n) == all
}

// arrive writes a request down.
func (s *Service) arrive(w http.ResponseWriter, r *http.Request) *Exchange {
	a := &journal.Arrival{At: time.Now(), Quota: s.cfg.Quota, Method: r.Method, Path: r.URL.Path, Proto: r.Proto,
		Worker: r.Header.Get("X-Worker"), Header: headerOf(r.Header, s.cfg.Credentials)}
	if c, ok := r.Context().Value(connKey{}).(connection); ok {
		a.Conn = c.n
		if c, ok := c.Conn.(*stampedConn); ok {
			a.At = c.taken(r)
		}
	}
	x := s.exchange(r, a)
	if s.cfg.serves != nil {
		a.Leaked = leaked(r.Header, s.cfg.Credentials)
	}
	x.Try = s.Journal.Add(a)
	if a.Document > 0 {
		x.Try = a.Try
	}
	x.W = &recorder{ResponseWriter: w, x: x}
	return x
}

// exchange is a request as the rules see it, with what is known of it in a.
func (s *Service) exchange(r *http.Request, a *journal.Arrival) *Exchange {
	x := &Exchange{R: r, Service: s, row: a}
	if s.cfg.serves != nil {
		x.link = s.cfg.serves.find(r)
		if x.link != nil {
			x.doc = x.link.owner.document(x.link.n, r)
		}
	} else if s.cfg.Root == "" {
		n, ok := number(r.URL.Path)
		if x.endpoint = s.endpoint(r); x.endpoint != nil && x.endpoint.number > 0 {
			n, ok = x.endpoint.number, true
		}
		if ok {
			x.doc = s.document(n, r)
		}
	}
	a.Kind = x.kind()
	if x.doc != nil {
		a.Document, a.Version = x.doc.n, x.doc.version
	}
	if strings.HasPrefix(r.URL.Path, "/manifest.") && a.Kind == journal.List {
		a.Quota = "" // it counts against none
		return x
	}
	if s.cfg.Key != nil {
		a.Key = s.cfg.Key(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.arrivals++; s.arrivals == 1 {
		s.first = a.At
	}
	x.Arrival, x.Since = s.arrivals, max(0, a.At.Sub(s.first)) // the items of a first batch come as it does
	return x
}

// kind is what a request is for.
func (x *Exchange) kind() string {
	s, path := x.Service, x.R.URL.Path
	switch {
	case s.cfg.serves != nil:
		return journal.Link
	case x.doc != nil && s.cfg.Links != nil:
		return journal.Hop
	case x.doc != nil || s.cfg.Root != "":
		return journal.Read
	case x.endpoint != nil:
		return x.endpoint.kind
	case path == listPath || path == "/manifest.txt" || path == "/manifest.csv" || path == "/manifest.jsonl":
		return journal.List
	case path == batchPath || s.cfg.Google && path == googleBatchPath:
		return journal.Batch
	case isToken(path):
		return journal.Token
	}
	return journal.Other
}

// answer answers a request.
func (s *Service) answer(x *Exchange) {
	if x.Arrival == 0 {
		s.manifest(x)
		return
	}
	if s.ruled(x) {
		return
	}
	if s.cfg.Tokens != nil && x.row.Kind != journal.Token && !s.cfg.Tokens.admit(x) {
		return
	}
	switch {
	case x.row.Kind != journal.Batch:
		s.admitted(x)
	case x.R.URL.Path == googleBatchPath: // its items count, as those of the other
		s.googleBatch(x)
	default:
		s.batch(x)
	}
}

// ruled reports whether a rule had the request.
func (s *Service) ruled(x *Exchange) bool {
	s.mu.Lock()
	rules := s.rules
	s.mu.Unlock()
	if x.doc != nil {
		if status := x.doc.owner.withheldAs(x.doc.n); status != 0 {
			x.withhold(status)
			return true
		}
	}
	for _, rule := range rules {
		if rule(x) {
			return true
		}
	}
	return false
}

// admitted answers what the limiter lets through.
func (s *Service) admitted(x *Exchange) {
	if s.cfg.Limit != nil {
		g := s.cfg.Limit.Take(x.row.Key, time.Now())
		if !g.OK {
			x.refuse(s.cfg.Refusal, g.Wait, journal.ByLimit)
			return
		}
		if g.Done != nil {
			defer g.Done()
		}
		if g.Delay > 0 {
			x.pause(g.Delay)
		}
	}
	switch {
	case s.cfg.serves != nil:
		s.cfg.serves.answer(x)
	case s.cfg.Root != "":
		s.file(x)
	case x.endpoint != nil:
		x.api()
	case x.row.Kind == journal.List:
		s.page(x)
	case x.row.Kind == journal.Token && s.cfg.Tokens != nil:
		s.cfg.Tokens.issue(x)
	default:
		x.deliver()
	}
}

// finish writes the end of a request down, however it came to it.
func (x *Exchange) finish() {
	x.change(func() {
		if x.row.End == "" { // an answer that was given up: by a panic, or on the bare connection
			x.row.End = journal.Cut
		}
		if x.row.Sent.IsZero() {
			x.row.Sent = x.told
		}
		x.row.Whole = x.row.End == journal.Sent && x.whole()
		if x.row.End != journal.Sent {
			for i := range x.row.Items {
				x.row.Items[i].Whole = false
			}
		}
	})
	x.Service.Journal.Finish(x.row)
}

// whole reports whether the answer is a document from the first byte to the last.
func (x *Exchange) whole() bool {
	a := x.row
	return x.good && a.Method == http.MethodGet && (a.Status == http.StatusOK || a.Status == http.StatusPartialContent) &&
		a.From == 0 && a.Bytes >= a.Size
}

// recorder notes what an answer becomes.
type recorder struct {
	http.ResponseWriter
	x     *Exchange
	began bool
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) WriteHeader(status int) {
	if status >= 200 && !w.began {
		w.began = true
		w.x.began(status)
	}
	w.ResponseWriter.WriteHeader(status)
	// Over HTTP/2 a client can read the head of a refusal and drop the rest: it has been told.
	if w.x.row.Refused != "" && w.x.R.ProtoMajor == 2 && http.NewResponseController(w.ResponseWriter).Flush() == nil {
		w.x.told = time.Now()
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	if !w.began {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	if err == nil && w.x.R.ProtoMajor == 2 { // else a short body is in a buffer, and its error is not seen here
		if err = http.NewResponseController(w.ResponseWriter).Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil // an item of a batch
		}
	}
	if err != nil && w.x.declares(len(p)) {
		n, err = len(p), nil
	}
	if w.x.R.Method != http.MethodHead {
		w.x.wrote(n)
	}
	if err != nil && !errors.Is(err, http.ErrBodyNotAllowed) && !errors.Is(err, http.ErrContentLength) {
		w.x.ended(journal.Gone)
	}
	return n, err
}

func (w *recorder) FlushError() error {
	if !w.began {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// began notes the head of the answer.
func (x *Exchange) began(status int) {
	var from int64
	if status == http.StatusPartialContent {
		_, _ = fmt.Sscanf(x.W.Header().Get("Content-Range"), "bytes %d-", &from) // it is the server's own
	}
	x.change(func() {
		x.row.Status, x.row.From = status, from
		if x.row.Began.IsZero() {
			x.row.Began = time.Now()
		}
	})
}

func (x *Exchange) wrote(n int) { x.change(func() { x.row.Bytes += int64(n) }) }

// ended says how the answer ends, unless that is known.
func (x *Exchange) ended(how string) {
	x.change(func() {
		if x.row.End == "" {
			x.row.End = how
		}
	})
}

// fault notes what is done to the request on purpose.
func (x *Exchange) fault(name string) {
	x.change(func() { x.row.Fault = strings.Trim(x.row.Fault+","+name, ",") })
}

func (x *Exchange) change(f func()) { x.Service.Journal.Change(f) }
