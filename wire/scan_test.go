package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// FuzzAnswerEnd: where this package sees the end of an answer, net/http does too, however the
// bytes are cut into reads.
func FuzzAnswerEnd(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nmore",
		"HTTP/1.1 103 X\r\n\r\nHTTP/1.1 204 X\n\nmore", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2;a\nok\r\n0\r\nA: b\r\n\r\nHTTP/1.1 200 OK",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1  100 X\r\n A: b\r\n\r\nHTTP/1.1 304 X\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n00000000000000002\r\nok\r\n0\r\n\r\n", "HTTP/1.1 101 X\r\n\r\nmore",
	} {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 7)
	}
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		if step < 1 || step > 1<<16 {
			return
		}
		// net/http's view.
		br := bufio.NewReaderSize(bytes.NewReader(data), 1<<16)
		resp, err := http.ReadResponse(br, nil)
		for err == nil && resp.StatusCode/100 == 1 && resp.StatusCode != 101 {
			resp, err = http.ReadResponse(br, nil)
		}
		if err != nil || resp.Body == nil {
			return
		}
		headEnd := len(data) - br.Buffered()
		if len(data) > 1<<16 || resp.StatusCode == 101 {
			return
		}
		// Ours.
		var h headScan
		used, end := 0, false
		for used < len(data) && !end {
			var n int
			n, end = h.scan(data[used:min(used+step, len(data))])
			used += n
		}
		if !end || used != headEnd || !h.http() {
			t.Fatalf("head of %q ends at %d (%v, %v), want %d", data, used, end, h.http(), headEnd)
		}
		if len(resp.TransferEncoding) == 0 {
			return
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return
		}
		bodyEnd := len(data) - br.Buffered()
		var c chunkScan
		end = false
		for used < len(data) && !end {
			var n int
			n, end = c.scan(data[used:min(used+step, len(data))])
			used += n
		}
		if !end || used != bodyEnd {
			t.Fatalf("body of %q ends at %d (%v), want %d", data, used, end, bodyEnd)
		}
	})
}

func TestFrameScan(t *testing.T) {
	var buf bytes.Buffer
	buf.WriteString(http2.ClientPreface)
	fr := http2.NewFramer(&buf, nil)
	fr.WriteSettings()
	fr.WriteSettings(http2.Setting{ID: 3, Val: 9}, http2.Setting{ID: 4, Val: 9})
	fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, BlockFragment: make([]byte, 1000), EndHeaders: true})
	fr.WriteData(5, false, nil)
	fr.WriteData(5, true, make([]byte, 5000))
	fr.WriteGoAway(7, http2.ErrCodeEnhanceYourCalm, []byte(canary))
	fr.WriteSettingsAck()
	want := []byte{frameSettings, frameSettings, frameHeaders, 0, 0, frameGoAway, frameSettings}
	for _, step := range []int{1, 2, 8, 9, 10, 4096, 1 << 20} {
		var begun, ended []byte
		f := frameScan{skip: clientPreface}
		for part := range slices.Chunk(buf.Bytes(), step) {
			f.scan(part, func(f *frameScan) { begun = append(begun, f.kind()) }, func(f *frameScan) {
				ended = append(ended, f.kind())
				if f.kind() == frameGoAway && (f.n != 8 || f.payload != [8]byte{3: 7, 7: codeCalm}) {
					t.Errorf("in steps of %d: GOAWAY is %v", step, f.payload)
				}
				if f.kind() == frameHeaders && f.stream() != 5 {
					t.Errorf("in steps of %d: HEADERS of %d", step, f.stream())
				}
			})
		}
		if !bytes.Equal(begun, want) || !bytes.Equal(ended, want) {
			t.Errorf("in steps of %d: begun %v, ended %v, want %v", step, begun, ended, want)
		}
	}
}

func TestHeadScanStopsAtTheHead(t *testing.T) {
	var h headScan
	text := "HTTP/1.1 103 X\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
	if used, end := h.scan([]byte(text + strings.Repeat("x", 100))); used != len(text) || !end {
		t.Errorf("scan = %d, %v; want %d", used, end, len(text))
	}
}
