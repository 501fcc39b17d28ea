package standin

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/dogear/dogear/drill/journal"
)

// An Act is what an HTTP/2 service does with one stream.
type Act uint8

const (
	Serve   Act = iota // the document
	Refused            // RST_STREAM, REFUSED_STREAM: surely not acted on
	Calm               // RST_STREAM, ENHANCE_YOUR_CALM: a throttle without a hint
	GoAway             // GOAWAY that leaves this stream out, and the connection's end
	Vanish             // the connection's end without a word
)

// H2 is a service that speaks HTTP/2 frame by frame, for what a server library would not do.
type H2 struct {
	Journal *journal.Journal

	cert *Certificate
	l    net.Listener
	act  func(path string, try int) Act
	all  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	n     int64
}

// StartH2 starts a service whose act decides on each stream; try is how many requests for
// the same path came before.
func StartH2(act func(path string, try int) Act) (*H2, error) {
	cert, err := NewCertificate()
	if err != nil {
		return nil, err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert.pair}, NextProtos: []string{"h2"}})
	if err != nil {
		return nil, err
	}
	s := &H2{Journal: &journal.Journal{}, cert: cert, l: l, act: act, conns: map[net.Conn]bool{}}
	s.all.Go(s.accept)
	return s, nil
}

// URL is the address of a path at the service.
func (s *H2) URL(path string) string { return "https://" + s.l.Addr().String() + path }

// CA is the certificate to trust, in PEM.
func (s *H2) CA() []byte { return s.cert.pem }

// Close ends the service.
func (s *H2) Close() error {
	err := s.l.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.all.Wait()
	return err
}

func (s *H2) accept() {
	for {
		c, err := s.l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.n++
		n := s.n
		s.mu.Unlock()
		s.all.Go(func() {
			defer func() {
				c.Close()
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			}()
			s.talk(c, n)
		})
	}
}

// talk answers the streams of one connection, one after the other.
func (s *H2) talk(c net.Conn, n int64) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 100}) != nil {
		return
	}
	var last uint32 // the last stream that was acted on
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() && f.WriteSettingsAck() != nil {
				return
			}
		case *http2.PingFrame:
			if !frame.IsAck() && f.WritePing(true, frame.Data) != nil {
				return
			}
		case *http2.MetaHeadersFrame:
			if !s.stream(f, frame, n, &last) {
				return
			}
		}
	}
}

// stream deals with one stream, and reports false where the connection is over.
func (s *H2) stream(f *http2.Framer, head *http2.MetaHeadersFrame, conn int64, last *uint32) bool {
	a, try := s.arrive(head, conn)
	defer s.Journal.Finish(a)
	switch s.act(a.Path, try) {
	case Refused:
		return f.WriteRSTStream(head.StreamID, http2.ErrCodeRefusedStream) == nil
	case Calm:
		*last = head.StreamID
		return f.WriteRSTStream(head.StreamID, http2.ErrCodeEnhanceYourCalm) == nil
	case GoAway:
		_ = f.WriteGoAway(*last, http2.ErrCodeNo, nil)
		for { // what the client still says must not reset what was said to it
			frame, err := f.ReadFrame()
			if err != nil {
				return false
			}
			if late, ok := frame.(*http2.MetaHeadersFrame); ok {
				b, _ := s.arrive(late, conn)
				s.Journal.Finish(b)
			}
		}
	case Vanish:
		return false
	}
	*last = head.StreamID
	n, ok := number(a.Path)
	if !ok {
		return s.answer(f, head.StreamID, a, http.StatusNotFound, nil, "")
	}
	return s.answer(f, head.StreamID, a, http.StatusOK, Body(n), ETag(n, Size(n), 0))
}

// arrive writes a request down; unless it is answered, it was cut.
func (s *H2) arrive(head *http2.MetaHeadersFrame, conn int64) (a *journal.Arrival, try int) {
	a = &journal.Arrival{At: time.Now(), Kind: journal.Other, Method: head.PseudoValue("method"), Path: head.PseudoValue("path"),
		Proto: "HTTP/2.0", Conn: conn, End: journal.Cut}
	if n, ok := number(a.Path); ok {
		a.Kind, a.Document = journal.Read, n
	}
	return a, s.Journal.Add(a)
}

func (s *H2) answer(f *http2.Framer, stream uint32, a *journal.Arrival, status int, body []byte, tag string) bool {
	began, size := time.Now(), int64(len(body))
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	fields := []hpack.HeaderField{{Name: ":status", Value: strconv.Itoa(status)}, {Name: "content-length", Value: strconv.Itoa(len(body))}}
	if tag != "" {
		fields = append(fields, hpack.HeaderField{Name: "etag", Value: tag})
	}
	for _, h := range fields {
		_ = enc.WriteField(h) // into memory
	}
	err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: len(body) == 0})
	for err == nil && len(body) > 0 {
		n := min(len(body), 16<<10)
		err = f.WriteData(stream, n == len(body), body[:n])
		body = body[n:]
	}
	now := time.Now()
	s.Journal.Change(func() {
		a.Status, a.End = status, journal.Gone
		if err == nil {
			a.Began, a.Sent, a.End = began, now, journal.Sent
			a.Bytes, a.Size, a.Whole = size, size, status == http.StatusOK
		}
	})
	return err == nil
}
