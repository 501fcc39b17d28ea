package plan

import (
	"slices"
	"time"

	"github.com/dogear/dogear/profile"
)

// shortest is the plan's shortest time.
func (w *writer) shortest() text {
	if w.p.Never {
		return w.say("key.never")
	}
	return words(w.span(w.p.Shortest, true))
}

func (w *writer) given() text { return words(w.span(w.p.ask.Deadline.within, false)) }

// lead is the verdict with its reasons.
func (w *writer) lead() []block {
	p := w.p
	documents := w.counts("documents", p.Documents)
	var said text
	switch b := p.Binding; {
	case p.Never && b != nil && b.Never:
		said = w.say("lead.impossible", "what", w.what(b), "limit", w.limit(b), "scope", w.name(b.Quota))
	case !p.Known:
		said = w.say("lead.nothing", "documents", documents)
	case p.Shortest == 0 && p.Verdict == Fits:
		said = w.say("lead.fits.once", "documents", documents)
	case p.Shortest == 0:
		said = w.say("lead.known.once", "documents", documents)
	default:
		key := map[Verdict]string{Fits: "lead.fits", TooMuch: "lead.longer", Unsaid: "lead.known", Open: "lead.open"}[p.Verdict]
		said = w.say(key, "documents", documents, "take", w.take(), "shortest", w.shortest(), "deadline", w.given(), "done", w.counts("documents", p.Done), "binding", w.binding())
	}
	head := append(text{{Text: w.word("verdict." + p.Verdict.String()), Kind: strong}, {Text: w.words["lead.gap"]}}, said...)
	blocks := []block{{Para: head}}
	if doubts := w.doubts(); len(doubts) > 0 {
		blocks = append(blocks, block{Para: w.say("lead.doubts")}, block{List: doubts})
	}
	return blocks
}

// take is the verb of the documents.
func (w *writer) take() text {
	if w.p.Documents == 1 {
		return w.say("take.one")
	}
	return w.say("take.many")
}

func (w *writer) binding() text {
	b := w.p.Binding
	if b == nil { // what takes time is the answers alone
		return nil
	}
	return w.say("lead.binding", "limit", w.limit(b), "scope", w.name(b.Quota))
}

// what is the thing that is too much for a limit.
func (w *writer) what(b *Bound) text {
	switch {
	case w.p.Size > 0:
		return w.say("what.batch", "n", w.counts("documents", w.p.Size))
	case b.Unit == profile.Bytes || b.Unit == profile.Units && w.p.ask.Cost != nil:
		return w.say("what.document")
	}
	return w.say("what.request")
}

// doubts are what keeps a verdict from being said.
func (w *writer) doubts() []text {
	var out []text
	for _, r := range w.p.Reasons {
		if t := w.doubt(r); t != nil {
			out = append(out, t)
		}
	}
	return out
}

func (w *writer) doubt(r Reason) text {
	upTo := func(key, value string) text {
		t := w.say(key, "limit", w.limit(r.Bound), "scope", w.name(r.Bound.Quota))
		switch {
		case !w.p.ask.Deadline.given():
			return t
		case r.Bound.UpTo == 0:
			return append(t, w.say("doubt.upto.none")...)
		}
		return append(t, w.say(key+".upto", "upto", value)...)
	}
	switch r.Cause {
	case NoSizes:
		return upTo("doubt.sizes", sizeText(r.Bound.UpTo))
	case NoLatency:
		return upTo("doubt.latency", w.span(time.Duration(r.Bound.UpTo), false))
	case ReportedOnly:
		return joined(" ", w.say("doubt.reported", "limit", w.limit(r.Bound), "scope", w.name(r.Bound.Quota)), w.cite(r.Bound.Fact))
	case Unwritten:
		if tier, _ := w.p.Tier(); !slices.ContainsFunc(r.Quotas, func(q *Quota) bool { return !q.tiered() }) {
			return w.say("doubt.unwritten.tier", "scopes", w.names(r.Quotas), "tier", typed(tier))
		}
		return w.say("doubt.unwritten", "scopes", w.names(r.Quotas))
	case Unconfirmed:
		return w.say("doubt.unconfirmed", "scopes", w.names(r.Quotas))
	case NoQuota:
		return w.say("doubt.noquota")
	case Nobody:
		return w.say("doubt.nobody")
	}
	return nil // the lead says it
}

// question is what was asked, on one line.
func (w *writer) question() text {
	var parts []text
	if w.p.ask.Base != "" {
		parts = append(parts, typed(w.p.ask.Base))
	} else if p := w.p.ask.Profile; p != nil && p.Base != nil {
		parts = append(parts, typed(p.Base.URL.String()))
	}
	parts = append(parts, w.counts("documents", w.p.Documents))
	if w.p.Batches > 0 {
		parts = append(parts, w.requests())
	} else {
		parts = append(parts, w.counts("requests", w.p.Sent))
	}
	if n := w.p.ask.Repeats; n > 0 {
		parts = append(parts, w.say("value.again", "n", n))
	}
	switch d := w.p.ask.Deadline; {
	case d.given() && d.at.IsZero():
		parts = append(parts, w.say("value.within", "span", w.given()))
	case d.given():
		parts = append(parts, joined(" ", w.say("key.deadline"), words(moment(d.at))))
	}
	return joined(" · ", parts...)
}

// figures are the plan in a few numbers.
func (w *writer) figures() block {
	p := w.p
	t := &table{Strong: -1}
	row := func(key string, value text) { t.Rows = append(t.Rows, []text{w.say(key), value}) }
	if p.ask.Repeats > 0 {
		row("key.documents", w.say("value.repeats", "n", p.Documents, "repeats", p.ask.Repeats))
	} else {
		row("key.documents", w.say("value.requests", "n", p.Documents))
	}
	row("key.requests", w.requests())
	d := p.ask.Deadline
	switch {
	case !d.given():
		row("key.deadline", w.say("value.none"))
	case d.at.IsZero():
		row("key.deadline", w.say("value.within", "span", w.given()))
	default:
		row("key.deadline", words(moment(d.at)))
		row("key.reckoned", words(moment(d.from)))
	}
	if !p.Known {
		row("key.shortest", w.say("unknown"))
		return block{Table: t}
	}
	row("key.shortest", w.shortest())
	if p.Binding != nil {
		row("key.binding", joined(" · ", w.name(p.Binding.Quota), w.limit(p.Binding)))
	}
	if d.given() {
		row("key.done", w.done(p.Done, p.Documents))
	}
	if late, ok := p.Late(); ok {
		if d.at.IsZero() {
			row("key.margin", w.say("value.start.within", "span", w.span(late, false)))
		} else {
			row("key.latest", words(moment(d.from.Add(late))))
			row("key.earliest", words(moment(d.from.Add(p.Shortest))))
		}
	}
	return block{Table: t}
}

// Late is how much later than planned the batch may start; ok is false where there is no
// deadline, or it would not be kept.
func (p *Plan) Late() (d time.Duration, ok bool) {
	if !p.ask.Deadline.given() || !p.Known || p.Never || p.Done < p.Documents {
		return 0, false
	}
	return p.ask.Deadline.within - p.Shortest, true
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func (w *writer) requests() text {
	p := w.p
	switch {
	case p.Batches == 0:
		return w.say("value.requests", "n", p.Sent)
	case p.Batches == p.Sent:
		return w.say("value.batches.all", "n", w.counts("batches", p.Sent), "size", w.counts("documents", p.Size))
	}
	return w.say("value.batches", "n", p.Sent, "batches", p.Batches, "size", w.counts("documents", p.Size))
}

func (w *writer) done(n, of int64) text {
	if n >= of {
		return w.say("value.all")
	}
	return words(number(n))
}

// limits is what each limit allows.
func (w *writer) limits() []block {
	p := w.p
	if len(p.Bounds) == 0 {
		return []block{{Para: w.say("limits.none")}}
	}
	t := &table{Strong: -1, Right: []bool{false, false, true, true, true, false}}
	given := p.ask.Deadline.given()
	cells := func(all ...text) []text {
		if !given {
			all = slices.Delete(all, 4, 5)
		}
		return all
	}
	t.Head = cells(w.say("head.scope"), w.say("head.limit"), w.say("head.needs"), w.say("head.shortest"), w.say("head.done"), w.say("head.remark"))
	if !given {
		t.Right = slices.Delete(t.Right, 4, 5)
	}
	const most = 40
	for i, b := range p.Bounds {
		if i == most {
			t.Rows = append(t.Rows, cells(w.say("list.more", "n", int64(len(p.Bounds)-most)), nil, nil, nil, nil, nil))
			break
		}
		if b.Binding {
			t.Strong = len(t.Rows)
		}
		t.Rows = append(t.Rows, cells(w.name(b.Quota), w.limit(b), w.needs(b), w.allows(b), w.doneOf(b), w.remark(b)))
	}
	if p.Known {
		var done text
		if given {
			done = w.done(p.Done, p.Documents)
		}
		t.Rows = append(t.Rows, cells(w.say("limits.together"), nil, nil, w.shortest(), done, nil))
	}
	return []block{{Table: t}}
}

func (w *writer) needs(b *Bound) text {
	switch {
	case b.Needs == nil:
		return w.say("unknown")
	case b.Unit == profile.Bytes:
		return words(sizeText(ceil(b.Needs)))
	case b.Unit == profile.Units:
		return w.count("units", b.Needs)
	}
	return words(decimal(b.Needs))
}

func (w *writer) allows(b *Bound) text {
	switch {
	case b.Missing != Nothing:
		return w.say("unknown")
	case b.Never:
		return w.say("key.never")
	}
	return words(w.span(b.Shortest, true))
}

func (w *writer) doneOf(b *Bound) text {
	switch {
	case b.Missing == Nothing:
		return w.done(b.Done, b.Quota.documents)
	case b.UpTo == 0:
		return w.say("unknown")
	case b.Missing == Latency:
		return w.say("remark.upto", "upto", w.span(time.Duration(b.UpTo), false))
	}
	return w.say("remark.upto", "upto", sizeText(b.UpTo))
}

// remark is what else there is to say of a limit.
func (w *writer) remark(b *Bound) text {
	var parts []text
	if b.Binding {
		parts = append(parts, text{{Text: w.words["remark.binding"], Kind: strong}})
	}
	switch b.Missing {
	case Sizes:
		parts = append(parts, w.say("remark.sizes"))
	case Latency:
		parts = append(parts, w.say("remark.latency"))
	}
	switch b.Origin {
	case Stated:
		parts = append(parts, w.say("remark.stated"))
	case Agreed:
		parts = append(parts, w.say("remark.agreed", "who", quoted(b.Quota.By.By)))
	case Own:
		parts = append(parts, w.say("remark.own"))
	default:
		if b.Known == profile.Reported {
			parts = append(parts, w.say("remark.reported"))
		}
		parts = append(parts, w.cite(b.Fact))
	}
	return w.list(parts)
}
