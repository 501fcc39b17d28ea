package batch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	multi "mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

const (
	partType = "application/http"
	answered = "response-" // stands before the id in an answer
)

// encodeMultipart writes a part for each item: its own headers, then the request as HTTP has it. The
// boundary is random, 240 bits of crypto/rand, and so is in no item.
func encodeMultipart(items []Item) (string, []byte, error) {
	var b bytes.Buffer
	w := multi.NewWriter(&b)
	for _, item := range items {
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {partType}, "Content-Id": {"<" + item.ID + ">"}})
		if err != nil {
			return "", nil, fmt.Errorf("write the batch: %w", err)
		}
		var head strings.Builder
		fmt.Fprintf(&head, "GET %s HTTP/1.1\r\n", item.URL)
		for _, name := range slices.Sorted(maps.Keys(item.Header)) {
			for _, v := range item.Header[name] {
				fmt.Fprintf(&head, "%s: %s\r\n", name, v)
			}
		}
		head.WriteString("\r\n")
		if _, err := io.WriteString(part, head.String()); err != nil {
			return "", nil, fmt.Errorf("write the batch: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return "", nil, fmt.Errorf("write the batch: %w", err)
	}
	return mime.FormatMediaType("multipart/mixed", map[string]string{"boundary": w.Boundary()}), b.Bytes(), nil
}

// decodeMultipart reads an answer from each part.
func decodeMultipart(contentType string, body []byte) ([]Answer, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, errors.New("the answer to the batch has no Content-Type that can be read")
	}
	if !strings.HasPrefix(kind, "multipart/") {
		return nil, fmt.Errorf("the answer to the batch is %s, not multipart/mixed", quote(kind))
	}
	if params["boundary"] == "" {
		return nil, errors.New("the answer to the batch is multipart, but its Content-Type has no boundary")
	}
	// The reader takes a cut in the headers of a part for the end.
	if last := "--" + params["boundary"] + "--"; !bytes.HasPrefix(body, []byte(last)) && !bytes.Contains(body, []byte("\n"+last)) {
		return nil, errors.New("the answer to the batch is cut, or no multipart: its last boundary is not there")
	}
	var answers []Answer
	var bad faults
	r := multi.NewReader(bytes.NewReader(body), params["boundary"])
	for n := 1; ; n++ {
		p, err := r.NextRawPart()
		if err == io.EOF { // as it is: wrapped, it is a cut
			return answers, bad.err()
		}
		if err != nil {
			return nil, fmt.Errorf("the answer to the batch is no multipart any more after %d parts", n-1)
		}
		if n > maxAnswers {
			return nil, tooMany()
		}
		message, err := io.ReadAll(p)
		if err != nil {
			return nil, fmt.Errorf("the answer to the batch breaks off in part %d", n)
		}
		id, err := partID(p.Header)
		if err != nil {
			bad.add(n, "", err)
			continue
		}
		a, err := httpAnswer(id, p.Header, message)
		if err != nil {
			bad.add(n, id, err)
			continue
		}
		answers = append(answers, a)
	}
}

// partID is the id that a part answers.
func partID(h textproto.MIMEHeader) (string, error) {
	values := h["Content-Id"]
	if len(values) == 0 {
		return "", errors.New("its part has no Content-ID")
	}
	if len(values) > 1 {
		return "", fmt.Errorf("its part has %d Content-IDs", len(values))
	}
	id := strings.TrimSpace(values[0])
	if inner, ok := strings.CutPrefix(id, "<"); ok {
		if id, ok = strings.CutSuffix(inner, ">"); !ok {
			return "", errors.New("its Content-ID has one bracket")
		}
	}
	id = cutPrefix(id)
	return id, checkID(id)
}

// cutPrefix takes off what an answer puts before the id.
func cutPrefix(id string) string {
	if len(id) >= len(answered) && strings.EqualFold(id[:len(answered)], answered) {
		return id[len(answered):]
	}
	return id
}

// httpAnswer reads the HTTP response in a part.
func httpAnswer(id string, part textproto.MIMEHeader, message []byte) (Answer, error) {
	kind, _, _ := strings.Cut(part.Get("Content-Type"), ";")
	if kind = strings.TrimSpace(kind); kind != "" && !strings.EqualFold(kind, partType) {
		return Answer{}, fmt.Errorf("its part is %s, not %s", quote(kind), partType)
	}
	switch strings.ToLower(part.Get("Content-Transfer-Encoding")) {
	case "", "binary", "8bit", "7bit":
	default:
		return Answer{}, errors.New("its part has a Content-Transfer-Encoding")
	}
	r := bufio.NewReader(bytes.NewReader(bytes.TrimLeft(message, "\r\n")))
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return Answer{}, errors.New("its part holds no HTTP response that can be read")
	}
	defer resp.Body.Close()
	if err := checkStatus(resp.StatusCode); err != nil {
		return Answer{}, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("its body ends after %d bytes, before it should", len(body))
	}
	// A line break before the next boundary is the part's. More than that, and the length was wrong.
	rest, err := io.ReadAll(r)
	if none := resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified; !none && (err != nil || len(bytes.TrimSpace(rest)) > 0) {
		return Answer{}, fmt.Errorf("its body goes on for %d bytes after its end", len(rest))
	}
	h := http.Header{}
	for name, values := range resp.Header {
		for _, v := range values {
			addHeader(h, name, v)
		}
	}
	return Answer{id, resp.StatusCode, h, body}, nil
}
