package plan

import "github.com/dogear/dogear/profile"

// A Verdict says whether a batch is done by its deadline.
type Verdict uint8

// The verdicts.
const (
	// Open is the verdict where there is no deadline to ask about.
	Open Verdict = iota
	// Fits says that every limit is known and leaves enough time.
	Fits
	// TooMuch says that a limit that is known does not.
	TooMuch
	// Unsaid says that something would have to be known first.
	Unsaid
)

var verdictNames = []string{"no_deadline", "fits", "does_not_fit", "cannot_be_said"}

func (v Verdict) String() string { return verdictNames[v] }

// A Cause is a kind of reason.
type Cause uint8

// The causes.
const (
	// TakesLonger: the limits that are known take longer than there is.
	TakesLonger Cause = iota
	// Impossible: one request or batch alone is more than a limit lets through.
	Impossible
	// ReportedOnly: by a limit that only others report it does not fit, or it fits and the
	// limit may be another one.
	ReportedOnly
	// NoSizes: a limit of bytes, and the documents' sizes are not known.
	NoSizes
	// NoLatency: a limit of requests at a time, and how long one takes is not known.
	NoLatency
	// Unwritten: nobody has written how much a quota lets through.
	Unwritten
	// Unconfirmed: nobody has said which requests share a quota.
	Unconfirmed
	// NoQuota: it is not known which of the profile's quotas the documents are counted against.
	NoQuota
	// Nobody: nothing at all is known.
	Nobody
)

// A Reason is why a verdict is what it is, or what keeps it from being said.
type Reason struct {
	Cause  Cause
	Bound  *Bound   // of TakesLonger, Impossible, ReportedOnly, NoSizes and NoLatency
	Quotas []*Quota // of Unwritten and Unconfirmed
}

// judge finds the verdict.
func (p *Plan) judge() {
	for _, b := range p.Bounds {
		if b.Never && b.firm() {
			p.Verdict, p.Reasons = TooMuch, []Reason{{Cause: Impossible, Bound: b}}
			return
		}
	}
	given := p.ask.Deadline.given()
	if given && p.Known && !p.firm {
		p.Verdict, p.Reasons = TooMuch, []Reason{{Cause: TakesLonger, Bound: p.slowest()}}
		return
	}
	p.Reasons = p.doubts()
	switch {
	case !given:
		p.Verdict = Open
	case len(p.Reasons) > 0:
		p.Verdict = Unsaid
	default:
		p.Verdict = Fits
	}
}

// slowest is the firm limit that takes longest.
func (p *Plan) slowest() *Bound {
	var out *Bound
	for _, b := range p.Bounds {
		if b.Missing == Nothing && b.firm() && (out == nil || less(out.exact, b.exact)) {
			out = b
		}
	}
	return out
}

// doubts are what would have to be known.
func (p *Plan) doubts() []Reason {
	var out []Reason
	var unwritten, unconfirmed []*Quota
	unmatched := false
	for _, q := range p.Quotas {
		switch {
		case q.Key == "" && p.ask.Rate == nil:
			out = append(out, Reason{Cause: Nobody})
			continue
		case p.unplaced(q):
			unmatched = true
			continue
		case onlyOwn(q.Bounds) && p.ask.Rate == nil:
			unwritten = append(unwritten, q)
		}
		if !q.Confirmed() {
			unconfirmed = append(unconfirmed, q)
		}
	}
	for _, b := range p.Bounds {
		switch {
		case b.Missing == Sizes:
			out = append(out, Reason{Cause: NoSizes, Bound: b})
		case b.Missing == Latency:
			out = append(out, Reason{Cause: NoLatency, Bound: b})
		case !b.firm():
			out = append(out, Reason{Cause: ReportedOnly, Bound: b})
		}
	}
	if len(unwritten) > 0 {
		out = append(out, Reason{Cause: Unwritten, Quotas: unwritten})
	}
	if unmatched {
		out = append(out, Reason{Cause: NoQuota})
	}
	if len(unconfirmed) > 0 {
		out = append(out, Reason{Cause: Unconfirmed, Quotas: unconfirmed})
	}
	return out
}

// unplaced reports whether a quota stands in for those of a profile that has some: which of them
// count depends on the documents' addresses.
func (p *Plan) unplaced(q *Quota) bool {
	l := p.ask.Loads[q.loads[0]]
	return q.Scope == nil && !q.stated && l.Profile != nil && len(l.Profile.Scopes) > 0 && !p.ask.Placed
}

// onlyOwn reports whether nobody but dogear limits a quota.
func onlyOwn(bounds []*Bound) bool {
	for _, b := range bounds {
		if b.Origin != Own {
			return false
		}
	}
	return true
}

// Tier is the plan of the profile that is meant; assumed says that nobody chose it.
func (p *Plan) Tier() (name string, assumed bool) { return p.ask.tier() }

// Profile is what is known of the service; nil: nothing.
func (p *Plan) Profile() *profile.Profile { return p.ask.Profile }
