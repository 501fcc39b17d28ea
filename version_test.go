package dogear

import "testing"

// K5: what binds is an entity-tag or an HTTP-date to the letter; all else is a label.
func TestBindingVersion(t *testing.T) {
	for v, want := range map[string]bool{
		`"5d41402a"`: true, `W/"5d41402a"`: true, `""`: true, `W/""`: true, `"a\b"`: true, `"ü!#~"`: true, "\"\x80\xff\"": true,
		"Sun, 06 Nov 1994 08:49:37 GMT": true,

		"": false, "5": false, "v2": false, `5d41402a`: false, `'5d'`: false, `"5d`: false, `5d"`: false, `w/"5d"`: false,
		`W/ "5d"`: false, `W/5d`: false, `"a b"`: false, `"a"b"`: false, "\"a\x7f\"": false, "\"a\n\"": false, "\"a\"\n": false, `"a", "b"`: false, ` "a"`: false,

		"Sun, 06 Nov 1994 08:49:37 UTC": false, "Sun, 06 Nov 1994 08:49:37.5 GMT": false, "Sun, 6 Nov 1994 08:49:37 GMT": false,
		"Sun, 06 Nov 1994 8:49:37 GMT": false, "sun, 06 nov 1994 08:49:37 GMT": false, "Mon, 06 Nov 1994 08:49:37 GMT": false,
		"Sunday, 06-Nov-94 08:49:37 GMT": false, "Sun Nov  6 08:49:37 1994": false, "1994-11-06T08:49:37Z": false,
		"Sun, 31 Feb 1994 08:49:37 GMT": false, " Sun, 06 Nov 1994 08:49:37 GMT": false,
	} {
		if got := BindingVersion(v); got != want {
			t.Errorf("BindingVersion(%q) = %v, want %v", v, got, want)
		}
	}
}
