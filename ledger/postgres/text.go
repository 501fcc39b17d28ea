package postgres

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// escape begins a text that is written in hex: PostgreSQL's text holds no zero byte and
// nothing but UTF-8, and what services send may be anything.
const escape = "\x01hex:"

// kept is how a text from outside is stored.
func kept(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.HasPrefix(s, escape) {
		return s
	}
	return escape + hex.EncodeToString([]byte(s))
}

// told is the text that kept stored.
func told(s string) string {
	if coded, ok := strings.CutPrefix(s, escape); ok {
		if b, err := hex.DecodeString(coded); err == nil {
			return string(b)
		}
	}
	return s
}

// digest is how a SHA-256 in hex is stored: a 1 and 32 bytes; or a 0 and the text if it is
// none. Nil if there is none.
func digest(s string) []byte {
	if s == "" {
		return nil
	}
	if b, err := hex.DecodeString(s); err == nil && len(b) == 32 && hex.EncodeToString(b) == s {
		return append([]byte{1}, b...)
	}
	return append([]byte{0}, s...)
}

// digestOf is the text that digest stored.
func digestOf(b []byte) string {
	switch {
	case len(b) == 0:
		return ""
	case b[0] == 1:
		return hex.EncodeToString(b[1:])
	}
	return string(b[1:])
}
