package dogear_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/dogear/dogear"

// mayImport is who may import whom of ours, beside the root package (ARCHITECTURE.md). Test
// files may import more; internal/cli and the commands know everything.
var mayImport = map[string][]string{
	"":                       {},
	"hint":                   {},
	"wire":                   {},
	"ledger":                 {},
	"ledger/sqlite":          {"ledger"},
	"ledger/ledgertest":      {"ledger"},
	"ledger/postgres":        {"ledger"},
	"ledger/postgres/pgtest": {},
	"sink/bucket":            {"sink/folder"},
	"sink/folder":            {},
	"source/list":            {},
	"batch":                  {},
	"gate":                   {"batch", "hint", "profile", "wire"},
	"reader":                 {"gate", "ledger", "profile", "quickxor"},
	"quickxor":               {},
	"login":                  {},
	"source/msgraph":         {},
	"drill/journal":          {},
	"drill/judge":            {"drill/journal"},
	"drill/standin":          {"drill/journal"},
	"drill/scenario":         {"drill/journal", "drill/judge", "drill/standin"},
	"drill":                  {"drill/journal", "drill/judge", "drill/scenario"},
	"drill/acceptance":       {"drill", "drill/journal", "drill/judge", "drill/scenario"},
	"plan":                   {"profile"},
	"profile":                {"hint"},
	"report":                 {"drill", "drill/journal", "drill/judge"},
	"internal/cli":           nil,
	"cmd/dogear":             nil,
	"internal/buckets":       {},
	"internal/mutants":       {},
	"internal/clients":       nil,
	"internal/e2e":           nil,
}

// TestImports reads the imports with go/parser: a test that asks the go command would be
// cached, and pass on imports that have changed since.
func TestImports(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if d.IsDir() {
			if name := d.Name(); path != "." && (name == "testdata" || name == "bench" || path == "clients" || name == "tools" || name == "scripts" || name[0] == '.') {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		if dir == "." {
			dir = ""
		}
		allowed, known := mayImport[dir]
		if !known {
			t.Errorf("package %q is not in the table: say what it may import", dir)
			return nil
		}
		seen[dir] = true
		return checkImports(t, path, dir, allowed)
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range mayImport {
		if !seen[dir] && dir != "internal/e2e" && dir != "internal/clients" {
			t.Errorf("the table has a package %q that is not there", dir)
		}
	}
}

func checkImports(t *testing.T, path, dir string, allowed []string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		ours, isOurs := strings.CutPrefix(name, module)
		ours = strings.TrimPrefix(ours, "/")
		first, _, _ := strings.Cut(name, "/")
		switch {
		case !isOurs && dir == "" && strings.Contains(first, "."):
			t.Errorf("%s imports %s: the domain imports the standard library only", path, name)
		case !isOurs, ours == "", allowed == nil:
		case !contains(allowed, ours):
			t.Errorf("%s imports %s, which %q may not", path, ours, dir)
		}
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}
