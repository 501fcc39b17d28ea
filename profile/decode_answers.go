package profile

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/dogear/dogear"
)

var whenKeys = []string{"status", "fields", "body"}

// when reads which answers are meant. The keys stand beside others.
func (d *decoder) when(m mapping) When {
	var w When
	for _, n := range m.list("status") {
		s, ok := integer(n, 200, 599)
		switch {
		case !ok:
			d.fail(n, "a status is a number from 200 to 599")
		case slices.Contains(w.status, s):
			d.fail(n, "%d is there twice", s)
		}
		w.status = append(w.status, s)
	}
	for _, n := range m.list("fields") {
		w.fields = append(w.fields, d.field(n))
	}
	if m.has("body") {
		w.body = d.body(m.values["body"])
	}
	return w
}

func (d *decoder) field(n ast.Node) fieldMatch {
	in := d.mapping(n, "a field", []string{"name", "in", "contains", "present"})
	in.need("name")
	f := fieldMatch{name: in.header("name"), in: in.scalars("in"), contains: in.text("contains")}
	if in.has("present") {
		f.present = new(in.flag("present"))
	}
	if count(in.has("in"), in.has("contains"), in.has("present")) != 1 {
		d.fail(n, "a field has one of in (its values), contains (a part of it) and present (true or false)")
	}
	return f
}

// header is the name of a header field.
func (m mapping) header(key string) string {
	s := m.text(key)
	if s != "" && !headers.MatchString(s) {
		m.fail(key, "%q is no name of a header field", s)
	}
	return s
}

func (d *decoder) body(n ast.Node) *bodyMatch {
	in := d.mapping(n, "a body", []string{"path", "in", "not_in", "contains", "present", "text", "empty"})
	b := &bodyMatch{path: in.path("path"), in: in.scalars("in"), notIn: in.scalars("not_in"), contains: in.text("contains"),
		present: in.flag("present"), text: in.text("text"), empty: in.flag("empty")}
	tests := count(in.has("in"), in.has("not_in"), in.has("contains"), in.has("present"))
	switch {
	case count(in.has("path"), in.has("text"), in.has("empty")) != 1:
		d.fail(n, "a body has one of path (into JSON), text (it holds that) and empty: true")
	case in.has("path") && tests != 1:
		d.fail(n, "a body's path has one of in, not_in, contains and present: true")
	case !in.has("path") && tests != 0:
		d.fail(n, "in, not_in, contains and present belong to a path")
	case in.has("empty") && !b.empty, in.has("present") && !b.present:
		d.fail(n, "leave out what is false here")
	}
	return b
}

// path is a place in JSON, such as error/errors/*/reason.
func (m mapping) path(key string) []string {
	s := m.text(key)
	if s == "" {
		return nil
	}
	path := strings.Split(s, "/")
	if slices.Contains(path, "") || len(path) > 16 {
		m.fail(key, "%q is no place in JSON: it is keys with / between them, * for any, a number for a place in a list", s)
	}
	return path
}

func (d *decoder) throttles(m mapping) []Throttle {
	var out []Throttle
	for _, n := range m.list("throttles") {
		in := d.mapping(n, "a throttle", factKeys(append(slices.Clone(whenKeys), "closes", "waits")...))
		in.need("status")
		t := Throttle{Fact: d.fact(in, "a throttle"), When: d.when(in), Closes: d.scopeNames(in, "closes"), Waits: d.waits(in)}
		for _, before := range out {
			d.reach(n, before.When, t.When, before.Fact)
		}
		out = append(out, t)
	}
	return out
}

// reach refuses what is never decided by, because something before it takes all of it.
func (d *decoder) reach(n ast.Node, before, w When, f Fact) {
	if before.body != nil || len(before.fields) > 0 {
		return
	}
	for _, s := range w.status {
		if !slices.Contains(before.status, s) {
			return
		}
	}
	d.fail(n, "this is never reached: line %d takes all of it", f.Line)
}

// meanings are the outcomes that a profile can give to an answer.
var meanings = map[string]dogear.Outcome{}

func init() {
	for _, o := range []dogear.Outcome{dogear.OtherVersion, dogear.Refused, dogear.Missing, dogear.Unauthorized,
		dogear.Transient, dogear.Invalid, dogear.Rejected} {
		meanings[o.String()] = o
	}
}

func (d *decoder) statuses(m mapping) []Status {
	words := []string{"changed", "denied", "gone", "unauthorized", "transient", "invalid", "failed"}
	var out []Status
	for _, n := range m.list("statuses") {
		in := d.mapping(n, "a status", factKeys(append(slices.Clone(whenKeys), "means", "delays")...))
		in.need("status", "means")
		s := Status{Fact: d.fact(in, "a status"), When: d.when(in), Means: meanings[in.text("means", words...)]}
		s.Delays = in.text("delays", "document") != ""
		for _, before := range out {
			d.reach(n, before.When, s.When, before.Fact)
		}
		for _, t := range d.p.Throttles {
			d.reach(n, t.When, s.When, t.Fact)
		}
		out = append(out, s)
	}
	return out
}

func (d *decoder) hints(m mapping) []Hint {
	var out []Hint
	for _, n := range m.list("hints") {
		in := d.mapping(n, "a hint", factKeys("field", "path", "form", "over", "default", "when"))
		in.need("form")
		h := Hint{Fact: d.fact(in, "a hint"), Path: in.path("path"), Over: in.header("over"), Default: in.duration("default")}
		form := in.text("form", formNames[1:]...)
		h.Form = Form(max(slices.Index(formNames[:], form), 0))
		if h.Field = in.text("field"); h.Field != "" && !headers.MatchString(strings.TrimSuffix(h.Field, "*")) {
			in.fail("field", "%q is no name of a header field", h.Field)
		}
		if in.has("when") {
			h.When = d.when(d.mapping(in.values["when"], "when", whenKeys))
		}
		inHeader := slices.Contains([]Form{RetryAfter, Draft03, Structured, StructuredPartial, Pairs}, h.Form)
		switch {
		case in.has("field") == in.has("path"):
			d.fail(n, "a hint has one of field (of the header) and path (into a JSON body)")
		case in.has("path") && inHeader:
			in.fail("form", "%s is a form of header fields", form)
		case in.has("default") && !in.has("path"):
			in.fail("default", "default belongs to a path: it is what a body means that leaves the value out")
		case in.has("over") && h.Form != Seconds:
			in.fail("over", "only seconds are divided")
		}
		out = append(out, h)
	}
	return out
}

var budgetKeys = factKeys("steers", "scopes", "form", "field", "policy", "policies", "limit", "remaining", "reset",
	"reset_form", "window", "window_form")

func (d *decoder) budgets(m mapping) []BudgetField {
	var out []BudgetField
	for _, n := range m.list("ratelimit") {
		in := d.mapping(n, "a ratelimit", budgetKeys)
		in.need("form", "steers")
		b := BudgetField{Fact: d.fact(in, "a ratelimit"), Steers: in.flag("steers"), Scopes: d.scopeNames(in, "scopes"),
			Field: in.header("field"), Policy: in.header("policy"), Limit: in.header("limit"), Remaining: in.header("remaining"),
			Reset: in.header("reset"), Window: in.header("window")}
		if in.text("form", "structured", "fields") == "structured" {
			in.only("a structured ratelimit", factKeys("form", "steers", "scopes", "field", "policy", "policies")...)
			in.need("field")
			b.Form, b.Policies = Structured, d.policies(in)
			out = append(out, b)
			continue
		}
		in.only("a ratelimit of fields", factKeys("form", "steers", "scopes", "limit", "remaining", "reset", "reset_form", "window", "window_form")...)
		moments := []Form{Seconds, Decimal, EpochSeconds, EpochMilliseconds, ISO8601, HTTPDate}
		b.ResetForm = formOf(in.text("reset_form", formTexts(moments)...))
		b.WindowForm = formOf(in.text("window_form", "seconds", "milliseconds", "duration"))
		if in.has("reset") != in.has("reset_form") || in.has("window") != in.has("window_form") {
			d.fail(n, "reset goes with reset_form, and window with window_form: its unit")
		}
		if !in.has("limit") && !in.has("remaining") {
			d.fail(n, "a ratelimit names a field for limit or remaining")
		}
		out = append(out, b)
	}
	return out
}

func (d *decoder) policies(m mapping) map[string]string {
	if !m.has("policies") {
		return nil
	}
	in := d.mapping(m.values["policies"], "policies", nil)
	out := map[string]string{}
	for _, name := range in.keys {
		if scope := in.text(name); slices.Contains(d.scopes, scope) {
			out[name] = scope
		} else {
			in.fail(name, "there is no scope %q%s", scope, didYouMean(scope, d.scopes))
		}
	}
	return out
}

func formTexts(list []Form) []string {
	var out []string
	for _, f := range list {
		out = append(out, f.String())
	}
	return out
}

// formOf is the form of that name; none for "duration", whose unit is in the value.
func formOf(name string) Form { return Form(max(slices.Index(formNames[:], name), 0)) }

func (d *decoder) batch(m mapping) *Batch {
	if !m.has("batch") {
		return nil
	}
	in := d.mapping(m.values["batch"], "batch", factKeys("form", "method", "path", "most", "charged", "no_media", "media", "max_url", "case_blind_ids"))
	in.need("form", "method", "path", "most", "charged")
	b := &Batch{Fact: d.fact(in, "a batch"), Form: in.text("form", "graph", "multipart"), Method: in.text("method", "POST", "PUT"),
		Path: in.text("path"), Most: in.integer("most", 1, 10_000), Charged: in.text("charged", "each", "once"),
		NoMedia: in.flag("no_media"), MaxURL: in.integer("max_url", 1, 1_000_000), CaseBlindIDs: in.flag("case_blind_ids")}
	if b.Path != "" && !strings.HasPrefix(b.Path, "/") {
		in.fail("path", "path begins with /")
	}
	for _, n := range in.list("media") {
		if media := d.match(d.mapping(n, "media", []string{"match"})); media != nil {
			b.Media = append(b.Media, media)
		} else if d.errs == nil {
			d.fail(n, "media says by a match which requests are for contents")
		}
	}
	if len(b.Media) > 0 && !b.NoMedia {
		in.fail("media", "media goes with no_media: true")
	}
	return b
}

func (d *decoder) version(m mapping) *Version {
	if !m.has("version") {
		return nil
	}
	in := d.mapping(m.values["version"], "version", factKeys("field", "also", "check", "request", "most"))
	in.need("field", "check")
	return &Version{Fact: d.fact(in, "a version"), Field: in.text("field"), Also: in.texts("also"),
		Check: in.text("check", "if-none-match", "field", "none"), Request: in.text("request"), Most: in.integer("most", 1, 10_000)}
}

func (d *decoder) sdks(m mapping) []SDK {
	var out []SDK
	for _, n := range m.list("sdk_retries") {
		in := d.mapping(n, "an SDK", factKeys("sdk", "does", "off"))
		in.need("sdk", "does")
		out = append(out, SDK{d.fact(in, "what an SDK does"), in.text("sdk"), in.text("does"), in.text("off")})
	}
	return out
}
