package standin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/textproto"
	"sync"
	"sync/atomic"
	"time"
)

// A Config says what a service is. Its zero value serves documents without a limit on a
// free port of the loopback interface.
type Config struct {
	Listen string // zero: 127.0.0.1:0
	// TLS serves https, with HTTP/2 by ALPN, under a certificate of the service's own.
	TLS bool
	// Root serves the files of a folder in place of documents.
	Root string
	// Documents is how many there are: the others are 404. Zero means any number.
	Documents int
	// Limit refuses requests; nil refuses none.
	Limit Limiter
	// Key says which requests share a limit; nil: all.
	Key func(*http.Request) string
	// Refusal is the status of what the limiter refuses. Zero means 429.
	Refusal int
	// Hint is put on what the limiter refuses. Nil means Seconds.
	Hint Hint
	// Rules come before the limiter: the first that answers has the request.
	Rules []Rule
	// Credentials are further header fields of which the journal keeps the name alone.
	Credentials []string
	// Journal gets one JSON object for each request that was served; nil: memory alone.
	Journal io.Writer
}

// A Service is a document service that runs in this process.
type Service struct {
	Journal *Journal

	cfg   Config
	cert  *certificate
	conns atomic.Int64
	quit  chan struct{} // closed when hanging answers are to end

	mu       sync.Mutex
	addr     string
	rules    []Rule
	versions map[int]int
	server   *http.Server // nil while the service is down
	served   chan struct{}
	serving  sync.WaitGroup // of requests: their ends are in the journal when Down returns
}

// Start starts a service.
func Start(cfg Config) (*Service, error) {
	if cfg.Refusal == 0 {
		cfg.Refusal = http.StatusTooManyRequests
	}
	if cfg.Hint == nil {
		cfg.Hint = Seconds
	}
	for i, name := range cfg.Credentials {
		cfg.Credentials[i] = textproto.CanonicalMIMEHeaderKey(name)
	}
	s := &Service{
		Journal: &Journal{out: cfg.Journal},
		cfg:     cfg, addr: cfg.Listen, rules: cfg.Rules, versions: map[int]int{}, quit: make(chan struct{}),
	}
	if s.addr == "" {
		s.addr = "127.0.0.1:0"
	}
	if cfg.TLS {
		var err error
		if s.cert, err = newCertificate(); err != nil {
			return nil, err
		}
	}
	return s, s.Up()
}

// Up lets a service that is down listen again, at the address that it had.
func (s *Service) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return errors.New("the service is up already")
	}
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.addr = l.Addr().String()
	server := &http.Server{
		Handler:  http.HandlerFunc(s.serve),
		ErrorLog: log.New(io.Discard, "", 0), // clients that are killed are its daily business
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, s.conns.Add(1))
		},
		Protocols: new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	if s.cert != nil {
		server.Protocols.SetHTTP2(true)
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{s.cert.pair}}
	}
	served := make(chan struct{})
	s.server, s.served = server, served
	go func() {
		defer close(served)
		if s.cert != nil {
			_ = server.ServeTLS(l, "", "") // it ends when Down closes it
		} else {
			_ = server.Serve(l)
		}
	}()
	return nil
}

type connKey struct{}

// Down closes the listener and all connections: new ones are refused.
func (s *Service) Down() error {
	s.mu.Lock()
	server, served := s.server, s.served
	s.server = nil
	s.mu.Unlock()
	if server == nil {
		return nil
	}
	err := server.Close()
	<-served
	s.serving.Wait()
	return err
}

// Close ends the service and what hangs in it.
func (s *Service) Close() error {
	s.mu.Lock()
	select {
	case <-s.quit:
	default:
		close(s.quit)
	}
	s.mu.Unlock()
	err := s.Down()
	return errors.Join(err, s.Journal.failed)
}

// Addr is the host and port at which the service listens.
func (s *Service) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// URL is the address of a path at the service.
func (s *Service) URL(path string) string {
	if s.cert != nil {
		return "https://" + s.Addr() + path
	}
	return "http://" + s.Addr() + path
}

// CA is the certificate to trust, in PEM; empty without TLS.
func (s *Service) CA() []byte {
	if s.cert == nil {
		return nil
	}
	return s.cert.pem
}

// SetRules replaces the rules.
func (s *Service) SetRules(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = rules
}

// Change gives document n another version: other bytes of the same size, another ETag.
func (s *Service) Change(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[n]++
}

func (s *Service) version(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[n]
}

// serve journals a request and answers it.
func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	s.serving.Add(1)
	defer s.serving.Done()
	a := &Arrival{Method: r.Method, Path: r.URL.Path, Proto: r.Proto, Worker: r.Header.Get("X-Worker"),
		Header: headerOf(r.Header, s.cfg.Credentials)}
	a.Conn, _ = r.Context().Value(connKey{}).(int64)
	if s.cfg.Key != nil {
		a.Key = s.cfg.Key(r)
	}
	x := &Exchange{R: r, Service: s, row: a}
	x.Try = s.Journal.add(a)
	x.W = &recorder{ResponseWriter: w, x: x}
	defer s.Journal.end(a)
	s.answer(x)
	if err := http.NewResponseController(w).Flush(); err == nil && !x.raw {
		x.sent(time.Now())
	}
}

func (s *Service) answer(x *Exchange) {
	s.mu.Lock()
	rules := s.rules
	s.mu.Unlock()
	for _, rule := range rules {
		if rule(x) {
			return
		}
	}
	if s.cfg.Limit != nil {
		done, wait, ok := s.cfg.Limit.Take(x.row.Key, x.row.At)
		if !ok {
			x.refuse(s.cfg.Refusal, s.cfg.Hint, wait)
			return
		}
		defer done()
	}
	if s.cfg.Root != "" {
		s.file(x)
		return
	}
	x.Document()
}

// recorder notes what an answer becomes.
type recorder struct {
	http.ResponseWriter
	x     *Exchange
	began bool
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) WriteHeader(status int) {
	if status >= 200 && !w.began {
		w.began = true
		w.x.began(status, w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if !w.began {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.x.wrote(n)
	return n, err
}
