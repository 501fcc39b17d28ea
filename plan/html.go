package plan

import (
	"bufio"
	"embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed template
var files embed.FS

var pages = template.Must(template.ParseFS(files, "template/*"))

// HTML writes the assessment sheet as one page that is whole on its own: it has no script and
// fetches nothing.
func (p *Plan) HTML(w io.Writer, l Lang) error {
	out := bufio.NewWriter(w)
	if err := pages.ExecuteTemplate(out, "sheet.html", p.whole(l)); err != nil {
		return fmt.Errorf("write the sheet: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the sheet: %w", err)
	}
	return nil
}

// What the template asks for.

func (s span) IsCode() bool    { return s.Kind == code }
func (s span) IsStrong() bool  { return s.Kind == strong }
func (s span) IsForeign() bool { return s.Kind == foreign }

// IsRight reports whether a column holds figures.
func (t *table) IsRight(column int) bool { return column < len(t.Right) && t.Right[column] }

// Stands reports whether a paragraph is the verdict.
func (b block) Stands() bool { return len(b.Para) > 0 && b.Para[0].Kind == strong }

// Word and Rest are the verdict and what follows it.
func (b block) Word() string { return b.Para[0].Text }

// Rest is what follows the verdict.
func (b block) Rest() text { return b.Para[1:] }
