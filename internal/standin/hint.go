package standin

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// A Hint puts on an answer what the service says about when sending is allowed again. It
// returns how long a careful client waits from the beginning of the answer; zero where it
// says nothing valid.
type Hint func(h http.Header, wait time.Duration) time.Duration

func seconds(wait time.Duration) time.Duration {
	return (wait + time.Second - 1).Truncate(time.Second)
}

// Seconds hints with delay-seconds, rounded up.
func Seconds(h http.Header, wait time.Duration) time.Duration {
	wait = seconds(wait)
	h.Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
	return wait
}

// The forms of an HTTP-date (RFC 9110, section 5.6.7).
const (
	IMFDate = http.TimeFormat
	RFC850  = "Monday, 02-Jan-06 15:04:05 GMT"
	ASCTime = time.ANSIC
)

// Date hints with an HTTP-date of the given form, by a clock that is wrong by skew; the
// answer's own Date is wrong by as much.
func Date(form string, skew time.Duration) Hint {
	return func(h http.Header, wait time.Duration) time.Duration {
		wait = seconds(wait)
		now := time.Now().Add(skew).UTC().Truncate(time.Second)
		h.Set("Date", now.Format(IMFDate))
		h.Set("Retry-After", now.Add(wait).Format(form))
		return wait
	}
}

// None hints nothing.
func None(http.Header, time.Duration) time.Duration { return 0 }

// Text hints with a text of its own: "soon", "-5", "2.5", "0".
func Text(value string) Hint {
	return func(h http.Header, _ time.Duration) time.Duration {
		h.Set("Retry-After", value)
		return 0
	}
}

// Contradicting hints twice, with the wait and with a shorter one. The later counts.
func Contradicting(h http.Header, wait time.Duration) time.Duration {
	wait = seconds(wait)
	h.Add("Retry-After", "1")
	h.Add("Retry-After", fmt.Sprint(int(wait/time.Second)))
	return max(wait, time.Second)
}
