package standin

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Exchange is a request on its way to an answer.
type Exchange struct {
	R       *http.Request
	W       http.ResponseWriter
	Service *Service
	Try     int // how many requests for the same path came before

	row  *Arrival
	wait time.Duration // what the hint on this answer asks for
	size int64         // of the whole document; 0 if the answer is none
	raw  bool          // the connection was taken over
}

func (x *Exchange) began(status int, h http.Header) {
	hint := slices.Clone(h.Values("Retry-After"))
	x.Service.Journal.change(func() {
		x.row.Status, x.row.Began, x.row.Hint, x.row.Wait = status, time.Now(), hint, x.wait
	})
}

func (x *Exchange) wrote(n int) {
	x.Service.Journal.change(func() { x.row.Bytes += int64(n) })
}

func (x *Exchange) sent(at time.Time) {
	x.Service.Journal.change(func() {
		x.row.Sent = at
		x.row.Whole = x.row.Status == http.StatusOK && x.size > 0 && x.row.Bytes == x.size
	})
}

// Doc is the number of the document that is asked for: 7 in /doc/7, /doc/7.pdf and
// /doc/7/name.pdf. Size is its size, and Version its version now.
func (x *Exchange) Doc() (n, size, version int, ok bool) {
	rest, ok := strings.CutPrefix(x.R.URL.Path, "/doc/")
	if end := strings.IndexAny(rest, "./"); end >= 0 {
		rest = rest[:end]
	}
	n, err := strconv.Atoi(rest)
	if !ok || err != nil || n < 0 {
		return 0, 0, 0, false
	}
	if last := x.Service.cfg.Documents; last > 0 && n > last {
		return 0, 0, 0, false
	}
	size = Size(n)
	if s, err := strconv.Atoi(x.R.URL.Query().Get("size")); err == nil && s >= 0 {
		size = s
	}
	return n, size, x.Service.version(n), true
}

// Body is the body of the document that is asked for.
func (x *Exchange) Body() []byte {
	n, size, version, _ := x.Doc()
	return BodyOf(n, size, version)
}

var contentTypes = map[string]string{".pdf": "application/pdf", ".html": "text/html; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	".json": "application/json"}

// head sets the header fields of the document that is asked for.
func (x *Exchange) head() {
	n, size, version, _ := x.Doc()
	h := x.W.Header()
	ct := contentTypes[path.Ext(x.R.URL.Path)]
	if ct == "" {
		ct = "application/octet-stream"
	}
	setUnlessSet(h, "Content-Type", ct)
	setUnlessSet(h, "ETag", ETag(n, size, version))
}

func setUnlessSet(h http.Header, name, value string) {
	if _, set := h[http.CanonicalHeaderKey(name)]; !set {
		h.Set(name, value)
	}
}

// Document answers with the document that is asked for, or a part of it.
func (x *Exchange) Document() {
	if _, _, _, ok := x.Doc(); !ok {
		x.Status(http.StatusNotFound)
		return
	}
	x.head()
	body := x.Body()
	x.size = int64(len(body))
	if len(body) > 0 {
		sum := md5.Sum(body)
		setUnlessSet(x.W.Header(), "Digest", "md5="+base64.StdEncoding.EncodeToString(sum[:]))
	}
	http.ServeContent(x.W, x.R, "", time.Time{}, bytes.NewReader(body))
}

// Status answers with a status and a few words.
func (x *Exchange) Status(code int) {
	x.Page(code, "text/plain; charset=utf-8", fmt.Sprintf("%d %s\n", code, http.StatusText(code)))
}

// Page answers with a text of a content type.
func (x *Exchange) Page(code int, contentType, text string) {
	h := x.W.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	x.W.WriteHeader(code)
	if x.R.Method != http.MethodHead {
		_, _ = x.W.Write([]byte(text)) // a client that has gone is journalled as such
	}
}

// refuse asks to wait.
func (x *Exchange) refuse(code int, hint Hint, wait time.Duration) {
	x.wait = hint(x.W.Header(), wait)
	x.Service.Journal.change(func() { x.row.Refused = true })
	x.Status(code)
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
	x.size = info.Size()
	x.W.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().Unix(), info.Size()))
	http.ServeContent(x.W, x.R, info.Name(), info.ModTime(), f)
}
