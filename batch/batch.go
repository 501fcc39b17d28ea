// Package batch speaks the wire forms of services' batch calls: many reads put into one request, and one
// answer taken apart again. It does no I/O, and it judges nothing: a batch is judged item by item (R3), by
// whoever has the profile.
//
// There are two forms, named as profiles name them:
//
//   - "graph", a JSON object, as Microsoft Graph takes it at /$batch
//     (https://learn.microsoft.com/graph/json-batching). It is the JSON batch of OData 4.01
//     (https://docs.oasis-open.org/odata/odata-json-format/v4.01/odata-json-format-v4.01.html, "Batch
//     Requests and Responses"), to which that page points for what it leaves out.
//   - "multipart", a multipart/mixed body with an HTTP message in each part, as Google Drive takes it at
//     /batch/drive/v3 (https://developers.google.com/workspace/drive/api/guides/performance).
//
// The smallest whole use, with the sending left out:
//
//	contentType, body, err := batch.Encode(p.Batch.Form, items)
//	…
//	answers, err := batch.Decode(p.Batch.Form, resp.Header.Get("Content-Type"), body)
//	matched, unknown := batch.Match(ids, answers, p.Batch.CaseBlindIDs)
package batch

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The forms of a batch.
const (
	graph     = "graph"
	multipart = "multipart"
)

const (
	maxAnswers = 10_000 // in one batch; services take 20 to 1,000 requests
	maxID      = 256    // bytes
)

// An Item is one request in a batch: a GET.
type Item struct {
	// ID is what its answer is known by: visible ASCII, at most 256 bytes, unique in the batch.
	ID string
	// URL begins with a slash. In the graph form it is relative to the version of the service that the
	// batch goes to ("/drives/…" for a batch at /v1.0/$batch), in the multipart form it is the path and
	// query on the batch's own host ("/drive/v3/files/…?fields=…").
	URL string
	// Header is the item's own. What the batch's request has, the credentials among it, holds for its
	// items too and need not be here.
	Header http.Header
}

// An Answer is what a batch says of one item.
type Answer struct {
	ID string
	// Status is 200 to 599, or 0 where [Match] found no answer.
	Status int
	// Header may hold a signed link, in Location, and is not for logs.
	Header http.Header
	// Body is what the item's request alone would have brought, as far as the batch can tell: see
	// [Decode]. It is empty where there is none, and still coded where a Content-Encoding says so.
	Body []byte
}

// LogValue hides the address and the headers: both may hold a credential.
func (i Item) LogValue() slog.Value { return slog.StringValue("item " + quote(i.ID)) }

// LogValue hides the headers and the body.
func (a Answer) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", quote(a.ID)), slog.Int("status", a.Status), slog.Int("bytes", len(a.Body)))
}

// Encode writes the items as the body of one POST, and says what its Content-Type is. It takes 1 to
// 10,000 items; how many a service takes is in its profile.
//
// An item that could not be told from another or would break the form is refused: an empty or repeated id
// (in the graph form, where ids are not case-sensitive, ids that differ in case alone too), an address that
// is not a path, a header that is none or that speaks of a body. Errors do not quote addresses or values.
func Encode(form string, items []Item) (contentType string, body []byte, err error) {
	if len(items) == 0 || len(items) > maxAnswers {
		return "", nil, fmt.Errorf("a batch has 1 to %d items, not %d", maxAnswers, len(items))
	}
	var fold func(string) string
	var write func([]Item) (string, []byte, error)
	switch form {
	case graph:
		fold, write = strings.ToLower, encodeGraph
	case multipart:
		fold, write = func(id string) string { return id }, encodeMultipart
	default:
		return "", nil, unknownForm(form)
	}
	seen := make(map[string]bool, len(items))
	for n, item := range items {
		if err := item.check(form); err != nil {
			return "", nil, fmt.Errorf("item %d of the batch, %s: %w", n+1, quote(item.ID), err)
		}
		if seen[fold(item.ID)] {
			return "", nil, fmt.Errorf("item %d of the batch, %s: its id is there twice", n+1, quote(item.ID))
		}
		seen[fold(item.ID)] = true
	}
	return write(items)
}

// check says what is wrong with an item.
func (i Item) check(form string) error {
	if err := checkID(i.ID); err != nil {
		return err
	}
	if !visible(i.ID) {
		return errors.New("its id has other letters than visible ASCII")
	}
	// The id stands between brackets there, and its answer puts a word before it.
	if form == multipart && (strings.ContainsAny(i.ID, "<>") || cutPrefix(i.ID) != i.ID) {
		return errors.New(`its id has a bracket, or begins with "response-"`)
	}
	if !strings.HasPrefix(i.URL, "/") || strings.HasPrefix(i.URL, "//") || !visible(i.URL) || strings.Contains(i.URL, "#") {
		return errors.New("its address is not a path with a query, from the slash on, in visible ASCII")
	}
	for name, values := range i.Header {
		if !token(name) {
			return fmt.Errorf("%s is not the name of a header", quote(name))
		}
		switch http.CanonicalHeaderKey(name) {
		case "Content-Length", "Transfer-Encoding", "Trailer":
			return fmt.Errorf("it has no body, but a header %s", name)
		}
		for _, v := range values {
			if !printable(v) || !utf8.ValidString(v) { // JSON would put other letters for it
				return fmt.Errorf("its header %s has a control character, or is not UTF-8", quote(name))
			}
		}
	}
	return nil
}

// Decode takes the answer to a batch apart, in the order of the answer. Nothing is said there of how often
// an id comes, or whether it was sent: that is for [Match].
//
// What is needed is held strictly: the form itself, and an id and a status for each answer. What is not is
// taken as it comes: further members, members of a header that are none (they are left out), any order.
//
// If the form is broken, which a cut body is too, Decode returns no answers. If only some of the answers
// are (no id, a status that HTTP does not have, a body shorter than it says), it returns the others with the
// error, which names them: they were charged, and a done item is never sent again (R3). An error quotes no
// body and no header, and ids shortened and printable. More than 10,000 answers are refused.
//
// # Bodies in the graph form
//
// Graph's page says of bodies, for requests, that they are JSON or a URL-safe base64 value; for answers it
// says nothing. OData 4.01 says it for both: with a JSON media type the member is the JSON itself, with text/*
// a string of that text, with any other a string in URL-safe base64. Graph sends plain base64 (a JPEG
// begins with "/9", https://github.com/microsoftgraph/msgraph-sdk-dotnet/issues/728), and has been seen to
// send JSON in base64 too (https://learn.microsoft.com/en-us/answers/questions/1352007, after an upload). So:
//
//   - absent or null: no body;
//   - an object, a list, a number or a truth value: its bytes as they stand, whatever the Content-Type;
//   - a string with text/*: that text, in UTF-8 whatever the charset says;
//   - any other string: what it holds in base64, of either alphabet, padded or not;
//   - where it is no base64: with a JSON media type the string's own bytes, quotes included, since that is
//     the JSON; else its text.
//
// Neither page gives a way to tell a string that only looks like base64, or text/* that was sent as base64
// all the same. A size or a digest that the list has does.
//
// # Answers in the multipart form
//
// The id is in the part's Content-ID, as "response-" and the id that was sent, in angle brackets or (as
// Google has been seen to write it) without them. It is not taken from the place among the parts: one that
// is missing would shift all that follow.
func Decode(form, contentType string, body []byte) ([]Answer, error) {
	switch form {
	case graph:
		return decodeGraph(body)
	case multipart:
		return decodeMultipart(contentType, body)
	}
	return nil, unknownForm(form)
}

func unknownForm(form string) error {
	return fmt.Errorf("%s is no form of a batch: it is %q or %q", quote(form), graph, multipart)
}

func tooMany() error {
	return fmt.Errorf("the batch has more than %d answers", maxAnswers)
}

func checkID(id string) error {
	if id == "" {
		return errors.New("it has no id")
	}
	if len(id) > maxID {
		return fmt.Errorf("its id has %d bytes: at most %d", len(id), maxID)
	}
	if !utf8.ValidString(id) || strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return errors.New("its id cannot be printed")
	}
	return nil
}

// checkStatus holds a status to the final ones that HTTP has (RFC 9110, section 15): one below 200 is not
// the end of an answer, one above 599 is invalid.
func checkStatus(status int) error {
	if status < 200 || status > 599 {
		return fmt.Errorf("%d is no status of a final answer", status)
	}
	return nil
}

// faults gathers what is wrong with single answers. The first few are named, the others counted.
type faults struct {
	named []error
	more  int
}

const maxNamed = 5

func (f *faults) add(n int, id string, err error) {
	if len(f.named) == maxNamed {
		f.more++
		return
	}
	where := fmt.Sprintf("answer %d of the batch", n)
	if id != "" {
		where += ", " + quote(id)
	}
	f.named = append(f.named, fmt.Errorf("%s: %w", where, err))
}

func (f *faults) err() error {
	if f.more > 0 {
		return errors.Join(append(f.named, fmt.Errorf("%d more answers of the batch cannot be used", f.more))...)
	}
	return errors.Join(f.named...)
}

// quote is a foreign word, shortened and printable.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

func visible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// token says whether s can be a header's name (RFC 9110, section 5.6.2).
func token(s string) bool {
	return s != "" && visible(s) && !strings.ContainsAny(s, `"(),/:;<=>?@[\]{}`)
}

// printable says whether s can be a header's value.
func printable(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// addHeader adds what can be a header, and leaves out what cannot: nobody who writes the headers down or
// sends them on shall find a line break in them.
func addHeader(h http.Header, name, value string) {
	if value = strings.Trim(value, " \t"); token(name) && printable(value) {
		h.Add(name, value)
	}
}
