package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// An h2Conn carries plain HTTP/2 between net/http and the connection, and reads the frames
// that pass. net/http's errors for a connection that the server ends with GOAWAY are
// unexported, and tell neither which streams it took nor why.
type h2Conn struct {
	net.Conn
	wire    *meter
	settled chan struct{} // closed when the server's first SETTINGS were heeded, or the end came

	in, out frameScan // each belongs to who reads or writes

	mu      sync.Mutex
	state   settleState
	newest  uint32 // the highest stream whose HEADERS were given to the connection
	claimed uint32 // the highest stream that a request knows to be its own
	goAway  bool
	last    uint32 // the highest stream that the server may act on
	code    uint32 // of the GOAWAY that said so
	told    bool   // somebody heard that it was ENHANCE_YOUR_CALM
}

type settleState uint8

const (
	unsettled settleState = iota
	settling              // the SETTINGS were handed to net/http
	isSettled
)

const clientPreface = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

func newH2Conn(top net.Conn, wire *meter) *h2Conn {
	return &h2Conn{Conn: top, wire: wire, settled: make(chan struct{}), out: frameScan{skip: clientPreface}}
}

func (c *h2Conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	if c.state == settling {
		c.settle() // net/http reads on when it has done what it read
	}
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	c.in.scan(p[:n], nil, c.received)
	return n, err
}

func (c *h2Conn) received(f *frameScan) {
	switch {
	case f.kind() == frameSettings && f.flags()&flagAck == 0:
		c.mu.Lock()
		if c.state == unsettled {
			c.state = settling
		}
		c.mu.Unlock()
	case f.kind() == frameGoAway && f.n == len(f.payload):
		last := binary.BigEndian.Uint32(f.payload[:]) &^ (1 << 31)
		code := binary.BigEndian.Uint32(f.payload[4:])
		c.mu.Lock()
		if !c.goAway || last < c.last {
			c.last = last
		}
		if !c.goAway || c.code == codeNone {
			c.code = code
		}
		c.goAway = true
		c.mu.Unlock()
	}
}

func (c *h2Conn) Write(p []byte) (int, error) {
	c.out.scan(p, c.sending, nil)
	return c.Conn.Write(p)
}

func (c *h2Conn) sending(f *frameScan) {
	if f.kind() == frameHeaders {
		c.mu.Lock()
		c.newest = max(c.newest, f.stream())
		c.mu.Unlock()
	}
}

func (c *h2Conn) Close() error {
	c.mu.Lock()
	c.settle()
	c.mu.Unlock()
	return closeBoth(c.Conn, c.wire)
}

func (c *h2Conn) settle() {
	if c.state != isSettled {
		c.state = isSettled
		close(c.settled)
	}
}

// claim is the stream of the request whose head net/http has just tried to write; zero if
// nothing of it was given to the connection. net/http writes one head after the other, and
// says so before the next.
func (c *h2Conn) claim() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest == c.claimed {
		return 0
	}
	c.claimed = c.newest
	return c.claimed
}

// refused reports whether the server said that it does not act on a stream, and with which
// error code it ended the connection.
func (c *h2Conn) refused(stream uint32) (refused, ended bool, code uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goAway && stream > c.last, c.goAway, c.code
}

// leaving reports whether the server takes no new streams.
func (c *h2Conn) leaving() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goAway
}

// tell notes that an error says that the server asked for calm.
func (c *h2Conn) tell() {
	c.mu.Lock()
	c.told = c.goAway && c.code == codeCalm // else one stream was reset with it
	c.mu.Unlock()
}

// untold reports once whether the server asked for calm and nobody heard it.
func (c *h2Conn) untold() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	untold := c.goAway && c.code == codeCalm && !c.told
	c.told = true
	return untold
}

// Of RFC 9113, what is looked at.
const (
	frameHeaders  = 0x1
	frameSettings = 0x4
	frameGoAway   = 0x7
	flagAck       = 0x1

	codeNone     = 0x0
	codeProtocol = 0x1
	codeRefused  = 0x7
	codeCalm     = 0xb
)

// A frameScan follows the frames of one direction.
type frameScan struct {
	skip    int     // bytes before the first frame
	head    [9]byte // of the frame
	have    int     // how much of head is set
	left    int     // of the payload
	payload [8]byte // its beginning
	n       int     // how much of payload is set
}

func (f *frameScan) kind() byte     { return f.head[3] }
func (f *frameScan) flags() byte    { return f.head[4] }
func (f *frameScan) stream() uint32 { return binary.BigEndian.Uint32(f.head[5:]) &^ (1 << 31) }

// scan calls begun when it has the head of a frame, and ended when it has the whole of it.
func (f *frameScan) scan(p []byte, begun, ended func(*frameScan)) {
	skipped := min(f.skip, len(p))
	f.skip -= skipped
	for p = p[skipped:]; len(p) > 0; {
		if f.have < len(f.head) {
			n := copy(f.head[f.have:], p)
			f.have += n
			p = p[n:]
			if f.have < len(f.head) {
				return
			}
			f.left, f.n = int(f.head[0])<<16|int(f.head[1])<<8|int(f.head[2]), 0
			if begun != nil {
				begun(f)
			}
		}
		n := min(f.left, len(p))
		f.n += copy(f.payload[f.n:], p[:n])
		f.left -= n
		p = p[n:]
		if f.left == 0 {
			if ended != nil {
				ended(f)
			}
			f.have = 0
		}
	}
}

// A streamError is what net/http's own, unexported error for a stream turns into: its As
// method fills any struct with these fields, such as that of golang.org/x/net/http2.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "the HTTP/2 stream ended with " + codeName(e.Code) }

// h2Fault says what a failure of net/http's means for a stream; stream is zero if none was
// begun, and then refused is meaningless.
func (c *h2Conn) h2Fault(stream uint32, err error, limit int64) (fault error, refused bool) {
	refused, ended, code := c.refused(stream)
	if ended && code == codeCalm {
		return ErrCalm, refused
	}
	if se, ok := errors.AsType[streamError](err); ok {
		switch se.Code {
		case codeCalm:
			return ErrCalm, refused
		case codeRefused:
			return errors.New("the server refused the HTTP/2 stream"), true
		case codeProtocol:
			return fmt.Errorf("%w, or its head is larger than %d bytes", ErrMalformed, limit), refused
		}
		return errors.New(streamError{Code: se.Code}.Error()), refused
	}
	switch {
	case refused:
		return fmt.Errorf("the server ended the HTTP/2 connection (%s) and did not take the request", codeName(code)), true
	case ended:
		return fmt.Errorf("the server ended the HTTP/2 connection (%s): %w", codeName(code), io.ErrUnexpectedEOF), false
	}
	if err := shown(err); err != nil {
		return err, refused
	}
	return ErrMalformed, refused
}

func codeName(code uint32) string {
	names := [...]string{"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
		"STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR",
		"ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"}
	if code < uint32(len(names)) {
		return names[code]
	}
	return fmt.Sprintf("error %#x", code)
}
