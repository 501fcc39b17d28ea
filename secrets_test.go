package dogear

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/secrets.md")

// K7: the list of what is stripped is documented, and the document is the code's.
func TestSecretsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# What is taken for a secret in an address

An address's user info, its fragment, session ids in its path (` + "`;jsessionid=…`" + `) and the query parameters below are in no id,
name, version, ledger, log, report or error. Names are compared without regard to case. An address that has one of them is kept
in its list alone and read again from there. Two addresses that differ in nothing else are refused, with both line numbers.

This page is made from the code; ` + "`go test . -update`" + ` rewrites it.

## Parameters

`)
	for _, n := range slices.Sorted(maps.Keys(secretParams)) {
		fmt.Fprintf(&b, "- `%s`\n", n)
	}
	b.WriteString("\n## Beginnings of names that only a signature uses\n\n")
	for _, p := range secretPrefixes {
		fmt.Fprintf(&b, "- `%s…`\n", p)
	}
	b.WriteString("\n## Stripped beside a signature\n\nThey change with it and mean nothing without it.\n\n")
	for _, n := range slices.Sorted(maps.Keys(besideSignature)) {
		fmt.Fprintf(&b, "- beside `%s`: `%s`\n", n, strings.Join(besideSignature[n], "`, `"))
	}
	const page = "docs/secrets.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != b.String() {
		t.Errorf("%s does not list what the code strips: go test . -update (%v)", page, err)
	}
}
