package wire

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A peer is the server's end of one HTTP/2 connection, frame by frame.
type peer struct {
	*http2.Framer
	nc       net.Conn
	fragment []byte // of the head that is being answered
}

// h2Server calls answer for the head of each request, one after the other, with the number
// of its connection and of the request on it, both counted from 0. The connection ends when
// answer returns false, or when the client hangs up.
func h2Server(t testing.TB, settings []http2.Setting, answer func(p *peer, conn, nth int, stream uint32) bool) (*server, *tls.Config) {
	identity, trust := identityOf(t)
	identity.NextProtos = []string{"h2"}
	ln := tls.NewListener(listenTCP(t), identity)
	s := &server{url: "https://" + ln.Addr().String()}
	listen(t, ln, func(nc net.Conn) {
		conn := int(s.conns.Add(1)) - 1
		p := newPeer(nc, settings)
		for nth := 0; p != nil; {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
			if h, ok := f.(*http2.HeadersFrame); ok {
				s.arrivals.Add(1)
				p.fragment = h.HeaderBlockFragment()
				if !answer(p, conn, nth, h.StreamID) {
					return
				}
				nth++
			}
		}
	})
	return s, trust
}

// newPeer does what a connection begins with; nil if the client does not.
func newPeer(nc net.Conn, settings []http2.Setting) *peer {
	preface := make([]byte, clientPreface)
	if _, err := io.ReadFull(nc, preface); err != nil || string(preface) != http2.ClientPreface {
		return nil
	}
	p := &peer{Framer: http2.NewFramer(nc, nc), nc: nc}
	p.WriteSettings(settings...)
	return p
}

func (p *peer) head(stream uint32, end bool, fields ...string) {
	var buf bytes.Buffer
	enc := hpack.NewEncoder(&buf)
	for i := 0; i < len(fields); i += 2 {
		enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	block := buf.Bytes()
	n := min(len(block), 16<<10)
	p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block[:n], EndStream: end, EndHeaders: n == len(block)})
	for block = block[n:]; len(block) > 0; block = block[n:] {
		n = min(len(block), 16<<10)
		p.WriteContinuation(stream, n == len(block), block[:n])
	}
}

func (p *peer) ok(stream uint32) bool {
	p.head(stream, false, ":status", "200")
	p.WriteData(stream, true, []byte("ok"))
	return true
}

// drain reads until the client hangs up.
func (p *peer) drain() bool {
	for {
		if _, err := p.ReadFrame(); err != nil {
			return false
		}
	}
}

// hangUp ends the connection in a way that loses nothing that was written before.
func (p *peer) hangUp() bool {
	p.nc.(*tls.Conn).CloseWrite()
	return p.drain()
}
