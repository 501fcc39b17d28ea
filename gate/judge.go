package gate

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/batch"
	"github.com/dogear/dogear/hint"
	"github.com/dogear/dogear/profile"
	"github.com/dogear/dogear/wire"
)

// none is the profile of a service without one.
var none profile.Profile

// profile is the profile of the service at an address.
func (g *Gate) profile(u *url.URL) *profile.Profile {
	if g.cfg.Profile != nil {
		if p := g.cfg.Profile(u); p != nil {
			return p
		}
	}
	return &none
}

// judge reads an answer as the service's profile does: its head and, where the profile needs
// it, the beginning of its body, which stays to be read. Without a profile 429 is a throttle,
// 503 and 529 are with a valid hint; 403 never is, and a 2xx closes nothing (RFC 6585,
// section 4; RFC 9110, sections 10.2.3 and 15.6.4).
func (g *Gate) judge(x *Exchange, req *http.Request, resp *http.Response, isBatch bool) {
	x.Response, x.Status = resp, resp.StatusCode
	a := profile.Answer{Status: resp.StatusCode, Header: resp.Header, Received: time.Now(), Batch: isBatch}
	p := g.profile(req.URL)
	switch {
	case isBatch:
		uncode(resp)
		a.Body = peek(resp, maxBatch)
	case p.NeedsBody(resp.StatusCode, resp.Header):
		a.Body = peek(resp, profile.BodyPrefix)
	}
	v := p.Judge(a)
	if isBatch && p.Batch != nil {
		items, _ := batch.Decode(p.Batch.Form, a.Header.Get("Content-Type"), a.Body) // what is broken is missing
		if !v.Throttled {
			v = judgeItems(p, a, items)
		}
		x.partly = slices.ContainsFunc(items, func(it batch.Answer) bool { return it.Status >= 200 && it.Status < 400 })
	}
	x.Hint, x.Means = v.Hint, v.Outcome
	x.said = x.permit.told(p, req, resp.Header, a.Received)
	if v.Throttled {
		x.Outcome = dogear.Throttled
		x.closes = x.permit.among(v.Closed(p.Belongs(req.Method, req.URL, g.cfg.Parts)))
		x.waits = v.Waits
		return
	}
	if x.Hint = v.Delay; !x.Hint.Valid() { // what speaks of this document alone
		x.Hint = hint.FromResponse(resp.StatusCode, resp.Header, a.Received)
	}
}

// uncode undoes the content coding of an answer. One that is not known stays as it is.
func uncode(resp *http.Response) {
	body, coded, err := wire.Decode(resp)
	if err == nil && coded {
		resp.Body = &peeked{body, resp.Body}
		resp.Header.Del("Content-Encoding")
	}
}

// judgeItems judges a batch by its items, where the profile does not do that itself: one that
// was refused closes scopes, and of several the latest hint counts (R3).
func judgeItems(p *profile.Profile, a profile.Answer, items []batch.Answer) (all profile.Verdict) {
	for _, it := range items {
		v := p.Judge(profile.Answer{Status: it.Status, Header: it.Header, Body: it.Body, Received: a.Received})
		switch {
		case !v.Throttled:
			continue
		case !all.Throttled:
			all = v
			continue
		case len(all.Closes) > 0 && len(v.Closes) > 0:
			all.Closes = append(slices.Clone(all.Closes), v.Closes...)
		default:
			all.Closes = nil
		}
		least := max(all.Hint.AtLeast, v.Hint.AtLeast)
		if v.Hint.Valid() && (!all.Hint.Valid() || v.Hint.Wait > all.Hint.Wait) {
			all.Hint = v.Hint
		}
		all.Hint.AtLeast = least
		if len(all.Waits) == 0 {
			all.Waits = v.Waits
		}
	}
	return all
}

// among are those of the keys that the permit holds. Nil, all of the permit's, where it holds
// none: the user may have named the scopes otherwise than the profile does.
func (p *Permit) among(keys []string) []string {
	var held []string
	for _, k := range keys {
		if slices.Contains(p.request.Scopes, k) {
			held = append(held, k)
		}
	}
	return held
}

// maxBatch bounds the answer to a batch, which is held in memory.
const maxBatch = 64 << 20

// peek reads the beginning of a body and puts it back. A body that breaks there will break
// again for whoever reads it.
func peek(resp *http.Response, most int64) []byte {
	prefix, err := io.ReadAll(io.LimitReader(resp.Body, most))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = broken{err}
	}
	resp.Body = &peeked{io.MultiReader(bytes.NewReader(prefix), rest), resp.Body}
	return prefix
}

// peeked is a body of which the beginning was looked at.
type peeked struct {
	io.Reader
	body io.ReadCloser
}

func (p *peeked) Close() error { return p.body.Close() }

// Received is what the wire knows of the body; see [wire.Received].
func (p *peeked) Received() int64 { return wire.Received(&http.Response{Body: p.body}) }

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// costs is what a request takes from each of its scopes that it does not take 1 from.
func (g *Gate) costs(req *http.Request, r *dogear.Request) {
	if g.cfg.Profile == nil || r.Costs != nil {
		return
	}
	for _, m := range g.profile(req.URL).Belongs(req.Method, req.URL, g.cfg.Parts) {
		if m.Cost != 1 {
			if r.Costs == nil {
				r.Costs = map[string]float64{}
			}
			r.Costs[m.Key] = m.Cost
		}
	}
}
