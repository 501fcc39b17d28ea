package standin

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// takeOver gives f the bare connection of an HTTP/1.1 request, and closes it after f, which
// says how the answer ended. Over HTTP/2 the stream is reset.
func (x *Exchange) takeOver(status int, f func(w *bufio.Writer) (end string)) bool {
	x.raw = true
	x.began(status)
	c, rw, err := http.NewResponseController(x.W).Hijack()
	if err != nil {
		x.abort()
	}
	defer c.Close()
	done := make(chan struct{})
	defer close(done)
	go func() { // a server that closes does not know this connection any more
		select {
		case <-x.Service.quit:
			c.Close()
		case <-done:
		}
	}()
	end := f(rw.Writer)
	if err := rw.Flush(); err != nil {
		end = journal.Gone
	}
	at := time.Now()
	x.ended(end)
	if end == journal.Sent {
		x.change(func() { x.row.Sent = at })
	}
	return true
}

// Longer says the body's length and sends n bytes more. Who reads what was promised has the
// whole document.
func Longer(n int) Rule {
	return onBody(func(x *Exchange) bool {
		x.fault("long")
		body := x.Body()
		x.head(body)
		return x.takeOver(http.StatusOK, func(w *bufio.Writer) string {
			fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n", len(body))
			_ = x.W.Header().Write(w)
			io.WriteString(w, "\r\n")
			w.Write(body)
			w.Write(make([]byte, n))
			x.wrote(len(body) + n)
			x.good = true
			return journal.Sent
		})
	})
}

// Gzip sends the body gzip'd, though nobody asked for it.
func Gzip(x *Exchange) bool {
	x.fault("gzip")
	x.W.Header()["Repr-Digest"] = nil // it would be of the coded bytes
	x.head(x.Body())
	x.W.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(x.W)
	_, _ = z.Write(x.Body())
	_ = z.Close()
	return true
}

// Bomb sends n zeros, gzip'd.
func Bomb(n int64) Rule {
	return func(x *Exchange) bool {
		x.fault("bomb")
		x.W.Header()["Repr-Digest"] = nil
		x.head(x.Body())
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
	x.fault("endless")
	x.W.Header().Set("Content-Type", "application/octet-stream")
	_, _ = io.Copy(x.W, zeros{})
	return true
}

// EndlessHead sends header fields until nobody takes them.
func EndlessHead(x *Exchange) bool {
	x.fault("endless")
	return x.takeOver(http.StatusOK, func(w *bufio.Writer) string {
		io.WriteString(w, "HTTP/1.1 200 OK\r\n")
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(w, "X-Field-%d: and so on\r\n", i); err != nil {
				return journal.Gone
			}
		}
	})
}

// NotHTTP answers in another tongue.
func NotHTTP(x *Exchange) bool {
	x.fault("not http")
	return x.takeOver(0, func(w *bufio.Writer) string {
		io.WriteString(w, "220 mail.example.com ESMTP ready\r\n")
		return journal.Cut
	})
}
