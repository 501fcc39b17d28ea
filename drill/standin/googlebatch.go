package standin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/dogear/dogear/drill/journal"
)

const (
	googleBatchPath = "/batch/drive/v3"
	maxGoogleItems  = 100  // what Google takes
	maxGoogleURL    = 8000 // characters
)

// A googlePart is one request of a batch as Google takes it.
type googlePart struct {
	id  string // empty: it has none
	r   *http.Request
	err error // why it cannot be answered; nil: it can
}

// googleBatch answers a batch as Google does: its parts one by one, each through the rules and
// the limiter, in their order.
func (s *Service) googleBatch(x *Exchange) {
	if x.R.Method != http.MethodPost {
		x.W.Header().Set("Allow", http.MethodPost)
		x.json(http.StatusMethodNotAllowed, googleError(http.StatusMethodNotAllowed, "a batch is a POST"))
		return
	}
	parts, err := x.googleParts()
	if err != nil {
		x.json(http.StatusBadRequest, googleError(http.StatusBadRequest, err.Error()))
		return
	}
	var b bytes.Buffer
	out := multipart.NewWriter(&b)
	for i, p := range parts {
		header := textproto.MIMEHeader{"Content-Type": {"application/http"}}
		id := strconv.Itoa(i + 1)
		if p.id != "" {
			id = p.id
			header.Set("Content-ID", "<response-"+p.id+">")
		}
		w := x.googleItem(id, p)
		to, _ := out.CreatePart(header) // into memory, as all below
		_ = w.response().Write(to)
	}
	_ = out.Close()
	x.Page(http.StatusOK, "multipart/mixed; boundary="+out.Boundary(), b.String())
}

// googleItem answers a part.
func (x *Exchange) googleItem(id string, p googlePart) *itemWriter {
	if p.err == nil {
		return x.alone(id, p.r)
	}
	x.note(journal.Item{ID: id, Status: http.StatusBadRequest})
	w := &itemWriter{header: http.Header{"Content-Type": {jsonText}}, status: http.StatusBadRequest}
	_ = json.NewEncoder(&w.body).Encode(googleError(http.StatusBadRequest, p.err.Error())) // into memory
	return w
}

// response is the answer to a part as an HTTP message.
func (w *itemWriter) response() *http.Response {
	return &http.Response{
		StatusCode: w.status, ProtoMajor: 1, ProtoMinor: 1, Header: w.header,
		ContentLength: int64(w.body.Len()), Body: io.NopCloser(&w.body),
	}
}

// googleParts reads the parts of a batch.
func (x *Exchange) googleParts() ([]googlePart, error) {
	kind, params, err := mime.ParseMediaType(x.R.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		return nil, errors.New("a batch is multipart/mixed")
	}
	in := multipart.NewReader(io.LimitReader(x.R.Body, maxBatch), params["boundary"])
	var parts []googlePart
	for len(parts) <= maxGoogleItems {
		p, err := in.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the body is no batch: %w", err)
		}
		text, err := io.ReadAll(p)
		if err != nil {
			return nil, fmt.Errorf("the body is no batch: %w", err)
		}
		part := googlePart{id: strings.Trim(p.Header.Get("Content-ID"), "<> ")}
		part.r, part.err = x.googleRequest(p.Header.Get("Content-Type"), text)
		parts = append(parts, part)
	}
	if len(parts) == 0 || len(parts) > maxGoogleItems {
		return nil, fmt.Errorf("a batch has 1 to %d requests", maxGoogleItems)
	}
	return parts, nil
}

// googleRequest reads the request of a part: its first line, in which the version of HTTP may
// be left out, and its header.
func (x *Exchange) googleRequest(contentType string, text []byte) (*http.Request, error) {
	if kind, _, _ := mime.ParseMediaType(contentType); kind != "application/http" {
		return nil, errors.New("a part of a batch is application/http")
	}
	in := textproto.NewReader(bufio.NewReader(io.MultiReader(bytes.NewReader(bytes.TrimLeft(text, "\r\n")), strings.NewReader("\r\n\r\n"))))
	line, _ := in.ReadLine() // there is one, from memory
	method, rest, _ := strings.Cut(line, " ")
	address, _, _ := strings.Cut(rest, " ")
	header, err := in.ReadMIMEHeader()
	if err != nil {
		return nil, fmt.Errorf("the header of a request: %w", err)
	}
	u, err := url.Parse(address)
	switch {
	case method != http.MethodGet:
		return nil, errors.New("this service answers GET alone in a batch")
	case len(address) > maxGoogleURL:
		return nil, fmt.Errorf("the address of a request has more than %d characters", maxGoogleURL)
	case err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/drive/v3/"):
		return nil, errors.New("the address of a request is a path of the batch's own service")
	case u.Query().Get("alt") == "media":
		return nil, errors.New("content cannot be asked for in a batch")
	}
	return x.inner(method, u, http.Header(header)), nil
}
