//go:build !nobuckets

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/standin"
	"github.com/dogear/dogear/internal/buckets"
)

// A job's life in a bucket: read, looked at, a result lost, read again, and no other job's.
func TestBucket(t *testing.T) { inBuckets(t, testBucket) }

func testBucket(t *testing.T, b *bucket) {
	s := serve(t, standin.Config{})
	u := b.user()
	u.list("l.txt", s, 30)
	b.put("p/doc_1", "was here first")
	read := u.must(0, "read", "l.txt", "--scope", "host", "-o", b.out("p"), "--rate", "500/s", "--burst", "50", "--progress", "none")

	rows := u.results("l")
	keys := b.results("p/")
	if len(rows) != 30 || len(keys) != 31 || keys["doc_1"] != int64(len("was here first")) {
		t.Fatalf("%d results, objects %v", len(rows), keys)
	}
	for _, d := range rows {
		if keys[d.Path] != d.Size {
			t.Errorf("%s: %d bytes in the bucket, the ledger says %d", d.Path, keys[d.Path], d.Size)
		}
		if d.Path == "doc_1" {
			t.Error("what was in the bucket was taken for a result")
		}
	}
	list, err := b.ReadAll(context.Background(), "p/dogear.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(lines[document](t, string(list))); n != 30 {
		t.Errorf("dogear.jsonl has %d rows, want 30", n)
	}
	u.must(0, "verify", "l", "--deep")

	b.remove("p/" + rows[3].Path)
	b.remove("p/" + rows[4].Path)
	b.put("p/"+rows[4].Path, strings.Repeat("x", int(rows[4].Size)+1))
	if out := u.must(1, "verify", "l").stdout; !strings.Contains(out, "missing") || strings.Count(out, "\n") != 2 {
		t.Errorf("verify says:\n%s", out)
	}
	before := s.Journal.Len()
	again := u.must(0, "resume", "l", "--progress", "none")
	if got := s.Journal.Len() - before; got != 2 {
		t.Errorf("%d documents were asked for again, want the 2 that were lost", got)
	}
	again.says(t, "2 results were missing")
	u.must(0, "verify", "l", "--deep")

	other := b.user()
	other.list("o.txt", s, 1)
	taken := other.must(73, "read", "o.txt", "--scope", "host", "-o", b.out("p"))
	taken.says(t, "holds the results of l in")
	same := u.must(73, "read", "l.txt", "--job", "two", "--scope", "host", "-o", b.out("p"))
	same.says(t, `belongs to job "l"`)
	b.noCanaries(u, read, again, taken, same)
}

// K5: what has changed becomes a job with a prefix of its own. A wrong key is told as such.
func TestBucketRebatch(t *testing.T) { inBuckets(t, testBucketRebatch) }

func testBucketRebatch(t *testing.T, b *bucket) {
	s := serve(t, standin.Config{})
	u := b.user()
	u.write("l.csv", "url,id,version", s.URL("/doc/1")+",one,", s.URL("/doc/2")+`,two,"""another"""`)
	u.must(65, "read", "l.csv", "--scope", "host", "-o", b.out("p"), "--progress", "none")
	same := u.must(73, "rebatch", "l", "--job", "again", "-o", b.out("p"))
	same.says(t, `belongs to job "l"`)
	u.must(0, "rebatch", "l", "--job", "again", "-o", b.out("q"))
	u.must(0, "resume", "again", "--progress", "none")
	u.must(0, "verify", "again", "--deep")
	if p, q := b.results("p/"), b.results("q/"); len(p) != 1 || len(q) != 1 {
		t.Errorf("there are %v and %v", p, q)
	}
	b.noCanaries(u, same)
	if b.kind == "gcs" { // the emulator looks at no credentials
		return
	}
	wrong := b.user()
	for i, v := range wrong.vars {
		wrong.vars[i] = strings.NewReplacer(buckets.Secrets[1], "d3Jvbmc=", buckets.Secrets[2], "d3Jvbmc=").Replace(v)
	}
	wrong.list("w.txt", s, 1)
	denied := wrong.must(73, "read", "w.txt", "--scope", "host", "-o", b.out("w"))
	denied.says(t, "the service answered 403", "may do in the bucket")
	b.noCanaries(wrong, denied)
}

// An upload that a crash cut off from its commit is known again, and nothing that was done is
// read again.
func TestBucketCrashBeforeCommit(t *testing.T) { inBuckets(t, testBucketCrashBeforeCommit) }

func testBucketCrashBeforeCommit(t *testing.T, b *bucket) {
	s := serve(t, standin.Config{})
	u := b.user()
	u.list("l.txt", s, 40)
	hold, arrived := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var puts sync.Map
	b.onRequest(func(r *http.Request) bool {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || !strings.Contains(objectOf(r), "doc_") {
			return true
		}
		if _, again := puts.LoadOrStore(objectOf(r), true); !again && strings.HasSuffix(objectOf(r), "doc_40") {
			once.Do(func() { close(arrived) })
			<-hold // its group is never settled
			return false
		}
		return true
	})
	p := u.start("read", "l.txt", "--scope", "host", "-o", b.out("p"), "--rate", "100/s", "--burst", "5", "--progress", "none")
	b.during(p, "the last upload", arrived)
	p.signal(syscall.SIGKILL)
	p.wait(patience)
	close(hold)
	done := u.results("l")
	uploaded := b.results("p/")
	t.Logf("%d of %d uploads were settled", len(done), len(uploaded))
	if len(uploaded) <= len(done) {
		t.Skip("every upload was settled before the crash: nothing to prove")
	}
	arrivals := s.Journal.ByPath()
	u.must(0, "resume", "l", "--progress", "none", "--rate", "500/s", "--burst", "50")
	for _, d := range done {
		path := strings.TrimPrefix(d.ID, s.URL(""))
		if got := s.Journal.ByPath()[path]; got != arrivals[path] {
			t.Errorf("%s was done and was asked for again", path)
		}
	}
	if got := b.results("p/"); len(got) != 40 {
		t.Errorf("%d objects, want 40: an upload was not known again", len(got))
	}
	u.must(0, "verify", "l", "--deep")
}

// Two processes save into one prefix, and never both under one name: each name is that of two
// documents.
func TestBucketWorkers(t *testing.T) { inBuckets(t, testBucketWorkers) }

func testBucketWorkers(t *testing.T, b *bucket) {
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.Delay(50 * time.Millisecond)}})
	u := b.user()
	var rows []string
	for n := 1; n <= 100; n++ {
		rows = append(rows, fmt.Sprintf(`{"url":%q,"id":"%d","name":"%d.bin"}`, s.URL(fmt.Sprintf("/doc/%d", n)), n, n%50))
	}
	u.write("l.jsonl", rows...)
	lead := u.start("read", "l.jsonl", "--scope", "host", "-o", b.out("p"), "--rate", "40/s", "--burst", "8", "--progress", "none")
	until(t, "the job is running", func() bool { return u.running("l") })
	worker := u.start("worker", "l", "--progress", "none")
	lead.wait(2*patience).want(t, 0)
	worker.wait(patience).want(t, 0)
	if got := b.results("p/"); len(got) != 100 {
		t.Errorf("%d objects, want 100", len(got))
	}
	u.must(0, "verify", "l", "--deep")
}

// A bucket that goes away ends the run with the place kept, and resume completes it.
func TestBucketAway(t *testing.T) { inBuckets(t, testBucketAway) }

func testBucketAway(t *testing.T, b *bucket) {
	s := serve(t, standin.Config{})
	u := b.user()
	u.list("l.txt", s, 60)
	var n int
	var mu sync.Mutex
	b.onRequest(func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(objectOf(r), "doc_") {
			n++
		}
		if n > 20 {
			b.away.Store(true)
		}
		return true
	})
	r := u.start("read", "l.txt", "--scope", "host", "-o", b.out("p"), "--rate", "50/s", "--burst", "5", "--progress", "none").wait(2 * patience)
	r.want(t, 73)
	r.says(t, "sink_failed", "://results/p/doc_", "cannot be reached")
	done := u.results("l")
	if len(done) == 0 || len(done) >= 60 {
		t.Errorf("%d documents are done", len(done))
	}
	away := u.run("resume", "l", "--progress", "none")
	away.want(t, 73)
	b.noCanaries(u, r, away)
	b.onRequest(func(*http.Request) bool { return true })
	b.away.Store(false)
	u.must(0, "resume", "l", "--progress", "none", "--rate", "500/s")
	u.must(0, "verify", "l", "--deep")
}

// A large upload that is stopped leaves neither an object nor parts.
func TestBucketStopped(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	s := serve(t, standin.Config{})
	u := b.user()
	u.write("l.txt", s.URL(fmt.Sprintf("/doc/1?size=%d", large)))
	part := make(chan struct{})
	var once sync.Once
	b.onRequest(func(r *http.Request) bool {
		if r.URL.Query().Get("partNumber") != "" {
			once.Do(func() { close(part) })
			<-r.Context().Done() // it takes nothing
			return false
		}
		return true
	})
	p := u.start("read", "l.txt", "--scope", "host", "-o", b.out("p"), "--grace", "1s", "--progress", "none")
	b.during(p, "a part", part)
	if b.uploads() != 1 {
		t.Error("there is no upload in parts")
	}
	start := time.Now()
	p.signal(syscall.SIGTERM)
	p.wait(patience).want(t, 143)
	if took := time.Since(start); took > 6*time.Second {
		t.Errorf("it was gone after %v", took)
	}
	b.onRequest(func(*http.Request) bool { return true })
	if n := b.uploads(); n != 0 {
		t.Errorf("%d uploads in parts are left", n)
	}
	if got := b.results("p/"); len(got) != 0 {
		t.Errorf("there is %v", got)
	}
	u.must(0, "resume", "l", "--progress", "none")
	u.must(0, "verify", "l", "--deep")
	if left, _ := filepath.Glob(filepath.Join(u.state, "dogear", "scratch", "*", ".dogear-*.part")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	if err := filepath.WalkDir(filepath.Join(u.state, "dogear", "scratch"), func(path string, d os.DirEntry, err error) error {
		if info, e := d.Info(); e == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// Names from outside are safe as keys.
func TestBucketNames(t *testing.T) { inBuckets(t, testBucketNames) }

func testBucketNames(t *testing.T, b *bucket) {
	s := serve(t, standin.Config{})
	u := b.user()
	var rows []string
	names := []string{"../../out", "a/b/../c", "tab\tand\x01bell", strings.Repeat("long", 200) + ".pdf", "政策 手册.html", ".dogear-job", "dogear.jsonl", "a?b#c%2e%2e"}
	for i, name := range names {
		rows = append(rows, fmt.Sprintf(`{"url":%q,"id":"id %d %s","name":%q}`, s.URL(fmt.Sprintf("/doc/%d", i+1)), i, strings.Repeat("政", 300), name))
	}
	for i := range rows {
		rows[i] = strings.ReplaceAll(strings.ReplaceAll(rows[i], `\x01`, `\u0001`), `\x`, `\u00`)
	}
	u.write("l.jsonl", rows...)
	u.must(0, "read", "l.jsonl", "--scope", "host", "-o", b.out("p"), "--progress", "none")
	if got := b.results("p/"); len(got) != len(names) {
		t.Errorf("%d objects under the prefix, want %d: %v", len(got), len(names), got)
	}
	if got := b.keys(""); len(got) != len(names)+2 {
		t.Errorf("something left the prefix: %v", got)
	}
	u.must(0, "verify", "l", "--deep")
}

// An address that holds a credential, or cannot be, is refused before anything is sent.
func TestBucketBadAddress(t *testing.T) {
	t.Parallel()
	s := serve(t, standin.Config{})
	u := newUser(t)
	u.list("l.txt", s, 1)
	for address, says := range map[string]string{
		"s3://CANARY:" + s3Secret + "@results/p":               "credential before the @",
		"s3://results/p?X-Amz-Signature=" + s3Secret:           "credential in the parameter X-Amz-Signature",
		"azblob://results/p?sv=1&sig=" + s3Secret:              "credential",
		"s3://results/p?endpoint=http://a:" + s3Secret + "@b/": "endpoint",
		"s3://results/p?colour=" + s3Secret:                    "colour, which is not known",
		"s3://results/p/../q":                                  "no path of plain names",
		"s3://":                                                "names no bucket",
		"ftp://results/p":                                      "no sink for ftp",
		"file://elsewhere/p":                                   "file:///PATH",
	} {
		r := u.must(64, "read", "l.txt", "--scope", "host", "-o", address)
		r.says(t, says)
		if strings.Contains(r.stdout+r.stderr, s3Secret) {
			t.Errorf("%s: the credential is repeated:\n%s", says, r.stderr)
		}
	}
	if n := s.Journal.Len(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	u.must(0, "read", "l.txt", "--scope", "host", "-o", "file://"+u.path("some folder"))
	if files, err := os.ReadDir(u.path("some folder")); err != nil || !slices.ContainsFunc(files, func(f os.DirEntry) bool { return f.Name() == "doc_1" }) {
		t.Errorf("the folder of a file address has %v (%v)", files, err)
	}
}
