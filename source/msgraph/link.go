package msgraph

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// maxLink bounds a link, in bytes. Servers take no longer one.
const maxLink = 16 << 10

// relative is a link of an answer as it is kept: its path under the API's root, and its query.
// The error matches [ErrForeignLink] where it leads elsewhere.
func (s *Source) relative(link string) (string, error) {
	if len(link) > maxLink || !plain(link) {
		return "", errors.New("the answer's link has a control character or is too long: it cannot be followed")
	}
	u, err := url.Parse(link)
	switch {
	case err != nil || u.Scheme == "" || u.Host == "":
		return "", errors.New("the answer's link is no absolute address: it cannot be followed")
	case u.User != nil || !sameOrigin(u, s.origin):
		return "", fmt.Errorf("the listing goes on at another host %s: %w", otherHost(u, s.origin), ErrForeignLink)
	}
	rest, ok := strings.CutPrefix(u.EscapedPath(), s.root+"/")
	if !ok || dotted(u.Path) {
		return "", fmt.Errorf("the listing goes on outside of %s at %s: %w", s.root, u.Host, ErrForeignLink)
	}
	if u.RawQuery == "" {
		return "/" + rest, nil
	}
	return "/" + rest + "?" + strings.ReplaceAll(u.RawQuery, " ", "%20"), nil
}

// otherHost names a host as it differs from ours: where the name is the same, by the scheme.
func otherHost(u, ours *url.URL) string {
	if strings.EqualFold(u.Hostname(), ours.Hostname()) {
		return strings.ToLower(u.Scheme) + "://" + u.Host
	}
	return u.Host
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "http") {
		return "80"
	}
	return "443"
}

// dotted reports whether a path has a segment that leads upwards, for servers that take a
// backslash for a slash too.
func dotted(path string) bool {
	segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	return slices.ContainsFunc(segments, func(s string) bool { return s == "." || s == ".." })
}

// asWritten undoes two escapes of [url.PathEscape]: Graph writes ids such as "b!x-Y_z" and
// those of sites, with commas, as they are.
var asWritten = strings.NewReplacer("%21", "!", "%2C", ",")

// escape is a text as one segment of a path.
func escape(s string) string { return asWritten.Replace(url.PathEscape(s)) }

func escapePath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = escape(s)
	}
	return strings.Join(segments, "/")
}
