//go:build unix

package sqlite

import (
	"fmt"
	"testing"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// BenchmarkPages lists a job of b.N documents in pages of 200, each in a folder of ten, until
// the folders' names are in theirs.
func BenchmarkPages(b *testing.B) {
	s := openBench(b)
	ctx := b.Context()
	job, err := s.CreatePaged(ctx, "bench", ledger.Settings{})
	if err != nil {
		b.Fatal(err)
	}
	cpu := spent()
	b.ResetTimer()
	var page dogear.Page
	for d, err := range docs(b.N) {
		if err != nil {
			b.Fatal(err)
		}
		d.Parent, d.Digest = fmt.Sprint(d.Line/10), "quickxor:AAAAAAAAAAAAAAAAAAAAAAAAAAA="
		page.Documents = append(page.Documents, d)
		if d.Line%10 == 0 {
			page.Folders = append(page.Folders, dogear.Folder{ID: d.Parent, Parent: "root", Name: "folder " + d.Parent})
		}
		if len(page.Documents) == 200 {
			if _, err := s.AddPage(ctx, job.ID, page); err != nil {
				b.Fatal(err)
			}
			page = dogear.Page{Cursor: d.ID}
		}
	}
	page.Folders, page.Last = append(page.Folders, dogear.Folder{ID: "root"}), true
	if _, err := s.AddPage(ctx, job.ID, page); err != nil {
		b.Fatal(err)
	}
	report(b, "docs", b.N, cpu)
}
