package dogear

import (
	"iter"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// secretParams are query parameters that carry a credential, a token or a signature. Their
// names are compared without regard to case. Sources: the signing schemes of AWS (SigV2,
// SigV4, CloudFront), Google Cloud Storage, Azure SAS, Alibaba OSS and CDN, Huawei OBS,
// Kingsoft KS3, Tencent COS and Volcengine TOS, the edge tokens of Akamai; SharePoint's
// pre-authenticated links; the tokens of GitLab, Jira, Feishu and WeCom; RFC 6750 section 2.3
// and common API keys.
var secretParams = set("access_token", "accesstoken", "id_token", "refresh_token", "oauth_token", "token", "auth",
	"auth_token", "authtoken", "authorization", "bearer", "jwt", "assertion", "apikey", "api_key", "api-key",
	"x-api-key", "key", "secret", "client_secret", "app_secret", "appsecret", "password", "passwd", "pwd",
	"sig", "sign", "signature", "hmac", "ticket", "tempauth", "guestaccesstoken", "sharekey",
	"session", "sessionid", "session_id", "sid", "phpsessid", "jsessionid", "subscription-key",
	"awsaccesskeyid", "googleaccessid", "ossaccesskeyid", "key-pair-id", "security-token",
	"q-ak", "q-key-time", "q-header-list", "q-url-param-list", "q-signature",
	"accesskeyid", "access_key_id", "access_key", "secret_key", "kssaccesskeyid", "auth_key",
	"hdnts", "hdnea", "hdntl", "__token__", "api_token", "apitoken", "private_token", "job_token", "feed_token",
	"rss_token", "os_password", "corpsecret", "tenant_access_token", "app_access_token", "user_access_token",
	"client_assertion")

// secretPrefixes begin the names of parameters that only a signature uses.
var secretPrefixes = []string{"x-amz-", "x-goog-", "x-oss-", "x-tos-", "x-obs-", "x-cos-", "q-sign-"}

// besideSignature are parameters that mean nothing without the signature beside them, and
// that change with it: a link that was signed again is still the same document.
var besideSignature = map[string][]string{
	"sig": {"sv", "st", "se", "sr", "sp", "spr", "sip", "ss", "srt", "si", "sdd", "saoid", "suoid", "scid",
		"skoid", "sktid", "skt", "ske", "sks", "skv"},
	"signature": {"expires", "policy"},
	"token":     {"expires"},
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// SecretParam reports whether a query parameter of this name is taken for a credential.
func SecretParam(name string) bool {
	name = strings.ToLower(name)
	if secretParams[name] {
		return true
	}
	for _, p := range secretPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// StripSecrets returns the address without credentials: without user info, without the
// fragment, which is never sent, and without the query parameters that [SecretParam] names
// and those that belong to a signature beside them, in addresses that are the value of a
// parameter too. It reports whether anything that may be secret was taken away. What stays
// is kept as it was written.
func StripSecrets(u *url.URL) (address string, secret bool) {
	c := *u
	c.Fragment, c.RawFragment = "", ""
	secret = c.User != nil
	c.User = nil
	if query, stripped := stripQuery(c.RawQuery, 0); stripped {
		c.RawQuery, secret = query, true
	}
	if path, stripped := stripPathParams(c.EscapedPath()); stripped {
		c.RawPath, secret = path, true
		c.Path, _ = url.PathUnescape(path)
	}
	return c.String(), secret
}

// StripText takes out of a text what [StripSecrets] takes out of an address, wherever there
// is an address in it or the end of one ("a.html?sig=…"). It is for words that others wrote,
// such as names and labels: it also finds what no URL parser would accept.
func StripText(s string) string {
	for {
		t := stripText(s, 0)
		if t == s {
			return s
		}
		s = t // what was taken out may have stood between two halves of something else
	}
}

func stripText(s string, depth int) string {
	if !strings.ContainsAny(s, "@?#&;") {
		return s
	}
	var b strings.Builder
	for s != "" {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 {
			return b.String() + stripWord(s, depth)
		}
		_, blank := utf8.DecodeRuneInString(s[end:])
		b.WriteString(stripWord(s[:end], depth) + s[end:end+blank])
		s = s[end+blank:]
	}
	return b.String()
}

// stripWord is stripText for a text without blanks.
func stripWord(w string, depth int) string {
	w = stripUserInfo(w)
	end := strings.IndexAny(w, "?#")
	if end < 0 {
		end = len(w)
	}
	head, _ := stripPathParams(w[:end])
	if strings.Contains(head, "&") {
		head, _ = stripQuery(head, depth)
	}
	var b strings.Builder
	b.WriteString(head)
	for rest := w[end:]; rest != ""; {
		end := strings.IndexAny(rest[1:], "?#") + 1
		if end < 1 {
			end = len(rest)
		}
		if part, stripped := stripQuery(rest[1:end], depth); !stripped || part != "" {
			b.WriteString(rest[:1] + part)
		}
		rest = rest[end:]
	}
	return b.String()
}

// stripUserInfo drops what stands before an "@" in the authority of every address in a word.
func stripUserInfo(w string) string {
	if !strings.Contains(w, "@") {
		return w
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(w, "//")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("//")
		end := strings.IndexAny(after, "/\\?#")
		if end < 0 {
			end = len(after)
		}
		if at := strings.LastIndexByte(after[:end], '@'); at >= 0 && (before == "" || strings.HasSuffix(before, ":")) {
			after = after[at+1:]
		}
		w = after
	}
}

// maxDepth is how many addresses may be the values of one another's parameters before the
// innermost are thrown away unread.
const maxDepth = 3

// stripQuery drops the secret parameters of a raw query and reports whether there were any.
// Each parameter that stays keeps the separator before it.
func stripQuery(raw string, depth int) (kept string, stripped bool) {
	if raw == "" {
		return "", false
	}
	var names []string
	var drop map[string]bool
	for _, pair := range pairs(raw) {
		name := paramName(pair)
		names = append(names, name)
		for _, n := range besideSignature[name] {
			if drop == nil {
				drop = map[string]bool{}
			}
			drop[n] = true
		}
	}
	var b strings.Builder
	none := true
	for sep, pair := range pairs(raw) {
		name := names[0]
		names = names[1:]
		inner, keep := stripValue(pair, depth)
		if keep = keep && !SecretParam(name) && !drop[name]; keep {
			if !none {
				b.WriteString(sep)
			}
			b.WriteString(inner)
			none = false
		}
		stripped = stripped || !keep || inner != pair
	}
	if !stripped {
		return raw, false
	}
	return b.String(), true
}

// pairs are the parameters of a raw query, each with the separator before it.
func pairs(raw string) iter.Seq2[string, string] {
	return func(yield func(sep, pair string) bool) {
		sep := ""
		for {
			end := strings.IndexAny(raw, "&;")
			if end < 0 {
				yield(sep, raw)
				return
			}
			if !yield(sep, raw[:end]) {
				return
			}
			sep, raw = raw[end:end+1], raw[end+1:]
		}
	}
}

// stripValue strips the address that is the value of a parameter, if it is one. The pair is
// not to be kept if it would have to be looked at too deeply.
func stripValue(pair string, depth int) (stripped string, keep bool) {
	name, value, _ := strings.Cut(pair, "=")
	if !strings.ContainsAny(value, "?#:%") {
		return pair, true
	}
	plain, err := url.QueryUnescape(value)
	if err != nil {
		plain = value
	}
	if !strings.ContainsAny(plain, "?#") && !strings.Contains(plain, "//") {
		return pair, true
	}
	if depth == maxDepth {
		return "", false
	}
	switch inner := stripText(plain, depth+1); {
	case inner == plain:
		return pair, true
	case plain == value:
		return name + "=" + inner, true
	default:
		return name + "=" + url.QueryEscape(inner), true
	}
}

// paramName is the name of a parameter as a server may read it: "token" for "Token[]=1".
func paramName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	if n, err := url.QueryUnescape(name); err == nil {
		name = n
	}
	name, _, _ = strings.Cut(name, "[")
	return strings.ToLower(strings.TrimSpace(name))
}

// stripPathParams drops session ids such as ";jsessionid=…" from an escaped path.
func stripPathParams(path string) (kept string, stripped bool) {
	if !strings.Contains(path, ";") {
		return path, false
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		parts := strings.Split(s, ";")
		keep := parts[:1]
		for _, p := range parts[1:] {
			if SecretParam(paramName(p)) {
				stripped = true
				continue
			}
			keep = append(keep, p)
		}
		segments[i] = strings.Join(keep, ";")
	}
	return strings.Join(segments, "/"), stripped
}

// Redact is [StripSecrets] for words that a person reads: an address that cannot be parsed
// is not shown at all.
func Redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return "(an address that cannot be read)"
	}
	s, _ := StripSecrets(u)
	return s
}

// HostKey is the key of the scope that holds all requests to the address's host: "host:"
// and the host in lower case, with the port where it is not the scheme's own. The dot that
// may end a host's full name is left out.
func HostKey(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	switch port := u.Port(); {
	case port == "", port == "80" && u.Scheme == "http", port == "443" && u.Scheme == "https":
		return "host:" + host
	default:
		return "host:" + host + ":" + port
	}
}
