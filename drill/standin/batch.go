package standin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dogear/dogear/drill/journal"
)

const (
	batchPath = "/v1.0/$batch"
	maxItems  = 20      // what Graph takes
	maxBatch  = 4 << 20 // bytes
)

// A part is one request of a batch.
type part struct {
	ID        string            `json:"id"`
	Method    string            `json:"method"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
	DependsOn []string          `json:"dependsOn"`
}

// A reply is the answer to a part.
type reply struct {
	ID      string            `json:"id"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    any               `json:"body,omitempty"`
}

// batch answers a Graph-style JSON batch: its parts one by one, each through the rules and
// the limiter; the replies in another order than the parts, as Graph may.
func (s *Service) batch(x *Exchange) {
	if x.R.Method != http.MethodPost {
		x.W.Header().Set("Allow", http.MethodPost)
		x.problem(http.StatusMethodNotAllowed, "MethodNotAllowed", "a batch is a POST")
		return
	}
	parts, err := readBatch(x.R.Body)
	if err != nil {
		x.problem(http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	replies := []reply{} // in the order in which they were answered
	failed := map[string]bool{}
	for _, p := range parts {
		var r reply
		if slices.ContainsFunc(p.DependsOn, func(id string) bool { return failed[strings.ToLower(id)] }) {
			r = x.dependent(p)
		} else {
			r = x.do(p)
		}
		failed[strings.ToLower(p.ID)] = r.Status >= 400
		replies = append(replies, r)
	}
	slices.Reverse(replies)
	x.json(http.StatusOK, map[string][]reply{"responses": replies})
}

// readBatch reads the parts of a batch, each after those that it depends on.
func readBatch(r io.Reader) ([]part, error) {
	var in struct {
		Requests []part `json:"requests"`
	}
	if err := json.NewDecoder(io.LimitReader(r, maxBatch)).Decode(&in); err != nil {
		return nil, fmt.Errorf("the body is no batch: %w", err)
	}
	if len(in.Requests) == 0 || len(in.Requests) > maxItems {
		return nil, fmt.Errorf("a batch has %d requests: it takes 1 to %d", len(in.Requests), maxItems)
	}
	byID := map[string]part{} // ids that differ in case alone are the same
	for _, p := range in.Requests {
		id := strings.ToLower(p.ID)
		if _, twice := byID[id]; twice || id == "" {
			return nil, fmt.Errorf("the id %q is empty or there twice", p.ID)
		}
		if p.Method == "" || p.URL == "" {
			return nil, fmt.Errorf("request %q has no method or no url", p.ID)
		}
		byID[id] = p
	}
	return inOrder(in.Requests, byID)
}

func inOrder(parts []part, byID map[string]part) ([]part, error) {
	var out []part
	const under, done = 1, 2
	state := map[string]int{}
	var visit func(p part) error
	visit = func(p part) error {
		id := strings.ToLower(p.ID)
		if state[id] == done {
			return nil
		}
		if state[id] == under {
			return fmt.Errorf("request %q depends on itself", p.ID)
		}
		state[id] = under
		for _, other := range p.DependsOn {
			o, ok := byID[strings.ToLower(other)]
			if !ok {
				return fmt.Errorf("request %q depends on %q, which is not in the batch", p.ID, other)
			}
			if err := visit(o); err != nil {
				return err
			}
		}
		state[id] = done
		out = append(out, p)
		return nil
	}
	for _, p := range parts {
		if err := visit(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// dependent answers a part that depends on one that failed.
func (x *Exchange) dependent(p part) reply {
	body := map[string]any{"error": map[string]string{"code": "FailedDependency", "message": "a request that this one depends on has failed"}}
	x.note(journal.Item{ID: p.ID, Status: http.StatusFailedDependency})
	return reply{p.ID, http.StatusFailedDependency, map[string]string{"Content-Type": jsonText}, body}
}

func (x *Exchange) note(item journal.Item) {
	x.change(func() { x.row.Items = append(x.row.Items, item) })
}

// do answers a part.
func (x *Exchange) do(p part) reply {
	r, err := x.request(p)
	if err != nil {
		x.note(journal.Item{ID: p.ID, Status: http.StatusBadRequest})
		return reply{p.ID, http.StatusBadRequest, nil, map[string]any{"error": map[string]string{"code": "BadRequest", "message": err.Error()}}}
	}
	return x.alone(p.ID, r).reply(p.ID)
}

// alone answers a request of a batch as if it had come alone, and notes it.
func (x *Exchange) alone(id string, r *http.Request) *itemWriter {
	a := &journal.Arrival{At: x.row.At, Quota: x.row.Quota, Method: r.Method, Path: r.URL.Path}
	sub := x.Service.exchange(r, a)
	a.Key = x.row.Key
	if a.Document > 0 {
		a.Try = x.Service.Journal.Try(a.Document)
		sub.Try = a.Try
	}
	w := &itemWriter{header: http.Header{}}
	sub.W = &recorder{ResponseWriter: w, x: sub}
	given := false
	defer func() {
		sub.ended(journal.Sent)
		whole := a.End == journal.Sent && sub.whole()
		x.note(journal.Item{ID: id, Kind: a.Kind, Path: a.Path, Document: a.Document, Version: a.Version, Try: a.Try,
			Status: w.status, Bytes: a.Bytes, Whole: whole, Refused: a.Refused, Until: a.Until})
		if !given { // a fault ended the whole batch
			x.fault(a.Fault)
			x.ended(a.End)
		}
	}()
	if !x.Service.ruled(sub) {
		x.Service.admitted(sub)
	}
	given = true
	return w
}

// request is a part as a request of its own.
func (x *Exchange) request(p part) (*http.Request, error) {
	if p.Method != http.MethodGet && p.Method != http.MethodHead {
		return nil, errors.New("this service answers GET alone in a batch")
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.IsAbs() || u.Host != "" {
		return nil, errors.New("the url of a request is relative to the batch")
	}
	u.Path = "/" + strings.TrimPrefix(u.Path, "/")
	first, _, _ := strings.Cut(u.Path[1:], "/")
	if slices.Contains([]string{"documents", "drives", "me", "sites"}, first) {
		u.Path, u.RawPath = "/v1.0"+u.Path, ""
	}
	if slices.Contains([]string{batchPath, googleBatchPath}, u.Path) || isToken(u.Path) || strings.HasPrefix(u.Path, "/manifest.") {
		return nil, errors.New("this address cannot be asked for in a batch")
	}
	header := http.Header{}
	for name, value := range p.Headers {
		header.Set(name, value)
	}
	return x.inner(p.Method, u, header), nil
}

// inner is a request of a batch, with the credentials of the batch.
func (x *Exchange) inner(method string, u *url.URL, header http.Header) *http.Request {
	r := x.R.Clone(x.R.Context())
	r.Method, r.URL, r.Body, r.ContentLength = method, u, http.NoBody, 0
	for _, name := range []string{"Content-Type", "Content-Length", "Accept-Encoding"} {
		r.Header.Del(name)
	}
	maps.Copy(r.Header, header)
	return r
}

// itemWriter keeps the answer to a part.
type itemWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *itemWriter) Header() http.Header { return w.header }

func (w *itemWriter) WriteHeader(status int) { w.status = status }

func (w *itemWriter) Write(p []byte) (int, error) { return w.body.Write(p) }

// reply is the answer as Graph writes it: JSON as it is, other text as a string, and what is
// no text in base64.
func (w *itemWriter) reply(id string) reply {
	r := reply{ID: id, Status: w.status, Headers: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(w.header)) {
		if values := w.header[name]; len(values) > 0 {
			r.Headers[name] = strings.Join(values, ", ")
		}
	}
	kind, _, _ := mime.ParseMediaType(w.header.Get("Content-Type"))
	switch {
	case w.body.Len() == 0:
	case kind == jsonText && json.Valid(w.body.Bytes()):
		r.Body = json.RawMessage(w.body.Bytes())
	case strings.HasPrefix(kind, "text/") && utf8.Valid(w.body.Bytes()):
		r.Body = w.body.String()
	default:
		r.Body = base64.StdEncoding.EncodeToString(w.body.Bytes())
	}
	return r
}
