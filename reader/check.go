package reader

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"strings"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/quickxor"
)

// checks is the address that tells the document's version; empty: its answer tells it.
func (a *attempt) checks() string {
	if a.run.Pages == nil {
		return ""
	}
	return a.run.Pages.Check(a.doc)
}

// A listedSum is a digest that the listing gives.
type listedSum struct {
	hash.Hash
	want string
	text func([]byte) string
}

// listedDigest is the digest to compare with; nil where the listing gives none that is known.
func listedDigest(d dogear.Document) *listedSum {
	name, want, _ := strings.Cut(d.Digest, ":")
	switch name {
	case "quickxor":
		return &listedSum{quickxor.New(), want, base64.StdEncoding.EncodeToString}
	case "sha1":
		return &listedSum{sha1.New(), want, hex.EncodeToString}
	}
	return nil
}

func (s *listedSum) holds() bool { return s.text(s.Sum(nil)) == s.want }

// differs tells in which way the bytes that came are not those of the listing; empty: in none
// that it tells of.
func (b *incoming) differs(sha string) string {
	switch {
	case b.doc.SHA256 != "" && b.doc.SHA256 != sha:
		return "the bytes do not have the SHA-256 that was listed"
	case b.listed != nil && !b.listed.holds():
		return "the bytes do not have the digest that was listed"
	case b.doc.Size >= 0 && b.doc.Size != b.size:
		return fmt.Sprintf("%d bytes came and %d were listed", b.size, b.doc.Size)
	}
	return ""
}

// stillListed reports whether the bytes that came are those of the listed version, where the
// service tells that apart from the content. Bytes with a listed digest prove it themselves;
// else the service is asked, and where it is another version the document's fate is settled.
// The read's request is settled in any case.
func (b *incoming) stillListed(sha string) bool {
	differs := b.differs(sha)
	b.x.End(dogear.OK, b.wire, nil)
	if differs == "" && (b.doc.SHA256 != "" || b.listed != nil) {
		return true
	}
	found, same, ok := b.ask()
	switch {
	case !ok:
	case !same:
		b.fate(dogear.Fate{State: dogear.Changed, Version: found, Reason: "the service has another version than was listed"})
		b.ended(dogear.Changed)
	case differs != "":
		b.fate(*b.invalid(differs))
	default:
		return true
	}
	return false
}

// fate moves the document out of flight where no request's end does.
func (a *attempt) fate(f dogear.Fate) {
	f.Doc = a.doc.Seq
	a.run.giveBack([]dogear.Fate{f})
}

// ask asks for the version that the document has now, until there is an answer or the gate
// admits nothing. Ok is false where the document's fate is settled.
func (a *attempt) ask() (found string, same, ok bool) {
	renewed := false
	for {
		req, err := http.NewRequestWithContext(a.run.flight, http.MethodGet, a.checks(), nil)
		if err != nil {
			a.fate(dogear.Fate{State: dogear.Pending, Reason: "the address of its version cannot be read"})
			return "", false, false
		}
		rec := dogear.Request{Job: a.run.Job.ID, Run: a.run.id, Doc: a.doc.Seq, DocID: a.doc.ID, Scopes: a.run.Scopes(req.URL), Kind: dogear.Check}
		x, err := a.run.send(a.open, req, rec, a.run.signed(a.home))
		if err != nil {
			a.fate(dogear.Fate{State: dogear.Pending, Reason: "its version could not be checked"})
			a.refused(err)
			return "", false, false
		}
		a.run.tally(x)
		switch {
		case x.Outcome == dogear.Throttled: // the next one waits with its scope
			drain(x.Response)
			continue
		case x.Response == nil:
			x.End(x.Outcome, 0, nil)
			a.fate(*a.transient(dogear.StripText(x.Err.Error()), 0))
			return "", false, false
		case x.Status == http.StatusUnauthorized && !renewed:
			x.End(dogear.Unauthorized, drain(x.Response), nil)
			if renewed = a.renewed(req); renewed {
				continue
			}
			a.fate(dogear.Fate{State: dogear.Pending, Reason: "unauthorized"})
			return "", false, false
		}
		return a.version(x)
	}
}

// version reads the answer to a check.
func (a *attempt) version(x *gate.Exchange) (found string, same, ok bool) {
	body, err := readAll(x, maxPage)
	n := int64(len(body.data))
	if err == nil && x.Status == http.StatusOK {
		if found, same, err = a.run.Pages.Same(a.doc, body.data); err == nil {
			x.End(dogear.OK, n, nil)
			return found, same, true
		}
	}
	if err != nil {
		x.End(dogear.Invalid, n, nil)
		a.fate(*a.transient("its version cannot be read: "+dogear.StripText(err.Error()), 0))
		return "", false, false
	}
	outcome, state, reason := verdict(x.Status, x.Means)
	x.End(outcome, n, nil)
	switch outcome {
	case dogear.Transient, dogear.Invalid:
		a.fate(*a.transient(reason, x.Hint.Wait))
	case dogear.Unauthorized:
		a.fate(dogear.Fate{State: dogear.Pending, Reason: reason})
		a.run.stop(&Stop{Reason: dogear.StopUnauthorized, Err: fmt.Errorf("%s answered %s", a.home.Host, reason)})
	default:
		a.fate(dogear.Fate{State: state, Reason: reason})
		a.ended(state)
	}
	return "", false, false
}
