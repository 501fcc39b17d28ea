package reader

import (
	"net/http"
	"strings"
	"time"

	"github.com/dogear/dogear"
)

// versionOf is what an answer says that it is a version of: strong ETag, weak ETag,
// Last-Modified, or nothing.
func versionOf(resp *http.Response) string {
	if tag := resp.Header.Get("ETag"); dogear.IsEntityTag(tag) {
		return tag
	}
	if at := resp.Header.Get("Last-Modified"); dogear.IsHTTPDate(at) {
		return at
	}
	return ""
}

// sameVersion compares a listed version with an answer: entity-tags weakly (RFC 9110, section
// 8.8.3.2), dates to the letter.
func sameVersion(listed string, h http.Header) bool {
	if dogear.IsEntityTag(listed) {
		tag := h.Get("ETag")
		return dogear.IsEntityTag(tag) && strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(listed, "W/")
	}
	return h.Get("Last-Modified") == listed
}

// validator is what bytes may be continued under: a strong ETag, or a Last-Modified at least
// 60 s older than the answer's Date (RFC 9110, section 8.8.2.2); empty if there is none.
func validator(resp *http.Response) string {
	tag := resp.Header.Get("ETag")
	if dogear.IsEntityTag(tag) && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	modified, err := http.ParseTime(resp.Header.Get("Last-Modified"))
	date, dateErr := http.ParseTime(resp.Header.Get("Date"))
	if err == nil && dateErr == nil && date.Sub(modified) >= time.Minute {
		return resp.Header.Get("Last-Modified")
	}
	return ""
}
