package dogear

import (
	"net/http"
	"regexp"
	"time"
)

// entityTag is the grammar of RFC 9110 section 8.8.3.
var entityTag = regexp.MustCompile(`^(W/)?"[\x21\x23-\x7e\x{80}-\x{10ffff}]*"$`)

// BindingVersion reports whether a version that a list names has the form of an entity-tag
// or of an HTTP-date, so that it can be compared with an answer. Any other text is a label:
// it is kept and shown, and never compared.
func BindingVersion(v string) bool { return IsEntityTag(v) || IsHTTPDate(v) }

// IsEntityTag reports whether v is an entity-tag, weak or strong (RFC 9110, section 8.8.3).
func IsEntityTag(v string) bool { return entityTag.MatchString(v) }

// IsHTTPDate reports whether v is the preferred form of an HTTP-date (RFC 9110, section
// 5.6.7), to the letter: time.Parse alone is content with fractions, with hours of one digit,
// with lower case and with another day's name.
func IsHTTPDate(v string) bool {
	t, err := time.Parse(http.TimeFormat, v)
	return err == nil && t.Format(http.TimeFormat) == v
}
