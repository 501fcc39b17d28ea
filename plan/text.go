package plan

import (
	"io"
	"strings"
	"unicode"
)

// Text writes the plan for people at a terminal.
func (p *Plan) Text(w io.Writer, l Lang) error {
	s := p.short(l)
	var b strings.Builder
	b.WriteString(s.Title + "\n\n")
	for i, block := range s.Lead {
		if i == 1 {
			b.WriteString("\n")
		}
		indent := ""
		if block.List != nil {
			indent = "  "
		}
		block.text(&b, indent)
	}
	for _, part := range s.Sections {
		b.WriteString("\n" + part.Title + "\n")
		for _, block := range part.Blocks {
			block.text(&b, "  ")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const lineWidth = 110

func (k block) text(b *strings.Builder, indent string) {
	switch {
	case k.Para != nil:
		wrapped(b, indent, indent, k.Para.String())
	case k.Table != nil:
		k.Table.text(b, indent)
	}
	for i, item := range k.List {
		mark := "- "
		if k.Ordered { // the sources
			mark = "[" + number(int64(i+1)) + "] "
		}
		wrapped(b, indent+mark, indent+strings.Repeat(" ", len(mark)), item.String())
	}
	for _, line := range k.Code {
		b.WriteString(indent + "  " + line + "\n")
	}
}

// wrapped writes text in lines of the common width, broken at blanks and between wide letters.
func wrapped(b *strings.Builder, first, indent, s string) {
	line := first
	wide := width(first)
	for _, word := range breakable(s) {
		if n := width(strings.TrimRight(word, " ")); wide+n > lineWidth && wide > width(indent) {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, wide = indent, width(indent)
		}
		line, wide = line+word, wide+width(word)
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// breakable takes text apart where a line may end.
func breakable(s string) []string {
	var out []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	for _, r := range s {
		closing := strings.ContainsRune("，。、：；？！）”", r)
		if isWide(r) && !closing && word.Len() > 0 && !strings.HasSuffix(word.String(), "（") && !strings.HasSuffix(word.String(), "“") {
			flush()
		}
		word.WriteRune(r)
		if r == ' ' || closing {
			flush()
		}
	}
	flush()
	return out
}

// text sets a table in columns.
func (t *table) text(b *strings.Builder, indent string) {
	rows := t.Rows
	if t.Head != nil {
		rows = append([][]text{t.Head}, rows...)
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell.String()))
		}
	}
	for _, row := range rows {
		line := indent
		for i, cell := range row {
			s := cell.String()
			pad := strings.Repeat(" ", widths[i]-width(s))
			if i < len(t.Right) && t.Right[i] {
				s, pad = pad+s, ""
			}
			line += s + pad + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// width is how many columns of a terminal a text takes.
func width(s string) int {
	n := 0
	for _, r := range s {
		if n++; isWide(r) {
			n++
		}
	}
	return n
}

// isWide reports whether a letter takes two columns.
func isWide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) ||
		r >= 0x3000 && r <= 0x303F || r >= 0xFF01 && r <= 0xFF60 || r >= 0xFFE0 && r <= 0xFFE6
}
