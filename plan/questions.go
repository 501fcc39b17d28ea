package plan

import (
	"slices"
	"strings"
	"time"
)

// questions are what is open: for whoever plans, and for the service's side.
func (w *writer) questions() []block {
	var blocks []block
	var own []text
	for _, r := range w.p.doubts() {
		if slices.Contains([]Cause{NoSizes, NoLatency, NoQuota, Nobody}, r.Cause) { // the others are for the service
			own = append(own, w.doubt(r))
		}
	}
	if len(own) > 0 {
		blocks = append(blocks, block{Para: w.say("ask.own")}, block{List: own, Ordered: true})
	}
	blocks = append(blocks, block{Para: w.say("ask.service")}, block{List: w.toAsk(), Ordered: true})
	if p := w.p.ask.Profile; p != nil && len(p.Unknown) > 0 {
		b := block{Ordered: true}
		for _, u := range p.Unknown {
			b.List = append(b.List, quoted(u))
		}
		blocks = append(blocks, block{Para: w.say("ask.unknown")}, b)
	}
	return blocks
}

// toAsk are the questions that the plan has beside those of the profile.
func (w *writer) toAsk() []text {
	p := w.p
	out := []text{w.say("ask.version")}
	tier, assumed := p.Tier()
	if assumed {
		out = append(out, w.say("ask.tier", "tiers", w.tiers()))
	}
	const most = 40
	for i, q := range p.Quotas {
		switch {
		case i == most:
			out = append(out, w.say("list.more", "n", int64(len(p.Quotas)-most)))
		case i > most || q.Confirmed() || q.Key == "":
		case q.Scope != nil:
			out = append(out, joined(" ", w.say("ask.confirm.reported", "key", w.key(q.Scope), "scope", w.name(q)), w.cite(q.Scope.Fact)))
		default:
			out = append(out, w.say("ask.confirm", "scope", w.name(q)))
		}
	}
	for _, r := range p.doubts() {
		if r.Cause == ReportedOnly {
			out = append(out, joined(" ", w.say("ask.reported", "limit", w.limit(r.Bound), "scope", w.name(r.Bound.Quota)), w.cite(r.Bound.Fact)))
		}
		for _, q := range r.Quotas[:min(most, len(r.Quotas))] {
			if r.Cause == Unwritten && q.tiered() {
				out = append(out, w.say("ask.amount.tier", "scope", w.name(q), "tier", typed(tier)))
			} else if r.Cause == Unwritten {
				out = append(out, w.say("ask.amount", "scope", w.name(q)))
			}
		}
	}
	if !p.ask.Listed {
		out = append(out, w.say("ask.listing"))
	}
	if n := p.ask.Requests; n > 1 {
		out = append(out, w.say("ask.hops", "n", n))
	}
	return out
}

// retries is who sends again.
func (w *writer) retries() []block {
	blocks := []block{{Para: w.say("retry.gate")}}
	p := w.p.ask.Profile
	if p == nil || len(p.SDKs) == 0 {
		return append(blocks, block{Para: w.say("retry.nosdk")})
	}
	t := &table{Strong: -1, Head: []text{w.say("head.sdk"), w.say("head.does"), w.say("head.off")}}
	for _, s := range p.SDKs {
		off := w.say("retry.nooff")
		if s.Off != "" {
			off = quoted(s.Off)
		}
		t.Rows = append(t.Rows, []text{quoted(s.Name), w.cited(w.noted(quoted(s.Does), s.Fact), s.Fact), off})
	}
	return append(blocks, block{Para: w.say("retry.sdk")}, block{Table: t})
}

// deadline is what happens at the end of a run.
func (w *writer) deadline() []block {
	d := w.p.ask.Deadline
	end := w.say("deadline.default")
	read := "dogear read SOURCE"
	if p := w.p.ask.Profile; p != nil && p.Name != "generic" {
		if read += " --profile " + p.Name; w.p.ask.File != "" {
			read = "dogear read SOURCE --profile " + argument(w.p.ask.File)
		}
	}
	if w.p.ask.Tier != "" {
		read += " --tier " + argument(w.p.ask.Tier)
	}
	if w.p.ask.Base != "" && w.p.ask.Profile != nil {
		read += " --base-url " + argument(w.p.ask.Base)
	}
	switch {
	case d.given() && d.at.IsZero():
		end = w.say("deadline.is", "span", w.given())
		read += " --deadline " + typedTime(d.within)
	case d.given():
		end = w.say("deadline.at", "at", moment(d.at))
		read += " --deadline " + d.at.UTC().Format("2006-01-02T15:04:05Z")
	}
	return []block{
		{List: []text{end, w.say("deadline.stop"), w.say("deadline.wait"), w.say("deadline.place")}},
		{Para: w.say("deadline.cmd")},
		{Code: []string{read, "dogear remaining JOB", "dogear resume JOB"}},
	}
}

// typedTime is a length of time as it is typed.
func typedTime(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = strings.TrimSuffix(s, zero[1:])
		}
	}
	return s
}

// argument is a word of a command line.
func argument(s string) string {
	s = shown(s)
	if strings.ContainsAny(s, " '\"\\$&|;<>()*?`") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// ledger is what the durable record needs.
func (w *writer) ledger() []block {
	return []block{{List: []text{w.say("ledger.durable"), w.say("ledger.place"), w.say("ledger.shared"), w.say("ledger.keep"), w.say("ledger.size")}}}
}

// acceptance is what must be seen before the reading is accepted.
func (w *writer) acceptance() []block {
	blocks := []block{{Para: w.say("accept.intro")}, {Code: []string{"dogear drill"}}}
	if len(w.p.ask.Rows) == 0 {
		blocks = append(blocks, block{Para: w.say("accept.none")})
	} else {
		t := &table{Strong: -1, Head: []text{w.say("head.row"), w.say("head.must")}}
		for _, r := range w.p.ask.Rows {
			must := quoted(r.Must)
			if s, ok := w.rows[r.Must]; ok {
				must = words(s)
			}
			t.Rows = append(t.Rows, []text{typed(r.Name), must})
		}
		blocks = append(blocks, block{Table: t})
	}
	return append(blocks, block{Para: w.say("accept.client")}, block{Code: []string{"dogear drill run -- CLIENT {list} {out}"}})
}

// facts are what else the profile has for people.
func (w *writer) facts() []block {
	p := w.p.ask.Profile
	if p == nil || len(p.Facts) == 0 {
		return nil
	}
	b := block{}
	for _, f := range p.Facts {
		b.List = append(b.List, w.cited(w.noted(quoted(f.Says), f.Fact), f.Fact))
	}
	return []block{b}
}
