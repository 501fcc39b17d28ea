package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

// Options say where a stand-in service is. The zero value is a free port of the loopback
// interface, without a certificate and with a journal in memory alone.
type Options struct {
	// Listen is host:port of the first quota. A host or a port that is missing is
	// 127.0.0.1, or a free one. The other quotas are at free ports of the same host.
	Listen string
	// TLS serves https, with HTTP/2, under a certificate of the service's own.
	TLS bool
	// Journal is where the journal is written as well; nil: nowhere.
	Journal io.Writer
}

// A Stand is a scenario's service while it runs. Its methods are safe for concurrent use.
type Stand struct {
	Journal *journal.Journal
	Head    journal.Head // the journal's first line

	scenario *Scenario
	services []*standin.Service // by quota
	tokens   *standin.Tokens
	lifetime time.Duration // of a token; zero: for ever

	mu    sync.Mutex
	token string
	since time.Time // when it was given
}

// A Document is one that a service has, as it was when the service started.
type Document struct {
	URL     string
	ID      string // its number
	Version string // the value of its ETag or else Last-Modified; "" if it has neither
	Size    int
	SHA256  string // in lower-case hex
}

// Start starts the service. The journal begins with its head.
func (s *Scenario) Start(o Options) (*Stand, error) {
	first, others, err := addresses(o.Listen)
	if err != nil {
		return nil, err
	}
	st := &Stand{Journal: &journal.Journal{}, scenario: s}
	if o.Journal != nil {
		st.Journal = journal.New(&headFirst{out: o.Journal})
	}
	shared := standin.Config{TLS: o.TLS, Size: s.Size, Validators: validatorsOf[s.validators], Digests: s.digests, Google: s.google, Journal: st.Journal}
	if o.TLS {
		if shared.Certificate, err = standin.NewCertificate(); err != nil {
			return nil, err
		}
	}
	if s.pages != nil {
		shared.Pages = standin.Pages{Size: s.pages.size, Cursor: s.pages.cursor}
	}
	if g := s.graph; g != nil {
		shared.Graph = &standin.Graph{Drives: g.drives, Folders: g.folders, Page: g.page, Cursor: g.cursor}
	}
	if s.token != nil {
		st.lifetime = time.Duration(*s.token)
		st.tokens = standin.NewTokens(st.lifetime)
		shared.Tokens = st.tokens
	}
	if s.links != nil {
		shared.Links = standin.NewLinks(time.Duration(*s.links))
	}
	listen := first
	for _, q := range s.quotas {
		service, err := standin.Start(q.config(shared, listen))
		if err != nil {
			return nil, errors.Join(err, st.Close())
		}
		st.services = append(st.services, service)
		listen = others
	}
	st.Head = s.head(st.services)
	st.Journal.Begin(st.Head)
	return st, nil
}

// addresses are where the first quota listens, and where the others do.
func addresses(listen string) (first, others string, err error) {
	if listen == "" {
		listen = ":"
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", "", fmt.Errorf("listen at %q: %w; try: 127.0.0.1:8080", listen, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = "0"
	}
	return net.JoinHostPort(host, port), net.JoinHostPort(host, "0"), nil
}

var validatorsOf = map[string]standin.Validators{
	"etag": standin.ETagOnly, "modified": standin.ModifiedOnly, "both": standin.BothValidators, "none": standin.NoValidators,
}

// head is the first line of the journal.
func (s *Scenario) head(services []*standin.Service) journal.Head {
	h := journal.Head{
		Drill: journal.Version, Scenario: s.Name, About: s.About, StartedAt: time.Now(),
		Documents: s.Documents, Workers: s.Workers, Expect: s.Expect,
	}
	for i, q := range s.quotas {
		h.Quotas = append(h.Quotas, journal.Quota{
			Name: q.name, Origin: services[i].URL(""), First: q.share.first, Last: q.share.last, Limit: q.limit.head(),
		})
	}
	return h
}

// head is what a limit lets through at best.
func (l *limit) head() *journal.Limit {
	if l == nil {
		return nil
	}
	h := &journal.Limit{Kind: l.kind, Requests: l.requests, Per: l.per.Seconds(), Queue: l.queue}
	if l.kind == "bucket" {
		h.Burst = l.burst
	}
	return h
}

func (s *Scenario) document(service *standin.Service, n int) Document {
	size := s.Size
	if size == 0 {
		size = standin.Size(n)
	}
	d := Document{URL: service.URL("/doc/" + strconv.Itoa(n)), ID: strconv.Itoa(n), Size: size, SHA256: standin.Sum(standin.BodyOf(n, size, 0))}
	switch s.validators {
	case "etag", "both":
		d.Version = standin.ETag(n, size, 0)
	case "modified":
		d.Version = standin.Modified(n, 0).Format(http.TimeFormat)
	}
	return d
}

// Base is the origin of the first quota.
func (st *Stand) Base() string { return st.services[0].URL("") }

// List is all documents in the order of their numbers. It hashes each of them.
func (st *Stand) List() []Document {
	list := make([]Document, st.scenario.Documents)
	for i, q := range st.scenario.quotas {
		for n := q.share.first; n <= q.share.last; n++ {
			list[n-1] = st.scenario.document(st.services[i], n)
		}
	}
	return list
}

// CA is the certificate to trust, in PEM; empty without TLS.
func (st *Stand) CA() []byte { return st.services[0].CA() }

// Token is one that is good now, and for half its lifetime at least; "" if none is needed.
func (st *Stand) Token() string {
	if st.tokens == nil {
		return ""
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if now := time.Now(); st.token == "" || st.lifetime > 0 && now.Sub(st.since) >= st.lifetime/2 {
		st.token, st.since = st.tokens.Valid(), now
	}
	return st.token
}

// Close ends the service and what hangs in it. The journal is whole then; the error is that
// of writing it, if there was one.
func (st *Stand) Close() error {
	for _, s := range st.services {
		_ = s.Close() // listeners that are to go; what it says of the journal comes below
	}
	return st.Journal.Err()
}

// headFirst keeps back what arrives before the head is written: whoever waits for a fixed
// port can be quicker than that.
type headFirst struct {
	out   io.Writer
	begun bool
	early []byte
}

// Write writes one line. The journal calls it from one goroutine at a time.
func (w *headFirst) Write(line []byte) (int, error) {
	switch {
	case w.begun:
		return w.out.Write(line)
	case !bytes.HasPrefix(line, []byte(`{"drill":`)):
		w.early = append(w.early, line...)
		return len(line), nil
	}
	w.begun = true
	if n, err := w.out.Write(line); err != nil || len(w.early) == 0 {
		return n, err
	}
	_, err := w.out.Write(w.early)
	w.early = nil
	return len(line), err
}
