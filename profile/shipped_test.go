package profile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Every shipped file is without a mistake, and named after its profile.
func TestShipped(t *testing.T) {
	files, err := filepath.Glob("services/*.yaml")
	if err != nil || len(files) != len(Names()) {
		t.Fatal(files, err)
	}
	for _, f := range files {
		p, err := Load(f)
		if err != nil {
			t.Error(err)
			continue
		}
		if want := strings.TrimSuffix(filepath.Base(f), ".yaml"); p.Name != want {
			t.Errorf("%s has the name %s", f, p.Name)
		}
	}
}

// Every statement of a shipped profile says where it is written and how well it is known,
// whatever field it is in.
func TestEveryFactHasItsSource(t *testing.T) {
	var facts int
	var look func(name string, v reflect.Value)
	look = func(name string, v reflect.Value) {
		switch {
		case !v.IsValid():
		case v.Type() == reflect.TypeFor[Fact]():
			facts++
			if f := v.Interface().(Fact); !isAddress(f.Source) || f.Known != Documented && f.Known != Reported || f.Line == 0 {
				t.Errorf("%s: %+v", name, f)
			}
		case v.Kind() == reflect.Pointer:
			look(name, v.Elem())
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				look(fmt.Sprintf("%s[%d]", name, i), v.Index(i))
			}
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() {
					look(name+"."+f.Name, v.Field(i))
				}
			}
		}
	}
	for _, name := range Names() {
		p, _ := Get(name)
		look(name, reflect.ValueOf(p))
	}
	if facts < 400 {
		t.Errorf("%d facts were found: some are not looked at", facts)
	}
}

// No two services are found by one host.
func TestHostsAreOfOneService(t *testing.T) {
	owner := map[string]string{}
	for _, name := range Names() {
		p, _ := Get(name)
		for _, h := range p.Hosts {
			if other := owner[h]; other != "" {
				t.Errorf("%s and %s have the host %s", other, name, h)
			}
			owner[h] = name
			if found, _ := ForHost(strings.ReplaceAll(h, "*", "x")); found != p {
				t.Errorf("%s is not found by %s", name, h)
			}
		}
		if p.Base != nil && !p.Covers(p.Base.URL.Host) {
			t.Errorf("%s does not cover its own address", name)
		}
	}
}

// Services of which nothing was found say so, and are read like any other.
func TestGeneric(t *testing.T) {
	var generic []string
	for _, name := range Names() {
		if p, _ := Get(name); p.Generic {
			generic = append(generic, name)
			if len(p.Unknown) == 0 {
				t.Errorf("%s asks nothing", name)
			}
			if v := p.Judge(Answer{Status: 403, Received: received}); v.Throttled || v.Outcome != 0 {
				t.Errorf("%s: a 403 is %+v", name, v)
			}
		}
	}
	if want := []string{"generic", "shimo", "wps"}; !slices.Equal(generic, want) {
		t.Errorf("generic: %v, want %v", generic, want)
	}
}

// What is not known is in a golden file, so that a question that goes away is seen.
func TestUnknown(t *testing.T) {
	var b strings.Builder
	for _, name := range Names() {
		p, _ := Get(name)
		for _, u := range p.Unknown {
			fmt.Fprintf(&b, "%s: %s\n", name, u)
		}
	}
	golden(t, "unknown.golden", b.String())
}

func TestShow(t *testing.T) {
	for _, name := range []string{"msgraph", "wps"} {
		p, _ := Get(name)
		var b strings.Builder
		if err := p.Show(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, "show-"+name+".golden", b.String())
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got, rewritten by -update):\n%s", path, d)
	}
}
