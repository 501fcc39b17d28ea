package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
)

// TestBuiltinNames: each file is in the list once, each name has a file.
func TestBuiltinNames(t *testing.T) {
	paths, err := fs.Glob(files, "builtin/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range paths {
		names = append(names, strings.TrimSuffix(path.Base(p), ".yaml"))
	}
	got := Builtin()
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("Builtin has %v\nfiles are   %v", got, names)
	}
	for _, name := range Standard() {
		if !slices.Contains(names, name) {
			t.Errorf("the standard scenario %q is not built in", name)
		}
	}
}

// aim is the comment that a file begins with.
func aim(data []byte) string {
	var words []string
	for line := range strings.Lines(string(data)) {
		text, isComment := strings.CutPrefix(line, "# ")
		if !isComment {
			break
		}
		words = append(words, strings.TrimSpace(text))
	}
	return strings.Join(words, " ")
}

// TestBuiltinServes: each starts, says what it is, serves its list, and closes.
func TestBuiltinServes(t *testing.T) {
	for _, name := range Builtin() {
		data, err := files.ReadFile("builtin/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(aim(data), "Proves that ") {
			t.Errorf("%s does not begin with a comment that says what it proves", name)
		}
		s, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name != name {
			t.Errorf("%s calls itself %q", name, s.Name)
		}
		st, err := s.Start(Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var list strings.Builder
		for _, q := range st.Head.Quotas {
			list.WriteString(get(t, q.Origin+"/manifest.txt"))
		}
		var want strings.Builder
		for _, d := range st.List() {
			fmt.Fprintln(&want, d.URL)
		}
		if list.String() != want.String() {
			t.Errorf("%s: the manifests have\n%s\nand List has\n%s", name, &list, &want)
		}
		if err := st.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", url, resp.StatusCode, b, err)
	}
	return string(b)
}

// TestBuiltinIsPossible: no built-in scenario fails everybody. They mostly wait, so that all
// of them run together.
func TestBuiltinIsPossible(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as the longest scenario")
	}
	var g sync.WaitGroup
	for _, name := range Builtin() {
		g.Go(func() {
			began := time.Now()
			rec, err := ideally(name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			f := judge.Judge(rec, judge.DefaultSlack)
			t.Logf("%-18s %5.1f s, %d requests, %d of them refused", name, time.Since(began).Seconds(), f.Requests, f.Throttled)
			for _, expect := range rec.Head.Expect {
				a, err := judge.ParseAssert(expect)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				} else if c := a.Check(f, rec, judge.DefaultSlack); !c.Pass {
					t.Errorf("%s: %s: %s", name, c.Assert, c.Why)
				}
			}
		})
	}
	g.Wait()
}

// ideally lets the ideal client read a scenario, and returns the journal.
func ideally(name string) (*journal.Record, error) {
	s, err := Load(name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	st, err := s.Start(Options{Journal: &b})
	if err != nil {
		return nil, err
	}
	err = run(s, st)
	if err := errors.Join(err, st.Close()); err != nil {
		return nil, err
	}
	return journal.Parse(&b)
}

func run(s *Scenario, st *Stand) error {
	st.Journal.Note(journal.Event{Event: "started", At: time.Now(), Client: 1})
	c, docs, code := newIdeal(st.Token), st.List(), 0
	switch s.Name {
	case "batch":
		for i, d := range docs {
			docs[i].URL = st.Base() + "/v1.0/documents/" + d.ID + "/content"
		}
		if err := c.readBatches(st.Base(), docs); err != nil {
			return err
		}
	case "graph-drive":
		files, err := c.listDrive(st.Base(), docs)
		if err != nil {
			return err
		}
		if len(files) != len(docs) {
			return fmt.Errorf("the drive has %d files, want %d", len(files), len(docs))
		}
		if err := c.readBatches(st.Base(), files); err != nil {
			return err
		}
	case "paged-listing":
		listed, err := c.list(st.Base())
		if err != nil {
			return err
		}
		for i, d := range docs {
			it := listed[d.ID]
			it.SHA256 = d.SHA256
			if it != d {
				return fmt.Errorf("listed %+v, want %+v", it, d)
			}
			docs[i] = it
		}
	}
	if s.Name != "batch" && s.Name != "graph-drive" && !c.readAll(slices.Repeat(docs, s.Clients)) {
		code = 1
	}
	st.Journal.Note(journal.Event{Event: "ended", At: time.Now(), Client: 1, Code: code})
	return nil
}
