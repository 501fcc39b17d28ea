package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ErrRedirect is matched by what Next returns for a redirect that must not be followed.
var ErrRedirect = errors.New("a redirect that is not followed")

// Next makes the request that follows a redirect. It sends nothing.
//
// On another origin (scheme, host or port; a sub-domain is another) Authorization, Cookie,
// Proxy-Authorization and the headers that drop names are left out. User info in the address
// is dropped. Redirects to another scheme than http and https, and from https to http, are
// errors; how many hops are too many is the caller's to say. Like browsers, 301, 302 and 303
// turn every method but HEAD into GET; 307 and 308 keep the method and the body.
func Next(req *http.Request, resp *http.Response, drop ...string) (*http.Request, error) {
	refuse := func(reason string) (*http.Request, error) {
		return nil, fmt.Errorf("%w: %s", ErrRedirect, reason) // the address may hold a credential
	}
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return refuse(fmt.Sprintf("status %d", resp.StatusCode))
	}
	location := resp.Header.Values("Location")
	if len(location) == 0 || strings.TrimSpace(location[0]) == "" {
		return refuse("it has no Location")
	}
	if len(location) > 1 {
		return refuse("it has several Locations")
	}
	from, err := originOf(req.URL)
	if err != nil {
		return refuse(err.Error())
	}
	u, err := req.URL.Parse(location[0])
	if err != nil || u.Opaque != "" {
		return refuse("its Location cannot be read")
	}
	to, err := originOf(u)
	if err != nil {
		return refuse("in its Location, " + err.Error())
	}
	if from.scheme == "https" && to.scheme == "http" {
		return refuse("it goes from https to http")
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""

	next := req.WithContext(req.Context())
	next.URL, next.Response = u, resp
	next.Header = req.Header.Clone()
	if next.Header == nil {
		next.Header = make(http.Header)
	}
	if from != to {
		next.Host = ""
		for name := range next.Header {
			if credential(name, drop) {
				delete(next.Header, name)
			}
		}
	}
	if err := carryBody(next, req, resp.StatusCode); err != nil {
		return nil, err
	}
	return next, nil
}

func credential(name string, drop []string) bool {
	for _, secret := range []string{"Authorization", "Cookie", "Cookie2", "Proxy-Authorization"} {
		if strings.EqualFold(name, secret) {
			return true
		}
	}
	for _, d := range drop {
		if strings.EqualFold(name, d) {
			return true
		}
	}
	return false
}

// carryBody gives next the method and the body that the status asks for.
func carryBody(next, req *http.Request, status int) error {
	if status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect {
		if req.Body == nil || req.Body == http.NoBody {
			return nil
		}
		if req.GetBody == nil {
			return fmt.Errorf("%w: the body of the request cannot be read again", ErrRedirect)
		}
		var err error
		next.Body, err = req.GetBody()
		return err
	}
	if req.Method != http.MethodHead {
		next.Method = http.MethodGet
	}
	next.Body, next.GetBody, next.ContentLength, next.TransferEncoding, next.Trailer = nil, nil, 0, nil, nil
	for name := range next.Header {
		if len(name) > 8 && strings.EqualFold(name[:8], "Content-") {
			delete(next.Header, name)
		}
	}
	return nil
}
