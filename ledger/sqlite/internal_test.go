package sqlite

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

// A plan that scans a table or sorts would read all of ten million documents. The open
// requests and runs are few: their own indexes are scanned.
func TestPlans(t *testing.T) {
	s := openTest(t, machine{boot: "b", since: func() time.Duration { return 0 }, wall: time.Now})
	queries := map[string]string{
		"matureDocuments": matureDocuments, "findClaims": findClaims, "claimDocument": claimDocument, "nextDue": nextDue,
		"readEnded": readEnded, "readChanged": readChanged, "readDoubted": readDoubted, "readHeld": readHeld,
		"readResults": readResults, "readRemaining": readRemaining, "readRequests": readRequests, "readUnplaced": readUnplaced,
		"readScope": readScope, "readScopes": readScopes, "readReleases": readReleases, "readRuns": readRuns, "lastRun": lastRun,
		"countOpen": countOpen, "readOpen": readOpen, "readOpenDocs": readOpenDocs, "doubtOpen": doubtOpen,
		"findFolded": findFolded, "findID": findID, "readDocument": readDocument, "findDropped": findDropped,
		"readCounts": readCounts, "readLanes": readLanes, "readFate": readFate, "setFate": setFate, "finishDocument": finishDocument,
		"endRequest": endRequest, "readRequest": readRequest, "findRunning": findRunning, "interruptRuns": interruptRuns,
		"dropListings": dropListings, "moveDocument": moveDocument, "addCount": addCount, "putScope": putScope, "findSet": findSet,
		"readJob": readJob, "dropRepeat": dropRepeat, "readListed": readListed,
	}
	for _, s := range sweeps {
		queries[s.find], queries[s.drop] = s.find, s.drop
	}
	for _, s := range lastSweeps {
		queries[s] = s
	}
	few := []string{"requests_open", "runs_open", "jobs_unready"}
	err := s.read(t.Context(), func(c conn) error {
		for name, query := range queries {
			for _, step := range plan(t, c, query) {
				scans := strings.HasPrefix(step, "SCAN")
				for _, index := range few {
					scans = scans && !strings.Contains(step, index)
				}
				if scans && step != "SCAN CONSTANT ROW" || strings.Contains(step, "TEMP B-TREE") || strings.Contains(step, "AUTOMATIC") {
					t.Errorf("%s: %s", name, step)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func plan(t *testing.T, c conn, query string) (steps []string) {
	stmt, _, err := c.PrepareTransient("EXPLAIN QUERY PLAN " + query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer stmt.Finalize()
	for {
		more, err := stmt.Step()
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if !more {
			return steps
		}
		steps = append(steps, stmt.ColumnText(3))
	}
}

func openTest(t *testing.T, m machine) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "dogear", "ledger.db"), m)
}

func openAt(t *testing.T, path string, m machine) *Store {
	t.Helper()
	s, err := open(t.Context(), path, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// Two ids of one hash are two documents.
func TestCreateTellsTwinsApart(t *testing.T) {
	s := openTest(t, machine{boot: "b", since: func() time.Duration { return 0 }, wall: time.Now})
	weak := func(id string) (int64, uint64) {
		_, rest := keyOf(id)
		return int64(len(id)%3) - 1, rest
	}
	listing := func(name string) *listing {
		l := s.newListing(t.Context(), name, ledger.Settings{})
		l.key = weak
		return l
	}
	l := listing("twins")
	err := l.list(func(yield func(dogear.Document, error) bool) {
		for range 2 {
			for d, err := range docs(500) {
				if !yield(d, err) {
					return
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if l.job.Total != 500 || l.repeats != 500 {
		t.Errorf("total %d, repeats %d; want 500, 500", l.job.Total, l.repeats)
	}
	err = listing("conflict").list(func(yield func(dogear.Document, error) bool) {
		for d, err := range docs(500) {
			if !yield(d, err) {
				return
			}
		}
		for d, err := range docs(7) {
			d.Fingerprint += 1000
			if d.Line == 7 && !yield(d, err) {
				return
			}
		}
	})
	if c, ok := errors.AsType[*ledger.ConflictError](err); !ok || c.Lines != [2]int64{7, 7} {
		t.Errorf("got error %v, want a conflict of line 7", err)
	}
}

// A repeat is found however far back the first is.
func TestCreateFindsRepeatsFarBack(t *testing.T) {
	s := openTest(t, machine{boot: "b", since: func() time.Duration { return 0 }, wall: time.Now})
	var all []dogear.Document
	for d := range docs(2*listRows + 500) {
		all = append(all, d)
	}
	far := []int{5, listRows + 5, 2*listRows + 5}
	list := func(print uint64) iter.Seq2[dogear.Document, error] {
		return func(yield func(dogear.Document, error) bool) {
			for _, d := range all {
				if !yield(d, nil) {
					return
				}
			}
			for _, i := range far {
				d := all[i]
				d.Line, d.Fingerprint = d.Line+1_000_000, d.Fingerprint^print
				if !yield(d, nil) {
					return
				}
			}
		}
	}
	l := s.newListing(t.Context(), "j", ledger.Settings{})
	l.met.max, l.met.fan = 1000, 4
	if err := l.list(list(0)); err != nil {
		t.Fatal(err)
	}
	if l.job.Total != int64(len(all)) || l.repeats != int64(len(far)) {
		t.Errorf("total %d, repeats %d; want %d, %d", l.job.Total, l.repeats, len(all), len(far))
	}
	for len(far) > 0 { // each print differs in one half only
		_, _, err := s.Create(t.Context(), "k", ledger.Settings{}, list(1<<uint(20*len(far))))
		c, ok := errors.AsType[*ledger.ConflictError](err)
		if want := [2]int64{all[far[0]].Line, all[far[0]].Line + 1_000_000}; !ok || c.Lines != want {
			t.Errorf("got error %v, want a conflict of lines %v", err, want)
		}
		far = far[1:]
	}
}

// A process that was stopped in the middle of a transaction is not waited for for ever.
func TestStoppedProcess(t *testing.T) {
	s := openTest(t, machine{boot: "b", since: func() time.Duration { return 0 }, wall: time.Now})
	s.writer.lock.patience = 20 * time.Millisecond
	stopped, err := openWriteLock(s.path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.close()
	if err := stopped.lock(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := s.Decide(t.Context(), []string{"host:a"}, func(*dogear.Docket) {})
		if !errors.Is(err, ErrBusy) {
			t.Fatalf("got error %v, want one that matches ErrBusy", err)
		}
	}
	if err := stopped.unlock(); err != nil {
		t.Fatal(err)
	}
	s.writer.lock.patience = patience
	if err := s.Decide(t.Context(), []string{"host:a"}, func(*dogear.Docket) {}); err != nil {
		t.Errorf("when the other goes on: %v", err)
	}
}

// Lock files of processes that died before they were holders go away; those of the living
// stay.
func TestOrphanLocks(t *testing.T) {
	s := openTest(t, machine{boot: "b", since: func() time.Duration { return 0 }, wall: time.Now})
	job, _, err := s.Create(t.Context(), "j", ledger.Settings{}, docs(1))
	if err != nil {
		t.Fatal(err)
	}
	orphan := filepath.Join(s.holders(), "ORPHAN")
	if err := os.WriteFile(orphan, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	joining, err := newHolderLock(s.holders())
	if err != nil {
		t.Fatal(err)
	}
	defer removeHolderLock(joining)
	if _, err := s.Begin(t.Context(), job.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(orphan); err == nil {
		t.Error("an orphan's lock file is still there")
	}
	for _, f := range []*os.File{joining, s.me.Load().lock} {
		if _, err := os.Stat(f.Name()); err != nil {
			t.Errorf("a lock that is held is gone: %v", err)
		}
	}
}

func TestDefaultPath(t *testing.T) {
	for _, tt := range []struct {
		system string
		env    map[string]string
		want   string
	}{
		{"linux", nil, "/home/me/.local/state/dogear"},
		{"linux", map[string]string{"XDG_STATE_HOME": "/var/state"}, "/var/state/dogear"},
		{"linux", map[string]string{"XDG_STATE_HOME": "state"}, "/home/me/.local/state/dogear"},
		{"darwin", map[string]string{"XDG_STATE_HOME": "/var/state"}, "/home/me/Library/Application Support/dogear"},
		{"windows", map[string]string{"LocalAppData": `C:\Users\me\AppData\Local`}, filepath.Join(`C:\Users\me\AppData\Local`, "dogear")},
		{"windows", nil, ""},
	} {
		got, err := stateFolder(tt.system, func(k string) string { return tt.env[k] }, func() (string, error) { return "/home/me", nil })
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s, %v: %q, %v; want %q", tt.system, tt.env, got, err, tt.want)
		}
	}
}
