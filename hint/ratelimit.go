package hint

import (
	"net/http"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// farthestReset is the longest RateLimit-Reset that is believed: services that put a Unix
// time under this name exist, and the draft tells clients to look for it.
const farthestReset = 366 * 24 * time.Hour

// RateLimitDraft03 reads RateLimit-Reset as draft-ietf-httpapi-ratelimit-headers-03 has it:
// a delay in seconds. One of more than a year is invalid.
func RateLimitDraft03(h http.Header) Hint {
	hint := readLines(h.Values("RateLimit-Reset"), func(string) (time.Duration, bool) { return 0, false })
	if max(hint.Wait, hint.AtLeast) > farthestReset {
		hint.Kind, hint.Wait, hint.AtLeast = Invalid, 0, 0
	}
	return hint
}

// RateLimitStructured reads RateLimit as the later drafts have it: a structured list of
// policies, each a string with what remains of it (r) and the seconds until there is more
// (t). Only policies of which nothing remains count, and of those the longest t. One member
// that is malformed makes the field invalid, as the drafts demand.
func RateLimitStructured(h http.Header) Hint {
	lines := h.Values("RateLimit")
	raw := printable(strings.Trim(strings.Join(lines, ", "), blanks))
	if raw == "" {
		return Hint{}
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return Hint{Kind: Invalid, Raw: raw}
	}
	hint := Hint{Raw: raw}
	for _, member := range list {
		remaining, reset, ok := policy(member)
		switch {
		case !ok:
			return Hint{Kind: Invalid, Raw: raw}
		case remaining == 0 && reset >= 0:
			hint.Kind = DeltaSeconds
			hint.Wait = max(hint.Wait, time.Duration(min(reset, int64(maxWait/time.Second)))*time.Second)
		}
	}
	return hint
}

// policy takes a member of the list apart; reset is negative if the member does not tell it.
func policy(member httpsfv.Member) (remaining, reset int64, ok bool) {
	item, isItem := member.(httpsfv.Item)
	if !isItem {
		return 0, 0, false
	}
	_, named := item.Value.(string)
	r, has := item.Params.Get("r")
	remaining, ok = r.(int64)
	if !named || !has || !ok || remaining < 0 {
		return 0, 0, false
	}
	t, has := item.Params.Get("t")
	if !has {
		return remaining, -1, true
	}
	reset, ok = t.(int64)
	return remaining, reset, ok && reset >= 0
}
