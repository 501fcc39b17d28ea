package profile

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/hint"
)

// A Verdict is what an answer means.
type Verdict struct {
	// Throttled says that it refuses for want of quota, and so closes scopes.
	Throttled bool
	// Closes are the names of the scopes that it closes; nil: all that the request belongs
	// to. See [Verdict.Closed].
	Closes []string
	// Hint is when sending is allowed again. Its Wait is what to wait: fractions are rounded
	// up to a second. Where it is not valid, its AtLeast is no less than the first of Waits.
	Hint hint.Hint
	// Kind is how the hint came, as people read it: "delta-seconds", "http-date",
	// "epoch-seconds", "epoch-milliseconds", "iso8601", "body", "none" or "invalid".
	Kind string
	// From is the field, or the place in the body, that said so.
	From string
	// Waits is what the service documents to wait without a hint, by events in a row; the
	// last one repeats.
	Waits []time.Duration
	// Outcome is what the profile says that the answer means; Unsettled where it says
	// nothing beyond the plain meaning of the status.
	Outcome dogear.Outcome
	// Delay is a hint that speaks of this one document: no scope closes (W10).
	Delay hint.Hint
	// Fact is who says so; zero where no line of the profile decided.
	Fact Fact
}

// Judge tells what an answer means. Without a word of the profile it is read as one of a
// service without one: 429 is a throttle, 503 and 529 are with a valid hint, and what a 202
// or a 3xx says of waiting is about its document.
func (p *Profile) Judge(a Answer) Verdict {
	if a.Batch && p.Batch != nil && p.Batch.Form == "graph" {
		if v, ok := p.judgeItems(a); ok {
			return v
		}
	}
	for i := range p.Throttles {
		if t := &p.Throttles[i]; t.When.holds(a) {
			return p.throttled(a, t)
		}
	}
	for i := range p.Statuses {
		if s := &p.Statuses[i]; s.When.holds(a) {
			v := Verdict{Outcome: s.Means, Fact: s.Fact, Kind: hint.None.String()}
			if s.Delays {
				v.delay(p.read(a))
			}
			return v
		}
	}
	switch {
	case a.Status == http.StatusTooManyRequests:
		return p.throttled(a, &Throttle{})
	case a.Status == http.StatusServiceUnavailable, a.Status == 529:
		if p.read(a).Valid() {
			return p.throttled(a, &Throttle{})
		}
	}
	v := Verdict{Kind: hint.None.String()}
	if a.Status == http.StatusAccepted || a.Status >= 300 && a.Status < 400 {
		h := hint.RetryAfter(a.Header, a.Received)
		v.delay(reading{Hint: h, kind: h.Kind.String(), from: "Retry-After"})
	}
	return v
}

func (p *Profile) throttled(a Answer, t *Throttle) Verdict {
	r := p.read(a)
	if !r.Valid() && len(t.Waits) > 0 {
		r.AtLeast = max(r.AtLeast, t.Waits[0])
	}
	v := Verdict{Throttled: true, Closes: t.Closes, Hint: r.Hint, Kind: r.kind, Waits: t.Waits,
		Outcome: dogear.Throttled, Fact: t.Fact}
	if r.Kind != hint.None {
		v.From = r.from
	}
	return v
}

func (v *Verdict) delay(r reading) {
	if r.Kind != hint.None {
		v.Delay, v.Kind, v.From = r.Hint, r.kind, r.from
	}
}

// Closed are the keys of those memberships that the verdict closes: all, where it names none
// of them. A throttle closes something.
func (v Verdict) Closed(of []Membership) []string {
	if !v.Throttled {
		return nil
	}
	var all, named []string
	for _, m := range of {
		all = append(all, m.Key)
		if m.Scope != nil && slices.Contains(v.Closes, m.Scope.Name) {
			named = append(named, m.Key)
		}
	}
	if len(named) > 0 {
		return named
	}
	return all
}

// Wait is what the service documents to wait after so many throttles in a row without a
// hint, counted from 1; zero where it documents nothing.
func (v Verdict) Wait(row int) time.Duration {
	if len(v.Waits) == 0 {
		return 0
	}
	return v.Waits[min(max(row, 1), len(v.Waits))-1]
}

// NeedsBody reports whether an answer's head does not tell whether it is a throttle, for how
// long, or what else it means, so that the beginning of its body has to be read. A Batch's
// answer is read as a whole in any case.
func (p *Profile) NeedsBody(status int, h http.Header) bool {
	needs := func(w When) bool { return w.body != nil && w.head(status, h) && w.body.mayHold(h) }
	decided, throttle := false, false
	for _, t := range p.Throttles {
		if needs(t.When) {
			return true
		}
		if t.When.body == nil && t.When.head(status, h) {
			decided, throttle = true, true
			break
		}
	}
	for _, s := range p.Statuses {
		if decided {
			break
		}
		if needs(s.When) {
			return true
		}
		decided = s.When.body == nil && s.When.head(status, h)
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, 529:
		throttle = throttle || !decided
	}
	return throttle && slices.ContainsFunc(p.Hints, func(d Hint) bool {
		inBody := When{status: d.When.status, fields: d.When.fields, body: &bodyMatch{path: d.Path}}
		return d.Field == "" && needs(inBody)
	})
}

// item is the answer to one request of a batch in JSON.
type item struct {
	ID      string
	Status  int
	Headers map[string]any
	Body    json.RawMessage
}

// judgeItems judges the items of a batch: it is a throttle if one of them is, and the latest
// hint among them counts (R3). It reports whether the body is an answer to a batch at all.
func (p *Profile) judgeItems(a Answer) (Verdict, bool) {
	var outer struct{ Responses []item }
	if json.Unmarshal(a.Body, &outer) != nil || len(outer.Responses) == 0 {
		return Verdict{}, false
	}
	envelope := p.Judge(Answer{Status: a.Status, Header: a.Header, Received: a.Received})
	v, best := envelope, reading{Hint: envelope.Hint, kind: envelope.Kind, from: envelope.From}
	for _, it := range outer.Responses {
		got := p.Judge(it.answer(a))
		if !got.Throttled {
			continue
		}
		if !v.Throttled {
			v = Verdict{Throttled: true, Closes: got.Closes, Outcome: dogear.Throttled, Fact: got.Fact}
		}
		v.Closes = union(v.Closes, got.Closes)
		if len(got.Waits) > len(v.Waits) {
			v.Waits = got.Waits
		}
		r := reading{Hint: got.Hint, kind: got.Kind, from: "item " + printable(it.ID) + ": " + got.From}
		if got.Hint.Valid() {
			r.kind = "body"
		}
		best = later(best, r)
	}
	v.Hint, v.Kind = best.Hint, best.kind
	if v.Throttled && best.Kind != hint.None {
		v.From = best.from
	}
	return v, true
}

// answer is the item as an answer of its own. Its dates are measured by the envelope's clock
// where it brings none.
func (it item) answer(a Answer) Answer {
	header := http.Header{}
	for name, value := range it.Headers {
		switch value := value.(type) {
		case string:
			header.Set(name, value)
		case float64:
			text, _ := json.Marshal(value)
			header.Set(name, string(text))
		}
	}
	for _, name := range []string{"Date", "Age"} {
		if header.Get(name) == "" && a.Header.Get(name) != "" {
			header.Set(name, a.Header.Get(name))
		}
	}
	return Answer{Status: it.Status, Header: header, Body: it.Body, Received: a.Received}
}

// union joins the scopes that two answers close; nil is all.
func union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
