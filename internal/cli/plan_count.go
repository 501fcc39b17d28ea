package cli

import (
	"errors"
	"fmt"
	"hash/maphash"
	"net/url"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/plan"
	"github.com/dogear/dogear/profile"
)

// planCount counts the documents of a list.
type planCount struct {
	cmd      *planCmd
	services *services
	loads    plan.Loads
	profile  *profile.Profile // that a host was found by
	hosts    map[string]*profile.Profile
	lines    map[uint64]line // by a document's id
	repeats  int64
}

type line struct {
	fingerprint uint64
	number      int64
}

var seed = maphash.MakeSeed()

// add counts a document, each once.
func (n *planCount) add(d dogear.Document) error {
	id := maphash.String(seed, d.ID)
	if before, known := n.lines[id]; known {
		if before.fingerprint != d.Fingerprint {
			return &ledger.ConflictError{ID: d.ID, Lines: [2]int64{before.number, d.Line}, Secret: d.Secret}
		}
		n.repeats++
		return nil
	}
	n.lines[id] = line{d.Fingerprint, d.Line}
	u, err := url.Parse(d.Address)
	if err != nil {
		return usage("line %d: the address cannot be read", d.Line)
	}
	p, met := n.hosts[u.Host]
	if !met {
		p = n.services.of(u)
		n.hosts[u.Host] = p
	}
	if p != nil && n.services.given == nil {
		if n.profile != nil && n.profile != p {
			return &usageError{err: fmt.Errorf("the list names several services, %s and %s", n.profile.Name, p.Name), try: "a plan for each, with a list of its own"}
		}
		n.profile = p
	}
	l := plan.LoadOf(p, u, n.services.parts, 1)
	switch n.cmd.Scope {
	case "":
	case "host":
		l.Members = []profile.Membership{{Key: dogear.HostKey(u), Cost: 1}}
	default:
		l.Members = []profile.Membership{{Key: n.cmd.Scope, Cost: 1}}
	}
	if d.Size >= 0 {
		l.Sized, l.Bytes = 1, d.Size
	}
	given(&l.Documents, n.cmd.Documents)
	n.loads.Add(l)
	return nil
}

func (n *planCount) failed(c *call, err error) error {
	if _, ok := errors.AsType[*usageError](err); ok {
		return err
	}
	if c.ctx.Err() != nil {
		return &codedError{code: cancelCode(c.ctx), err: errors.New("stopped while counting")}
	}
	return listError(c.ctx, err, "")
}
