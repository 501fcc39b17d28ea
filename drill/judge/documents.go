package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// A document is what became of one.
type document struct {
	attempts  int
	links     int   // that were given by a redirect and that nobody has asked for yet
	scope     scope // of its last attempt that was no link
	versions  map[int]*version
	sent      spans // of its bytes, at any version
	whole     int   // the arrival that delivered it; 0: none
	delivered time.Time
	refused   int // the status that refused it for good; 0: none
	by        int // the arrival that was refused so
}

// A version is what was sent of one version of a document.
type version struct {
	sent  spans
	whole int   // the arrival that delivered it; 0: none
	from  int64 // the furthest byte at which it was continued
	after int   // the arrival that did
}

func (d *document) version(n int) *version {
	if d.versions[n] == nil {
		if d.versions == nil {
			d.versions = map[int]*version{}
		}
		d.versions[n] = &version{}
	}
	return d.versions[n]
}

// documents follows each document from its first attempt to its last answer, of those that
// there are.
func (f *findings) documents(there int, arrivals []*journal.Arrival) map[int]*document {
	docs := map[int]*document{}
	for _, m := range momentsOf(arrivals) {
		for _, it := range tries(m.arrival) {
			if it.Document < 1 || it.Document > there {
				continue
			}
			d := docs[it.Document]
			if d == nil {
				d = &document{}
				docs[it.Document] = d
			}
			if m.answer {
				d.answered(m.arrival, it)
			} else {
				f.asked(d, m.arrival, it)
			}
		}
		if !m.answer {
			f.retries(docs, m.arrival)
		}
	}
	f.Documents = there
	f.counted(docs)
	f.delivered(docs)
	return docs
}

// A moment is that of an arrival or of its answer.
type moment struct {
	at      time.Time
	answer  bool
	arrival *journal.Arrival
}

// momentsOf are arrivals and answers as they came. What came at the moment of an answer did
// not come after it.
func momentsOf(arrivals []*journal.Arrival) []moment {
	moments := make([]moment, 0, 2*len(arrivals))
	for _, a := range arrivals {
		moments = append(moments, moment{a.At, false, a}, moment{answeredAt(a), true, a})
	}
	slices.SortStableFunc(moments, func(a, b moment) int {
		if c := a.at.Compare(b.at); c != 0 || a.answer == b.answer {
			return c
		}
		if b.answer {
			return -1
		}
		return 1
	})
	return moments
}

// answeredAt is when an answer had been sent, as far as the journal knows it.
func answeredAt(a *journal.Arrival) time.Time { return cmp.Or(a.Sent, a.Ended, a.Began, a.At) }

// tries are what an arrival asks for: one document, or the items of a batch.
func tries(a *journal.Arrival) []journal.Item {
	switch a.Kind {
	case journal.Batch:
		return a.Items
	case journal.Read, journal.Hop, journal.Link:
		if a.Method == "GET" {
			return []journal.Item{{Document: a.Document, Version: a.Version, Status: a.Status, Whole: a.Whole, Refused: a.Refused}}
		}
	}
	return nil
}

// asked notes a try.
func (f *findings) asked(d *document, a *journal.Arrival, it journal.Item) {
	if a.Kind == journal.Link && d.links > 0 {
		d.links--
		return
	}
	d.attempts++
	if cmp.Or(it.Kind, a.Kind) == journal.Hop && it.Status/100 == 3 && it.Status != 304 {
		d.links++
	}
	if a.Kind != journal.Link || d.attempts == 1 {
		d.scope = scopeOf(a)
	}
	if v := d.versions[it.Version]; v != nil && v.whole > 0 && it.Status != 304 {
		f.Repeats++
		f.show("repeats", a.N, "document %d was asked for again by %s after arrival %d had delivered it", it.Document, named{a}, v.whole)
	}
}

// retries notes an early arrival that tries a document again.
func (f *findings) retries(docs map[int]*document, a *journal.Arrival) {
	again := slices.ContainsFunc(tries(a), func(it journal.Item) bool {
		return docs[it.Document] != nil && docs[it.Document].attempts > 1
	})
	if again && early(a) {
		f.RetriesEarly++
		f.show("retries_early", a.N, "%s", beforeEnd{a, a.Told})
	}
}

// fault is whether one of these was done to an answer; the journal joins them with commas.
func fault(a *journal.Arrival, names ...string) bool {
	for done := range strings.SplitSeq(a.Fault, ",") {
		if slices.Contains(names, done) {
			return true
		}
	}
	return false
}

// answered notes an answer.
func (d *document) answered(a *journal.Arrival, it journal.Item) {
	v := d.version(it.Version)
	if a.Kind != journal.Batch {
		d.part(v, a)
	}
	ended := a.End == journal.Cut || !a.Sent.IsZero()
	if v.whole == 0 && (it.Whole || ended && a.Size > 0 && v.sent.from(0) >= a.Size) {
		v.whole = a.N
		if d.whole == 0 {
			d.whole, d.delivered = a.N, answeredAt(a)
		}
	}
	if it.Status != 0 && it.Refused == "" {
		d.refused, d.by = 0, a.N
		if forGood(a, it.Status) {
			d.refused = it.Status
		}
	}
}

// forGood is whether a status says that the document is not to be had.
func forGood(a *journal.Arrival, status int) bool {
	switch status {
	case 401: // for want of a token, unless a rule made it
		return fault(a, "status")
	case 403, 404, 410: // of a link: it is too old, unless a rule made it
		return a.Kind != journal.Link || fault(a, "deny", "gone")
	}
	return false
}

// part notes the bytes of a document that an answer brought, and nothing that came in their
// place.
func (d *document) part(v *version, a *journal.Arrival) {
	if a.Status != 200 && a.Status != 206 || fault(a, "digest", "login", "error") || a.From < 0 || a.Bytes <= 0 || a.From >= a.Size {
		return
	}
	s := span{a.From, a.From + min(a.Bytes, a.Size-a.From)}
	v.sent.add(s)
	d.sent.add(s)
	if a.From > v.from {
		v.from, v.after = a.From, a.N
	}
}

// counted counts attempts.
func (f *findings) counted(docs map[int]*document) {
	f.Asked = len(docs)
	attempts := 0
	for _, n := range slices.Sorted(maps.Keys(docs)) {
		d := docs[n]
		attempts += d.attempts
		if d.attempts > f.AttemptsMost {
			f.AttemptsMost = d.attempts
			f.shown["attempts_most"] = witness{0, fmt.Sprintf("document %d was asked for %d times", n, d.attempts)}
			f.shown["attempts_mean"] = f.shown["attempts_most"]
		}
	}
	if f.Asked > 0 {
		f.AttemptsMean = decimals(float64(attempts) / float64(f.Asked))
	}
	if f.Asked < f.Documents {
		f.shown["asked"] = witness{0, missing(docs, f.Documents-f.Asked, "asked for", func(d *document) bool { return d != nil })}
	}
}

// delivered counts what the client got, and what not.
func (f *findings) delivered(docs map[int]*document) {
	for _, n := range slices.Sorted(maps.Keys(docs)) {
		d := docs[n]
		switch {
		case d.whole > 0:
			f.Delivered++
		case d.refused > 0:
			f.Withheld++
			f.show("withheld", d.by, "document %d was answered %d by arrival %d", n, d.refused, d.by)
		}
		for _, number := range slices.Sorted(maps.Keys(d.versions)) {
			// What was sent before, less what was sent before at this version.
			if v := d.versions[number]; d.sent.before(v.from) > v.sent.before(v.from) {
				f.Mixed++
				f.show("mixed", v.after, "arrival %d continued document %d from byte %d at version %d, and what had been sent before it was of another",
					v.after, n, v.from, number)
				break
			}
		}
	}
	f.Lost = f.Documents - f.Delivered - f.Withheld
	if f.Lost > 0 {
		line := missing(docs, f.Lost, "delivered whole", func(d *document) bool { return d != nil && (d.whole > 0 || d.refused > 0) })
		f.shown["lost"], f.shown["delivered"] = witness{0, line}, witness{0, line}
	}
}

// missing names the first of so many documents that lack something.
func missing(docs map[int]*document, count int, what string, has func(*document) bool) string {
	var first []int
	for n := 1; len(first) < min(count, 2); n++ {
		if !has(docs[n]) {
			first = append(first, n)
		}
	}
	switch {
	case count == 1:
		return fmt.Sprintf("document %d was never %s", first[0], what)
	case count == 2:
		return fmt.Sprintf("documents %d and %d were never %s", first[0], first[1], what)
	}
	return fmt.Sprintf("documents %d, %d and %d more were never %s", first[0], first[1], count-2, what)
}
