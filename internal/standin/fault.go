package standin

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// takeOver gives f the bare connection of an HTTP/1.1 request, and closes it after f. Over
// HTTP/2 the stream is reset.
func (x *Exchange) takeOver(status int, f func(w *bufio.Writer, c net.Conn)) bool {
	x.raw = true
	x.began(status, x.W.Header())
	c, rw, err := http.NewResponseController(x.W).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer c.Close()
	f(rw.Writer, c)
	_ = rw.Flush() // the client may have gone
	return true
}

// rawHead writes the head of the document that is asked for, as if it had length bytes.
func (x *Exchange) rawHead(w io.Writer, length int) {
	x.head()
	fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n", length)
	_ = x.W.Header().Write(w)
	io.WriteString(w, "\r\n")
}

// Cut sends n bytes of the body and closes the connection.
func Cut(n int) Rule { return cut(n, false) }

// Reset sends n bytes of the body and resets the connection.
func Reset(n int) Rule { return cut(n, true) }

func cut(n int, reset bool) Rule {
	return func(x *Exchange) bool {
		body := x.Body()
		return x.takeOver(http.StatusOK, func(w *bufio.Writer, c net.Conn) {
			x.rawHead(w, len(body))
			w.Write(body[:min(n, len(body))])
			_ = w.Flush()
			if t, ok := c.(*net.TCPConn); ok && reset {
				_ = t.SetLinger(0)
			}
		})
	}
}

// CutChunked sends the body without a length, and closes before the end of its coding.
func CutChunked(n int) Rule {
	return func(x *Exchange) bool {
		body := x.Body()
		body = body[:min(n, len(body))]
		return x.takeOver(http.StatusOK, func(w *bufio.Writer, _ net.Conn) {
			fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", len(body))
			w.Write(body)
			io.WriteString(w, "\r\n")
		})
	}
}

// Longer says the body's length and sends more.
func Longer(extra int) Rule {
	return func(x *Exchange) bool {
		body := x.Body()
		return x.takeOver(http.StatusOK, func(w *bufio.Writer, _ net.Conn) {
			x.rawHead(w, len(body))
			w.Write(body)
			w.Write(make([]byte, extra))
		})
	}
}

// Slow sends the body in pieces of n bytes, one each pause.
func Slow(n int, pause time.Duration) Rule {
	return func(x *Exchange) bool {
		body := x.Body()
		x.head()
		x.size = int64(len(body))
		x.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
		for len(body) > 0 {
			k := min(n, len(body))
			if _, err := x.W.Write(body[:k]); err != nil {
				return true
			}
			_ = http.NewResponseController(x.W).Flush()
			body = body[k:]
			if !x.pause(pause) {
				return true
			}
		}
		return true
	}
}

// pause waits for d, or until nobody waits for the answer any more.
func (x *Exchange) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-x.R.Context().Done():
	case <-x.Service.quit:
	}
	return false
}

// Delay lets a request wait before the rules after this one see it.
func Delay(d time.Duration) Rule {
	return func(x *Exchange) bool { return !x.pause(d) }
}

// Hang answers nothing.
func Hang(x *Exchange) bool {
	select {
	case <-x.R.Context().Done():
	case <-x.Service.quit:
	}
	panic(http.ErrAbortHandler)
}

// HangAfter sends the head and n bytes of the body, and no more.
func HangAfter(n int) Rule {
	return func(x *Exchange) bool {
		body := x.Body()
		x.head()
		x.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = x.W.Write(body[:min(n, len(body))])
		_ = http.NewResponseController(x.W).Flush()
		return Hang(x)
	}
}

// Gzip sends the body gzip'd, though nobody asked for it.
func Gzip(x *Exchange) bool {
	x.head()
	x.W.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(x.W)
	_, _ = z.Write(x.Body())
	_ = z.Close()
	return true
}

// Bomb sends n zeros, gzip'd.
func Bomb(n int64) Rule {
	return func(x *Exchange) bool {
		x.head()
		x.W.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(x.W, gzip.BestSpeed) // the level is a legal one
		_, _ = io.CopyN(z, zeros{}, n)
		_ = z.Close()
		return true
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// EndlessBody sends bytes, without a length, until nobody takes them.
func EndlessBody(x *Exchange) bool {
	x.W.Header().Set("Content-Type", "application/octet-stream")
	_, _ = io.Copy(x.W, zeros{})
	return true
}

// EndlessHead sends header fields until nobody takes them.
func EndlessHead(x *Exchange) bool {
	return x.takeOver(http.StatusOK, func(w *bufio.Writer, _ net.Conn) {
		io.WriteString(w, "HTTP/1.1 200 OK\r\n")
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(w, "X-Field-%d: and so on\r\n", i); err != nil {
				return
			}
		}
	})
}

// NotHTTP answers in another tongue.
func NotHTTP(x *Exchange) bool {
	return x.takeOver(0, func(w *bufio.Writer, _ net.Conn) {
		io.WriteString(w, "220 mail.example.com ESMTP ready\r\n")
	})
}

// ChangeAfter sends n bytes of the body, cuts it, and gives the document another version.
func ChangeAfter(n int) Rule {
	return func(x *Exchange) bool {
		doc, _, _, _ := x.Doc()
		defer x.Service.Change(doc)
		return Cut(n)(x)
	}
}
