package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// An Exchange is a request on its way to an answer.
type Exchange struct {
	R       *http.Request
	W       http.ResponseWriter
	Service *Service
	Try     int           // how many requests for the same document, else for the same path, came before
	Arrival int           // its number among the service's arrivals, from 1; the items of a batch have their own
	Since   time.Duration // the service's first arrival

	row  *journal.Arrival
	told time.Time // when the head of a refusal had been sent; zero: not known
	doc  *document // what is asked for; nil if it is none
	link *link     // by which it is asked for
	good bool      // the answer is of the document's bytes
	raw  bool      // the connection was taken over

	endpoint *endpoint // what it is for; nil: for nothing of an API
}

// A document is one of a service as it was when it was asked for.
type document struct {
	owner            *Service
	n, size, version int
}

// maxSize bounds the size that a request may ask for.
const maxSize = 64 << 20

// document is document n; nil if there is none. A request can ask for it at another size.
func (s *Service) document(n int, r *http.Request) *document {
	if n < s.cfg.First || s.cfg.Last > 0 && n > s.cfg.Last {
		return nil
	}
	d := &document{s, n, s.size(n), s.version(n)}
	if r.URL.RawQuery != "" {
		if size, err := strconv.Atoi(r.URL.Query().Get("size")); err == nil && size >= 0 && size <= maxSize {
			d.size = size
		}
	}
	return d
}

func (s *Service) size(n int) int {
	if s.cfg.Size > 0 {
		return s.cfg.Size
	}
	return Size(n)
}

// number is the number of the document at a path: 7 in /doc/7, /doc/7.pdf, /doc/7/name.pdf
// and /v1.0/documents/7/content.
func number(path string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(path, "/doc/")
	if !ok {
		if rest, ok = strings.CutPrefix(path, listPath+"/"); ok {
			rest, ok = strings.CutSuffix(rest, "/content")
		}
	} else if end := strings.IndexAny(rest, "./"); end >= 0 {
		rest = rest[:end]
	}
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && n >= 0
}

// Doc is the number of the document that is asked for, its size, and its version.
func (x *Exchange) Doc() (n, size, version int, ok bool) {
	if x.doc == nil {
		return 0, 0, 0, false
	}
	return x.doc.n, x.doc.size, x.doc.version, true
}

// Body is the body of the document that is asked for.
func (x *Exchange) Body() []byte {
	if x.doc == nil {
		return nil
	}
	return BodyOf(x.doc.n, x.doc.size, x.doc.version)
}

var contentTypes = map[string]string{".pdf": "application/pdf", ".html": "text/html; charset=utf-8", ".txt": plainText, ".json": jsonText}

const (
	plainText = "text/plain; charset=utf-8"
	jsonText  = "application/json"
)

// head sets the header fields of the document that is asked for, and returns when it was
// last modified, if the service says so.
func (x *Exchange) head(body []byte) (modified time.Time) {
	h, d := x.W.Header(), x.doc
	ct := contentTypes[path.Ext(x.R.URL.Path)]
	if ct == "" {
		ct = "application/octet-stream"
	}
	setUnlessSet(h, "Content-Type", ct)
	cfg := &d.owner.cfg
	if cfg.Validators.etag() {
		setUnlessSet(h, "ETag", ETag(d.n, d.size, d.version))
	}
	if cfg.Validators.modified() {
		modified = Modified(d.n, d.version)
		setUnlessSet(h, "Last-Modified", modified.Format(http.TimeFormat))
	}
	if cfg.Digests {
		setUnlessSet(h, "Repr-Digest", digest(body))
	}
	x.change(func() { x.row.Size = int64(d.size) })
	return modified
}

func setUnlessSet(h http.Header, name, value string) {
	if _, set := h[http.CanonicalHeaderKey(name)]; !set {
		h.Set(name, value)
	}
}

// Document answers with the document that is asked for, or a part of it.
func (x *Exchange) Document() {
	if x.doc == nil {
		x.Status(http.StatusNotFound)
		return
	}
	body := x.Body()
	modified := x.head(body)
	x.good = true
	x.content(body, modified)
}

// deliver answers with the document that is asked for, or with a link to it.
func (x *Exchange) deliver() {
	if links := x.Service.cfg.Links; links != nil && x.doc != nil {
		links.redirect(x, nil)
		return
	}
	x.Document()
}

// content answers with a body that has been described, or a part of it.
func (x *Exchange) content(body []byte, modified time.Time) {
	if strings.Contains(x.R.Header.Get("Range"), ",") { // several parts at once are as if nothing was asked
		x.R.Header.Del("Range")
	}
	http.ServeContent(x.W, x.R, "", modified, bytes.NewReader(body))
}

// Status answers with a status and a few words.
func (x *Exchange) Status(code int) {
	x.Page(code, plainText, fmt.Sprintf("%d %s\n", code, http.StatusText(code)))
}

// Page answers with a text of a content type.
func (x *Exchange) Page(code int, contentType, text string) {
	h := x.W.Header()
	h.Set("Content-Type", contentType)
	if code == http.StatusNoContent || code == http.StatusNotModified {
		x.W.WriteHeader(code)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	x.W.WriteHeader(code)
	if x.R.Method != http.MethodHead {
		_, _ = x.W.Write([]byte(text)) // a client that has gone is journalled as such
	}
}

// json answers with an object.
func (x *Exchange) json(code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what is answered is made here
	}
	x.Page(code, jsonText, string(b))
}

// problem answers with an error as Graph writes it.
func (x *Exchange) problem(status int, code, message string) {
	type inner struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	x.json(status, map[string]inner{"error": {code, message}})
}

// file serves a file of the service's folder.
func (s *Service) file(x *Exchange) {
	root, err := os.OpenRoot(s.cfg.Root)
	if err != nil {
		x.Status(http.StatusInternalServerError)
		return
	}
	defer root.Close()
	f, err := root.Open(strings.TrimPrefix(path.Clean("/"+x.R.URL.Path), "/"))
	if err != nil {
		x.Status(http.StatusNotFound)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		x.Status(http.StatusNotFound)
		return
	}
	x.good = true
	x.change(func() { x.row.Size = info.Size() })
	x.W.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().Unix(), info.Size()))
	http.ServeContent(x.W, x.R, info.Name(), info.ModTime(), f)
}
