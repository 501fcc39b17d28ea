package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func compress(coding, s string) string {
	var buf bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&buf)
	case "zlib":
		w = zlib.NewWriter(&buf)
	case "flate":
		w, _ = flate.NewWriter(&buf, 6)
	}
	io.WriteString(w, s)
	w.Close()
	return buf.String()
}

func TestDecode(t *testing.T) {
	text := strings.Repeat("hello, world\n", 1000)
	gz, zl, fl := compress("gzip", text), compress("zlib", text), compress("flate", text)
	for name, tc := range map[string]struct {
		coding []string
		body   string
		want   string
		plain  bool
		err    error
	}{
		"none":           {nil, text, text, true, nil},
		"identity":       {[]string{"identity"}, text, text, true, nil},
		"gzip":           {[]string{"gzip"}, gz, text, false, nil},
		"x-gzip":         {[]string{" X-GZIP "}, gz, text, false, nil},
		"two members":    {[]string{"gzip"}, gz + gz, text + text, false, nil},
		"zlib":           {[]string{"deflate"}, zl, text, false, nil},
		"flate":          {[]string{"deflate"}, fl, text, false, nil},
		"both":           {[]string{"deflate, gzip"}, compress("gzip", zl), text, false, nil},
		"both, apart":    {[]string{"deflate", "gzip"}, compress("gzip", zl), text, false, nil},
		"empty":          {[]string{"gzip"}, "", "", false, nil},
		"br":             {[]string{"br"}, "x", "", false, ErrCoding},
		"three":          {[]string{"gzip, gzip, gzip"}, "x", "", false, ErrCoding},
		"no gzip":        {[]string{"gzip"}, text, "", false, gzip.ErrHeader},
		"gzip in head":   {[]string{"gzip"}, gz[:5], "", false, io.ErrUnexpectedEOF},
		"gzip cut":       {[]string{"gzip"}, gz[:len(gz)-1], text, false, io.ErrUnexpectedEOF},
		"gzip and more":  {[]string{"gzip"}, gz + canary + canary, text, false, gzip.ErrHeader},
		"zlib cut":       {[]string{"deflate"}, zl[:len(zl)-1], text, false, io.ErrUnexpectedEOF},
		"zlib and more":  {[]string{"deflate"}, zl + canary, text, false, errAny},
		"flate cut":      {[]string{"deflate"}, fl[:len(fl)-1], "", false, io.ErrUnexpectedEOF},
		"flate and more": {[]string{"deflate"}, fl + canary, text, false, errAny},
		"wrong sum":      {[]string{"gzip"}, gz[:len(gz)-8] + "12345678", text, false, gzip.ErrChecksum},
	} {
		for _, slow := range []bool{false, true} {
			var body io.Reader = strings.NewReader(tc.body)
			if slow {
				body = iotest.OneByteReader(body)
			}
			resp := &http.Response{Header: http.Header{"Content-Encoding": tc.coding}, Body: io.NopCloser(body)}
			r, coded, err := Decode(resp)
			var got []byte
			if err == nil {
				got, err = io.ReadAll(r)
			}
			if coded == tc.plain {
				t.Errorf("%s: coded is %v", name, coded)
			}
			if !errors.Is(err, tc.err) && (err == nil || tc.err != errAny) {
				t.Errorf("%s: error is %v, want %v", name, err, tc.err)
			}
			if tc.want != "" && string(got) != tc.want {
				t.Errorf("%s: got %d bytes, want %d", name, len(got), len(tc.want))
			}
			if err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("%s: error shows the body: %v", name, err)
			}
		}
	}
}

var errAny = errors.New("any error")

// The error of a body that is cut comes through the coding.
func TestDecodeCutBody(t *testing.T) {
	gz := compress("gzip", strings.Repeat(canary, 1000))
	s := h1Server(t, func(int, *http.Request) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(gz)+1, gz) + hangUp
	})
	resp, err := send(t, newWire(t, Config{}), s.url)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := Decode(resp)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(r)
	wantError(t, err, Unknown, io.ErrUnexpectedEOF)
	if got, want := Received(resp), int64(len(gz)); got != want {
		t.Errorf("received %d bytes, want %d", got, want)
	}
}

// Nothing is read, nor decoded, before somebody reads: a bomb is as large as its reader lets it be.
func TestDecodeIsLazy(t *testing.T) {
	bomb := strings.NewReader(compress("gzip", compress("gzip", strings.Repeat("\x00", 4<<20))))
	size := bomb.Len()
	r, _, err := Decode(&http.Response{Header: http.Header{"Content-Encoding": {"gzip, gzip"}}, Body: io.NopCloser(bomb)})
	if err != nil {
		t.Fatal(err)
	}
	if bomb.Len() != size {
		t.Errorf("%d bytes were read", size-bomb.Len())
	}
	if n, err := io.CopyN(io.Discard, r, 1<<20); n != 1<<20 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
}
