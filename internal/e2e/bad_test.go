package e2e

import (
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/dogear/dogear/drill/standin"
)

// A bad document is one that the service serves badly, or that the list describes badly.
type bad struct {
	path   string
	rule   standin.Rule
	fields string // ,version,name,size,sha256 of the list; empty: none
	state  string
	reason string // a pattern
	body   []byte // of documents that are done
}

// The bad input of a service: each document ends in its own state, for its own reason, and
// nothing else is disturbed.
func TestBadService(t *testing.T) {
	t.Parallel()
	const n = 30 // good documents among the bad ones
	wrongMD5 := base64.StdEncoding.EncodeToString(make([]byte, md5.Size))
	rightMD5 := md5.Sum(standin.Body(136))
	wrong256 := base64.StdEncoding.EncodeToString(make([]byte, 32))
	other := serve(t, standin.Config{})
	all := []bad{
		{"/doc/101", standin.Cut(200), "", "pending", "cut", nil},
		{"/doc/102", standin.Reset(200), "", "pending", "cut", nil},
		{"/doc/103", standin.CutChunked(200), "", "pending", "cut", nil},
		{"/doc/104", standin.Longer(5000), "", "done or pending", "longer", standin.Body(104)}, // it may be whole before there is more
		{"/doc/105", nil, fmt.Sprintf(",,,%d,", standin.Size(105)+1), "failed", "bytes came and the list says", nil},
		{"/doc/106", nil, fmt.Sprintf(",,,%d,", standin.Size(106)-1), "failed", "bytes came and the list says", nil},
		{"/doc/107", standin.Header("Content-MD5", wrongMD5), "", "failed", "digest.*Content-MD5", nil},
		{"/doc/108", standin.Header("Repr-Digest", "sha-256=:"+wrong256+":"), "", "failed", "digest.*Repr-Digest", nil},
		{"/doc/109", standin.Header("Content-Digest", "sha-256=:"+wrong256+":"), "", "failed", "digest.*Content-Digest", nil},
		{"/doc/110", standin.Header("Digest", "SHA-256="+wrong256), "", "failed", "digest", nil},
		{"/doc/111", nil, ",,,," + strings.Repeat("0", 64), "changed", "bytes are not those", nil},
		{"/doc/112", nil, `,"""old""",,,`, "changed", "another version", nil},
		{"/doc/113", standin.Login, "", "failed", "login page", nil},
		{"/doc/114.pdf", standin.Page(200, "text/html", "<html><body>It is not here."), "", "failed", "HTML page.*pdf", nil},
		{"/doc/115", standin.Gzip, "", "done", "", standin.Body(115)},
		{"/doc/116", standin.Bomb(64 << 20), "", "failed", "larger than --max-size", nil},
		{"/doc/117?size=3000000", nil, "", "failed", "larger than --max-size", nil},
		{"/doc/118", standin.EndlessBody, "", "failed", "larger than --max-size", nil},
		{"/doc/119", func(x *standin.Exchange) bool { return standin.Redirect(302, x.Service.URL("/doc/119"))(x) }, "", "failed", "redirects", nil},
		{"/doc/120", standin.EndlessHead, "", "pending", "", nil},
		{"/doc/121", standin.NotHTTP, "", "pending", "", nil},
		{"/doc/122", standin.Status(403), "", "denied", "403", nil},
		{"/doc/123", standin.Status(404), "", "gone", "404", nil},
		{"/doc/124", standin.Status(410), "", "gone", "410", nil},
		{"/doc/125", standin.Status(500), "", "pending", "500", nil},
		{"/doc/126", standin.HangAfter(100), "", "pending", "cut|progress", nil},
		{"/doc/127", standin.Redirect(302, "ftp://example.com/x"), "", "failed", "", nil},
		{"/doc/128", standin.Redirect(307, other.URL("/doc/128")), "", "done", "", standin.Body(128)},
		{"/doc/129", standin.Status(204), "", "failed", "204", nil},
		{"/doc/130", standin.Header("Content-Type", "no type at all;;"), "", "done", "", standin.Body(130)},
		{"/doc/131?size=0", nil, "", "done", "", []byte{}},
		{"/doc/132", standin.First(1, standin.Status(502)), "", "done", "", standin.Body(132)},
		{"/doc/133", standin.First(1, standin.Cut(10)), "", "done", "", standin.Body(133)},
		{"/doc/134", standin.Header("Content-Encoding", "br"), "", "failed", "coding", nil},
		{"/doc/135", standin.Header("Content-Encoding", "gzip"), "", "failed", "", nil}, // it is not gzip'd at all
		{"/doc/136", standin.Header("Digest", "md5="+base64.StdEncoding.EncodeToString(rightMD5[:])), "", "done", "", standin.Body(136)},
		{"/doc/137", standin.Header("Digest", "md5="+wrongMD5), "", "failed", "digest.*Digest", nil},
	}
	u := newUser(t)
	var rules []standin.Rule
	for _, b := range all {
		if b.rule != nil {
			path, _, _ := strings.Cut(b.path, "?")
			rules = append(rules, standin.On(path, b.rule))
		}
	}
	s := serve(t, standin.Config{Rules: rules})
	list := []string{"url,version,name,size,sha256"}
	for i := 1; i <= n; i++ {
		list = append(list, s.URL(fmt.Sprintf("/doc/%d", i))+",,,,")
	}
	for _, b := range all {
		if b.fields == "" {
			b.fields = ",,,,"
		}
		list = append(list, s.URL(b.path)+b.fields)
	}
	for i := n + 1; i <= 2*n; i++ {
		list = append(list, s.URL(fmt.Sprintf("/doc/%d", i))+",,,,")
	}
	u.write("l.csv", list...)
	r := u.must(65, "read", "l.csv", "--scope", "host", "-o", "out", "--attempts", "2", "--backoff-base", "50ms",
		"--max-size", "2MiB", "--idle-timeout", "2s", "--json")
	if strings.Contains(r.stderr, "is down") {
		t.Errorf("the origin was taken to be down:\n%s", r.stderr)
	}

	results := map[string]document{}
	for _, d := range u.results("l") {
		results[d.ID] = d
	}
	remaining := u.remaining("l")
	for i := 1; i <= 2*n; i++ {
		id := s.URL(fmt.Sprintf("/doc/%d", i))
		if d, ok := results[id]; ok {
			u.checkFile("out", d, standin.Body(i))
		} else {
			t.Errorf("%s is not done: %+v", id, remaining[id])
		}
	}
	for _, b := range all {
		id := s.URL(b.path)
		if first, second, either := strings.Cut(b.state, " or "); either {
			b.state = first
			if _, done := results[id]; !done {
				b.state = second
			}
		}
		if b.state == "done" {
			if d, ok := results[id]; ok {
				u.checkFile("out", d, b.body)
			} else {
				t.Errorf("%s is not done: %+v", b.path, remaining[id])
			}
			continue
		}
		d, ok := remaining[id]
		if !ok || d.State != b.state || d.Reason == "" || !regexp.MustCompile(b.reason).MatchString(d.Reason) {
			t.Errorf("%s: %s (%s), want %s with a reason like %q", b.path, d.State, d.Reason, b.state, b.reason)
		}
		if d.State == "pending" && d.Attempts != 2 {
			t.Errorf("%s is pending after %d attempts, want 2", b.path, d.Attempts)
		}
	}
	if st := u.status("l"); st.LastRun.StopReason != "attempts_exhausted" || st.Requests.Sent != s.Journal.Len()+other.Journal.Len() {
		t.Errorf("stop reason %s; %d sent, %d arrived", st.LastRun.StopReason, st.Requests.Sent, s.Journal.Len()+other.Journal.Len())
	}
	u.must(0, "verify", "l", "--deep")
	if files, err := os.ReadDir(u.path("out")); err != nil || countVisible(files) != len(results) {
		t.Errorf("%d results in the folder (%v), want %d", countVisible(files), err, len(results))
	}
}

// A 401 is the run's, not a document's.
func TestUnauthorized(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.Status(401)}})
	u.list("l.txt", s, 100)
	u.must(77, "read", "l.txt", "--scope", "host")
	if st := u.status("l"); st.LastRun.StopReason != "unauthorized" || st.Documents.Pending != 100 || s.Journal.Len() > 16 {
		t.Errorf("%d requests: %+v", s.Journal.Len(), st)
	}
	s.SetRules()
	u.must(0, "resume", "l")
}

// Names from outside become names that are safe on three systems, inside the sink.
func TestNames(t *testing.T) {
	t.Parallel()
	names := []string{"../../x", "/etc/passwd", "..", ".", "CON", "con.txt", "NUL.tar.gz", strings.Repeat("n", 300), strings.Repeat("ö", 300) + ".pdf",
		"a\x01b\x1b[31mc", "tab\tand\u202ertl", "trailing. ", "a:b*c?d\"e<f>g|h", `back\slash`, "same", "SAME", "same", "e\u0301", "\u00e9",
		"dogear.jsonl", ".dogear-1.part", ".hidden", "~", "-rf", "COM1", "x/../../y", "文件.pdf", "a%2f..%2fb"}
	u := newUser(t)
	s := serve(t, standin.Config{})
	var list []string
	for i, name := range names {
		list = append(list, fmt.Sprintf(`{"url":%q,"id":"id-%d","name":%s}`, s.URL(fmt.Sprintf("/doc/%d", i)), i, quote(name)))
	}
	u.write("l.jsonl", list...)
	u.must(0, "read", "l.jsonl", "--scope", "host", "-o", "out", "--job", "names")
	folded := map[string]string{}
	for _, d := range u.results("names") {
		var i int
		if _, err := fmt.Sscanf(d.ID, "id-%d", &i); err != nil {
			t.Fatalf("id %q: %v", d.ID, err)
		}
		base := strings.ToUpper(d.Path)
		base, _, _ = strings.Cut(base, ".")
		switch {
		case !filepath.IsLocal(d.Path), strings.ContainsAny(d.Path, `\:*?"<>|`), len(filepath.Base(d.Path)) > 255,
			strings.ContainsFunc(d.Path, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }),
			strings.HasSuffix(d.Path, "."), strings.HasSuffix(d.Path, " "), strings.HasPrefix(d.Path, "."),
			regexp.MustCompile(`^(CON|PRN|AUX|NUL|COM\d|LPT\d)$`).MatchString(base), strings.EqualFold(d.Path, "dogear.jsonl"):
			t.Errorf("%q became %q", names[i], d.Path)
		}
		f := strings.ToLower(strings.ReplaceAll(d.Path, "e\u0301", "\u00e9"))
		if o, taken := folded[f]; taken {
			t.Errorf("%q and %q are one name on some system", d.Path, o)
		}
		folded[f] = d.Path
		u.checkFile("out", d, standin.Body(i))
	}
	if len(folded) != len(names) {
		t.Errorf("%d results, want %d", len(folded), len(names))
	}
	outside, err := os.ReadDir(u.dir)
	if err != nil || len(outside) != 2 { // the list and the sink
		t.Errorf("beside the sink: %v, %v", outside, err)
	}
	for _, args := range [][]string{{"results", "names"}, {"status", "names"}, {"requests", "names"}} {
		if r := u.must(0, args...); strings.ContainsAny(r.stdout+r.stderr, "\x1b\x01\u202e") {
			t.Errorf("%v writes control characters: %q", args, r.stdout)
		}
	}
}

// quote is a JSON string: %q of fmt would write what JSON does not know.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// What a service may do with an HTTP/2 stream.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		act      func(path string, try int) standin.Act
		throttle bool // the scope was closed
		most     int  // attempts of a document
	}{
		"served":         {func(string, int) standin.Act { return standin.Serve }, false, 1},
		"REFUSED_STREAM": {first(3, standin.Refused), false, 1}, // surely not acted on: requests and no attempts
		"GOAWAY":         {first(2, standin.GoAway), false, 1},
		"calm":           {first(1, standin.Calm), true, 1},
		"vanishes":       {first(1, standin.Vanish), false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := standin.StartH2(tt.act)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			u := newUser(t)
			ca := filepath.Join(u.dir, "ca.pem")
			if err := os.WriteFile(ca, s.CA(), 0o600); err != nil {
				t.Fatal(err)
			}
			u.vars = []string{"SSL_CERT_FILE=" + ca}
			const docs = 20
			var all []string
			for i := 1; i <= docs; i++ {
				all = append(all, s.URL(fmt.Sprintf("/doc/%d", i)))
			}
			u.write("l.txt", all...)
			u.must(0, "read", "l.txt", "--scope", "host", "-o", "out", "--concurrency", "4", "--backoff-base", "100ms")
			results := u.results("l")
			if len(results) != docs {
				t.Errorf("%d results, want %d", len(results), docs)
			}
			for _, d := range results {
				var n int
				if _, err := fmt.Sscanf(strings.TrimPrefix(d.ID, s.URL("/doc/")), "%d", &n); err != nil {
					t.Fatal(err)
				}
				u.checkFile("out", d, standin.Body(n))
			}
			checkArrivals(t, s.Journal.Arrivals(nil), u.requests("l"), s.URL)
			st := u.status("l")
			if st.Attempts.Most > tt.most || st.Requests.Throttled > 0 != tt.throttle || st.Requests.Sent < s.Journal.Len() {
				t.Errorf("at most %d attempts, %d throttled, %d sent, %d arrived", st.Attempts.Most, st.Requests.Throttled, st.Requests.Sent, s.Journal.Len())
			}
		})
	}
}

// first does something with the first streams of document 7, and serves the others.
func first(n int, act standin.Act) func(string, int) standin.Act {
	return func(path string, try int) standin.Act {
		if path == "/doc/7" && try < n {
			return act
		}
		return standin.Serve
	}
}

// Over a real HTTP/2 server documents come as they do over HTTP/1.1.
func TestHTTP2Server(t *testing.T) {
	t.Parallel()
	s := serve(t, standin.Config{TLS: true, Limit: standin.Window(40, time.Second)})
	u := newUser(t)
	ca := filepath.Join(u.dir, "ca.pem")
	if err := os.WriteFile(ca, s.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	u.list("l.txt", s, 100)
	// Without the certificate nothing is sent, and no document pays for more than it must.
	u.must(69, "read", "l.txt", "--scope", "host", "-o", "out", "--max-throttles", "1", "--backoff-base", "50ms")
	if n := s.Journal.Len(); n != 0 {
		t.Errorf("%d requests over a connection that nobody can trust", n)
	}
	u.vars = []string{"SSL_CERT_FILE=" + ca}
	u.must(0, "resume", "l", "--rate", "60/s", "--max-throttles", "10")
	for _, a := range s.Journal.Arrivals(nil) {
		if a.Proto != "HTTP/2.0" {
			t.Fatalf("arrival over %s", a.Proto)
		}
	}
	if n := len(u.results("l")); n != 100 {
		t.Errorf("%d results, want 100", n)
	}
	for _, a := range early(s.Journal, 500*time.Millisecond) {
		t.Errorf("arrival %d came %v early", a.N, a.Told.Until.Sub(a.At))
	}
	checkArrivals(t, s.Journal.Arrivals(nil), u.requests("l"), s.URL)
}
