package plan

import (
	"slices"
	"strconv"

	"github.com/dogear/dogear/profile"
)

// A sheet is a plan in one language, before it is set as text, Markdown or HTML.
type sheet struct {
	Lang     string
	Title    string
	Verdict  Verdict
	Word     string // the verdict's
	Lead     []block
	Sections []section
	Sources  []string // by their numbers, from 1
}

type section struct {
	ID, Title string
	Blocks    []block
}

// A block is one of its fields.
type block struct {
	Para    text
	List    []text
	Ordered bool
	Table   *table
	Code    []string
}

type table struct {
	Head   []text // nil: the first column has the heads
	Right  []bool // columns of figures
	Strong int    // the number of the row that matters; -1: none
	Rows   [][]text
}

// A writer makes sheets.
type writer struct {
	Lang
	p       *Plan
	sources []string // in the order in which they are cited
}

// short is what is printed when nothing else was asked for.
func (p *Plan) short(l Lang) *sheet {
	w := &writer{Lang: l, p: p}
	s := w.begin("title.short")
	s.Lead = append([]block{{Para: w.question()}}, w.lead()...)
	s.Sections = append(s.Sections, section{"limits", w.word("limits.title"), w.limits()})
	var notes []text
	notes = append(notes, w.batch()...)
	notes = append(notes, w.assumptions()...)
	notes = append(notes, w.say("method.best"), w.say("ask.more"))
	s.Sections = append(s.Sections, section{"method", w.word("method.title"), []block{{List: notes}}})
	return w.end(s)
}

// whole is the assessment sheet.
func (p *Plan) whole(l Lang) *sheet {
	w := &writer{Lang: l, p: p}
	s := w.begin("title.sheet")
	s.Lead = append(w.lead(), w.figures())
	for _, part := range []struct {
		id, title string
		blocks    func() []block
	}{
		{"target", "target.title", w.target},
		{"scopes", "scopes.title", w.scopes},
		{"limits", "limits.title", w.limits},
		{"batch", "batch.title", func() []block { return []block{{List: w.batch()}} }},
		{"method", "method.title", w.method},
		{"questions", "ask.title", w.questions},
		{"retries", "retry.title", w.retries},
		{"deadline", "deadline.title", w.deadline},
		{"ledger", "ledger.title", w.ledger},
		{"acceptance", "accept.title", w.acceptance},
		{"facts", "facts.title", w.facts},
	} {
		if blocks := part.blocks(); len(blocks) > 0 {
			s.Sections = append(s.Sections, section{part.id, w.word(part.title), blocks})
		}
	}
	return w.end(s)
}

func (w *writer) begin(title string) *sheet {
	service := w.word("service.unknown")
	if p := w.p.ask.Profile; p != nil && p.Name != "generic" {
		service = shown(p.Title)
	}
	return &sheet{Lang: w.code, Title: w.word(title, "service", service), Verdict: w.p.Verdict, Word: w.word("verdict." + w.p.Verdict.String())}
}

// end adds the sources that were cited.
func (w *writer) end(s *sheet) *sheet {
	if len(w.sources) == 0 {
		return s
	}
	s.Sources = w.sources
	b := block{Ordered: true}
	for _, source := range w.sources {
		b.List = append(b.List, text{{Text: source, Link: source}})
	}
	s.Sections = append(s.Sections, section{"sources", w.word("sources.title"), []block{b}})
	return s
}

// cite is the number of a fact's source.
func (w *writer) cite(f profile.Fact) text {
	if f.Source == "" {
		return nil
	}
	i := slices.Index(w.sources, f.Source)
	if i < 0 {
		i = len(w.sources)
		w.sources = append(w.sources, f.Source)
	}
	return text{{Text: "[" + strconv.Itoa(i+1) + "]", Link: f.Source}}
}

// cited is a text with its source, and whether others than the service say so.
func (w *writer) cited(t text, f profile.Fact) text {
	out := append(slices.Clone(t), span{Text: " "})
	if f.Known == profile.Reported {
		out = append(append(out, w.say("reported")...), span{Text: " "})
	}
	return append(out, w.cite(f)...)
}

// noted is a text with the note that the profile has beside it.
func (w *writer) noted(t text, f profile.Fact) text { return append(slices.Clone(t), w.note(f)...) }

// note is a fact's note in brackets.
func (w *writer) note(f profile.Fact) text {
	if f.Note == "" {
		return nil
	}
	return w.say("note", "note", quoted(f.Note))
}

func (w *writer) list(parts []text) text { return joined(w.words["list.and"], parts...) }

// names are the names of quotas, the first of many.
func (w *writer) names(quotas []*Quota) text {
	const most = 5
	var parts []text
	for i, q := range quotas {
		if i == most {
			parts = append(parts, w.say("list.more", "n", int64(len(quotas)-most)))
			break
		}
		parts = append(parts, w.name(q))
	}
	return w.list(parts)
}

func (w *writer) name(q *Quota) text {
	if q.Key == "" {
		return w.say("quota.unnamed")
	}
	return typed(q.Name())
}

// tiered reports whether how much a quota lets through depends on the tier.
func (q *Quota) tiered() bool {
	return q.Scope != nil && slices.ContainsFunc(q.Scope.Limits, func(l profile.Limit) bool { return l.Plan != "" })
}

// key is a scope's parts.
func (w *writer) key(s *profile.Scope) text {
	var parts []text
	for _, k := range s.Key {
		parts = append(parts, typed(k))
	}
	return w.list(parts)
}
