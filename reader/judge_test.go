package reader

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
)

// Unknown is transient, never ok; what is final is named.
func TestVerdict(t *testing.T) {
	want := map[int]dogear.Outcome{401: dogear.Unauthorized, 407: dogear.Unauthorized, 403: dogear.Refused,
		404: dogear.Missing, 410: dogear.Missing, 204: dogear.Invalid, 205: dogear.Invalid}
	for _, s := range []int{400, 405, 406, 414, 431, 451} {
		want[s] = dogear.Rejected
	}
	for status := 100; status < 600; status++ {
		outcome, state, reason := verdict(status, dogear.Unsettled)
		w := want[status]
		if w == dogear.Unsettled {
			w = dogear.Transient
		}
		if outcome != w || reason == "" || state == dogear.Done {
			t.Errorf("%d is %s, %s (%q), want %s", status, outcome, state, reason, w)
		}
	}
}

// K5: a listed version is compared weakly as a tag, to the letter as a date.
func TestK5SameVersion(t *testing.T) {
	h := http.Header{"Etag": {`W/"a"`}, "Last-Modified": {"Sun, 29 Nov 2026 20:00:00 GMT"}}
	for listed, want := range map[string]bool{`"a"`: true, `W/"a"`: true, `"b"`: false,
		"Sun, 29 Nov 2026 20:00:00 GMT": true, "Sun, 29 Nov 2026 20:00:01 GMT": false} {
		if got := sameVersion(listed, h); got != want {
			t.Errorf("listed %s, answered %v: same %v, want %v", listed, h, got, want)
		}
	}
	if sameVersion(`"a"`, http.Header{}) {
		t.Error("an answer without a version is taken for the listed one")
	}
}

// K5: bytes are continued under a strong tag, or a date that is a minute older than the answer.
func TestK5Validator(t *testing.T) {
	at := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	head := func(tag string, age time.Duration) *http.Response {
		h := http.Header{"Date": {at.Format(http.TimeFormat)}, "Last-Modified": {at.Add(-age).Format(http.TimeFormat)}}
		if tag != "" {
			h.Set("ETag", tag)
		}
		return &http.Response{Header: h}
	}
	for _, c := range []struct {
		resp *http.Response
		want string
	}{
		{head(`"a"`, 0), `"a"`},
		{head(`W/"a"`, time.Hour), at.Add(-time.Hour).Format(http.TimeFormat)},
		{head(`W/"a"`, 59*time.Second), ""},
		{head("", time.Minute), at.Add(-time.Minute).Format(http.TimeFormat)},
		{head("", 0), ""},
	} {
		if got := validator(c.resp); got != c.want {
			t.Errorf("%v: validator %q, want %q", c.resp.Header, got, c.want)
		}
	}
}

// The reasons that a later run goes on from come before those that need a decision.
func TestEndingTakes(t *testing.T) {
	soon, late := &gate.WaitError{Key: "a", NotBefore: time.Unix(10, 0)}, &gate.WaitError{Key: "b", NotBefore: time.Unix(20, 0)}
	down, spent := &gate.ExhaustedError{Key: "c", Down: true}, &gate.ExhaustedError{Key: "d"}
	for _, c := range []struct {
		errs  []error
		want  dogear.StopReason
		scope string
	}{
		{[]error{late, soon, down}, dogear.WaitPastDeadline, "a"},
		{[]error{down, spent}, dogear.ThrottlesExhausted, "d"},
		{[]error{spent, down}, dogear.ThrottlesExhausted, "d"},
		{[]error{down}, dogear.SourceUnreachable, "c"},
		{[]error{spent, late}, dogear.WaitPastDeadline, "b"},
	} {
		e := Ending{Reason: dogear.AttemptsExhausted}
		for _, err := range c.errs {
			e.take(err)
		}
		if e.Reason != c.want || e.Scope != c.scope {
			t.Errorf("%v: %s of %s, want %s of %s", c.errs, e.Reason, e.Scope, c.want, c.scope)
		}
	}
}

// FuzzDigests: whatever a service writes, a digest is either of a known algorithm and the
// right length or promises nothing.
func FuzzDigests(f *testing.F) {
	sum := sha256.Sum256([]byte("x"))
	b := base64.StdEncoding.EncodeToString(sum[:])
	f.Add("sha-256=:"+b+":", "SHA-256="+b+",MD5=AAAA", b)
	f.Add("sha-256=:", "=,=", "\x00")
	f.Fuzz(func(t *testing.T, structured, old, md5 string) {
		h := http.Header{"Content-Digest": {structured}, "Repr-Digest": {structured, structured}, "Digest": {old}, "Content-Md5": {md5}}
		for _, d := range digests(h) {
			if len(d.want) != d.sum.Size() {
				t.Errorf("%s promises %d bytes of %d", d.name, len(d.want), d.sum.Size())
			}
		}
	})
}
