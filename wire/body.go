package wire

import (
	"errors"
	"io"
	"net/http"
)

// Received is how many bytes of an answer's body have come so far, without its transfer
// coding and with its content coding. The answer's Body must be the one that Send returned,
// or have its Received method.
func Received(resp *http.Response) int64 {
	if b, ok := resp.Body.(interface{ Received() int64 }); ok {
		return b.Received()
	}
	return 0
}

func (x *exchange) Received() int64 { return x.received.Load() }

func (x *exchange) Read(p []byte) (int, error) {
	if x.err != nil {
		return 0, x.err
	}
	if x.done.Load() {
		return 0, x.error("read from", http.ErrBodyReadAfterClose)
	}
	x.touch()
	x.waiting.Store(true)
	n, err := x.body.Read(p)
	x.waiting.Store(false)
	x.received.Add(int64(n))
	if err != nil {
		x.err = x.end(err)
		return n, x.err
	}
	return n, nil
}

// end is what Read returns when net/http returned err.
func (x *exchange) end(err error) error {
	fault := err
	switch {
	case x.ctx.Err() != nil && err != io.EOF:
		fault = x.cause()
	case x.c.h1 != nil:
		fault = x.c.h1.bodyFault(x.known, err)
	case err == io.EOF:
		fault = nil
	default:
		fault, _ = x.c.h2.h2Fault(x.stream.Load(), err, x.c.w.cfg.MaxHeaderBytes)
	}
	x.body.Close() // of HTTP/2: waits until the stream is free
	x.finish()
	if fault == nil {
		return io.EOF
	}
	x.tell(fault)
	return x.error("read from", fault)
}

// Close gives up what was not read yet.
func (x *exchange) Close() error {
	if x.done.Load() {
		return nil
	}
	x.body.Close()
	x.finish()
	return nil
}

// An uploadBody is the body of a request; that it is read is progress.
type uploadBody struct {
	x *exchange
	io.ReadCloser
}

func (b *uploadBody) Read(p []byte) (int, error) {
	b.x.touch()
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.x.upload.Store(&err)
	}
	return n, err
}
