package ledgertest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

var pages = []promise{
	{"Pages", testPages},
	{"PagesLastWordCounts", testPagesLastWordCounts},
	{"PagesFolders", testPagesFolders},
	{"PagesManyFolders", testPagesManyFolders},
	{"PagesManyOutside", testPagesManyOutside},
	{"PagesChanges", testPagesChanges},
	{"PagesOfNoJob", testPagesOfNoJob},
}

// listed is the ith document of a listing in pages.
func listed(i int, parent string) dogear.Document {
	d := doc(i)
	d.Line, d.Offset, d.Fingerprint, d.Parent = 0, 0, 0, parent
	d.Version, d.Digest, d.Size = fmt.Sprintf(`"%d"`, i), fmt.Sprintf("quickxor:%d", i), int64(i)
	return d
}

// page adds a page and sees what became of it.
func (f *fixture) page(s ledger.Store, job ledger.Job, p dogear.Page, want ledger.Paged) {
	f.Helper()
	got, err := s.AddPage(f.ctx(), job.ID, p)
	f.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("AddPage (-want +got):\n%s", diff)
	}
}

// paged makes a job without a page.
func (f *fixture) paged(name string) ledger.Job {
	f.Helper()
	job, err := f.CreatePaged(f.ctx(), name, ledger.Settings{Sink: "/srv/" + name})
	f.must(err)
	return job
}

// again is the job as the ledger has it now.
func (f *fixture) again(job ledger.Job) ledger.Job {
	f.Helper()
	got, err := f.Job(f.ctx(), job.Name)
	f.must(err)
	return got
}

func testPages(f *fixture) {
	job := f.paged("drive")
	if !job.Listing || job.Total != 0 || job.Cursor != "" {
		f.Errorf("CreatePaged: %+v", job)
	}
	if diff := cmp.Diff(job, f.again(job)); diff != "" {
		f.Errorf("Job differs (-CreatePaged +Job):\n%s", diff)
	}
	_, err := f.CreatePaged(f.ctx(), "drive", ledger.Settings{})
	f.fails("CreatePaged of a name that is taken", err, ledger.ErrJobExists)

	f.page(f, job, dogear.Page{Documents: []dogear.Document{listed(0, ""), listed(1, "")}, Cursor: "one"}, ledger.Paged{New: 2})
	f.page(f, job, dogear.Page{Cursor: "two"}, ledger.Paged{}) // an empty page is not the end
	other := f.open()
	f.page(other, job, dogear.Page{Documents: []dogear.Document{listed(2, "")}, Cursor: "three"}, ledger.Paged{New: 1})
	if got := f.again(job); !got.Listing || got.Cursor != "three" || got.Total != 3 {
		f.Errorf("in the middle: %+v", got)
	}
	f.page(f, job, dogear.Page{Cursor: "changes", Last: true}, ledger.Paged{})
	if got := f.again(job); got.Listing || got.Cursor != "changes" || got.Total != 3 {
		f.Errorf("at the end: %+v", got)
	}
	if got := f.states(job)[dogear.Pending]; got != 3 || f.lane(job).Pending != 3 {
		f.Errorf("%d pending in the counts, %d in the lane, want 3", got, f.lane(job).Pending)
	}
	f.begin(f, job)
	for i, d := range f.claim(f, job, 10) {
		want := listed(i, "")
		want.Seq, want.Fingerprint = job.First+int64(i), d.Fingerprint
		if diff := cmp.Diff(want, d); diff != "" {
			f.Errorf("document %d (-listed +claimed):\n%s", i, diff)
		}
	}
}

func testPagesLastWordCounts(f *fixture) {
	job := f.paged("drive")
	newer := listed(1, "")
	newer.Version, newer.Digest, newer.Size, newer.Name = `"newer"`, "quickxor:newer", 77, "renamed.html"
	f.page(f, job, dogear.Page{Documents: []dogear.Document{listed(0, ""), listed(1, ""), listed(2, ""), listed(2, "")}}, ledger.Paged{New: 3})
	f.page(f, job, dogear.Page{Documents: []dogear.Document{newer}, Gone: []string{listed(0, "").ID, "never listed"}}, ledger.Paged{Dropped: 1})
	f.page(f, job, dogear.Page{Documents: []dogear.Document{listed(3, "")}, Last: true}, ledger.Paged{New: 1})
	if got := f.again(job).Total; got != 3 || f.states(job)[dogear.Pending] != 3 {
		f.Errorf("total %d, counts %v, want 3", got, f.states(job))
	}
	f.begin(f, job)
	docs := f.claim(f, job, 10)
	if diff := cmp.Diff([]string{newer.ID, listed(2, "").ID, listed(3, "").ID}, ids(docs)); diff != "" {
		f.Fatalf("ids (-want +got):\n%s", diff)
	}
	if d := docs[0]; d.Version != newer.Version || d.Digest != newer.Digest || d.Size != newer.Size || d.Name != newer.Name {
		f.Errorf("the last word on a document does not count: %+v", d)
	}
	if _, found, err := f.Compare(f.ctx(), job.ID, listed(0, "")); found || err != nil {
		f.Errorf("a dropped document is found, %v", err)
	}
}

func testPagesFolders(f *fixture) {
	job := f.paged("drive")
	f.page(f, job, dogear.Page{ // children come before their folders
		Documents: []dogear.Document{listed(0, "deep"), listed(1, "in"), listed(2, "lost"), listed(3, "round"), listed(4, "elsewhere"), listed(5, "")},
		Folders:   []dogear.Folder{{ID: "deep", Parent: "in", Name: "old"}, {ID: "round", Parent: "trip", Name: "round"}},
	}, ledger.Paged{New: 6})
	f.page(f, job, dogear.Page{Folders: []dogear.Folder{
		{ID: "in", Name: "in"}, {ID: "deep", Parent: "in", Name: "2026"}, {ID: "trip", Parent: "round", Name: "trip"},
		{ID: "drive", Outside: true}, {ID: "elsewhere", Parent: "drive", Name: "elsewhere"},
	}, Last: true}, ledger.Paged{Dropped: 1})
	f.begin(f, job)
	names := map[string]string{}
	for _, d := range f.claim(f, job, 10) {
		names[d.ID] = d.Name
		if d.Parent != "" {
			f.Errorf("%s still has to be named after folder %q", d.ID, d.Parent)
		}
	}
	for i, want := range map[int]string{0: "in/2026/0.html", 1: "in/1.html", 2: "2.html", 5: "5.html"} {
		if got := names[doc(i).ID]; got != want {
			f.Errorf("document %d is named %q, want %q", i, got, want)
		}
	}
	if _, in := names[doc(4).ID]; in || len(names) != 5 || f.again(job).Total != 5 {
		f.Errorf("%v, total %d: want all but the one outside", names, f.again(job).Total)
	}
}

// More documents and folders than one transaction names and one cache holds.
func testPagesManyFolders(f *fixture) {
	const n = 10_000
	job := f.paged("drive")
	for from := 0; from < n; from += 2000 {
		var p dogear.Page
		for i := from; i < from+2000; i++ {
			in := fmt.Sprint(i)
			p.Documents = append(p.Documents, listed(i, in))
			p.Folders = append(p.Folders, dogear.Folder{ID: in, Parent: "root", Name: "f" + in})
		}
		f.page(f, job, p, ledger.Paged{New: 2000})
	}
	f.page(f, job, dogear.Page{Folders: []dogear.Folder{{ID: "root"}}, Last: true}, ledger.Paged{})
	f.begin(f, job)
	for i, d := range f.claim(f, job, n) {
		if want := fmt.Sprintf("f%d/%d.html", i, i); d.Name != want {
			f.Fatalf("document %d is named %q, want %q", i, d.Name, want)
		}
	}
}

// What is outside is counted out part by part, so that a listing that is cut there adds up.
func testPagesManyOutside(f *fixture) {
	const n = 9000
	job := f.paged("drive")
	p := dogear.Page{Folders: []dogear.Folder{{ID: "drive", Outside: true}, {ID: "in"}}, Last: true}
	for i := range n {
		p.Documents = append(p.Documents, listed(i, map[bool]string{true: "in", false: "drive"}[i%3000 == 0]))
	}
	f.page(f, job, p, ledger.Paged{New: n, Dropped: n - 3})
	if got := f.again(job); got.Total != 3 || got.Listing || f.states(job)[dogear.Pending] != 3 || f.lane(job).Pending != 3 {
		f.Errorf("%+v, counts %v, %d in the lane; want 3 documents", got, f.states(job), f.lane(job).Pending)
	}
}

func testPagesChanges(f *fixture) {
	job := f.paged("drive")
	var all []dogear.Document
	for i := range 6 {
		all = append(all, listed(i, ""))
	}
	f.page(f, job, dogear.Page{Documents: all, Cursor: "changes", Last: true}, ledger.Paged{New: 6})
	run := f.begin(f, job)
	docs := f.claim(f, job, 1)
	f.grant(f, job, run, docs[0])
	f.must(f.settle(f, run, docs[0])) // document 0 is done

	other, renamed := all[1], all[2]
	other.Version, other.Digest = `"other"`, "quickxor:other"
	renamed.Version = `"renamed"` // the same bytes
	done := all[0]
	done.Version, done.Digest = `"later"`, "quickxor:later"
	f.page(f, job, dogear.Page{
		Documents: []dogear.Document{done, other, renamed, all[3], listed(9, "")},
		Gone:      []string{all[4].ID, all[0].ID, "never listed"}, Cursor: "later", Last: true,
	}, ledger.Paged{Changed: 1, Gone: 1})
	want := map[dogear.State]int64{dogear.Done: 1, dogear.Changed: 1, dogear.Gone: 1, dogear.Pending: 3}
	got := f.states(job)
	for state, n := range want {
		if got[state] != n {
			f.Errorf("%d documents %s, want %d", got[state], state, n)
		}
	}
	if j := f.again(job); j.Cursor != "later" || j.Total != 6 || j.Listing {
		f.Errorf("%+v: a job never grows", j)
	}
	for _, c := range collect(f, f.ChangedDocuments(f.ctx(), job.ID)) {
		if c.ID != other.ID || c.Found != other.Version {
			f.Errorf("changed: %s, found %s", c.ID, c.Found)
		}
	}
	if n := f.lane(job).Pending; n != 3 {
		f.Errorf("the lane has %d pending, want 3", n)
	}
	f.page(f, job, dogear.Page{Documents: []dogear.Document{all[1]}, Cursor: "last", Last: true}, ledger.Paged{Back: 1})
	if n := f.lane(job).Pending; n != 4 || f.states(job)[dogear.Changed] != 0 {
		f.Errorf("the lane has %d pending, counts %v: a document is as it was listed again", n, f.states(job))
	}
}

func testPagesOfNoJob(f *fixture) {
	_, err := f.AddPage(f.ctx(), 77, dogear.Page{})
	f.fails("AddPage", err, ledger.ErrNoJob)
	job := f.paged("drive")
	f.page(f, job, dogear.Page{Documents: []dogear.Document{listed(0, "a")}, Folders: []dogear.Folder{{ID: "a", Name: "a"}}}, ledger.Paged{New: 1})
	f.must(f.Forget(f.ctx(), job.ID))
	_, err = f.AddPage(f.ctx(), job.ID, dogear.Page{})
	f.fails("AddPage to a forgotten job", err, ledger.ErrNoJob)
}
