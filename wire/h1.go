package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An h1Conn carries plain HTTP/1.1 between net/http and the connection. It keeps the facts
// that decide a request's fate, and never hands on more than the answer that is being read:
// net/http buffers ahead, and prints to the standard log whatever follows an answer.
type h1Conn struct {
	net.Conn
	wire  *meter
	began time.Time
	moved atomic.Int64 // when bytes last went either way, as time since began

	mu      sync.Mutex
	decided sync.Cond // on leaving held
	phase   phase
	closed  bool
	head    headScan
	left    int64 // of a body of known length
	chunks  chunkScan
	rest    []byte // read with the head, and not handed on yet
	surplus bool   // there was more than the answers
	wrote   bool   // a byte of this request was given to the connection
	sent    int64  // the meter when this request began
	read    int64  // bytes of this answer
	readErr error
	sendErr error
}

// A phase is what the next byte from the server belongs to.
type phase uint8

const (
	between phase = iota // nothing: no request is out
	inHead
	held // the head is read, and net/http has not said yet what follows
	inBody
	inChunks
	toEnd // a body that ends with the connection
)

func newH1Conn(top net.Conn, wire *meter, began time.Time) *h1Conn {
	c := &h1Conn{Conn: top, wire: wire, began: began}
	c.decided.L = &c.mu
	return c
}

// begin says that a request will be written. It fails if the connection is not clean.
func (c *h1Conn) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.surplus || c.closed || c.phase != between {
		return errCut
	}
	c.phase, c.head, c.wrote, c.sent, c.read = inHead, headScan{}, false, c.wire.sent.Load(), 0
	c.readErr, c.sendErr = nil, nil
	return nil
}

// follow says what comes after the head that was read.
func (c *h1Conn) follow(resp *http.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case resp.Body == http.NoBody:
		c.left = 0
		c.phase = between
	case resp.ContentLength >= 0:
		c.left = resp.ContentLength
		c.phase = inBody
	case len(resp.TransferEncoding) > 0:
		c.chunks = chunkScan{}
		c.phase = inChunks
	default:
		c.phase = toEnd
	}
	if c.phase <= inBody && int64(len(c.rest)) > c.left {
		c.surplus = true
		c.rest = c.rest[:c.left]
	}
	c.decided.Broadcast()
}

// Read is called by one goroutine at a time.
func (c *h1Conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	for c.phase == held && !c.closed {
		c.decided.Wait()
	}
	if c.surplus && c.phase == between {
		c.mu.Unlock()
		return 0, io.EOF
	}
	if c.phase == inBody && int64(len(p)) > c.left {
		p = p[:c.left]
	}
	if len(c.rest) > 0 {
		defer c.mu.Unlock()
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return c.took(p[:n]), nil
	}
	c.mu.Unlock()

	n, err := c.Conn.Read(p)
	if n > 0 {
		c.moved.Store(int64(time.Since(c.began)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readErr = err
	if n > 0 && (c.phase == between || c.phase == inHead && !c.wrote) {
		c.surplus = true // nobody asked
		return 0, io.EOF
	}
	return c.took(p[:n]), err
}

// took decides how many of the bytes that were read may be handed on now.
func (c *h1Conn) took(p []byte) int {
	n := len(p)
	c.read += int64(n)
	switch c.phase {
	case inHead:
		used, end := c.head.scan(p)
		if end {
			c.rest = append(c.rest[:0], p[used:]...)
			c.read -= int64(n - used)
			c.phase = held
		}
		return used
	case inBody:
		if c.left -= int64(n); c.left == 0 {
			c.phase = between
		}
	case inChunks:
		used, end := c.chunks.scan(p)
		if end {
			c.surplus = used < n || len(c.rest) > 0
			c.rest = nil
			c.phase = between
		}
		return used
	}
	return n
}

func (c *h1Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.wrote = true
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	if n > 0 {
		c.moved.Store(int64(time.Since(c.began)))
	}
	if err != nil {
		c.mu.Lock()
		c.sendErr = err
		c.mu.Unlock()
	}
	return n, err
}

func (c *h1Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.decided.Broadcast()
	given := c.phase == inHead && c.wrote
	c.mu.Unlock()
	if tcp, ok := c.wire.Conn.(*net.TCPConn); ok && given {
		// A request that was given up must not arrive later: the kernel forgets what was not
		// acknowledged.
		_ = tcp.SetLinger(0)
	}
	return closeBoth(c.Conn, c.wire)
}

// spoilt reports whether the server sent what was no answer.
func (c *h1Conn) spoilt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.surplus
}

// untouched reports whether nothing of the request left. net/http no longer writes.
func (c *h1Conn) untouched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.wrote || c.wire.sent.Load() == c.sent
}

// headFault says why no head of an answer could be read, by what the connection saw.
func (c *h1Conn) headFault(limit int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.phase == inHead && c.read == 0:
		for _, err := range []error{c.sendErr, c.readErr} {
			if err := shown(err); err != nil && !errors.Is(err, net.ErrClosed) {
				return err
			}
		}
		if !c.wrote {
			return errUnwritten
		}
		return errCut
	case !c.head.http():
		return ErrNotHTTP
	case c.phase == inHead && c.read >= limit:
		return fmt.Errorf("%w: its head is larger than %d bytes", ErrMalformed, limit)
	case c.phase == inHead && c.readErr != nil:
		if err := shown(c.readErr); err != nil {
			return err
		}
		return errCut
	default:
		return fmt.Errorf("%w: its head cannot be read", ErrMalformed)
	}
}

// bodyFault says why the body could not be read to its end; nil for a body that was.
func (c *h1Conn) bodyFault(known bool, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == io.EOF {
		if known && c.surplus {
			return fmt.Errorf("%w: its body is longer than its Content-Length", ErrMalformed)
		}
		return nil
	}
	for _, err := range []error{err, c.readErr} {
		if errors.Is(err, net.ErrClosed) {
			continue // net/http hung up, for a reason
		}
		if err := shown(err); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: its transfer coding cannot be read", ErrMalformed)
}

// A headScan finds the end of the head of an answer, past those that are informational, by
// the lines that net/http would see.
type headScan struct {
	first [16]byte // the beginning of the status line
	n     int      // how much of first is set
	later bool     // past the status line
	size  int      // of the line so far
	cr    bool     // the line so far is a carriage return
}

// scan reports how many bytes of p belong to heads, and whether the last head ended there.
func (h *headScan) scan(p []byte) (used int, end bool) {
	for used < len(p) {
		line, _, whole := bytes.Cut(p[used:], []byte{'\n'})
		if !h.later {
			h.n += copy(h.first[h.n:], line)
		}
		if h.size == 0 && len(line) > 0 {
			h.cr = line[0] == '\r'
		}
		h.size += len(line)
		used += len(line)
		if !whole {
			return used, false
		}
		used++
		if h.size == 0 || h.size == 1 && h.cr {
			if !h.informational() {
				return used, true
			}
			*h = headScan{}
			continue
		}
		h.later, h.size = true, 0
	}
	return used, false
}

// http reports whether the head began like one.
func (h *headScan) http() bool {
	return strings.HasPrefix("HTTP/", string(h.first[:min(h.n, 5)]))
}

func (h *headScan) informational() bool {
	_, status, _ := bytes.Cut(h.first[:h.n], []byte{' '})
	status = bytes.TrimLeft(status, " ")
	return len(status) >= 3 && status[0] == '1' && string(status[:3]) != "101"
}

// A chunkScan finds the end of a chunked body.
type chunkScan struct {
	state chunkState
	size  int64 // of the chunk, or what is left of it
	any   bool  // of the line so far: a digit of the size; of a trailer: a character
}

type chunkState uint8

const (
	chunkSize chunkState = iota
	chunkExtension
	chunkData
	chunkDataEnd
	chunkTrailer
	chunkBroken // net/http finds the same fault
)

// scan reports how many bytes of p belong to the body, and whether it ended there.
func (c *chunkScan) scan(p []byte) (used int, end bool) {
	for used < len(p) {
		b := p[used]
		switch c.state {
		case chunkSize:
			digit := bytes.IndexByte([]byte("0123456789abcdef"), lower(b))
			switch {
			case digit >= 0 && c.size < 1<<58:
				c.size, c.any = c.size<<4|int64(digit), true
			case digit >= 0 || !c.any:
				c.state = chunkBroken
			case b == '\n':
				c.sized()
			default:
				c.state = chunkExtension
			}
		case chunkExtension:
			if b == '\n' {
				c.sized()
			}
		case chunkData:
			n := int(min(c.size, int64(len(p)-used)))
			used += n
			if c.size -= int64(n); c.size == 0 {
				c.state = chunkDataEnd
			}
			continue
		case chunkDataEnd:
			if b == '\n' {
				*c = chunkScan{}
			}
		case chunkTrailer:
			if b == '\n' {
				if !c.any {
					return used + 1, true
				}
				c.any = false
			} else if b != '\r' {
				c.any = true
			}
		case chunkBroken:
			return len(p), false
		}
		used++
	}
	return used, false
}

// sized is at the end of the line with the size of a chunk.
func (c *chunkScan) sized() {
	c.any = false
	if c.state = chunkData; c.size == 0 {
		c.state = chunkTrailer
	}
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
