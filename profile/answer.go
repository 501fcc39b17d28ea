package profile

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Answer is what came back for one request.
type Answer struct {
	Status int
	Header http.Header
	// Body is its beginning, up to [BodyPrefix]; nil where it was not read. See
	// [Profile.NeedsBody].
	Body []byte
	// Received is when its head came.
	Received time.Time
	// Batch says that it answers the service's batch call, and that Body is whole.
	Batch bool
}

// BodyPrefix is how much of a body decides on a throttle.
const BodyPrefix = 64 << 10

// A When says which answers are meant: those for which all of it holds.
type When struct {
	status []int // one of them; nil: any
	fields []fieldMatch
	body   *bodyMatch
}

// A fieldMatch looks at one header field. One of its tests is set.
type fieldMatch struct {
	name     string
	in       []string // the whole value is one of these; "" is an absent or blank field
	contains string
	present  *bool
}

// A bodyMatch looks at a body. One of its tests is set.
type bodyMatch struct {
	path     []string // into JSON; nil for text and empty
	in       []string // a value there is one of these
	notIn    []string // there is a value, and none of these
	contains string
	present  bool
	text     string // the body holds it
	empty    bool   // there is no body
}

// head reports whether status and header are as they should be.
func (w When) head(status int, h http.Header) bool {
	if len(w.status) > 0 && !slices.Contains(w.status, status) {
		return false
	}
	return !slices.ContainsFunc(w.fields, func(f fieldMatch) bool { return !f.holds(h) })
}

func (w When) holds(a Answer) bool {
	return w.head(a.Status, a.Header) && (w.body == nil || w.body.holds(a.Body))
}

func (f fieldMatch) holds(h http.Header) bool {
	value := strings.Trim(strings.Join(h.Values(f.name), ", "), " \t")
	switch {
	case f.present != nil:
		return (value != "") == *f.present
	case f.contains != "":
		return strings.Contains(value, f.contains)
	}
	return slices.Contains(f.in, value)
}

func (b *bodyMatch) holds(body []byte) bool {
	switch {
	case b.empty:
		return len(body) == 0
	case b.text != "":
		return bytes.Contains(body, []byte(b.text))
	}
	values, present := lookup(body, b.path)
	switch {
	case b.present:
		return present
	case b.contains != "":
		return slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, b.contains) })
	case b.notIn != nil:
		return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return slices.Contains(b.notIn, v) })
	}
	return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(b.in, v) })
}

// mayHold reports whether a body of this type can be one that is looked for, so that it is
// worth reading. JSON comes under many names, and under none.
func (b *bodyMatch) mayHold(h http.Header) bool {
	if b.path == nil {
		return true
	}
	contentType := h.Get("Content-Type")
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err != nil || strings.HasPrefix(media, "text/") || media == "application/json" ||
		strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "/javascript")
}

// lookup finds the scalars at a path into JSON, which may be cut anywhere behind them. "*"
// is any key and any place in a list. Truth values and numbers are given as they are
// written; a null is as good as absent.
func lookup(body []byte, path []string) (values []string, present bool) {
	body = bytes.TrimLeft(body, "\ufeff \t\r\n")
	if len(body) == 0 || body[0] != '{' && body[0] != '[' {
		return nil, false
	}
	l := finder{dec: json.NewDecoder(bytes.NewReader(body))}
	l.dec.UseNumber()
	l.walk(path)
	return l.values, l.present
}

// maxFound bounds what a wildcard finds.
const maxFound = 1000

type finder struct {
	dec     *json.Decoder
	values  []string
	present bool
}

// walk takes one value, and reports whether the text goes on.
func (f *finder) walk(path []string) bool {
	tok, err := f.dec.Token()
	if err != nil || len(f.values) >= maxFound {
		return false
	}
	open, isDelim := tok.(json.Delim)
	if len(path) == 0 {
		switch v := tok.(type) {
		case string:
			f.values = append(f.values, v)
		case json.Number:
			f.values = append(f.values, v.String())
		case bool:
			f.values = append(f.values, strconv.FormatBool(v))
		}
		f.present = f.present || tok != nil
	}
	if !isDelim {
		return true
	}
	for i := 0; f.dec.More(); i++ {
		key := strconv.Itoa(i)
		if open == '{' {
			tok, err := f.dec.Token()
			if err != nil {
				return false
			}
			key, _ = tok.(string)
		}
		more := false
		if len(path) > 0 && (path[0] == key || path[0] == "*") {
			more = f.walk(path[1:])
		} else {
			more = f.skip()
		}
		if !more {
			return false
		}
	}
	_, err = f.dec.Token() // the closing one
	return err == nil
}

func (f *finder) skip() bool {
	for depth := 0; ; {
		tok, err := f.dec.Token()
		if err != nil {
			return false
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return true
		}
	}
}
