package plan

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/dogear/dogear/drill/acceptance"
)

var (
	inBraces = regexp.MustCompile(`\{(\w+)\}`)
	typedIn  = regexp.MustCompile("`[^`]*`")
	sentence = regexp.MustCompile(`[A-Za-z]{2,}\s+[A-Za-z]+\s+[A-Za-z]+`) // three words in a row
)

// Both languages say the same things, and the Chinese says them in Chinese.
func TestWords(t *testing.T) {
	for key, en := range english {
		zh, ok := chinese[key]
		if !ok {
			t.Errorf("%s is not there in Chinese", key)
		}
		names := func(s string) []string {
			var out []string
			for _, m := range inBraces.FindAllStringSubmatch(s, -1) {
				out = append(out, m[1])
			}
			slices.Sort(out)
			return out
		}
		if got, want := names(zh), names(en); !slices.Equal(got, want) && key != "window.one" { // "every second"
			t.Errorf("%s is filled with %v in Chinese, with %v in English", key, got, want)
		}
		if got, want := slices.Sorted(slices.Values(typedIn.FindAllString(zh, -1))), slices.Sorted(slices.Values(typedIn.FindAllString(en, -1))); !slices.Equal(got, want) {
			t.Errorf("%s names %v in Chinese, %v in English", key, got, want)
		}
	}
	for key, zh := range chinese {
		if _, ok := english[key]; !ok {
			t.Errorf("%s is there in Chinese alone", key)
		}
		left := inBraces.ReplaceAllString(typedIn.ReplaceAllString(zh, ""), "")
		if s := sentence.FindString(left); s != "" {
			t.Errorf("%s has English in its Chinese: %q", key, s)
		}
		if strings.ContainsFunc(left, unicode.IsLetter) && !strings.ContainsFunc(left, func(r rune) bool { return unicode.Is(unicode.Han, r) }) && left != "User-Agent" {
			t.Errorf("%s is not in Chinese: %q", key, zh)
		}
	}
}

// Words that nobody says are left over from something.
func TestWordsAreUsed(t *testing.T) {
	var source strings.Builder
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "words_") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(b)
	}
	made := []string{"verdict.", "span.", "one.", "many.", "target.check.", "scopes.host", "scopes.verb", "doubt.sizes.upto", "doubt.latency.upto"}
	for _, key := range slices.Sorted(maps.Keys(english)) {
		if !strings.Contains(source.String(), `"`+key+`"`) && !slices.ContainsFunc(made, func(m string) bool { return strings.HasPrefix(key, m) }) {
			t.Errorf("nobody says %s", key)
		}
	}
}

// Every row of dogear's own table has its words in Chinese.
func TestRowsInChinese(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range acceptance.Rows() {
		seen[r.Must] = true
		if chineseRows[r.Must] == "" {
			t.Errorf("%s: %q is not there in Chinese", r.Name, r.Must)
		}
	}
	for must := range chineseRows {
		if !seen[must] {
			t.Errorf("no row says %q any more", must)
		}
	}
}
