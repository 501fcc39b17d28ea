// Package report turns what was recorded into pages for people. A page is one HTML file that
// is whole on its own: it has no script and fetches nothing, so it can be kept beside a test
// run, sent by mail and printed.
package report

import (
	"bufio"
	"embed"
	"fmt"
	"html/template"
	"io"

	"github.com/dogear/dogear/drill"
)

//go:embed template
var files embed.FS

var pages = template.Must(template.ParseFS(files, "template/*"))

// Drill writes the page of a drill: a table of all results, then for each the verdict, its
// checks and a picture of what arrived. A result without a Record has no picture. The error
// is that of w.
func Drill(w io.Writer, results []drill.Result) error {
	out := bufio.NewWriter(w)
	if err := pages.ExecuteTemplate(out, "drill.html", newDrillPage(results)); err != nil {
		return fmt.Errorf("write the page of a drill: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the page of a drill: %w", err)
	}
	return nil
}
