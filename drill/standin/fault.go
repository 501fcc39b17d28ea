package standin

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// Half of a body, for faults that come after some of its bytes.
const Half = -1

// onBody is a rule about the bytes of a document. Where a signed link brings them, it is what
// the link does when it is first used.
func onBody(rule Rule) Rule {
	return func(x *Exchange) bool {
		if x.doc == nil {
			return false
		}
		if links := x.Service.cfg.Links; links != nil {
			links.redirect(x, rule)
			return true
		}
		return rule(x)
	}
}

// part sends the head of the whole document and n bytes of its body.
func (x *Exchange) part(n int) {
	body := x.Body()
	if n == Half {
		n = len(body) / 2
	}
	x.head(body)
	x.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.good = true
	x.write(body[:min(n, len(body))])
	x.flush()
}

func (x *Exchange) write(b []byte) {
	if x.R.Method != http.MethodHead {
		_, _ = x.W.Write(b) // a client that has gone is journalled as such
	}
}

func (x *Exchange) flush() { _ = http.NewResponseController(x.W).Flush() }

// abort ends the answer where it is: with the connection, or with the stream over HTTP/2.
func (x *Exchange) abort() {
	x.ended(journal.Cut)
	panic(http.ErrAbortHandler)
}

// Cut sends n bytes of the body and closes the connection.
func Cut(n int) Rule {
	return onBody(func(x *Exchange) bool {
		x.fault("cut")
		x.part(n)
		x.abort()
		return true
	})
}

// Reset sends n bytes of the body and resets the connection.
func Reset(n int) Rule {
	return onBody(func(x *Exchange) bool {
		x.fault("reset")
		x.part(n)
		if c, ok := x.R.Context().Value(connKey{}).(connection); ok && x.R.ProtoMajor == 1 {
			reset(c.Conn)
		}
		x.abort()
		return true
	})
}

// CutChunked sends n bytes of the body without a length, and closes before the end of its
// coding.
func CutChunked(n int) Rule {
	return onBody(func(x *Exchange) bool {
		x.fault("cut")
		body := x.Body()
		x.write(body[:min(n, len(body))])
		x.flush()
		x.abort()
		return true
	})
}

// Shorter says the body's length and sends n bytes less.
func Shorter(n int) Rule {
	return onBody(func(x *Exchange) bool {
		x.fault("short")
		x.part(max(0, x.doc.size-n))
		x.ended(journal.Cut)
		return true
	})
}

// WrongDigest sends wrong bytes under the right digest.
func WrongDigest(x *Exchange) bool { return wrongDigest(x) }

var wrongDigest = onBody(func(x *Exchange) bool {
	x.fault("digest")
	body := x.Body()
	modified := x.head(body)
	setUnlessSet(x.W.Header(), "Repr-Digest", digest(body))
	for i := range body {
		body[i] ^= 0xff
	}
	x.content(body, modified)
	return true
})

// Slow sends the body in pieces of n bytes, one each pause. Zero: in ten pieces.
func Slow(n int, pause time.Duration) Rule {
	return onBody(func(x *Exchange) bool {
		x.fault("slow")
		body := x.Body()
		x.head(body)
		x.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
		x.good = true
		size := n
		if size == 0 {
			size = max(1, (len(body)+9)/10)
		}
		for {
			k := min(size, len(body))
			x.write(body[:k])
			x.flush()
			if body = body[k:]; len(body) == 0 {
				return true
			}
			x.pause(pause)
		}
	})
}

// pause waits for d. Where nobody waits for the answer any more, it is given up.
func (x *Exchange) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-x.R.Context().Done():
		x.ended(journal.Gone)
		panic(http.ErrAbortHandler)
	case <-x.Service.quit:
		x.abort()
	}
}

// Delay lets a request wait before the rules after this one see it.
func Delay(d time.Duration) Rule {
	return func(x *Exchange) bool {
		x.fault("delay")
		x.pause(d)
		return false
	}
}

// Hang answers nothing.
func Hang(x *Exchange) bool {
	x.fault("hang")
	x.hang()
	return true
}

func (x *Exchange) hang() {
	select {
	case <-x.R.Context().Done():
		x.ended(journal.Gone)
	case <-x.Service.quit:
	}
	x.abort()
}

// HangAfter sends the head and n bytes of the body, and no more.
func HangAfter(n int) Rule {
	return onBody(func(x *Exchange) bool {
		x.fault("hang")
		x.part(n)
		x.hang()
		return true
	})
}

// ChangeAfter sends n bytes of the body, cuts it, and gives the document another version.
func ChangeAfter(n int) Rule {
	return onBody(func(x *Exchange) bool {
		x.fault("change")
		defer x.doc.owner.Change(x.doc.n)
		x.part(n)
		x.abort()
		return true
	})
}

// reset makes the end of a connection a reset.
func reset(c net.Conn) {
	if s, ok := c.(interface{ NetConn() net.Conn }); ok { // of TLS
		c = s.NetConn()
	}
	if s, ok := c.(*stampedConn); ok {
		c = s.Conn
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
}
