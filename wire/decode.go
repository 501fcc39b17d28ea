package wire

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ErrCoding is matched by what Decode returns for a content coding that it does not know.
var ErrCoding = errors.New("an unknown content coding")

// Decode undoes the content coding of an answer as its body is read, and reports whether
// there is one. It knows gzip and deflate. Nothing is read before the reader is, and no
// more than that needs: how large the result may become is the reader's to bound.
//
// The reader ends with io.EOF only where both the coding and the body ended.
func Decode(resp *http.Response) (r io.Reader, coded bool, err error) {
	r = resp.Body
	var codings []string
	for _, field := range resp.Header.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(field, ",") {
			if coding = strings.ToLower(strings.TrimSpace(coding)); coding != "" && coding != "identity" {
				codings = append(codings, coding)
			}
		}
	}
	if len(codings) > 2 {
		return nil, true, fmt.Errorf("%w: %d codings on top of each other", ErrCoding, len(codings))
	}
	for i := len(codings) - 1; i >= 0; i-- { // the last was put on last
		switch codings[i] {
		case "gzip", "x-gzip":
			r = &decoder{raw: bufio.NewReader(r), open: openGzip}
		case "deflate":
			r = &decoder{raw: bufio.NewReader(r), open: openDeflate}
		default:
			return nil, true, ErrCoding // not by its name, which is the server's
		}
	}
	return r, len(codings) > 0, nil
}

// A decoder opens its coding when it is first read.
type decoder struct {
	raw  *bufio.Reader
	open func(*bufio.Reader) (io.Reader, error)
	r    io.Reader
	err  error
}

func (d *decoder) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.r == nil {
		if _, err := d.raw.Peek(1); err != nil {
			d.err = err // an empty body is coded by nothing
			return 0, err
		}
		if d.r, d.err = d.open(d.raw); d.err != nil {
			return 0, d.cut()
		}
	}
	n, err := d.r.Read(p)
	if err == io.EOF {
		if _, err = d.raw.Peek(1); err == nil {
			err = errors.New("bytes follow the end of the content coding")
		}
	} else if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	d.err = err
	return n, err
}

// cut makes an end within the coding's own header an unexpected one.
func (d *decoder) cut() error {
	if d.err == io.EOF {
		d.err = io.ErrUnexpectedEOF
	}
	return d.err
}

func openGzip(raw *bufio.Reader) (io.Reader, error) { return gzip.NewReader(raw) }

// openDeflate reads what RFC 9110 calls deflate, in a zlib wrapper, and what some servers
// send under that name, without one.
func openDeflate(raw *bufio.Reader) (io.Reader, error) {
	head, err := raw.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(raw)
	}
	return flate.NewReader(raw), nil
}
