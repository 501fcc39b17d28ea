package scenario

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
)

// manual is docs/drill.md by its headings.
func manual(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../../docs/drill.md")
	if err != nil {
		t.Fatal(err)
	}
	sections, name := map[string]string{}, ""
	for line := range strings.Lines(string(data)) {
		if heading, ok := strings.CutPrefix(line, "#"); ok && !strings.HasPrefix(heading, " Two tenants") {
			name = strings.Trim(heading, "# \n")
		}
		sections[name] += line
	}
	return sections
}

// rows are the tables' rows that begin with a name.
func rows(section string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			out[name[1]] += line
		}
	}
	return out
}

// TestManualHasTheKeys: each key of a scenario has a row where it belongs.
func TestManualHasTheKeys(t *testing.T) {
	doc := manual(t)
	for section, keys := range map[string][]string{
		"A scenario":                 scenarioKeys,
		"token, links, pages, graph": append(append([]string{"lifetime"}, pagesKeys...), graphKeys...),
		"A quota":                    quotaKeys,
		"A limit":                    limitKeys,
		"A refusal":                  refusalKeys,
		"A rule":                     append(slices.Clone(dos), selectors[:len(selectors)-1]...),
		"Built-in scenarios":         Builtin(),
		"Running a client":           {"{list}", "{urls}", "{base}", "{out}", "{workers}", "{client}", "{ca}", "{token_file}"},
		"Figures and assertions":     fields(reflect.TypeFor[judge.Figures]()),
	} {
		for _, key := range keys {
			if rows(doc[section])[key] == "" {
				t.Errorf("docs/drill.md, %s: there is no row of %s", section, key)
			}
		}
	}
	for _, p := range placeholders {
		if rows(doc["A refusal"])["{"+p+"}"] == "" {
			t.Errorf("docs/drill.md has no row of {%s}", p)
		}
	}
	for do, keys := range ofDo {
		for _, key := range keys {
			if !strings.Contains(rows(doc["A rule"])[do], "`"+key+"`") {
				t.Errorf("docs/drill.md: the row of %s does not name %s", do, key)
			}
		}
	}
}

// TestManualHasTheJournal: each field of the journal is described in the part of its object.
func TestManualHasTheJournal(t *testing.T) {
	section := manual(t)["The journal"]
	for intro, object := range map[string]reflect.Type{
		"The head:": reflect.TypeFor[journal.Head](), "A quota:": reflect.TypeFor[journal.Quota](), "A limit:": reflect.TypeFor[journal.Limit](),
		"An arrival:": reflect.TypeFor[journal.Arrival](), "A wait, in `told`:": reflect.TypeFor[journal.Wait](), "An event:": reflect.TypeFor[journal.Event](),
	} {
		_, part, found := strings.Cut(section, "\n"+intro+"\n\n")
		part, _, _ = strings.Cut(part, "\n\n")
		for _, field := range fields(object) {
			if !found || rows(part)[field] == "" {
				t.Errorf("docs/drill.md, %s there is no row of %s", intro, field)
			}
		}
	}
	_, item, _ := strings.Cut(section, "An item of a batch has ")
	item, _, _ = strings.Cut(item, "\n")
	for _, field := range fields(reflect.TypeFor[journal.Item]()) {
		if !strings.Contains(item, "`"+field+"`") {
			t.Errorf("docs/drill.md: an item has no %s", field)
		}
	}
}

// fields are the names of a struct in JSON.
func fields(s reflect.Type) []string {
	var out []string
	for f := range s.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}

// TestManualHasTheScenarios: the tables say of the built-in scenarios what they say themselves.
func TestManualHasTheScenarios(t *testing.T) {
	section := manual(t)["Built-in scenarios"]
	var order []string
	for line := range strings.Lines(section) {
		if m := regexp.MustCompile("^\\| `([a-z0-9-]+)` \\| ([^|]+) \\|").FindStringSubmatch(line); m != nil {
			order = append(order, m[1])
			if s, err := Load(m[1]); err != nil || s.About != m[2] {
				t.Errorf("docs/drill.md has %q of %s: %v", m[2], m[1], err)
			}
		}
	}
	if !slices.Equal(order, Builtin()) {
		t.Errorf("docs/drill.md lists %v\nwant %v", order, Builtin())
	}
}

// TestManualExample: the file in the manual is a scenario.
func TestManualExample(t *testing.T) {
	text := manual(t)["A scenario"]
	_, text, _ = strings.Cut(text, "```yaml\n")
	text, _, ok := strings.Cut(text, "```\n")
	if _, err := Parse("example", []byte(text)); err != nil || !ok {
		t.Errorf("the example: %v", err)
	}
}
