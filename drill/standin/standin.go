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

	"github.com/dogear/dogear/drill/journal"
)

// A Config says what a service is. Its zero value serves documents without a limit on a
// free port of the loopback interface.
type Config struct {
	Listen string // zero: 127.0.0.1:0
	// TLS serves https, with HTTP/2 by ALPN.
	TLS bool
	// Certificate is the one under which it does. Nil with TLS: one of the service's own.
	Certificate *Certificate
	// Root serves the files of a folder in place of documents and lists.
	Root string

	// Quota is the journal's name for what the service's requests count against. Zero: docs.
	Quota string
	// First and Last are the numbers of its documents: the others are 404. Zero means any
	// number, and no lists of them.
	First, Last int
	// Size is the size of every document. Zero means Size of its number.
	Size int
	// Validators are those that answers carry.
	Validators Validators
	// Digests puts Repr-Digest on answers, and a column sha256 in manifests.
	Digests bool
	// Pages says how documents are listed.
	Pages Pages
	// Tokens are needed for anything but a manifest. Nil: none is.
	Tokens *Tokens
	// Links serve the documents: each request for one is redirected to a signed link.
	// Nil: the service does it itself.
	Links *Links
	// Graph says how documents lie in Microsoft Graph's drives. Nil: there are no drives.
	Graph *Graph
	// Google serves documents as files of Google Drive too, and batches as it takes them.
	Google bool

	// Limit refuses requests; nil refuses none.
	Limit Limiter
	// Key says which requests share a limit; nil: all. It is in the journal.
	Key func(*http.Request) string
	// Refusal is how the limiter refuses.
	Refusal Refusal
	// Rules come before the limiter: the first that answers has the request.
	Rules []Rule

	// Credentials are further header fields of which the journal keeps the name alone.
	Credentials []string
	// Journal is where requests are written; services can share one. Nil: one in memory.
	Journal *journal.Journal

	serves *Links // it is the origin of these
}

// A Service is a document service that runs in this process.
type Service struct {
	Journal *journal.Journal

	cfg   Config
	cert  *Certificate
	key   [16]byte // of its cursors
	graph *graph   // nil: there is none
	conns atomic.Int64
	quit  chan struct{} // closed when hanging answers are to end

	mu       sync.Mutex
	addr     string
	rules    []Rule
	versions map[int]int
	withheld map[int]int // the status that a document is answered with for good
	changed  []int       // the documents of which one of the two has changed, each time
	resync   int         // how often tokens of deltas have been made too old
	arrivals int
	first    time.Time    // of the arrivals
	server   *http.Server // nil while the service is down
	served   chan struct{}
	serving  sync.WaitGroup // of requests: their ends are in the journal when Down returns
}

// Start starts a service.
func Start(cfg Config) (*Service, error) {
	cfg.Credentials = canonical(cfg.Credentials)
	if cfg.Quota == "" {
		cfg.Quota = "docs"
	}
	s := &Service{
		Journal: cfg.Journal, cert: cfg.Certificate, key: newKey(),
		cfg: cfg, addr: cfg.Listen, rules: cfg.Rules, versions: map[int]int{}, withheld: map[int]int{}, quit: make(chan struct{}),
	}
	if s.Journal == nil {
		s.Journal = &journal.Journal{}
	}
	if s.addr == "" {
		s.addr = "127.0.0.1:0"
	}
	if cfg.Graph != nil {
		var err error
		if s.graph, err = newGraph(s, *cfg.Graph); err != nil {
			return nil, err
		}
	}
	if cfg.TLS && s.cert == nil {
		var err error
		if s.cert, err = NewCertificate(); err != nil {
			return nil, err
		}
	}
	if cfg.Links != nil {
		if err := cfg.Links.start(s); err != nil {
			return nil, err
		}
	}
	return s, s.Up()
}

func canonical(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, textproto.CanonicalMIMEHeaderKey(name))
	}
	return out
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
		Handler:     http.HandlerFunc(s.serve),
		ErrorLog:    log.New(io.Discard, "", 0), // clients that are killed are its daily business
		ConnState:   watch,
		ConnContext: s.connected,
		Protocols:   new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	if s.cfg.TLS {
		server.Protocols.SetHTTP2(true)
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{s.cert.pair}}
	}
	served := make(chan struct{})
	s.server, s.served = server, served
	go func() {
		defer close(served)
		if s.cfg.TLS {
			_ = server.ServeTLS(stamps{l}, "", "") // it ends when Down closes it
		} else {
			_ = server.Serve(stamps{l})
		}
	}()
	return nil
}

type connKey struct{}

// A connection is what a request came over.
type connection struct {
	net.Conn
	n int64
}

func (s *Service) connected(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connection{c, s.conns.Add(1)})
}

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

// Close ends the service, what hangs in it, and its links.
func (s *Service) Close() error {
	s.mu.Lock()
	select {
	case <-s.quit:
	default:
		close(s.quit)
	}
	s.mu.Unlock()
	err := s.Down()
	if s.cfg.Links != nil {
		err = errors.Join(err, s.cfg.Links.close())
	}
	return errors.Join(err, s.Journal.Err())
}

// Addr is the host and port at which the service listens.
func (s *Service) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// URL is the address of a path at the service.
func (s *Service) URL(path string) string {
	if s.cfg.TLS {
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

// Change gives document n another version: other bytes of the same size, other validators.
func (s *Service) Change(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[n]++
	s.changed = append(s.changed, n)
}

func (s *Service) version(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[n]
}

// Withhold answers document n with a status from now on.
func (s *Service) Withhold(n, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withheld[n] = status
	s.changed = append(s.changed, n)
}

func (s *Service) withheldAs(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.withheld[n]
}
