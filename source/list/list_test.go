package list

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dogear/dogear"
)

// write makes a list in a file and opens it.
func write(t testing.TB, name, content string) *List {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// collect reads documents to the end or to the first error.
func collect(seq iter.Seq2[dogear.Document, error]) (docs []dogear.Document, err error) {
	for doc, err := range seq {
		if err != nil {
			return docs, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

var loose = cmpopts.IgnoreFields(dogear.Document{}, "Fingerprint", "Offset")

func TestText(t *testing.T) {
	content := "\ufeff# policies\r\n\r\n  https://docs.example.com/area/a.html \t\r\n\t# more\r\nhttps://docs.example.com/area/a.html\nHTTP://u:CANARY@Other.example:80?sig=CANARY#top"
	l := write(t, "policies.TXT", content)
	got, err := collect(l.Documents(3, func(u *url.URL) []string { return []string{"b:", dogear.HostKey(u)} }))
	if err != nil {
		t.Fatal(err)
	}
	a := dogear.Document{
		ID: "https://docs.example.com/area/a.html", Address: "https://docs.example.com/area/a.html",
		Name: "area/a.html", List: 3, Line: 3, Size: -1, Scopes: []string{"b:", "host:docs.example.com"},
	}
	again := a
	again.Line = 5
	other := dogear.Document{
		ID: "http://other.example/", Address: "http://u:CANARY@other.example/?sig=CANARY", Secret: true,
		Name: "other.example", List: 3, Line: 6, Size: -1, Scopes: []string{"b:", "host:other.example"},
	}
	if diff := cmp.Diff([]dogear.Document{a, again, other}, got, loose); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if want := int64(strings.Index(content, "  https")); got[0].Offset != want {
		t.Errorf("offset %d, want %d", got[0].Offset, want)
	}
	if got[0].Fingerprint != got[1].Fingerprint || got[0].Fingerprint == got[2].Fingerprint {
		t.Errorf("fingerprints %v, %v, %v: want two the same and one not", got[0].Fingerprint, got[1].Fingerprint, got[2].Fingerprint)
	}
}

func TestFields(t *testing.T) {
	sum := strings.Repeat("aB", 32)
	want := []dogear.Document{
		{ID: "a", Address: "https://h/a?x=1", Name: "The first, \"a\"", Version: `"v1"`, SHA256: strings.ToLower(sum), Size: 12, Line: 2},
		{ID: "https://h/b%20c", Address: "https://h/b%20c", Name: "b c", Size: -1, Line: 3},
		{ID: "https://h/d?x=1", Address: "https://h/d?sig=CANARY&x=1", Secret: true, Name: "two lines of it", Version: "W/\"2\"", Size: 0, Line: 5},
		{ID: "https://h/e?x=2", Address: "https://h/e", Name: "n?x=3", Version: "v?x=4", Size: -1, Line: 7},
	}
	lists := map[string]string{
		"l.csv": "Version, size,note,URL,id,name,sha256\n" +
			`"""v1""", 12,x,https://h/a?x=1,a,"The first, ""a""",` + sum + "\n" +
			",,,https://h/b%20c,,,\n\n" +
			"\"W/\"\"2\"\"\",0,,https://h/d?sig=CANARY&x=1,,\"two lines\nof it\",\r\n" +
			"v?sig=CANARY&x=4,,\"a\"\"\",https://h/e,https://u:CANARY@h/e?x=2&sig=CANARY,n?x=3&token=CANARY,\n",
		"l.jsonl": "\n" + `{"Version":"\"v1\"","size":12,"note":{"url":[1]},"URL":"https://h/a?x=1","id":"a","name":"The first, \"a\"","sha256":"` + sum + "\"}\n" +
			` {"url":"https://h/b%20c","id":null,"version":"","size":null}` + "\r\n\n" +
			`{"version":"W/\"2\"","size":0,"url":"https://h/d?sig=CANARY&x=1","name":"two lines\nof it"}` + "\n\n" +
			`{"version":"v?sig=CANARY&x=4","url":"https://h/e","id":"https://u:CANARY@h/e?x=2&sig=CANARY","name":"n?x=3&token=CANARY"}`,
	}
	for name, content := range lists {
		got, err := collect(write(t, name, content).Documents(0, nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, loose); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestBadLines(t *testing.T) {
	long := strings.Repeat("x", maxRecord+2*bufferSize)
	tests := []struct {
		name, content string
		line          int64
		words         string
	}{
		{"l.txt", "https://h/a\n\n# x\nftp://h/CANARY\n", 4, "begins with http"},
		{"l.txt", "https://h/a\nurl,CANARY\n", 2, "begins with http"},
		{"l.txt", "https://h/CANARY b\n", 1, "%20"},
		{"l.txt", "https://h/CANARY # b\n", 1, "%20"},
		{"l.txt", "https://h/CANARY\x00b\n", 1, "control"},
		{"l.txt", "https://h/CANARY\u00a0b\n", 1, "blank"},
		{"l.txt", "https://h/CANARY\xff\n", 1, "UTF-8"},
		{"l.txt", "https:///CANARY\n", 1, "no host"},
		{"l.txt", "https://u:CANARY@/a\n", 1, "no host"},
		{"l.txt", "https://u:CAN/ARY@h/a\n", 1, "not valid"},
		{"l.txt", "https://u:CANARY@h:0/a\n", 1, "port"},
		{"l.txt", "https://u:CANARY@h:65536/a\n", 1, "port"},
		{"l.txt", "https://u:CANARY@h:8o/a\n", 1, "port"},
		{"l.txt", "https://h/CANARY%zz\n", 1, "%25"},
		{"l.txt", "https://CANARY..h/\n", 1, "host"},
		{"l.txt", "https://CANARY!h/\n", 1, "host"},
		{"l.txt", "https://[CANARY]/\n", 1, "host"},
		{"l.txt", "https://[fe80::1%25CANARY]/\n", 1, "host"},
		{"l.txt", "https://xn--\u00fc/\n", 1, "host"},
		{"l.txt", "https://h/a\n# " + long + "\nhttps://h/b", 2, "longer"},
		{"l.txt", "https://h/a\nhttps://h/" + long[:maxAddress], 2, "longer"},
		{"l.txt", "h\x00t\x00t\x00p\x00", 1, "begins with http"}, // UTF-16 without a mark

		{"l.csv", "", 1, "empty"},
		{"l.csv", "\n\n", 1, "empty"},
		{"l.csv", "\nid,name\n", 1, "no column url"},
		{"l.csv", "https://h/CANARY\n", 1, "no column url"},
		{"l.csv", "url,id,URL\n", 1, "url twice"},
		{"l.csv", "url,note,note\n", 1, "twice"},
		{"l.csv", "url,id\nhttps://h/a,1\n\nhttps://h/CANARY\n", 4, "has 1 fields, and the header has 2"},
		{"l.csv", "url,name\nhttps://h/a,\"1\n2\"\nhttps://h/CANARY,1,2\n", 4, "has 3 fields"},
		{"l.csv", "url,id\nhttps://h/a,1\nhttps://h/b,\"CANARY\n2\n3", 3, "not closed"},
		{"l.csv", "url,id\nhttps://h/a,1\nhttps://h/b,CANARY\"\n", 3, "does not begin with one"},
		{"l.csv", "url,name\nhttps://h/a,\"x\ny\"\nhttps://h/b,\"CANARY\n" + long + long, 4, "longer"},
		{"l.csv", "url,size\nhttps://h/a,1\nhttps://h/b,1.5\n", 3, "size"},
		{"l.csv", "url,size\nhttps://h/b,-1\n", 2, "size"},
		{"l.csv", "url,id\nhttps://h/b,CANARY\x1b[31m\n", 2, "the id holds a control"},
		{"l.csv", "url,id\nhttps://h/b,\xff\n", 2, "UTF-8"},
		{"l.csv", "url,id\n,CANARY\n", 2, "has no url"},
		{"l.csv", "url,sha256\nhttps://h/b,CANARY\n", 2, "64"},
		{"l.csv", "url,sha256\nhttps://h/b," + strings.Repeat("a", 63) + "\n", 2, "64"},

		{"l.jsonl", "{\"url\":\"https://h/a\"}\n[\"CANARY\"]\n", 2, "no JSON object"},
		{"l.jsonl", "{\"url\":\"https://h/a\"} {}\n", 1, "no JSON object"},
		{"l.jsonl", "\n{\"url\":\n\"https://h/a\"}\n", 2, "no JSON object"},
		{"l.jsonl", "{\"url\":\"https://h/CANARY\"", 1, "no JSON object"},
		{"l.jsonl", "{\"id\":\"CANARY\"}", 1, "has no url"},
		{"l.jsonl", "{\"url\":null}", 1, "has no url"},
		{"l.jsonl", "{\"url\":\"https://h/a\",\"Url\":\"https://h/CANARY\"}", 1, "url is there twice"},
		{"l.jsonl", "{\"url\":17}", 1, "url is no string"},
		{"l.jsonl", "{\"url\":\"https://h/a\",\"version\":17}", 1, "version is no string"},
		{"l.jsonl", "{\"url\":\"https://h/a\",\"size\":\"17\"}", 1, "size"},
		{"l.jsonl", "{\"url\":\"https://h/a\",\"size\":1e3}", 1, "size"},
		{"l.jsonl", "{\"url\":\"https://h/a\",\"size\":-1}", 1, "size"},
		{"l.jsonl", "{\"url\":\"https://h/a\",\"id\":\"CANARY\\u0000\"}", 1, "the id holds a control"},
		{"l.jsonl", "{\"url\":\"https://h/a\",\"version\":\"CANARY\\nx\"}", 1, "the version holds a control"},
		{"l.jsonl", "{\"url\":\"https://h/a\",\"id\":\"" + long[:maxText+1] + "\"}", 1, "the id is longer"},
		{"l.jsonl", "{\"url\":\"https://h/\xff\"}", 1, "UTF-8"},
	}
	for _, test := range tests {
		l := write(t, test.name, test.content)
		_, err := collect(l.Documents(0, nil))
		failed, ok := errors.AsType[*LineError](err)
		if !ok || failed.Line != test.line || failed.Path != l.name || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s %.60q: got %v, want line %d and %q", test.name, test.content, err, test.line, test.words)
		}
		if err != nil && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s %.60q: the error shows what may be secret: %v", test.name, test.content, err)
		}
		if l.Digest() != "" {
			t.Errorf("%s %.60q: there is a digest of a list that was not read to its end", test.name, test.content)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"utf16le.txt": "\xff\xfeh\x00", "utf16be.csv": "\xfe\xff\x00h", "list.tsv": "url"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.txt"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, words := range map[string]string{
		"utf16le.txt": "UTF-8", "utf16be.csv": "UTF-8", "list.tsv": ".jsonl", "list": ".jsonl", "missing.txt": "missing.txt: ", "folder.txt": "folder",
		"htps://u:CANARY@h/a?sig=CANARY": ".jsonl",
	} {
		l, err := Open(filepath.Join(dir, name))
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "sig=CANARY") {
			t.Errorf("Open(%s) = %v, %v, want an error with %q", name, l, err, words)
		}
	}
	if _, err := Open(filepath.Join(dir, "missing.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing list: %v, want fs.ErrNotExist", err)
	}
	if _, err := Open("htps://u:CANARY@h/a?sig=CANARY"); strings.Contains(err.Error(), "CANARY") {
		t.Errorf("a mistyped address is shown: %v", err)
	}
	if _, err := Open(os.DevNull + ".txt"); err == nil {
		t.Error("no error for a list that is not there")
	}
	empty, err := collect(write(t, "empty.txt", "").Documents(0, nil))
	if err != nil || len(empty) != 0 {
		t.Errorf("an empty .txt: %v, %v, want no document and no error", empty, err)
	}
}

func TestDigest(t *testing.T) {
	for name, content := range map[string]string{"l.txt": "\ufeffhttps://h/a\r\n#\n\n", "l.csv": "url\r\nhttps://h/a\n\n\n", "l.jsonl": "{\"url\":\"https://h/a\"}"} {
		l := write(t, name, content)
		if l.Digest() != "" {
			t.Errorf("%s: a digest before the list was read", name)
		}
		for range l.Documents(0, nil) {
			break
		}
		if l.Digest() != "" {
			t.Errorf("%s: a digest of half a list", name)
		}
		for range 2 { // a file can be read again
			if docs, err := collect(l.Documents(0, nil)); len(docs) != 1 || err != nil {
				t.Fatal(docs, err)
			}
		}
		want, err := DigestFile(l.file.Name())
		if err != nil || l.Digest() != want {
			t.Errorf("%s: digest %s, want %s, %v", name, l.Digest(), want, err)
		}
	}
	if _, err := DigestFile("/nowhere/l.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("digest of a missing list: %v, want fs.ErrNotExist", err)
	}
}

func TestReader(t *testing.T) {
	for content, n := range map[string]int{
		"# a\n\nhttps://h/a\nhttps://h/b":  2,
		"\n\"id\", \"url\"\n1,https://h/a": 1,
		"  {\"url\":\"https://h/a\"}\n":    1,
		"\ufeffurl\nhttps://h/a":           1,
		"":                                 0,
	} {
		// As it is typed: one byte a read.
		l := Reader("standard input", iotest.OneByteReader(strings.NewReader(content)), Guess)
		docs, err := collect(l.Documents(0, nil))
		if err != nil || len(docs) != n {
			t.Errorf("%q: %d documents, %v, want %d", content, len(docs), err, n)
		}
		for _, doc := range docs {
			if got, err := l.Address(doc); got != doc.Address || err != nil {
				t.Errorf("Address(%q) = %q, %v", doc.ID, got, err)
			}
		}
		if _, err := collect(l.Documents(0, nil)); err == nil {
			t.Errorf("%q: read twice without an error", content)
		}
	}

	l := Reader("standard input", strings.NewReader("https://h/a\nhttps://h/b?sig=CANARY\n"), Text)
	docs, err := collect(l.Documents(0, nil))
	failed, _ := errors.AsType[*LineError](err)
	if len(docs) != 1 || !errors.Is(err, ErrSecret) || failed.Line != 2 || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("a signed address from standard input: %v, %v, want ErrSecret on line 2", docs, err)
	}

	broken := errors.New("broken pipe")
	l = Reader("standard input", io.MultiReader(strings.NewReader("https://h/a\nhttps://h/b"), iotest.ErrReader(broken)), Guess)
	docs, err = collect(l.Documents(0, nil))
	if _, line := errors.AsType[*LineError](err); len(docs) != 1 || !errors.Is(err, broken) || line {
		t.Errorf("a reader that fails: %d documents, %v, want the one whole line and the failure", len(docs), err)
	}
}

func TestOne(t *testing.T) {
	l, err := One("https://u:CANARY@H/a?sig=CANARY&x=1#f")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := collect(l.Documents(2, func(*url.URL) []string { return []string{"host:h"} }))
	want := []dogear.Document{{ID: "https://h/a?x=1", Address: "https://u:CANARY@h/a?sig=CANARY&x=1", Secret: true, Name: "a?x=1", List: 2, Size: -1, Scopes: []string{"host:h"}}}
	if diff := cmp.Diff(want, docs, loose); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := l.Address(docs[0]); got != want[0].Address || err != nil {
		t.Errorf("Address = %q, %v", got, err)
	}
	if _, err := l.Address(dogear.Document{ID: "https://h/b"}); !errors.Is(err, ErrMoved) {
		t.Errorf("another address: %v, want ErrMoved", err)
	}
	if len(l.Digest()) != 64 || l.Close() != nil {
		t.Errorf("digest %q", l.Digest())
	}
	for _, bad := range []string{"", "h/a", "file:///a", "https://u:CANARY@h:x/"} {
		if _, err := One(bad); err == nil || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("One(%q): %v, want an error that does not show it", bad, err)
		}
	}
}

func TestAddressMoved(t *testing.T) {
	l := write(t, "l.txt", "https://h/a?sig=1\nhttps://h/b?sig=2\n")
	docs, err := collect(l.Documents(0, nil))
	if err != nil {
		t.Fatal(err)
	}
	rewrite := func(content string) {
		if err := os.WriteFile(l.file.Name(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite("https://h/a?sig=3\nhttps://h/b?sig=4\n") // signed again
	if got, err := l.Address(docs[1]); got != "https://h/b?sig=4" || err != nil {
		t.Errorf("signed again: %q, %v, want the new signature", got, err)
	}
	for _, content := range []string{"https://h/b?sig=2\n", "https://h/a?sig=11\nhttps://h/c?sig=2\nhttps://h/b?sig=2\n", "", "https://h/c?sig=1\nhttps://h/CANARY b\n"} {
		rewrite(content)
		_, err := l.Address(docs[1])
		if failed, ok := errors.AsType[*LineError](err); !errors.Is(err, ErrMoved) || !ok || failed.Line != 2 {
			t.Errorf("list %q: %v, want ErrMoved on line 2", content, err)
		}
	}
	l.Close()
	if _, err := l.Address(docs[1]); err == nil || errors.Is(err, ErrMoved) {
		t.Errorf("a closed file: %v, want its own error", err)
	}
}

func TestAddressConcurrently(t *testing.T) {
	l := write(t, "l.csv", "id,name,url\n"+rows(200))
	docs, err := collect(l.Documents(0, nil))
	if err != nil || len(docs) != 200 {
		t.Fatal(len(docs), err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, doc := range docs {
				if got, err := l.Address(doc); got != doc.Address || err != nil {
					t.Errorf("Address(%q) = %q, %v, want %q", doc.ID, got, err, doc.Address)
				}
			}
		})
	}
	wg.Wait()
}

func rows(n int) string {
	var b strings.Builder
	for i := range n {
		s := strconv.Itoa(i)
		b.WriteString("d" + s + ",\"" + strings.Repeat("\n", i%3) + "a \"\"" + s + "\",https://h/" + s + "?sig=CANARY" + s + "\r\n")
	}
	return b.String()
}
