package profile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxFile   = 256 << 10
	maxDepth  = 16 // of nested mappings and lists; profiles need six
	maxErrors = 20
)

// A document is the text of a profile on its way to values. It keeps the mistakes.
type document struct {
	name  string
	lines []string
	errs  []*Error
}

// parse reads the text down to its one mapping; nil if there is a mistake.
func (d *document) parse(data []byte) ast.Node {
	if len(data) > maxFile {
		d.failFile("%d bytes: a profile has at most 256 KiB", len(data))
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	d.lines = strings.Split(text, "\n")
	if d.letters(text); d.errs != nil {
		return nil
	}
	tokens := lexer.Tokenize(text)
	if d.tokens(tokens); d.errs != nil {
		return nil
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		d.syntax(err)
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		d.failFile("there is nothing in it; a profile begins with a line such as: name: wiki")
		return nil
	}
	return file.Docs[0].Body
}

// letters refuses what is no text.
func (d *document) letters(text string) {
	line, column := 1, 1
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			d.failAt(line, column, "a byte that is not UTF-8: save the file as UTF-8")
			return
		case r == '\n':
			line, column = line+1, 0
		case r == '\t': // YAML has its own rules for it
		case r < ' ', r == 0x7f, r == '\u0085', r == '\u2028', r == '\u2029', r == '\ufeff':
			d.failAt(line, column, "the character U+%04X has no place in a profile", r)
			return
		}
		column++
	}
}

// tokens refuses those parts of YAML that a profile has no use for, and what is nested so
// deep that it would keep the parser busy.
func (d *document) tokens(tokens token.Tokens) {
	depth, line, onLine, begun := 0, 0, 0, false
	for _, t := range tokens {
		if t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			d.failToken(t, "anchors, aliases and merge keys are not used in profiles: write it out, and put a text with * or & in quotes")
		case token.TagType:
			d.failToken(t, "tags are not used in profiles: leave it out")
		case token.DirectiveType:
			d.failToken(t, "directives are not used in profiles: leave it out")
		case token.MappingKeyType:
			d.failToken(t, "a key is written without ? in front")
		case token.DocumentHeaderType:
			if begun {
				d.failToken(t, "a second document: a profile is one, in a file of its own")
			}
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType:
			onLine++
		}
		begun = begun || t.Type != token.CommentType
		if depth > maxDepth || onLine > maxDepth || t.Position.IndentNum > 16*maxDepth {
			d.failToken(t, "nested too deep: a profile needs no more than six levels")
		}
		if d.errs != nil {
			return
		}
	}
}

// syntax keeps an error of the parser.
func (d *document) syntax(err error) {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		d.failToken(e.GetToken(), "%s", e.GetMessage())
		return
	}
	d.failFile("not YAML: %v", err)
}

// fail keeps a mistake.
func (d *document) fail(at ast.Node, format string, args ...any) {
	if m, ok := at.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		at = m.Values[0].Key // its own token is the first colon
	}
	d.failToken(at.GetToken(), format, args...)
}

func (d *document) failToken(t *token.Token, format string, args ...any) {
	if t == nil {
		d.failFile(format, args...)
		return
	}
	d.failAt(t.Position.Line, t.Position.Column, format, args...)
}

func (d *document) failFile(format string, args ...any) {
	d.errs = append(d.errs, &Error{File: d.name, Message: fmt.Sprintf(format, args...)})
}

// failAt keeps one mistake a place: what follows from it says nothing new.
func (d *document) failAt(line, column int, format string, args ...any) {
	if len(d.errs) >= maxErrors || slices.ContainsFunc(d.errs, func(e *Error) bool { return e.Line == line && e.Column == column }) {
		return
	}
	text := ""
	if line >= 1 && line <= len(d.lines) {
		text = strings.ToValidUTF8(d.lines[line-1], "\ufffd")
	}
	d.errs = append(d.errs, &Error{File: d.name, Line: line, Column: column, Message: fmt.Sprintf(format, args...), Text: text})
}

// err joins the mistakes in the order of the file.
func (d *document) err() error {
	slices.SortStableFunc(d.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(d.errs) == 1 {
		return d.errs[0]
	}
	list := make([]error, len(d.errs))
	for i, e := range d.errs {
		list[i] = e
	}
	return errors.Join(list...)
}
