package plan

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
)

// Markdown writes the assessment sheet in GitHub's Markdown.
func (p *Plan) Markdown(w io.Writer, l Lang) error {
	s := p.whole(l)
	var b strings.Builder
	b.WriteString("# " + escaped(s.Title) + "\n")
	for _, block := range s.Lead {
		block.markdown(&b)
	}
	for _, part := range s.Sections {
		b.WriteString("\n## " + escaped(part.Title) + "\n")
		for _, block := range part.Blocks {
			block.markdown(&b)
		}
	}
	for i, source := range s.Sources {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[%d]: <%s>\n", i+1, address(source))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (k block) markdown(b *strings.Builder) {
	b.WriteString("\n")
	switch {
	case k.Para != nil:
		b.WriteString(k.Para.markdown(false) + "\n")
	case k.Table != nil:
		k.Table.markdown(b)
	}
	for i, item := range k.List {
		mark := "- "
		if k.Ordered {
			mark = fmt.Sprintf("%d. ", i+1)
		}
		b.WriteString(mark + item.markdown(false) + "\n")
	}
	if k.Code != nil {
		b.WriteString("```\n" + strings.Join(k.Code, "\n") + "\n```\n")
	}
}

func (t *table) markdown(b *strings.Builder) {
	columns := len(t.Rows[0])
	head := t.Head
	if head == nil {
		head = make([]text, columns)
	}
	line := func(cells []text, mark string) {
		b.WriteString("|")
		for _, c := range cells {
			s := c.markdown(true)
			if mark != "" && s != "" && !strings.Contains(s, mark) {
				s = mark + s + mark
			}
			b.WriteString(" " + s + " |")
		}
		b.WriteString("\n")
	}
	line(head, "")
	for i := range columns {
		if i < len(t.Right) && t.Right[i] {
			b.WriteString("| ---: ")
		} else {
			b.WriteString("| --- ")
		}
	}
	b.WriteString("|\n")
	for i, row := range t.Rows {
		if i == t.Strong {
			line(row, "**")
		} else {
			line(row, "")
		}
	}
}

// markdown is a text on one line; in a table it holds no bar.
func (t text) markdown(cell bool) string {
	var b strings.Builder
	for _, s := range t {
		switch {
		case s.Link != "" && s.Text == s.Link:
			b.WriteString("<" + address(s.Link) + ">")
		case s.Link != "": // a source, by its number
			b.WriteString("[" + escaped(s.Text) + "]" + s.Text)
		case s.Kind == code:
			b.WriteString(fenced(s.Text, cell))
		case s.Kind == strong:
			bare := strings.TrimRight(s.Text, ".。") // behind a full stop ** ends nothing, where no blank follows
			b.WriteString("**" + escaped(bare) + "**" + s.Text[len(bare):])
		default:
			b.WriteString(escaped(s.Text))
		}
	}
	return opening.ReplaceAllString(numbered.ReplaceAllString(b.String(), `$1\$2$3`), `$1\$2`)
}

// What would begin a block of its own.
var (
	opening  = regexp.MustCompile(`^(\s*)([-+#])`)
	numbered = regexp.MustCompile(`^(\s*\d+)([.)])(\s|$)`)
)

// escaped is text in which nothing is a mark.
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`,
		"|", `\|`, "~", `\~`, "&", `\&`).Replace(s)
}

// fenced is text as it is typed.
func fenced(s string, cell bool) string {
	if s == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		s = " " + s + " "
	}
	if cell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	return fence + s + fence
}

// address is a link's target without what would end it.
func address(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", " ", "%20", "|", "%7C", "`", "%60", `\`, "%5C").Replace(u.String())
}
