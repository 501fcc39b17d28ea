package profile

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/dogear/dogear/hint"
)

// A BudgetField is where answers tell what is left of a quota before they refuse.
type BudgetField struct {
	Fact
	// Steers says that the service means it: the pace may follow it. Others are known, and
	// left alone.
	Steers bool
	Scopes []string // the names of the scopes it speaks of; nil: all of the request
	// Form is [Structured] for the fields of the IETF's later drafts; else one field each.
	Form       Form
	Field      string            // Structured: what is left
	Policy     string            // Structured: the field of the policies
	Policies   map[string]string // Structured: which scope a policy's name means
	Limit      string
	Remaining  string
	Reset      string
	ResetForm  Form
	Window     string
	WindowForm Form // Seconds or Milliseconds; noForm for a text with its unit ("1s")
}

// A Budget is what one answer says is left of a quota.
type Budget struct {
	Policy string   // its name, where it has one
	Scopes []string // the names of the scopes; nil: all of the request
	// Limit and Remaining are in what the scope counts; negative where they are not said.
	Limit, Remaining int64
	// Reset is how long until there is more, from the receipt of the answer; negative where
	// it is not said.
	Reset time.Duration
	// Window is the time that Limit is for; zero where it is not said.
	Window time.Duration
	Fact   Fact
}

// Left are the budgets that an answer tells and the service means: what may steer the pace
// before anything is refused. They close nothing and promise nothing. What is malformed says
// nothing.
func (p *Profile) Left(h http.Header, received time.Time) []Budget {
	var out []Budget
	for _, f := range p.Budgets {
		switch {
		case !f.Steers:
		case f.Form == Structured:
			out = append(out, f.structured(h)...)
		default:
			out = append(out, f.plain(h, received)...)
		}
	}
	return out
}

func (f BudgetField) plain(h http.Header, received time.Time) []Budget {
	b := Budget{Scopes: f.Scopes, Limit: number(h, f.Limit), Remaining: number(h, f.Remaining), Reset: -1, Fact: f.Fact}
	if f.Reset != "" {
		a := Answer{Header: h, Received: received}
		r := Hint{Field: f.Reset, Form: f.ResetForm}.read(a, serverNow(a))
		if r.Valid() {
			b.Reset = r.Wait
		}
	}
	if f.Window != "" {
		b.Window = f.window(h.Get(f.Window))
	}
	if b.Limit < 0 && b.Remaining < 0 {
		return nil
	}
	return []Budget{b}
}

func (f BudgetField) window(v string) time.Duration {
	switch f.WindowForm {
	case Seconds:
		v += "s"
	case Milliseconds:
		v += "ms"
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > maxTime || strings.HasPrefix(v, "+") {
		return 0
	}
	return d
}

// number is a field that holds one whole number; negative if it does not.
func number(h http.Header, name string) int64 {
	if name == "" {
		return -1
	}
	v := h.Values(name)
	if len(v) != 1 || !digits.MatchString(strings.Trim(v[0], " \t")) {
		return -1
	}
	n, err := strconv.ParseInt(strings.Trim(v[0], " \t"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// structured reads the policies. A field with one malformed member says nothing, as the
// drafts demand; a policy that leaves out what remains is far from its limit.
func (f BudgetField) structured(h http.Header) []Budget {
	left, err := httpsfv.UnmarshalList(h.Values(f.Field))
	if err != nil || hint.RateLimitStructured(http.Header{"Ratelimit": withoutFar(h.Values(f.Field))}).Kind == hint.Invalid {
		return nil
	}
	type quota struct{ q, w int64 }
	quotas := map[string]quota{}
	policies, _ := httpsfv.UnmarshalList(h.Values(f.Policy))
	for _, m := range policies {
		if name, ok := policyName(m); ok {
			quotas[name] = quota{parameter(m, "q"), parameter(m, "w")}
		}
	}
	var out []Budget
	for _, m := range left {
		name, ok := policyName(m)
		if !ok {
			return nil
		}
		b := Budget{Policy: name, Scopes: f.Scopes, Limit: -1, Remaining: parameter(m, "r"), Reset: -1, Fact: f.Fact}
		if scope := f.Policies[name]; scope != "" {
			b.Scopes = []string{scope}
		}
		if t := parameter(m, "t"); t >= 0 {
			b.Reset = time.Duration(min(t, int64(maxWait/time.Second))) * time.Second
		}
		if q, ok := quotas[name]; ok {
			b.Limit = q.q
			b.Window = time.Duration(min(max(q.w, 0), int64(maxTime/time.Second))) * time.Second
		}
		if b.Limit >= 0 || b.Remaining >= 0 {
			out = append(out, b)
		}
	}
	return out
}

func policyName(m httpsfv.Member) (string, bool) {
	item, ok := m.(httpsfv.Item)
	if !ok {
		return "", false
	}
	name, ok := item.Value.(string)
	return name, ok
}

// parameter is a whole number that a policy tells; negative if it does not.
func parameter(m httpsfv.Member, name string) int64 {
	item, _ := m.(httpsfv.Item)
	if item.Params == nil {
		return -1
	}
	v, _ := item.Params.Get(name)
	n, ok := v.(int64)
	if !ok || n < 0 {
		return -1
	}
	return n
}
