package gate

import (
	"net/http"
	"slices"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
)

// told is what an answer tells is left in the permit's scopes, where the profile says that
// the service means it. A budget without what remains, or without when there is more, says
// nothing.
func (p *Permit) told(prof *profile.Profile, req *http.Request, h http.Header, received time.Time) map[string][]left {
	var said map[string][]left
	for _, b := range prof.Left(h, received) {
		if b.Remaining < 0 || b.Reset <= rounding || b.Reset > longest {
			continue
		}
		for _, key := range p.speaksOf(b, prof.Belongs(req.Method, req.URL, p.gate.cfg.Parts)) {
			if said == nil {
				said = map[string][]left{}
			}
			said[key] = append(said[key], left{float64(b.Remaining), float64(b.Limit), b.Reset})
		}
	}
	return said
}

// speaksOf are those of the permit's scopes of which a budget speaks: all, where the user has
// named them otherwise than the profile does.
func (p *Permit) speaksOf(b profile.Budget, of []profile.Membership) []string {
	if b.Scopes == nil {
		return p.request.Scopes
	}
	var keys []string
	for _, m := range of {
		if m.Scope != nil && slices.Contains(b.Scopes, m.Scope.Name) {
			keys = append(keys, m.Key)
		}
	}
	if held := p.among(keys); len(held) > 0 || len(keys) == 0 {
		return held
	}
	return p.request.Scopes
}

// head settles what an answer's head tells while its body is still to come: that the probe
// is answered, and what is left, if that would at least halve the pace that this process
// knows. Other budgets are told with the answer's end, where they cost no commit.
func (x *Exchange) head() {
	if x.permit.probes() || x.presses() {
		x.permit.gate.settle(&op{permit: x.permit, said: x.said, reply: reply{kind: headOnly, received: x.Received}})
	}
}

func (p *Permit) probes() bool {
	for _, st := range p.stakes {
		if st.probe {
			return true
		}
	}
	return false
}

func (x *Exchange) presses() bool {
	g := x.permit.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, list := range x.said {
		h := g.heard[key]
		known := h.pace.rateAt(x.Received.UnixNano(), h.scope.Rate)
		for _, l := range list {
			if b := l.bound(x.Received, concurrency(&h.scope)); b.Rate > 0 && (known == 0 || 2*b.Rate <= known) {
				return true
			}
		}
	}
	return false
}

// slow notes whether what is left holds back one of a request's scopes: then none of them
// shows a pace of its own.
func slow(paces map[string]*pace, keys []string, now time.Time) {
	held := slices.ContainsFunc(keys, func(key string) bool { return paces[key].held(now.UnixNano()) })
	for _, key := range keys {
		paces[key].Beside = held
	}
}

// tell makes the scopes hear what an answer tells.
func (o *op) tell(k *dogear.Docket, paces map[string]*pace) {
	for key, list := range o.said {
		for _, l := range list {
			paces[key].Steer.hear(k.Now, l.bound(o.reply.received, concurrency(k.Scopes[key])))
		}
	}
}

// tells reports whether one of the settlements may change the pace of one of the scopes.
func tells(ops []*op, keys []string) bool {
	return slices.ContainsFunc(ops, func(o *op) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return o.said[key] != nil })
	})
}
