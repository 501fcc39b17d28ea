package profile

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Show writes a profile for people: what it says, each line with the number of its source
// and, where others than the service say so, the word "reported"; then what is not known.
func (p *Profile) Show(w io.Writer) error {
	s := sheet{}
	s.line("%s: %s", p.Name, p.Title)
	if p.Generic {
		s.line("Nothing was found about its limits: it is read as a service without a profile.")
	}
	if p.Base != nil {
		s.fact(p.Base.Fact, "address %s", p.Base.URL)
		if p.Base.Override != "" {
			s.line("    another one: %s", p.Base.Override)
		}
	} else {
		s.line("  address: each deployment has its own")
	}
	if len(p.Hosts) > 0 {
		s.line("  found by %s", strings.Join(p.Hosts, ", "))
	}
	if u := p.UserAgent; u != nil {
		s.fact(u.Fact, "%s User-Agent: %s", map[bool]string{true: "needs a", false: "asks for a"}[u.Required], u.Want)
	}
	s.scopes(p)
	s.answers(p)
	s.reading(p)
	s.title("Also written", len(p.Facts))
	for _, f := range p.Facts {
		s.fact(f.Fact, "%s", f.Says)
	}
	s.title("Not known", len(p.Unknown))
	for _, u := range p.Unknown {
		s.line("  %s", u)
	}
	s.title("Sources", len(s.sources))
	for i, source := range s.sources {
		s.line("  [%d] %s", i+1, source)
	}
	_, err := io.WriteString(w, s.b.String())
	return err
}

// A sheet is a profile on its way to text.
type sheet struct {
	b       strings.Builder
	sources []string
}

func (s *sheet) line(format string, args ...any) { fmt.Fprintf(&s.b, format+"\n", args...) }

// title begins a section, if there is something in it.
func (s *sheet) title(text string, n int) {
	if n > 0 {
		s.line("\n%s", text)
	}
}

// fact is a line with its source, and its note below.
func (s *sheet) fact(f Fact, format string, args ...any) {
	i := slices.Index(s.sources, f.Source)
	if i < 0 {
		i = len(s.sources)
		s.sources = append(s.sources, f.Source)
	}
	mark := ""
	if f.Known == Reported {
		mark = "reported "
	}
	s.line("  %s %s[%d]", fmt.Sprintf(format, args...), mark, i+1)
	if f.Note != "" {
		s.line("      %s", f.Note)
	}
}

func (s *sheet) scopes(p *Profile) {
	s.title("Scopes", len(p.Scopes))
	for _, scope := range p.Scopes {
		key := strings.Join(scope.Key, ", ")
		if scope.Class != "" {
			key = "class " + scope.Class + ", " + key
		}
		s.fact(scope.Fact, "%s: by %s; %s", scope.Name, key, scope.Match)
		for _, l := range scope.Limits {
			s.fact(l.Fact, "  %s", l)
		}
	}
	for _, part := range p.Parts {
		switch {
		case part.OrIdentity:
			s.line("  %s is %s; else the identity", part.Name, part.Given)
		case part.Given != "":
			s.line("  %s is %s", part.Name, part.Given)
		case part.classes != nil:
			s.line("  %s is told by the path; else %s", part.Name, part.other)
		default:
			s.line("  %s is what %s captures; else %s", part.Name, texts(part.paths), part.other)
		}
	}
	s.title("Costs in units", len(p.Costs))
	for _, c := range p.Costs {
		s.fact(c.Fact, "%v: %s", c.Units, c.Match)
	}
}

func (s *sheet) answers(p *Profile) {
	s.title("Refusals", len(p.Throttles))
	for _, t := range p.Throttles {
		closes := "everything it belongs to"
		if len(t.Closes) > 0 {
			closes = strings.Join(t.Closes, " and ")
		}
		waits := ""
		if len(t.Waits) > 0 {
			waits = fmt.Sprintf("; without a hint it is %s", joined(t.Waits, ", then "))
		}
		s.fact(t.Fact, "%s closes %s%s", t.When, closes, waits)
	}
	s.title("Hints", len(p.Hints))
	for _, h := range p.Hints {
		where := h.Field
		if where == "" {
			where = "body " + strings.Join(h.Path, "/")
		}
		if h.Over != "" {
			where += " / " + h.Over
		}
		s.fact(h.Fact, "%s: %s", where, h.Form)
	}
	s.title("Other answers", len(p.Statuses))
	for _, st := range p.Statuses {
		delays := map[bool]string{true: "; its Retry-After is about this document"}[st.Delays]
		s.fact(st.Fact, "%s means %s%s", st.When, st.Means, delays)
	}
	s.title("Before a refusal", len(p.Budgets))
	for _, b := range p.Budgets {
		var fields []string
		for _, f := range []string{b.Field, b.Policy, b.Limit, b.Remaining, b.Reset, b.Window} {
			if f != "" {
				fields = append(fields, f)
			}
		}
		use := map[bool]string{true: "steer the pace", false: "are left alone"}[b.Steers]
		s.fact(b.Fact, "%s %s", strings.Join(fields, ", "), use)
	}
}

func (s *sheet) reading(p *Profile) {
	if b := p.Batch; b != nil {
		s.title("Batches", 1)
		media := map[bool]string{true: ", no contents"}[b.NoMedia]
		for i, m := range b.Media {
			media += map[bool]string{true: ": ", false: "; "}[i == 0] + m.String()
		}
		s.fact(b.Fact, "%s %s: %s, at most %d items, charged %s%s", b.Method, b.Path, b.Form, b.Most, b.Charged, media)
	}
	if v := p.Version; v != nil {
		s.title("Version", 1)
		check := v.Check
		if v.Request != "" {
			check += ", " + v.Request
		}
		s.fact(v.Fact, "%s; check: %s", strings.Join(append([]string{v.Field}, v.Also...), ", "), check)
	}
	s.title("SDKs that retry by themselves", len(p.SDKs))
	for _, sdk := range p.SDKs {
		off := ""
		if sdk.Off != "" {
			off = "; off: " + sdk.Off
		}
		s.fact(sdk.Fact, "%s: %s%s", sdk.Name, sdk.Does, off)
	}
}

// String is the limit as people say it.
func (l Limit) String() string {
	amount := strconv.FormatFloat(l.Amount, 'f', -1, 64)
	text := amount + " " + l.Unit.String()
	switch l.Unit {
	case Concurrent:
		text = amount + " at a time"
	case Bytes:
		text = strconv.FormatFloat(l.Amount/1e9, 'f', -1, 64) + " GB in " + short(l.Per)
	default:
		text += " in " + short(l.Per)
	}
	if l.Plan != "" {
		text += " (" + l.Plan + ")"
	}
	return text
}

// short is a time without its empty units.
func short(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = strings.TrimSuffix(s, zero[1:])
		}
	}
	return s
}

func joined(list []time.Duration, sep string) string {
	var out []string
	for _, d := range list {
		out = append(out, short(d))
	}
	return strings.Join(out, sep)
}

// String says which answers are meant.
func (w When) String() string {
	var says []string
	if len(w.status) > 0 {
		var list []string
		for _, s := range w.status {
			list = append(list, strconv.Itoa(s))
		}
		says = append(says, strings.Join(list, " or "))
	}
	for _, f := range w.fields {
		switch {
		case f.present != nil && *f.present:
			says = append(says, f.name+" is there")
		case f.present != nil:
			says = append(says, f.name+" is not there")
		case f.contains != "":
			says = append(says, f.name+" has "+strconv.Quote(f.contains))
		default:
			says = append(says, f.name+" is "+oneOf(f.in))
		}
	}
	if b := w.body; b != nil {
		at := "body " + strings.Join(b.path, "/")
		switch {
		case b.empty:
			says = append(says, "no body")
		case b.text != "":
			says = append(says, "body has "+strconv.Quote(b.text))
		case b.present:
			says = append(says, at+" is there")
		case b.contains != "":
			says = append(says, at+" has "+strconv.Quote(b.contains))
		case b.notIn != nil:
			says = append(says, at+" is not "+oneOf(b.notIn))
		default:
			says = append(says, at+" is "+oneOf(b.in))
		}
	}
	return strings.Join(says, ", ")
}

// oneOf are values; an empty one is a field that is not there.
func oneOf(values []string) string {
	var out []string
	for _, v := range values {
		if v == "" {
			v = "absent"
		}
		out = append(out, v)
	}
	return strings.Join(out, " or ")
}
