package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxFile  = 128 << 10 // the parser takes seconds for a large file of many keys
	maxDepth = 16        // of nested mappings and lists; scenarios need five

	maxMessage = 1000
)

// A document is the text of a scenario on its way to values. It keeps the first mistake.
type document struct {
	name string
	text string
	err  *Error
}

// parse reads the text down to its one mapping; nil if there is a mistake.
func (d *document) parse(data []byte) ast.Node {
	if len(data) >= maxFile {
		d.err = &Error{File: d.name, Message: "128 KiB or more: a scenario is smaller"}
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d.text = strings.ReplaceAll(string(data), "\r\n", "\n")
	if d.letters(); d.err != nil {
		return nil
	}
	tokens := lexer.Tokenize(d.text)
	if d.tokens(tokens); d.err != nil {
		return nil
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		d.syntax(err)
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		d.err = &Error{File: d.name, Message: "there is nothing in it; the least is a line such as: about: One quota, many workers."}
		return nil
	}
	return file.Docs[0].Body
}

// letters refuses what is no text.
func (d *document) letters() {
	line, column := 1, 1
	for i, r := range d.text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(d.text[i:], "\ufffd"):
			d.failAt(line, column, "a byte that is not UTF-8: save the file as UTF-8")
			return
		case r == '\n':
			line, column = line+1, 0
		case r == '\t': // YAML has its own rules for it
		case r < ' ', r == 0x7f, r == '\u0085', r == '\u2028', r == '\u2029', r == '\ufeff':
			d.failAt(line, column, "the character U+%04X has no place in a scenario", r)
			return
		}
		column++
	}
}

// unused are those parts of YAML that a scenario has no use for.
var unused = map[token.Type]string{
	token.AnchorType:     "anchors are not used in scenarios: write it out",
	token.AliasType:      "aliases are not used in scenarios: write it out",
	token.MergeKeyType:   "merge keys are not used in scenarios: write it out",
	token.TagType:        "tags are not used in scenarios: leave it out",
	token.DirectiveType:  "directives are not used in scenarios: leave it out",
	token.MappingKeyType: "a key is written without ? in front",
}

// tokens refuses what a scenario has no use for, and what is nested so deep that it would
// keep the parser busy.
func (d *document) tokens(tokens token.Tokens) {
	depth, line, onLine, begun, ended := 0, 0, 0, false, false
	for _, t := range tokens {
		if t.Type == token.CommentType {
			continue
		}
		if t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		if ended || begun && t.Type == token.DocumentHeaderType {
			d.failToken(t, "a second document: a scenario is one, in a file of its own")
		}
		if why := unused[t.Type]; why != "" {
			d.failToken(t, "%s", why)
		}
		switch t.Type {
		case token.DocumentEndType:
			ended = true
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType:
			onLine++
		}
		begun = true
		if depth > maxDepth || onLine > maxDepth || t.Position.IndentNum > 16*maxDepth {
			d.failToken(t, "nested too deep: a scenario needs no more than five levels")
		}
		if d.err != nil {
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
	d.err = &Error{File: d.name, Message: "not YAML: " + err.Error()}
}

// fail keeps a mistake, unless there was one before.
func (d *document) fail(at ast.Node, format string, args ...any) {
	if m, ok := at.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		at = m.Values[0].Key // its own token is the first colon
	}
	d.failToken(at.GetToken(), format, args...)
}

func (d *document) failToken(t *token.Token, format string, args ...any) {
	d.failAt(t.Position.Line, t.Position.Column, format, args...)
}

func (d *document) failAt(line, column int, format string, args ...any) {
	if d.err != nil {
		return
	}
	text := ""
	if lines := strings.Split(d.text, "\n"); line <= len(lines) {
		text = strings.ToValidUTF8(lines[line-1], "\ufffd")
	}
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessage { // a long text was quoted
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	d.err = &Error{File: d.name, Line: line, Column: column, Message: message, Text: text}
}
