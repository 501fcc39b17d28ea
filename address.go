package dogear

import (
	"net/url"
	"strings"
)

// secretParams are query parameters that carry a credential, a token or a signature. Their
// names are compared without regard to case. Sources: the signing schemes of AWS (SigV2,
// SigV4, CloudFront), Google Cloud Storage, Azure SAS, Alibaba OSS, Tencent COS and
// Volcengine TOS; SharePoint's pre-authenticated links; RFC 6750 section 2.3 and common API keys.
var secretParams = set("access_token", "accesstoken", "id_token", "refresh_token", "oauth_token", "token", "auth",
	"auth_token", "authtoken", "authorization", "bearer", "jwt", "assertion", "apikey", "api_key", "api-key",
	"x-api-key", "key", "secret", "client_secret", "app_secret", "appsecret", "password", "passwd", "pwd",
	"sig", "sign", "signature", "hmac", "ticket", "tempauth", "guestaccesstoken", "sharekey",
	"session", "sessionid", "session_id", "sid", "phpsessid", "jsessionid", "subscription-key",
	"awsaccesskeyid", "googleaccessid", "ossaccesskeyid", "key-pair-id", "security-token",
	"q-ak", "q-key-time", "q-header-list", "q-url-param-list", "q-signature")

// secretPrefixes begin the names of parameters that only a signature uses.
var secretPrefixes = []string{"x-amz-", "x-goog-", "x-oss-", "x-tos-", "x-obs-", "x-cos-", "q-sign-"}

// besideSignature are parameters that mean nothing without the signature beside them, and
// that change with it: a link that was signed again is still the same document.
var besideSignature = map[string][]string{
	"sig": {"sv", "st", "se", "sr", "sp", "spr", "sip", "ss", "srt", "si", "sdd", "saoid", "suoid", "scid",
		"skoid", "sktid", "skt", "ske", "sks", "skv"},
	"signature": {"expires", "policy"},
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
// and those that belong to a signature beside them. It reports whether anything that may be
// secret was taken away. What stays is kept as it was written.
func StripSecrets(u *url.URL) (address string, secret bool) {
	c := *u
	c.Fragment, c.RawFragment = "", ""
	secret = c.User != nil
	c.User = nil
	if query, stripped := stripQuery(c.RawQuery); stripped {
		c.RawQuery, secret = query, true
	}
	if path, stripped := stripPathParams(c.EscapedPath()); stripped {
		c.RawPath, secret = path, true
		c.Path, _ = url.PathUnescape(path)
	}
	return c.String(), secret
}

// stripQuery drops the secret parameters of a raw query and reports whether there were any.
func stripQuery(raw string) (kept string, stripped bool) {
	if raw == "" {
		return "", false
	}
	drop := map[string]bool{}
	pairs := strings.FieldsFunc(raw, func(r rune) bool { return r == '&' || r == ';' })
	for _, p := range pairs {
		for _, n := range besideSignature[paramName(p)] {
			drop[n] = true
		}
	}
	out := pairs[:0:0]
	for _, p := range pairs {
		if name := paramName(p); SecretParam(name) || drop[name] {
			stripped = true
			continue
		}
		out = append(out, p)
	}
	if !stripped {
		return raw, false
	}
	return strings.Join(out, "&"), true
}

func paramName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	if n, err := url.QueryUnescape(name); err == nil {
		name = n
	}
	return strings.ToLower(name)
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
// and the host in lower case, with the port where it is not the scheme's own.
func HostKey(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
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
