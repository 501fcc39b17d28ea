package standin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Links are signed links to documents, at an origin of their own. Whoever has a link may use
// it until it expires, without any other credential: one that is sent along has leaked.
// Services with one journal can share them; they are closed with the first of these.
type Links struct {
	lifetime time.Duration // zero: for ever

	mu      sync.Mutex
	service *Service
	signed  map[string]*link // by signature
	prune   int              // how many there may be until the expired ones are dropped
}

type link struct {
	owner   *Service
	n       int
	end     time.Time
	expires string // end, as the link says it
	fault   Rule   // what is done to its first use; nil: nothing
}

// NewLinks returns links that are good for a time; zero means for ever. The first service
// that starts with them starts their origin.
func NewLinks(lifetime time.Duration) *Links {
	return &Links{lifetime: lifetime, signed: map[string]*link{}, prune: 1000}
}

// start starts the origin for a service, unless it is up.
func (l *Links) start(s *Service) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.service != nil {
		if l.service.Journal != s.Journal {
			return errors.New("two services share links, but not a journal")
		}
		return nil
	}
	l.service, err = Start(Config{TLS: s.cfg.TLS, Certificate: s.cert, Quota: "links", Credentials: s.cfg.Credentials, Journal: s.Journal, serves: l})
	return err
}

func (l *Links) close() error { return l.service.Close() }

// Service is the links' origin, once a service with them has started.
func (l *Links) Service() *Service {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.service
}

// sign is a new link to document n of a service.
func (l *Links) sign(owner *Service, n int, fault Rule) string {
	now := time.Now()
	end := now.Add(l.lifetime)
	if l.lifetime == 0 {
		end = now.AddDate(1, 0, 0)
	}
	sig, expires := rand.Text(), strconv.FormatInt(end.Unix(), 10)
	l.mu.Lock()
	l.signed[sig] = &link{owner, n, end, expires, fault}
	if len(l.signed) > l.prune {
		for old, k := range l.signed {
			if k.end.Before(now) {
				delete(l.signed, old)
			}
		}
		l.prune = 2*len(l.signed) + 1000
	}
	l.mu.Unlock()
	return l.service.URL(fmt.Sprintf("/files/%d?expires=%s&sig=%s", n, expires, sig))
}

// redirect answers a request for a document with a link to it. A fault comes with the link.
func (l *Links) redirect(x *Exchange, fault Rule) {
	x.W.Header().Set("Location", l.sign(x.Service, x.doc.n, fault))
	x.W.Header().Set("Cache-Control", "no-store")
	x.Status(http.StatusFound)
}

// find is the link that a request was made with; nil if it is none.
func (l *Links) find(r *http.Request) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := r.URL.Query()
	k := l.signed[q.Get("sig")]
	if k == nil || r.URL.Path != "/files/"+strconv.Itoa(k.n) || q.Get("expires") != k.expires {
		return nil
	}
	return k
}

// answer answers at the links' origin.
func (l *Links) answer(x *Exchange) {
	if x.link == nil {
		x.denied("SignatureDoesNotMatch", "The request signature does not match.")
		return
	}
	if !x.row.At.Before(x.link.end) {
		x.denied("AccessDenied", "Request has expired.")
		return
	}
	l.mu.Lock()
	fault := x.link.fault
	x.link.fault = nil
	l.mu.Unlock()
	if fault == nil || !fault(x) {
		x.Document()
	}
}

func (x *Exchange) denied(code, message string) {
	x.Page(http.StatusForbidden, "application/xml", fmt.Sprintf(
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>\n", code, message))
}
