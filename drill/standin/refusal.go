package standin

import (
	"net/http"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// A Refusal is how a request is refused. The zero value is a 429 with a few words and
// Retry-After in seconds.
type Refusal struct {
	Status int       // zero: 429
	Hint   *Template // nil: Seconds
	// Body may hold the placeholders of a Template. Empty means a few words.
	Body string
	Type string // of Body; empty: text/plain
	// Wait is what it tells. Zero means what the limiter says.
	Wait time.Duration
}

// Refuse refuses.
func Refuse(r Refusal) Rule {
	return func(x *Exchange) bool {
		x.refuse(r, 0, journal.ByRule)
		return true
	}
}

// Throttle refuses with a status, a hint and a wait, such as 429, Seconds and two seconds.
func Throttle(status int, hint Template, wait time.Duration) Rule {
	return Refuse(Refusal{Status: status, Hint: &hint, Wait: wait})
}

// refuse answers with a refusal; wait is what the limiter says.
func (x *Exchange) refuse(r Refusal, wait time.Duration, by string) {
	hint := r.Hint
	if hint == nil {
		hint = &Seconds
	}
	if r.Wait > 0 {
		wait = r.Wait
	}
	say := &telling{now: time.Now(), wait: wait}
	sent := hint.put(x.W.Header(), say)
	body := say.fill(r.Body)
	say.date(x.W.Header(), sent)
	if hint.Invalid {
		say.until = time.Time{}
	}
	x.change(func() {
		x.row.Began, x.row.Refused, x.row.Hint, x.row.Until = say.now, by, sent, say.until
	})
	status := r.Status
	if status == 0 {
		status = http.StatusTooManyRequests
	}
	if r.Body == "" {
		x.Status(status)
		return
	}
	kind := r.Type
	if kind == "" {
		kind = plainText
	}
	x.Page(status, kind, body)
}
