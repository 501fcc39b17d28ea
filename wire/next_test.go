package wire

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func redirect(status int, location ...string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Location": location}}
}

func TestNext(t *testing.T) {
	for _, tc := range []struct {
		from, location, want string // want is empty where it is not followed
		stranger             bool   // another origin
	}{
		{"https://a.example/x/y?q=1", "z", "https://a.example/x/z", false},
		{"https://a.example/x", "/z?k=v#frag", "https://a.example/z?k=v", false},
		{"https://a.example/x", "https://A.example:443/z", "https://A.example:443/z", false},
		{"https://a.example/x", "//b.example/z", "https://b.example/z", true},
		{"https://a.example/x", "https://sub.a.example/z", "https://sub.a.example/z", true},
		{"https://a.example/x", "https://a.example:8443/z", "https://a.example:8443/z", true},
		{"http://a.example/x", "https://a.example/z", "https://a.example/z", true},
		{"https://a.example/x", "https://u:p@b.example/z", "https://b.example/z", true},
		{"https://u:p@a.example/x", "z", "https://a.example/z", false},
		{"https://u:p@a.example/x", "https://u:p@a.example/z", "https://a.example/z", false},
		{"http://a.example/", "HTTP://b.example", "http://b.example", true},
		{"https://a.example/", "http://a.example/", "", false},
		{"https://a.example/", "http://b.example/", "", false},
		{"https://a.example/", "HTTP://a.example/", "", false},
		{"https://a.example/", "ftp://a.example/", "", false},
		{"https://a.example/", "file:///etc/passwd", "", false},
		{"https://a.example/", "javascript:alert(1)", "", false},
		{"https://a.example/", "https:b.example", "", false},
		{"https://a.example/", "https://", "", false},
		{"https://a.example/", "https://:80/", "", false},
		{"https://a.example/", "https://a.example:0/", "", false},
		{"https://a.example/", "https://a.example:99999/", "", false},
		{"https://a.example/", "", "", false},
		{"https://a.example/", "https://%zz/" + canary, "", false},
	} {
		req := get(t, t.Context(), tc.from)
		req.Header = http.Header{"Authorization": {"a"}, "Cookie": {"b"}, "Proxy-Authorization": {"c"}, "X-Mine": {"d"}, "Accept": {"e"}}
		next, err := Next(req, redirect(302, tc.location), "x-mine")
		if tc.want == "" {
			if !errors.Is(err, ErrRedirect) || strings.Contains(err.Error(), canary) {
				t.Errorf("%s → %s: error is %v", tc.from, tc.location, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s → %s: %v", tc.from, tc.location, err)
			continue
		}
		if got := next.URL.String(); got != tc.want {
			t.Errorf("%s → %s is %s, want %s", tc.from, tc.location, got, tc.want)
		}
		want := 5
		if tc.stranger {
			want = 1
		}
		if len(next.Header) != want || next.Header.Get("Accept") != "e" {
			t.Errorf("%s → %s: header is %v", tc.from, tc.location, next.Header)
		}
		if len(req.Header) != 5 || req.URL.String() != tc.from {
			t.Errorf("%s → %s: the first request was changed", tc.from, tc.location)
		}
	}
}

func TestNextWithout(t *testing.T) {
	req := get(t, t.Context(), "https://a.example/")
	for name, resp := range map[string]*http.Response{
		"no Location":  redirect(302),
		"two":          redirect(302, "/a", "/b"),
		"no redirect":  redirect(200, "/a"),
		"not modified": redirect(304, "/a"),
		"use a proxy":  redirect(305, "/a"),
	} {
		if _, err := Next(req, resp); !errors.Is(err, ErrRedirect) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestNextMethod(t *testing.T) {
	for _, tc := range []struct {
		status       int
		method, want string
		body         bool
	}{
		{301, "GET", "GET", false}, {301, "POST", "GET", false}, {302, "HEAD", "HEAD", false}, {303, "PUT", "GET", false},
		{307, "POST", "POST", true}, {308, "PUT", "PUT", true}, {308, "GET", "GET", true},
	} {
		req, err := http.NewRequest(tc.method, "https://a.example/", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "text/plain")
		io.ReadAll(req.Body)
		next, err := Next(req, redirect(tc.status, "/b"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if next.Body != nil {
			b, _ := io.ReadAll(next.Body)
			got = string(b)
		}
		if next.Method != tc.want || (got == "hello") != tc.body || (next.Header.Get("Content-Type") != "") != tc.body || (next.ContentLength == 5) != tc.body {
			t.Errorf("%d of %s: %s with %q, %v", tc.status, tc.method, next.Method, got, next.Header)
		}
	}
	req, _ := http.NewRequest("POST", "https://a.example/", io.MultiReader(strings.NewReader("once")))
	if _, err := Next(req, redirect(307, "/b")); !errors.Is(err, ErrRedirect) {
		t.Errorf("a body that cannot be read again: %v", err)
	}
}

// FuzzNext: whatever a server answers, no request goes from https to http, to another
// scheme, with user info, or with a credential to another origin.
func FuzzNext(f *testing.F) {
	for _, s := range []string{"/a", "//b", "http://b", "https://a.example/", "https:a", "HTTPS://A.EXAMPLE", "\t/x", "https://u:p@b", "?", "#",
		"//a.example:443", "https://a.example.", "https://a.example\\@b", "https://xn--a", "https://ä.example", "http:\\\\b", "https://[::1]:443/"} {
		f.Add("https://a.example/x", s, 302)
		f.Add("http://a.example:8080/x", s, 307)
	}
	f.Add("http://0", "//::", 307)  // a host that package url takes, and writes so that it cannot read it
	f.Add("http://0", "//:::", 307) // the same, where the host looks like an address
	f.Fuzz(func(t *testing.T, from, location string, status int) {
		u, err := url.Parse(from)
		if err != nil {
			return
		}
		req := &http.Request{Method: "GET", URL: u, Header: http.Header{"Authorization": {"a"}, "Cookie": {"b"}, "X-Mine": {"c"}, "proxy-authorization": {"d"}}}
		next, err := Next(req, redirect(status, location), "X-MINE")
		if err != nil {
			return
		}
		v := next.URL
		if v.User != nil || v.Host == "" || v.Scheme != "http" && v.Scheme != "https" {
			t.Errorf("%q → %q: %q", from, location, v)
		}
		if strings.EqualFold(u.Scheme, "https") && v.Scheme != "https" {
			t.Errorf("%q → %q: goes down to %q", from, location, v)
		}
		// What a server gets is decided by the text, so that is what is compared.
		again, err := url.Parse(v.String())
		if err != nil || again.Host != v.Host {
			t.Fatalf("%q → %q: %q reads as %q, %v", from, location, v, again, err)
		}
		port := func(u *url.URL) string {
			if p := u.Port(); p != "" {
				return p
			}
			return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
		}
		same := strings.EqualFold(u.Scheme, v.Scheme) && strings.EqualFold(u.Hostname(), v.Hostname()) && port(u) == port(v)
		if !same && len(next.Header) > 0 && isASCII(u.Host+v.Host) {
			t.Errorf("%q → %q: %q gets %v", from, location, v, next.Header)
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7e })
}
