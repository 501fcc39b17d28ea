package list

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/dogear/dogear"
)

// maxAddress bounds an address, in bytes. No server is known to take a longer one.
const maxAddress = 64 << 10

// What can be wrong with an address. None of it is shown: it may hold a credential.
var (
	errBlank  = errors.New("the address holds a blank or a control character: write a blank as %20")
	errScheme = errors.New("is no address: one begins with http:// or https://")
	errNoHost = errors.New("the address has no host")
	errHost   = errors.New("the host of the address is not valid")
	errPort   = errors.New("the port of the address is not a number from 1 to 65535")
	errEscape = errors.New("the address has a percent sign without two hexadecimal digits after it: write the sign as %25")
	errSyntax = errors.New("the address is not valid: look at its user, host and port")
)

// parsed is one address, in the form in which two that mean the same are the same.
type parsed struct {
	full     string // what is asked for: without a fragment
	stripped string // without what is secret
	secret   bool
	name     string
	scopes   []string
}

// origins remembers the scopes of the origins that a list has named, so that most addresses
// need not be taken apart. Not safe for concurrent use.
type origins struct {
	scopes func(*url.URL) []string
	known  map[string]origin
}

type origin struct {
	host   string
	scopes []string
}

// maxOrigins bounds what is remembered.
const maxOrigins = 4096

// parse reads an address and brings it into its normal form: the scheme and the host in
// lower case and in ASCII, no port that is the scheme's own, "/" for no path. The rest stays
// as it is written.
func (o *origins) parse(raw string) (parsed, error) {
	if p, ok := o.fast(raw); ok {
		return p, nil
	}
	u, err := parse(raw)
	if err != nil {
		return parsed{}, err
	}
	p := parsed{full: u.String(), scopes: o.of(u).scopes}
	p.stripped, p.secret = dogear.StripSecrets(u)
	p.name = nameOf(strings.TrimPrefix(p.stripped, u.Scheme+"://"+u.Host), u.Hostname())
	return p, nil
}

// of remembers the origin of a normal address.
func (o *origins) of(u *url.URL) origin {
	key := u.Scheme + "://" + u.Host
	if known, ok := o.known[key]; ok {
		return known
	}
	got := origin{host: u.Hostname()}
	if o.scopes != nil {
		got.scopes = slices.Sorted(slices.Values(o.scopes(&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"})))
	}
	if o.known == nil || len(o.known) >= maxOrigins {
		o.known = map[string]origin{}
	}
	o.known[key] = got
	return got
}

// fast reads an address of a known origin that is in its normal form and has nothing to
// strip. A test holds it to what the long way gives.
func (o *origins) fast(raw string) (parsed, bool) {
	if len(raw) > maxAddress || !strings.HasPrefix(raw, "http") {
		return parsed{}, false
	}
	start := strings.Index(raw, "://") + len("://")
	slash := strings.IndexByte(raw[start:], '/')
	if start < len("://") || slash < 0 {
		return parsed{}, false
	}
	slash += start
	known, ok := o.known[raw[:slash]]
	if !ok {
		return parsed{}, false
	}
	path, query, _ := strings.Cut(raw[slash:], "?")
	if !plainPath(path) || !plainQuery(query) {
		return parsed{}, false
	}
	return parsed{full: raw, stripped: raw, name: nameOf(raw[slash:], known.host), scopes: known.scopes}, true
}

// plain are the bytes that nothing has to be done about.
var plain = func() (t [256]bool) {
	for c := range 256 {
		b := byte(c)
		t[b] = b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("-._~/!$&'()*+,=@:", b) >= 0
	}
	return t
}()

// plainPath reports whether a path is as it would be written again.
func plainPath(path string) bool {
	for i := 0; i < len(path); i++ {
		switch {
		case plain[path[i]]:
		case path[i] == '%' && i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2]):
			i += 2
		default:
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// plainQuery reports whether nothing has to be done about a query.
func plainQuery(query string) bool {
	for query != "" {
		pair, rest, _ := strings.Cut(query, "&")
		for i := range len(pair) {
			if c := pair[i]; !plain[c] || c == ':' || c == '+' {
				return false
			}
		}
		name, _, _ := strings.Cut(pair, "=")
		if dogear.SecretParam(name) {
			return false
		}
		query = rest
	}
	return true
}

// parse is the long way.
func parse(raw string) (*url.URL, error) {
	if !hasScheme(raw) {
		return nil, errScheme
	}
	if len(raw) > maxAddress {
		return nil, fmt.Errorf("the address is longer than %d bytes", maxAddress)
	}
	if !utf8.ValidString(raw) {
		return nil, errUTF8
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return nil, errBlank
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, explain(err)
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = escapeHigh(u.RawQuery)
	if u.Path == "" {
		u.Path = "/"
	}
	u.Host, err = normalHost(u)
	return u, err
}

func hasScheme(raw string) bool {
	scheme, _, ok := strings.Cut(raw, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// explain says what url.Parse found, without the address that its error shows.
func explain(err error) error {
	if _, ok := errors.AsType[url.EscapeError](err); ok {
		return errEscape
	}
	if _, ok := errors.AsType[url.InvalidHostError](err); ok {
		return errHost
	}
	return errSyntax
}

// normalHost is the host of an address in lower case and in ASCII, with its port if that is
// not the scheme's own.
func normalHost(u *url.URL) (string, error) {
	host := strings.ToLower(u.Hostname())
	switch {
	case host == "":
		return "", errNoHost
	case strings.HasPrefix(u.Host, "["):
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", errHost
		}
		host = "[" + addr.String() + "]"
	default:
		var err error
		if !isASCII(host) {
			host, err = idna.Lookup.ToASCII(host)
		}
		if err != nil || !validHost(host) {
			return "", errHost
		}
	}
	if u.Port() == "" {
		return host, nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case err != nil || port == 0:
		return "", errPort
	case port == 80 && u.Scheme == "http", port == 443 && u.Scheme == "https":
		return host, nil
	}
	return host + ":" + strconv.FormatUint(port, 10), nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// validHost reports whether a host in lower case and in ASCII may be a name or an IPv4
// address.
func validHost(host string) bool {
	labels := strings.TrimSuffix(host, ".")
	for label := range strings.SplitSeq(labels, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
	}
	return len(host) <= 254 && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// escapeHigh escapes what is not ASCII in a query, as it has to be on the wire.
func escapeHigh(query string) string {
	if isASCII(query) {
		return query
	}
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// nameOf is the name of a document that the list does not name: path and query, unescaped
// where that gives a text, or the host.
func nameOf(path, host string) string {
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return host
	}
	if !strings.Contains(path, "%") {
		return path
	}
	name, err := url.PathUnescape(path)
	if err != nil || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return path
	}
	// An escaped "?" may have hidden what looks like a query now.
	return cmp.Or(strings.TrimSpace(dogear.StripText(name)), host)
}
