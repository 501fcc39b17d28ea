package plan

import (
	"math/big"
	"slices"

	"github.com/dogear/dogear/profile"
)

// target is what is read.
func (w *writer) target() []block {
	p := w.p.ask.Profile
	t := &table{Strong: -1}
	row := func(key string, value text) { t.Rows = append(t.Rows, []text{w.say(key), value}) }
	if p == nil || p.Name == "generic" {
		row("target.profile", w.say("target.noprofile"))
		if w.p.ask.Base != "" {
			row("target.base", typed(w.p.ask.Base))
		}
		row("target.version", w.say("target.noversion"))
		return []block{{Table: t}}
	}
	row("target.service", quoted(p.Title))
	if w.p.ask.File != "" {
		row("target.profile", w.say("target.own", "name", typed(p.Name), "file", typed(w.p.ask.File)))
	} else {
		row("target.profile", w.say("target.shipped", "name", typed(p.Name)))
	}
	row("target.base", w.base(p))
	row("target.version", w.say("target.noversion"))
	row("target.dates", w.say("target.nodates"))
	if tier, _ := w.p.Tier(); tier != "" {
		row("target.tier", typed(tier))
	}
	if u := p.UserAgent; u != nil {
		key := "target.wants"
		if u.Required {
			key = "target.needs"
		}
		row("target.agent", w.cited(w.noted(w.say(key, "want", quoted(u.Want)), u.Fact), u.Fact))
	}
	if b := p.Batch; b != nil {
		call := w.say("target.call", "method", typed(b.Method), "path", typed(b.Path), "most", int64(b.Most))
		row("target.batch", w.cited(w.noted(call, b.Fact), b.Fact))
	}
	row("target.docversion", w.version(p.Version))
	blocks := []block{{Table: t}}
	if p.Generic {
		blocks = append(blocks, block{Para: w.say("target.generic")})
	}
	return blocks
}

func (w *writer) base(p *profile.Profile) text {
	own := w.p.ask.Base
	if p.Base == nil {
		if own == "" {
			return w.say("target.nobase")
		}
		return typed(own)
	}
	documented := w.cited(w.noted(typed(p.Base.URL.String()), p.Base.Fact), p.Base.Fact)
	if own == "" || own == p.Base.URL.String() {
		return documented
	}
	return w.say("target.documented", "base", typed(own), "documented", documented)
}

func (w *writer) version(v *profile.Version) text {
	if v == nil {
		return w.say("target.nodocversion")
	}
	var fields []text
	for _, f := range append([]string{v.Field}, v.Also...) {
		fields = append(fields, typed(f))
	}
	t := w.say("target.check."+v.Check, "field", w.list(fields))
	if v.Request != "" {
		t = w.say("target.request", "check", t, "request", quoted(v.Request))
	}
	return w.cited(t, v.Fact)
}

// scopes is which requests share what.
func (w *writer) scopes() []block {
	t := &table{Strong: -1, Head: []text{w.say("head.scope"), w.say("head.shared"), w.say("head.confirmed"), w.say("head.limits"), w.say("head.note")}}
	const most = 40
	for i, q := range w.p.Quotas {
		if i == most {
			t.Rows = append(t.Rows, []text{w.say("list.more", "n", int64(len(w.p.Quotas)-most)), nil, nil, nil, nil})
			break
		}
		var shared, note text
		if q.Scope != nil {
			shared, note = w.key(q.Scope), quoted(q.Scope.Note)
		}
		var limits []text
		for _, b := range q.Bounds {
			if b.Origin != Own {
				limits = append(limits, joined(" ", w.limit(b), w.remarkOrigin(b)))
			}
		}
		if limits == nil {
			limits = append(limits, w.say("scopes.nolimit"))
		}
		t.Rows = append(t.Rows, []text{w.name(q), shared, w.confirmed(q), joined(w.words["list.or"], limits...), note})
	}
	blocks := []block{{Para: w.say("scopes.intro")}, {Table: t}}
	if parts := w.parts(); len(parts) > 0 {
		blocks = append(blocks, block{Para: w.say("scopes.parts")}, block{List: parts})
	}
	if others := w.others(); len(others) > 0 {
		blocks = append(blocks, block{Para: w.say("scopes.others", "scopes", w.list(others))})
	}
	return blocks
}

// remarkOrigin is where a limit is from.
func (w *writer) remarkOrigin(b *Bound) text {
	if b.Origin != Written {
		return w.remark(&Bound{Quota: b.Quota, Origin: b.Origin})
	}
	return append(w.cited(nil, b.Fact)[1:], w.note(b.Fact)...) // without the blank in front
}

func (w *writer) confirmed(q *Quota) text {
	switch {
	case q.stated:
		how := w.p.ask.Scoped
		if how == "" {
			how = "--rate"
		}
		return w.say("scopes.stated", "how", typed(how))
	case q.Scope.Confirmed():
		return joined(" ", w.say("scopes.documented"), w.cite(q.Scope.Fact))
	case q.By.OK():
		return w.say("scopes.ledger", "who", quoted(q.By.By), "when", q.By.At.UTC().Format("2006-01-02"), "how", quoted(q.By.Source))
	case q.Scope != nil:
		return joined(" ", w.say("scopes.reported"), w.cite(q.Scope.Fact))
	}
	return w.say("scopes.no")
}

// parts are the parts of the keys of the scopes that count.
func (w *writer) parts() []text {
	var out []text
	p := w.p.ask.Profile
	if p == nil {
		return nil
	}
	used := map[string]bool{}
	for _, q := range w.p.Quotas {
		if q.Scope != nil {
			for _, k := range q.Scope.Key {
				used[k] = true
			}
		}
	}
	for _, name := range []string{"host", "verb"} {
		if used[name] {
			out = append(out, w.say("scopes."+name, "part", typed(name)))
		}
	}
	for _, part := range p.Parts {
		switch {
		case !used[part.Name]:
		case part.Given != "":
			out = append(out, w.say("scopes.part", "part", typed(part.Name), "given", quoted(part.Given)))
		default:
			out = append(out, w.say("scopes.path", "part", typed(part.Name)))
		}
	}
	return out
}

// others are the profile's scopes that do not count here.
func (w *writer) others() []text {
	var out []text
	p := w.p.ask.Profile
	if p == nil {
		return nil
	}
	for _, s := range p.Scopes {
		if !slices.ContainsFunc(w.p.Quotas, func(q *Quota) bool { return q.Scope != nil && q.Scope.Name == s.Name }) {
			out = append(out, typed(s.Name))
		}
	}
	return out
}

// batch is how documents are put into requests.
func (w *writer) batch() []text {
	p := w.p
	b := p.ask.batch()
	switch {
	case b == nil:
		return []text{w.say("batch.none")}
	case b.NoMedia:
		return []text{w.cited(w.say("batch.media"), b.Fact)}
	case p.Size == 0 && p.ask.Batch < 0:
		return []text{w.cited(w.say("batch.off", "most", int64(b.Most)), b.Fact)}
	case p.Size == 0:
		return []text{w.say("batch.elsewhere")}
	}
	sizes := w.say("batch.sizes", "fits", p.Fits)
	if p.Fits <= 1 {
		sizes = w.say("batch.sizes.one")
	}
	var out []text
	if p.Fits > 0 {
		out = append(out, w.cited(w.say("batch.fits", "most", p.Most, "fits", p.Fits, "sizes", sizes), b.Fact))
	}
	if s := p.Smallest; s != nil && p.Fits > 0 {
		out = append(out, w.say("batch.small", "limit", w.limit(s), "scope", w.name(s.Quota), "fits", p.Fits))
	} else if s != nil {
		out = append(out, w.say("batch.never", "limit", w.limit(s), "scope", w.name(s.Quota)))
	}
	out = append(out, w.say("batch.size", "size", w.counts("documents", p.Size), "batches", w.counts("batches", p.Batches)))
	switch {
	case b.Charged != "each":
		out = append(out, w.say("batch.once"))
	case len(p.ask.Profile.Costs) > 0 && p.ask.Cost == nil:
		out = append(out, w.envelope())
	default:
		out = append(out, w.say("batch.each.requests"))
	}
	return append(out, w.say("batch.judged"))
}

// envelope is what the request around a batch costs.
func (w *writer) envelope() text {
	for _, s := range w.p.shapes {
		if s.batch > 0 {
			cost := ratOf(s.envelope())
			f := w.priced(s.Profile, cost, true)
			return w.cited(w.say("batch.each", "envelope", w.count("units", cost), "note", w.note(f)), f)
		}
	}
	return nil
}

// assumptions are what the plan takes for given.
func (w *writer) assumptions() []text {
	p := w.p
	var out []text
	if tier, assumed := p.Tier(); assumed {
		out = append(out, w.say("assume.tier", "tier", typed(tier), "tiers", w.tiers()))
	} else if tier != "" {
		out = append(out, w.say("assume.chosen", "tier", typed(tier)))
	}
	if n := p.ask.Requests; n > 1 {
		out = append(out, w.say("assume.requests", "n", n))
	} else if p.Size == 0 {
		out = append(out, w.say("assume.one"))
	}
	if p.ask.Cost != nil {
		out = append(out, w.say("assume.cost", "n", w.count("units", p.ask.Cost)))
	} else {
		out = append(out, w.costs()...)
	}
	if p.ask.Size > 0 {
		out = append(out, w.say("assume.size", "size", sizeText(p.ask.Size)))
	}
	if p.ask.Listed {
		out = append(out, w.say("assume.listed"))
	} else {
		out = append(out, w.say("assume.listing"))
	}
	return out
}

// costs are what requests for documents cost in units.
func (w *writer) costs() []text {
	var out []text
	same := map[string][]*Quota{} // by what a request costs
	var order []*big.Rat
	for _, q := range w.p.Quotas {
		if !slices.ContainsFunc(q.Bounds, func(b *Bound) bool { return b.Unit == profile.Units }) {
			continue
		}
		var least, most *big.Rat
		for _, i := range q.loads {
			c := ratOf(w.p.shapes[i].cost(q.Key))
			if least == nil || less(c, least) {
				least = c
			}
			if most == nil || less(most, c) {
				most = c
			}
		}
		switch {
		case less(least, most):
			out = append(out, w.say("assume.costs.range", "least", decimal(least), "most", decimal(most), "scope", w.name(q)))
			continue
		case same[least.String()] == nil:
			order = append(order, least)
		}
		same[least.String()] = append(same[least.String()], q)
	}
	for _, c := range order {
		quotas := same[c.String()]
		f := w.priced(w.p.ask.Loads[quotas[0].loads[0]].Profile, c, false)
		out = append(out, w.cited(w.say("assume.costs", "n", w.count("units", c), "scopes", w.names(quotas), "note", w.note(f)), f))
	}
	return out[:min(len(out), 5)]
}

// priced is who says what a request costs, if there is no doubt which line of the profile it is.
func (w *writer) priced(p *profile.Profile, units *big.Rat, envelope bool) profile.Fact {
	var same []profile.Cost
	for _, c := range p.Costs {
		if ratOf(c.Units).Cmp(units) == 0 {
			same = append(same, c)
		}
	}
	if i := slices.IndexFunc(same, func(c profile.Cost) bool { return c.Match == nil }); i >= 0 && !w.p.ask.Placed && !envelope {
		same = same[i : i+1]
	}
	switch {
	case len(same) == 1:
		return same[0].Fact
	case len(same) == 0 || slices.ContainsFunc(same, func(c profile.Cost) bool { return c.Source != same[0].Source || c.Known != same[0].Known }):
		return profile.Fact{}
	}
	return profile.Fact{Source: same[0].Source, Known: same[0].Known}
}

func (w *writer) tiers() text {
	var out []text
	for _, t := range w.p.ask.Profile.Plans() {
		out = append(out, typed(t))
	}
	return w.list(out)
}

// method is how it is reckoned.
func (w *writer) method() []block {
	p := w.p
	notes := append([]text{w.say("method.best")}, w.assumptions()...)
	notes = append(notes, w.say("assume.retries"), w.say("method.window"))
	if slices.ContainsFunc(p.Bounds, func(b *Bound) bool { return b.burst != nil }) {
		notes = append(notes, w.say("method.bucket"))
	}
	if p.ask.Latency > 0 {
		notes = append(notes, w.say("method.latency", "latency", w.span(p.ask.Latency, true)))
	} else {
		notes = append(notes, w.say("method.nolatency"))
	}
	alike := true
	p.crowds(func(*Bound) bool { return true }, func(c *crowd, _ int, _ *Quota) { alike = alike && c.alike })
	switch {
	case !alike:
		notes = append(notes, w.say("method.sum"))
	case len(p.Bounds) > 1:
		notes = append(notes, w.say("method.several"))
	}
	return []block{{List: notes}}
}
