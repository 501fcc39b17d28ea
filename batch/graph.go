package batch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

const jsonType = "application/json"

// encodeGraph writes {"requests":[{"id":…,"method":"GET","url":…,"headers":{…}}]}.
func encodeGraph(items []Item) (string, []byte, error) {
	type request struct {
		ID      string            `json:"id"`
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	var out struct {
		Requests []request `json:"requests"`
	}
	for _, item := range items {
		r := request{ID: item.ID, Method: http.MethodGet, URL: item.URL}
		for name, values := range item.Header {
			if len(values) == 0 {
				continue
			}
			if r.Headers == nil {
				r.Headers = map[string]string{}
			}
			r.Headers[name] = strings.Join(values, ", ")
		}
		out.Requests = append(out.Requests, r)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // addresses stay readable
	if err := enc.Encode(out); err != nil {
		return "", nil, fmt.Errorf("write the batch: %w", err)
	}
	return jsonType, bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decodeGraph reads {"responses":[{"id":…,"status":…,"headers":{…},"body":…}]}. The answers are read one
// after the other, so that a body of nothing but empty ones is given up in time.
func decodeGraph(body []byte) ([]Answer, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if err := json.Unmarshal(body, new(passed)); err != nil {
		return nil, notJSON(err, len(body))
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("the answer to the batch is JSON, but no object")
	}
	var answers []Answer
	var bad faults
	found := false
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, notJSON(err, len(body))
		}
		if name != "responses" {
			if err := dec.Decode(new(passed)); err != nil {
				return nil, notJSON(err, len(body))
			}
			continue
		}
		if found {
			return nil, errors.New(`the answer to the batch has "responses" twice`)
		}
		found = true
		if t, err := dec.Token(); err != nil || t != json.Delim('[') {
			return nil, errors.New(`"responses" in the answer to the batch is no list`)
		}
		for n := 1; dec.More(); n++ {
			if n > maxAnswers {
				return nil, tooMany()
			}
			var r response
			if err := dec.Decode(&r); err != nil {
				return nil, notJSON(err, len(body))
			}
			if a, err := r.answer(); err != nil {
				bad.add(n, r.id.text, err)
			} else {
				answers = append(answers, a)
			}
		}
		if _, err := dec.Token(); err != nil { // the list's end
			return nil, notJSON(err, len(body))
		}
	}
	if !found {
		return nil, errors.New(`the answer to the batch has no "responses"`)
	}
	return answers, bad.err()
}

// notJSON says where JSON breaks, not with which letter.
func notJSON(err error, size int) error {
	if size == 0 {
		return errors.New("the answer to the batch is empty")
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("the answer to the batch is not JSON: it breaks at byte %d of %d", e.Offset, size)
	}
	return errors.New("the answer to the batch is not JSON")
}

// A response is one member of "responses", as it came.
type response struct {
	object  bool
	id      scalar
	status  scalar
	headers fields
	body    json.RawMessage
}

// UnmarshalJSON takes any value: what is wrong with one answer says nothing about the next.
func (r *response) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return nil
	}
	var in struct {
		ID      scalar          `json:"id"`
		Status  scalar          `json:"status"`
		Headers fields          `json:"headers"`
		Body    json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*r = response{true, in.ID, in.Status, in.Headers, in.Body}
	return nil
}

// answer is the response with all that it needs, or what it lacks.
func (r *response) answer() (Answer, error) {
	if !r.object {
		return Answer{}, errors.New("it is no object")
	}
	if r.id.other {
		return Answer{}, errors.New("its id is no string")
	}
	if err := checkID(r.id.text); err != nil {
		return Answer{}, err
	}
	if r.status.text == "" {
		return Answer{}, errors.New("it has no status")
	}
	status, err := strconv.ParseUint(r.status.text, 10, 16)
	if err != nil {
		return Answer{}, errors.New("its status is no number that HTTP has")
	}
	if err := checkStatus(int(status)); err != nil {
		return Answer{}, err
	}
	if r.headers.other {
		return Answer{}, errors.New("its headers are no object")
	}
	h := r.headers.header
	if h == nil {
		h = http.Header{}
	}
	return Answer{r.id.text, int(status), h, content(r.body, h.Get("Content-Type"))}, nil
}

// A scalar is a string, or a number or truth value as it is written. Graph's page has ids as strings and
// statuses as numbers; others of its kind have it the other way round.
type scalar struct {
	text  string
	other bool // an object or a list
}

func (s *scalar) UnmarshalJSON(b []byte) error {
	*s = scalar{}
	switch b[0] {
	case '"':
		return json.Unmarshal(b, &s.text)
	case '{', '[':
		s.other = true
	case 'n':
	default:
		s.text = string(b)
	}
	return nil
}

// fields are headers in JSON: each value a string, a number (Retry-After is one at times) or a list of them.
// A name that is there twice, or in two spellings, has all its values: of two hints none may be lost.
type fields struct {
	header http.Header
	other  bool // neither an object nor null
}

func (f *fields) UnmarshalJSON(b []byte) error {
	*f = fields{other: b[0] != '{' && b[0] != 'n'}
	if b[0] != '{' {
		return nil
	}
	f.header = http.Header{}
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var v values
		if err := dec.Decode(&v); err != nil {
			return err
		}
		for _, s := range v {
			addHeader(f.header, name.(string), s)
		}
	}
	return nil
}

// values are those of one header. What is no value is left out.
type values []string

func (v *values) UnmarshalJSON(b []byte) error {
	list := []json.RawMessage{b}
	if b[0] == '[' {
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
	}
	for _, raw := range list {
		var s scalar
		if err := s.UnmarshalJSON(raw); err != nil {
			return err
		}
		if !s.other && raw[0] != 'n' {
			*v = append(*v, s.text)
		}
	}
	return nil
}

// content is the body that the member of that name stands for: the rule is at [Decode].
func content(raw json.RawMessage, contentType string) []byte {
	if len(raw) == 0 || raw[0] == 'n' {
		return nil
	}
	if raw[0] != '"' {
		return raw
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return raw // cannot be: it is a JSON string
	}
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if strings.HasPrefix(kind, "text/") {
		return []byte(text)
	}
	if b, ok := unbase64(text); ok {
		return b
	}
	if kind == jsonType || strings.HasSuffix(kind, "+json") {
		return raw
	}
	return []byte(text)
}

// unbase64 reads either alphabet of RFC 4648, with its padding or without, and nothing that only resembles
// it: no line breaks, no bits left over. So little text as can be is taken for base64.
func unbase64(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	if len(s)%4 == 0 {
		s = strings.TrimSuffix(strings.TrimSuffix(s, "="), "=")
	}
	b, err := enc.Strict().DecodeString(s)
	return b, err == nil
}

// passed is any value, passed over.
type passed struct{}

func (*passed) UnmarshalJSON([]byte) error { return nil }
