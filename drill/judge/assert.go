package judge

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dogear/dogear/drill/journal"
)

// An Assert is what a figure must be.
type Assert struct {
	Figure string // its name in JSON
	Op     string // == != < <= > >=
	Number float64
}

// A Check is an assertion and what came of it.
type Check struct {
	Assert string `json:"assert"` // such as "late == 0"
	Value  string `json:"value"`  // of the figure; "unknown"
	Pass   bool   `json:"pass"`
	Why    string `json:"why,omitempty"` // of what failed: one line, with the first arrival that shows it
}

func (a Assert) String() string {
	return a.Figure + " " + a.Op + " " + strconv.FormatFloat(a.Number, 'f', -1, 64)
}

// ParseAssert reads one assertion, such as "late == 0". The error says at which character it
// is wrong.
func ParseAssert(s string) (Assert, error) {
	p := parser{text: s}
	a, err := p.assert()
	if err == nil && p.rest() != "" {
		err = fmt.Errorf("%q is too much: an assertion is a figure, a comparison and a number", p.rest())
	}
	return a, p.located(err)
}

// ParseAsserts reads assertions with commas between them: "early==0, lost == 0".
func ParseAsserts(s string) ([]Assert, error) {
	p := parser{text: s}
	var all []Assert
	for {
		a, err := p.assert()
		if err != nil {
			return nil, p.located(err)
		}
		all = append(all, a)
		switch {
		case p.rest() == "":
			return all, nil
		case !p.take(","):
			return nil, p.located(fmt.Errorf("%q is too much: between assertions there is a comma", p.rest()))
		}
	}
}

// A parser reads assertions from a text.
type parser struct {
	text string
	at   int // the byte that is read next
}

func (p *parser) rest() string { return p.text[p.at:] }

// take steps over a text if it comes next.
func (p *parser) take(s string) bool {
	if !strings.HasPrefix(p.rest(), s) {
		return false
	}
	p.at += len(s)
	return true
}

func (p *parser) blanks() {
	p.at = len(p.text) - len(strings.TrimLeftFunc(p.rest(), unicode.IsSpace))
}

// run is the letters that come next of those that it may have.
func (p *parser) run(may func(rune) bool) string {
	rest := p.rest()
	end := strings.IndexFunc(rest, func(r rune) bool { return !may(r) })
	if end < 0 {
		end = len(rest)
	}
	return rest[:end]
}

// located adds where an error is.
func (p *parser) located(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%q, character %d: %w", p.text, utf8.RuneCountInString(p.text[:p.at])+1, err)
}

// assert reads one assertion and the blanks around it.
func (p *parser) assert() (a Assert, err error) {
	p.blanks()
	a.Figure = p.run(func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) })
	switch {
	case p.rest() == "":
		return a, errors.New("an assertion is missing, such as late == 0")
	case a.Figure == "":
		return a, fmt.Errorf("%q does not begin with the name of a figure", p.rest())
	case !slices.Contains(names, a.Figure):
		return a, fmt.Errorf("there is no figure %q; there are: %s", a.Figure, strings.Join(names, ", "))
	}
	p.at += len(a.Figure)
	p.blanks()
	a.Op = p.run(func(r rune) bool { return strings.ContainsRune("=!<>", r) })
	if !slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, a.Op) {
		return a, fmt.Errorf("after %s comes one of == != < <= > >=", a.Figure)
	}
	p.at += len(a.Op)
	p.blanks()
	number := p.run(func(r rune) bool { return strings.ContainsRune("-.0123456789", r) })
	a.Number, err = strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(a.Number, 0) {
		return a, fmt.Errorf("after %s comes a number, such as 0 or 0.5", a.Op)
	}
	p.at += len(number)
	p.blanks()
	return a, nil
}

// names are the figures' names in JSON, in their order.
var names = func() (names []string) {
	for field := range reflect.TypeFor[Figures]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()

// value is a figure by its name; false: it is not known.
func (f Figures) value(name string) (float64, bool) {
	v := reflect.ValueOf(f).Field(slices.Index(names, name))
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return 0, false
		}
		v = v.Elem()
	}
	if v.CanInt() {
		return float64(v.Int()), true
	}
	return v.Float(), true
}

// absent are the figures that are not known when what they measure did not happen, and what
// they are compared as then. Any other that is not known fails.
var absent = map[string]float64{"burst": 0, "rest_s": math.Inf(1)}

// wanted are the figures that are the better the higher: what shows them shows what lacks.
var wanted = []string{"rest_s", "asked", "delivered", "goodput"}

// Check holds figures, of a record judged with a slack, against an assertion. A figure that
// is not known fails, but for burst and rest_s: where nothing came after a wait, burst counts
// as 0; where nothing came after a refusal, rest_s is longer than any time.
func (a Assert) Check(f Figures, rec *journal.Record, slack time.Duration) Check {
	c := Check{Assert: a.String(), Value: "unknown"}
	v, known := f.value(a.Figure)
	if known {
		c.Value = a.written(v)
	} else if v, known = absent[a.Figure]; !known {
		c.Why = a.Figure + " is unknown: " + unknown[a.Figure]
		return c
	}
	if c.Pass = a.holds(v); c.Pass {
		return c
	}
	c.Why = fmt.Sprintf("%s is %s, not %s %s", a.Figure, c.Value, a.Op, strings.TrimPrefix(c.Assert, a.Figure+" "+a.Op+" "))
	if slices.Contains(wanted, a.Figure) == (v < a.Number) {
		if shown, ok := look(rec, slack).shown[a.Figure]; ok {
			c.Why = shown.line
		}
	}
	return c
}

// unknown says why a figure may be so.
var unknown = map[string]string{
	"best_s":  "what the limit lets through depends on more than the limit",
	"goodput": "best_s is unknown or under a second",
	"time":    "documents were lost, or best_s is unknown or under a second",
	"exit":    "the journal has no end of a client",
}

func (a Assert) holds(v float64) bool {
	switch a.Op {
	case "==":
		return v == a.Number
	case "!=":
		return v != a.Number
	case "<":
		return v < a.Number
	case "<=":
		return v <= a.Number
	case ">":
		return v > a.Number
	}
	return v >= a.Number
}

// written is a value in at most three decimals, but in all where those would tell another
// verdict.
func (a Assert) written(v float64) string {
	short := math.Round(v*1000) / 1000
	if a.holds(short) != a.holds(v) || short == 0 && v != 0 {
		short = v
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}
