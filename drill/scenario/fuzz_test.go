package scenario

import (
	"errors"
	"strings"
	"testing"
)

// FuzzParse: whatever is read is refused where it stands, or can be started.
func FuzzParse(f *testing.F) {
	for _, name := range Builtin() {
		data, err := files.ReadFile("builtin/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(whole))
	for _, text := range []string{
		"", "a", "- - - -", "{", "[", "'", "\"", "|", ">-\n", "? a\n: b", "a: &a [*a]", "\ufeffabout: x\r\n", "about: x\n\tsize: 3", "a: !!b c",
		"%YAML 1.2\n---\n", "about: x\n...\n---\n", "about: |+2\n   x\n\n", rules("{do: cut, documents: 3}"), refusing("{headers: {A: []}}"),
		quotas("{name: a, documents: 1}", "{name: b}"),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("f", data)
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got a %T: %v", err, err)
			}
			if lines := strings.Count(string(data), "\n") + 1; e.Line < 0 || e.Line > lines || e.Line > 0 && e.Column < 1 {
				t.Fatalf("%d:%d in a text of %d lines: %s", e.Line, e.Column, lines, e.Message)
			}
			if e.Message == "" {
				t.Fatalf("the message is %q", e.Message)
			}
			return
		}
		st, err := s.Start(Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
