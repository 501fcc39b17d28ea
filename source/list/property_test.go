package list

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dogear/dogear"
)

// names are some of the parameters that are stripped, as they may be written; the whole list
// is tested where it stands.
var names = []string{"sig", "SIG", "X-Amz-Signature", "x-goog-credential", "token", "tok%65n", "access_token", "q-sign-time",
	"AWSAccessKeyId", "tempauth", "private_token", "auth[key]", "key"}

// K7: what is secret in an address is in the address alone, whatever field it came by.
func TestNothingSecretLeaves(t *testing.T) {
	secret := rapid.Custom(func(t *rapid.T) string { return rapid.SampledFrom(names).Draw(t, "name") + "=CANARY" })
	address := rapid.Custom(func(t *rapid.T) string {
		user := rapid.SampledFrom([]string{"", "u:CANARY@", "CANARY@", "u:CAN%40CANARY@"}).Draw(t, "user")
		path := rapid.SampledFrom([]string{"", "/", "/a%20b/c", "/a;jsessionid=CANARY/b", "/p?u=https%3A%2F%2Fx%3ACANARY%40i%2F%3Fsig%3DCANARY", "/%3Fsig=CANARY"}).Draw(t, "path")
		query := strings.Join(rapid.SliceOfN(rapid.OneOf(secret, rapid.Just("x=1"), rapid.Just("u=https://i/?token=CANARY")), 0, 4).Draw(t, "query"), "&")
		fragment := rapid.SampledFrom([]string{"", "#access_token=CANARY"}).Draw(t, "fragment")
		if query != "" {
			query = "?" + query
		}
		return "https://" + user + "h.example" + path + query + fragment
	})
	text := rapid.OneOf(rapid.Just(""), rapid.Just("plain"), address, rapid.Map(address, func(a string) string { return "see " + a + " there" }),
		rapid.Map(secret, func(s string) string { return "a.html?" + s }))
	rapid.Check(t, func(t *rapid.T) {
		rec := record{url: address.Draw(t, "url"), id: text.Draw(t, "id"), name: text.Draw(t, "name"), version: text.Draw(t, "version")}
		doc, err := new(origins).document(rec)
		if err != nil {
			t.Fatal(err)
		}
		hidden := doc.ID + " " + doc.Name + " " + doc.Version
		// An escaped question mark begins no query: what is after it is part of the path.
		hidden = strings.ReplaceAll(hidden, "/%3Fsig=CANARY", "")
		if strings.Contains(hidden, "CANARY") {
			t.Fatalf("%+v shows a secret of %+v", doc, rec)
		}
		u, err := url.Parse(rec.url)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := url.Parse(doc.Address)
		if err != nil || sent.RequestURI() != u.RequestURI() || sent.User.String() != u.User.String() {
			t.Fatalf("address %q of %q", doc.Address, rec.url)
		}
	})
}

// Address finds every document again, in every format.
func TestOffsets(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) [3]string {
		n := rapid.IntRange(0, 99).Draw(t, "n")
		return [3]string{
			fmt.Sprintf("https://h%d.example/%d?sig=%d", n%3, n, rapid.Int().Draw(t, "signature")),
			rapid.SampledFrom([]string{"", "a", "ü\"\"x", "two\nlines", "\r\nthree\n\n", strings.Repeat("long ", 20_000)}).Draw(t, "note"),
			rapid.SampledFrom([]string{"\n", "\r\n", "\n\n", "\r\n\n\n"}).Draw(t, "end"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		format := rapid.SampledFrom([]string{"l.txt", "l.csv", "l.jsonl"}).Draw(rt, "format")
		var b strings.Builder
		if rapid.Bool().Draw(rt, "mark") {
			b.WriteString("\ufeff")
		}
		if format == "l.csv" {
			b.WriteString("note,url\r\n")
		}
		lines := rapid.SliceOfN(line, 0, 6).Draw(rt, "lines")
		for _, l := range lines {
			switch format {
			case "l.txt":
				b.WriteString("# " + strings.Join(strings.Fields(l[1]), " ") + l[2] + " \t" + l[0])
			case "l.csv":
				b.WriteString(`"` + l[1] + `",` + l[0])
			default:
				fmt.Fprintf(&b, ` {"note":%q,"url":%q}`, strings.ReplaceAll(l[1], "\r", " "), l[0])
			}
			b.WriteString(l[2])
		}
		l := write(t, format, b.String())
		docs, err := collect(l.Documents(0, nil))
		if err != nil || len(docs) != len(lines) {
			rt.Fatalf("%d documents of %d, %v", len(docs), len(lines), err)
		}
		for i, doc := range docs {
			if got, err := l.Address(doc); err != nil || got != doc.Address || got != lines[i][0] {
				rt.Fatalf("Address(%+v) = %q, %v, want %q", doc, got, err, lines[i][0])
			}
			if before := b.String()[:doc.Offset]; format != "l.csv" && int64(strings.Count(before, "\n"))+1 != doc.Line {
				rt.Fatalf("offset %d is not in line %d", doc.Offset, doc.Line)
			}
		}
		l.Close()
	})
}

// The short way gives what the long way gives.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"https://h/a/b.html", "https://h/", "https://h/?", "https://h//a", "https://h/*", "https://h/a%2Fb%e9%a1%b5%3fsig=1",
		"https://h/a?x=1&y=a@b$!", "https://h/a?key=1", "https://h/a?x&&", "https://h:443/a", "https://h:8443/a", "https://h/a;b", "https://h/a b",
		"https://h/%", "https://h/a%0ab", "https://u@h/", "http://h/@u:p", "https://h/%41%7e?u=//v@w", "https://H/a", "https://h/%20", "https://b\u00fccher.example/\u00fc?\u00fc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		cold := new(origins)
		want, err := cold.parse(raw)
		warm := &origins{known: map[string]origin{}}
		for _, o := range []string{"http://h", "https://h", "https://h:8443"} {
			warm.known[o] = origin{host: "h"}
		}
		for known, o := range cold.known {
			warm.known[known] = o
		}
		got, fastErr := warm.parse(raw)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(parsed{})); diff != "" || (err == nil) != (fastErr == nil) {
			t.Fatalf("%q: %v, %v (-long +short):\n%s", raw, err, fastErr, diff)
		}
		if err != nil {
			return
		}
		// The normal form is normal, and asks for the same.
		again, err := new(origins).parse(want.full)
		if diff := cmp.Diff(want, again, cmp.AllowUnexported(parsed{})); diff != "" || err != nil {
			t.Errorf("%q: %v (-once +twice):\n%s", raw, err, diff)
		}
		u, err := url.Parse(raw)
		v, err2 := url.Parse(want.full)
		if err != nil || err2 != nil || u.Path != v.Path && u.Path+"/" != v.Path || u.User.String() != v.User.String() {
			t.Errorf("%q became %q", raw, want.full)
		}
		switch {
		case want.secret != (want.stripped != want.full) && u.User == nil,
			want.name == "", !utf8.ValidString(want.name),
			strings.ContainsFunc(want.full, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
			t.Errorf("%q: %+v", raw, want)
		}
		if s, found := dogear.StripSecrets(v); s != want.stripped || found != want.secret {
			t.Errorf("%q: %+v, and StripSecrets(%q) = %q, %v", raw, want, v, s, found)
		}
	})
}

// Whatever a list holds, reading it ends, and every document it names is found again.
func FuzzList(f *testing.F) {
	f.Add(uint8(Text), "\ufeff# a\r\nhttps://h/a?sig=1\n\nhttp://u:p@h")
	f.Add(uint8(CSV), "url,id,size\nhttps://h/a,\"x\ny\",3\n\n\"https://h/b\",,\n")
	f.Add(uint8(JSONL), `{"url":"https://h/a","id":"x","size":3,"o":{"p":[1,null]}}`+"\n{}")
	f.Add(uint8(Guess), "\n url,x\n")
	path := filepath.Join(f.TempDir(), "l.txt")
	f.Fuzz(func(t *testing.T, format uint8, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(path)
		if errors.Is(err, errUTF16) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		l.format = Format(format % 4)
		docs, err := collect(l.Documents(0, nil))
		if (err == nil) != (l.Digest() != "") {
			t.Errorf("%v, and digest %q", err, l.Digest())
		}
		if l.format == Guess {
			return // a file's format is known
		}
		for _, doc := range docs {
			if got, err := l.Address(doc); got != doc.Address || err != nil {
				t.Errorf("Address(%+v) = %q, %v", doc, got, err)
			}
		}
	})
}
