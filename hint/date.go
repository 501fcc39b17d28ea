package hint

import (
	"slices"
	"strings"
	"time"
)

var (
	shortDays = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	longDays  = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	months    = []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
)

// parseDate reads an HTTP-date in one of the three forms of RFC 9110, section 5.6.7, to the
// letter: in their case, with the literal GMT, with nothing before or after. Second 60 is
// the next minute. That the name of the day fits the date is not asked for: the date says
// what is meant, and a hint thrown away for its weekday would be waited less. The two digits
// of a year in the second form are read as seen from near.
func parseDate(v string, near time.Time) (time.Time, bool) {
	for _, form := range []func(*scanner) date{imfFixdate, rfc850, asctime} {
		s := scanner{rest: v, ok: true}
		if d := form(&s); s.ok && s.rest == "" {
			return d.time(near)
		}
	}
	return time.Time{}, false
}

// A date is what the grammar gives, before it is known that there is such a day.
type date struct {
	year, month, day, hour, minute, second int
	short                                  bool // year has two digits
}

// Sun, 06 Nov 1994 08:49:37 GMT
func imfFixdate(s *scanner) (d date) {
	s.word(shortDays)
	s.literal(", ")
	d.day = s.digits(2)
	s.literal(" ")
	d.month = s.word(months)
	s.literal(" ")
	d.year = s.digits(4)
	s.literal(" ")
	s.clock(&d)
	s.literal(" GMT")
	return d
}

// Sunday, 06-Nov-94 08:49:37 GMT
func rfc850(s *scanner) (d date) {
	s.word(longDays)
	s.literal(", ")
	d.day = s.digits(2)
	s.literal("-")
	d.month = s.word(months)
	s.literal("-")
	d.year, d.short = s.digits(2), true
	s.literal(" ")
	s.clock(&d)
	s.literal(" GMT")
	return d
}

// Sun Nov  6 08:49:37 1994
func asctime(s *scanner) (d date) {
	s.word(shortDays)
	s.literal(" ")
	d.month = s.word(months)
	s.literal(" ")
	if strings.HasPrefix(s.rest, " ") {
		s.literal(" ")
		d.day = s.digits(1)
	} else {
		d.day = s.digits(2)
	}
	s.literal(" ")
	s.clock(&d)
	s.literal(" ")
	d.year = s.digits(4)
	return d
}

// time is the moment, if there is such a day and such a time of day.
func (d date) time(near time.Time) (time.Time, bool) {
	if d.short {
		d.year = fullYear(d, near)
	}
	last := time.Date(d.year, time.Month(d.month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	ok := d.day >= 1 && d.day <= last && d.hour < 24 && d.minute < 60 && d.second <= 60
	return d.moment(d.year), ok
}

func (d date) moment(year int) time.Time {
	return time.Date(year, time.Month(d.month), d.day, d.hour, d.minute, d.second, 0, time.UTC)
}

// fullYear is the latest year with these two digits in which the date is not more than 50
// years ahead.
func fullYear(d date, near time.Time) int {
	near = near.UTC()
	bound := near.AddDate(50, 0, 0)
	year := (near.Year()/100+1)*100 + d.year
	for d.moment(year).After(bound) {
		year -= 100
	}
	return year
}

// A scanner takes a value apart from the left. Once something did not fit, ok is false and
// stays so.
type scanner struct {
	rest string
	ok   bool
}

func (s *scanner) literal(lit string) {
	rest, ok := strings.CutPrefix(s.rest, lit)
	s.rest, s.ok = rest, s.ok && ok
}

// word takes one of the words and tells which, counted from 1.
func (s *scanner) word(words []string) int {
	i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(s.rest, w) })
	if i < 0 {
		s.ok = false
		return 0
	}
	s.literal(words[i])
	return i + 1
}

func (s *scanner) digits(n int) int {
	if len(s.rest) < n {
		s.ok = false
		return 0
	}
	v := 0
	for i := range n {
		c := s.rest[i]
		s.ok = s.ok && c >= '0' && c <= '9'
		v = 10*v + int(c) - '0'
	}
	s.rest = s.rest[n:]
	return v
}

func (s *scanner) clock(d *date) {
	d.hour = s.digits(2)
	s.literal(":")
	d.minute = s.digits(2)
	s.literal(":")
	d.second = s.digits(2)
}
