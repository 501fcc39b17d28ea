package plan

import (
	"encoding/json"
	"math/big"
	"strings"
	"time"

	"github.com/dogear/dogear/profile"
)

// Times are RFC 3339 in UTC with milliseconds; lengths of time are seconds. What is not known is
// absent. Scripts are written against these fields: add, never rename.
type planJSON struct {
	Profile   string       `json:"profile,omitempty"`
	Title     string       `json:"title,omitempty"`
	Base      string       `json:"base_url,omitempty"`
	Tier      string       `json:"tier,omitempty"`
	Assumed   bool         `json:"tier_assumed,omitempty"`
	Verdict   string       `json:"verdict"` // fits, does_not_fit, cannot_be_said, no_deadline
	Reasons   []reasonJSON `json:"reasons,omitempty"`
	Documents int64        `json:"documents"`
	Repeats   int64        `json:"repeats,omitempty"`
	Requests  int64        `json:"requests"`
	Batch     *batchJSON   `json:"batch,omitempty"`
	Deadline  string       `json:"deadline,omitempty"`
	Within    json.Number  `json:"deadline_s,omitempty"`
	Shortest  json.Number  `json:"shortest_s,omitempty"`
	Never     bool         `json:"never,omitempty"`
	Binding   *limitJSON   `json:"binding,omitempty"`
	Done      *int64       `json:"done_by_deadline,omitempty"`
	Margin    json.Number  `json:"margin_s,omitempty"`
	Latest    string       `json:"latest_start,omitempty"`
	Earliest  string       `json:"earliest_finish,omitempty"`
	Scopes    []scopeJSON  `json:"scopes"`
	Limits    []limitJSON  `json:"limits"`
	Questions []string     `json:"questions"`
}

type reasonJSON struct {
	Cause  string      `json:"cause"`
	Scopes []string    `json:"scopes,omitempty"`
	Limit  string      `json:"limit,omitempty"`
	UpTo   *int64      `json:"up_to_bytes,omitempty"`
	UpToS  json.Number `json:"up_to_s,omitempty"`
	Text   string      `json:"text"`
}

type batchJSON struct {
	Size    int64 `json:"size,omitempty"`
	Batches int64 `json:"batches,omitempty"`
	Fits    int64 `json:"fits"`
	Most    int64 `json:"most"`
}

type scopeJSON struct {
	Scope     string `json:"scope"`
	Key       string `json:"key"`
	Confirmed bool   `json:"confirmed"`
	Source    string `json:"source,omitempty"`
	Documents int64  `json:"documents"`
}

type limitJSON struct {
	Scope    string      `json:"scope"`
	Key      string      `json:"key"`
	Limit    string      `json:"limit"`
	Unit     string      `json:"unit"`
	Amount   json.Number `json:"amount"`
	Per      json.Number `json:"per_s,omitempty"`
	Burst    json.Number `json:"burst,omitempty"`
	Plan     string      `json:"tier,omitempty"`
	From     string      `json:"from"` // profile, stated, agreed, own
	Known    string      `json:"known,omitempty"`
	Source   string      `json:"source,omitempty"`
	Needs    json.Number `json:"needs,omitempty"`
	Missing  string      `json:"missing,omitempty"` // sizes, latency
	Shortest json.Number `json:"shortest_s,omitempty"`
	Never    bool        `json:"never,omitempty"`
	Done     *int64      `json:"done_by_deadline,omitempty"`
	Binding  bool        `json:"binding,omitempty"`
}

var (
	causeNames   = []string{"takes_longer", "impossible", "reported_only", "no_sizes", "no_latency", "unwritten", "unconfirmed", "no_quota", "nothing_known"}
	originNames  = []string{"profile", "stated", "agreed", "own"}
	missingNames = []string{"", "sizes", "latency"}
)

// MarshalJSON implements [json.Marshaler]. Its texts are English.
func (p *Plan) MarshalJSON() ([]byte, error) {
	w := &writer{Lang: English, p: p}
	d := p.ask.Deadline
	out := planJSON{Base: shown(p.ask.Base), Verdict: p.Verdict.String(), Documents: p.Documents, Repeats: p.ask.Repeats, Requests: p.Sent,
		Scopes: []scopeJSON{}, Limits: []limitJSON{}, Questions: []string{}}
	if f := p.ask.Profile; f != nil && f.Name != "generic" {
		out.Profile, out.Title = f.Name, f.Title
		if out.Base == "" && f.Base != nil {
			out.Base = f.Base.URL.String()
		}
	}
	out.Tier, out.Assumed = p.Tier()
	if p.Most > 0 {
		out.Batch = &batchJSON{p.Size, p.Batches, p.Fits, p.Most}
	}
	if d.given() {
		out.Within, out.Deadline = seconds(d.within), stamp(d.at)
		if p.Known {
			out.Done = &p.Done
		}
	}
	if out.Never = p.Never; p.Known && !p.Never {
		out.Shortest = seconds(p.Shortest)
	}
	if late, ok := p.Late(); ok {
		out.Margin = seconds(late)
		if !d.at.IsZero() {
			out.Latest, out.Earliest = stamp(d.from.Add(late)), stamp(d.from.Add(p.Shortest))
		}
	}
	for _, r := range p.Reasons {
		out.Reasons = append(out.Reasons, w.reasonJSON(r))
	}
	for _, q := range p.Quotas {
		s := scopeJSON{Scope: q.Name(), Key: q.Key, Confirmed: q.Confirmed(), Documents: q.documents}
		if q.Scope != nil {
			s.Source = q.Scope.Source
		}
		out.Scopes = append(out.Scopes, s)
	}
	for _, b := range p.Bounds {
		l := w.limitJSON(b)
		if out.Limits = append(out.Limits, l); b.Binding {
			out.Binding = &l
		}
	}
	for _, q := range w.toAsk() {
		out.Questions = append(out.Questions, q.String())
	}
	if f := p.ask.Profile; f != nil {
		out.Questions = append(out.Questions, f.Unknown...)
	}
	return json.Marshal(out)
}

func (w *writer) reasonJSON(r Reason) reasonJSON {
	out := reasonJSON{Cause: causeNames[r.Cause]}
	if t := w.doubt(r); t != nil {
		out.Text = strings.TrimSpace(t.String())
	} else {
		out.Text = w.lead()[0].Para.String()
	}
	for _, q := range r.Quotas {
		out.Scopes = append(out.Scopes, q.Key)
	}
	if b := r.Bound; b != nil {
		out.Limit, out.Scopes = w.limit(b).String(), []string{b.Quota.Key}
		switch {
		case r.Cause == NoSizes && b.UpTo > 0:
			out.UpTo = &b.UpTo
		case r.Cause == NoLatency && b.UpTo > 0:
			out.UpToS = seconds(time.Duration(b.UpTo))
		}
	}
	return out
}

func (w *writer) limitJSON(b *Bound) limitJSON {
	out := limitJSON{Scope: b.Quota.Name(), Key: b.Quota.Key, Limit: w.limit(b).String(), Unit: b.Unit.String(), Amount: exactly(b.amount),
		Plan: b.Plan, From: originNames[b.Origin], Source: b.Source, Missing: missingNames[b.Missing], Never: b.Never, Binding: b.Binding}
	if b.Unit != profile.Concurrent {
		out.Per = seconds(b.Per)
	}
	if b.Burst > 0 {
		out.Burst = exactly(ratInt(int64(b.Burst)))
	}
	if b.Origin == Written {
		out.Known = b.Known.String()
	}
	if b.Needs != nil {
		out.Needs = exactly(b.Needs)
	}
	if b.Missing == Nothing {
		if !b.Never {
			out.Shortest = seconds(b.Shortest)
		}
		if w.p.ask.Deadline.given() {
			out.Done = &b.Done
		}
	}
	return out
}

// seconds is a time as a decimal number of seconds.
func seconds(d time.Duration) json.Number { return exactly(quo(spanOf(d), spanOf(time.Second))) }

// exactly is a number with as many decimals as it has, up to nine.
func exactly(r *big.Rat) json.Number {
	s := r.FloatString(9)
	return json.Number(strings.TrimSuffix(strings.TrimRight(s, "0"), "."))
}

// stamp is a moment as scripts read it.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
