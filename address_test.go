package dogear

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestStripSecrets(t *testing.T) {
	tests := []struct {
		in, want string
		secret   bool
	}{
		{"https://h/a/b?x=1&y=2", "https://h/a/b?x=1&y=2", false},
		{"https://H:8443/A%2fb?q=%C3%BC+x&&z", "https://H:8443/A%2fb?q=%C3%BC+x&&z", false},
		{"https://h/a?", "https://h/a?", false},
		{"https://h/a#access_token=CANARY", "https://h/a", false}, // was never sent
		{"https://u:CANARY@h/a", "https://h/a", true},
		{"https://CANARY@h/a", "https://h/a", true},
		{"https://h/a?sig=CANARY", "https://h/a", true},
		{"https://h/a?x=1&SIG=CANARY&y=2", "https://h/a?x=1&y=2", true},
		{"https://h/a?x=1;sig=CANARY;y=2&z", "https://h/a?x=1;y=2&z", true},
		{"https://h/a?&&x=1&sig=CANARY&&", "https://h/a?&&x=1&&", true},
		{"https://h/a?s%69g=CANARY&%74oken%5B%5D=CANARY&+key=CANARY", "https://h/a", true},
		{"https://h/a?X-Amz-Date=1&X-Amz-Signature=CANARY&versionId=3", "https://h/a?versionId=3", true},
		{"https://h/a?sv=1&se=2&sig=CANARY&id=3", "https://h/a?id=3", true},
		{"https://h/a?sv=1&se=2&id=3", "https://h/a?sv=1&se=2&id=3", false}, // no signature beside them
		{"https://h/a?Expires=1&Signature=CANARY&id=3", "https://h/a?id=3", true},
		{"https://h/a?pageToken=3&continuationToken=4", "https://h/a?pageToken=3&continuationToken=4", false},
		{"https://h/a;jsessionid=CANARY/b;v=1", "https://h/a/b;v=1", true},
		{"https://h/a%20b;sid=CANARY", "https://h/a%20b", true},
		{"https://h/p?url=https://i/b?sig=CANARY&y=2", "https://h/p?url=https://i/b&y=2", true},
		{"https://h/p?url=https%3A%2F%2Fu%3ACANARY%40i%2Fb%3Fc%3D1%26sig%3DCANARY", "https://h/p?url=https%3A%2F%2Fi%2Fb%3Fc%3D1", true},
		{"https://h/p?url=https%3A%2F%2Fi%2Fb%3Fc%3D1", "https://h/p?url=https%3A%2F%2Fi%2Fb%3Fc%3D1", false},
		{"https://h/p?next=%2Fb%3Ftoken%3DCANARY", "https://h/p?next=%2Fb", true},
	}
	for _, test := range tests {
		u, err := url.Parse(test.in)
		if err != nil {
			t.Fatal(err)
		}
		if got, secret := StripSecrets(u); got != test.want || secret != test.secret {
			t.Errorf("StripSecrets(%q) = %q, %v, want %q, %v", test.in, got, secret, test.want, test.secret)
		}
	}
}

func TestStripText(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"Q&A; a@b.example #3 (new)": "Q&A; a@b.example #3 (new)",
		`W/"5d41402a"`:              `W/"5d41402a"`,
		"see https://u:CANARY@h/a?x=1&sig=CANARY&y=2 \t and //CANARY@i/": "see https://h/a?x=1&y=2 \t and //i/",
		"a.html?sig=CANARY":                              "a.html",
		"a.html?x=1#access_token=CANARY":                 "a.html?x=1",
		"a&sig=CANARY":                                   "a",
		"a;jsessionid=CANARY/b":                          "a/b",
		"https://h:port/?token=CANARY":                   "https://h:port/",
		"https://h/#section-2":                           "https://h/#section-2",
		"https://medium.example/@user/x":                 "https://medium.example/@user/x",
		"http:;sid=1//u:CANARY@h":                        "http://h",
		"https://h/?u=https%3A%2F%2Fi%2F%3Fsig%3DCANARY": "https://h/?u=https%3A%2F%2Fi%2F",
	} {
		if got := StripText(in); got != want {
			t.Errorf("StripText(%q) = %q, want %q", in, got, want)
		}
	}
}

// An address in an address in an address … ends somewhere, and shows nothing: what is too
// deep to be looked at is taken away.
func TestStripSecretsDeep(t *testing.T) {
	deep := "https://h/?x=CANARY"
	for range maxDepth + 1 {
		deep = "https://h/?id=1&u=" + url.QueryEscape(deep)
	}
	u, err := url.Parse(deep)
	if err != nil {
		t.Fatal(err)
	}
	got, secret := StripSecrets(u)
	if !secret || strings.Contains(got, "CANARY") || !strings.HasPrefix(got, "https://h/?id=1") {
		t.Errorf("got %q, %v", got, secret)
	}
}

// K7: no parameter of the list survives, wherever it stands, and what is around it is kept
// byte for byte.
func TestStripSecretsKeepsTheRest(t *testing.T) {
	names := slices.Sorted(maps.Keys(secretParams))
	for _, p := range secretPrefixes {
		names = append(names, p+"signature")
	}
	kept := rapid.StringMatching(`[b-h][a-z]{0,3}[0-9](=[a-zA-Z0-9.%20+_-]{0,6})?|`)
	hidden := rapid.Custom(func(t *rapid.T) string {
		return spell(t, rapid.SampledFrom(names).Draw(t, "name")) + "=CANARY"
	})
	rapid.Check(t, func(t *rapid.T) {
		var in, want strings.Builder
		first, secret := true, false
		for i := range rapid.IntRange(1, 6).Draw(t, "pairs") {
			sep := rapid.SampledFrom([]string{"&", ";"}).Draw(t, "separator")
			if i == 0 {
				sep = ""
			}
			if rapid.Bool().Draw(t, "hidden") {
				secret = true
				in.WriteString(sep + hidden.Draw(t, "pair"))
				continue
			}
			pair := kept.Draw(t, "pair")
			in.WriteString(sep + pair)
			if !first {
				want.WriteString(sep)
			}
			want.WriteString(pair)
			first = false
		}
		u := &url.URL{Scheme: "https", Host: "h", Path: "/a", RawQuery: in.String()}
		wantURL := &url.URL{Scheme: "https", Host: "h", Path: "/a", RawQuery: want.String()}
		if got, found := StripSecrets(u); got != wantURL.String() || found != secret {
			t.Fatalf("StripSecrets(%q) = %q, %v, want %q, %v", u, got, found, wantURL, secret)
		}
		if got := StripText(u.String()); strings.Contains(got, "CANARY") {
			t.Fatalf("StripText(%q) = %q", u, got)
		}
	})
}

// spell writes a name as an address may: in any case, with some characters escaped.
func spell(t *rapid.T, name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch rapid.IntRange(0, 3).Draw(t, "spelling") {
		case 0:
			b.WriteString(strings.ToUpper(string(c)))
		case 1:
			b.WriteString("%" + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func FuzzStripSecrets(f *testing.F) {
	for _, s := range []string{"https://u:p@h/a?sig=1&x=2#f", "http://h/a;sid=1;b/c?url=https%3A%2F%2Fi%2F%3Fsig%3D1",
		"https://[::1]:80/%2f?&&;;", "http:;sid=1//u@h", "a&sig=1 b", "//u@h?a=//v@i?b=%2f%2fw@j"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := StripText(s)
		if again := StripText(text); again != text {
			t.Errorf("StripText(%q) = %q, and of that %q", s, text, again)
		}
		u, err := url.Parse(s)
		if err != nil || u.Host == "" {
			return
		}
		once, secret := StripSecrets(u)
		v, err := url.Parse(once)
		if err != nil {
			t.Fatalf("StripSecrets(%q) = %q, which is no address: %v", s, once, err)
		}
		if twice, again := StripSecrets(v); again || twice != once {
			t.Errorf("StripSecrets(%q) = %q, and of that %q, %v", s, once, twice, again)
		}
		u.Fragment, u.RawFragment = "", ""
		if !secret && once != u.String() {
			t.Errorf("StripSecrets(%q) = %q, and says that nothing was taken away", s, once)
		}
	})
}

func TestHostKey(t *testing.T) {
	for in, want := range map[string]string{
		"https://Docs.Example.com/a":     "host:docs.example.com",
		"http://docs.example.com":        "host:docs.example.com",
		"https://docs.example.com.":      "host:docs.example.com",
		"https://docs.example.com:443/":  "host:docs.example.com",
		"http://docs.example.com:80/":    "host:docs.example.com",
		"http://docs.example.com:443/":   "host:docs.example.com:443",
		"https://docs.example.com:80/":   "host:docs.example.com:80",
		"https://docs.example.com:/":     "host:docs.example.com",
		"https://docs.example.com:8443/": "host:docs.example.com:8443",
		"https://u:CANARY@h/":            "host:h",
		"http://127.0.0.1:8080/":         "host:127.0.0.1:8080",
		"http://[2001:DB8::1]/":          "host:[2001:db8::1]",
		"https://[::1]:443/":             "host:[::1]",
		"https://[::1]:8443/":            "host:[::1]:8443",
		"http://[fe80::1%25eth0]/":       "host:[fe80::1%eth0]",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := HostKey(u); got != want {
			t.Errorf("HostKey(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"https://u:CANARY@h/a?sig=CANARY": "https://h/a",
		"/a?sig=CANARY&x=1":               "/a?x=1",
		"https://h:CANARY/":               "(an address that cannot be read)",
		"user:CANARY":                     "(an address that cannot be read)",
		"https://u:CANARY@h/%zz":          "(an address that cannot be read)",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}
