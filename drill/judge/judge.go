// Package judge says what a client did, from the journal of a stand-in service alone. It
// shares no parser of hints with anything it judges: what a wait was is in the journal.
//
// Think of a journal as what a witness at the door of the service wrote down. The judge
// counts, and keeps the first arrival that shows each figure, so that a verdict is one line
// that can be looked up:
//
//	f := judge.Judge(rec, judge.DefaultSlack)
//	asserts, err := judge.ParseAsserts("late == 0, lost == 0")
//	…
//	for _, a := range asserts {
//		if c := a.Check(f, rec, judge.DefaultSlack); !c.Pass {
//			fmt.Println(c.Why) // arrival 57 (GET /doc/12) came 3.2 s before the wait told by arrival 41 ended
//		}
//	}
package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dogear/dogear/drill/journal"
)

// DefaultSlack is how long after an answer was sent a request may arrive that its client had
// sent before it read that answer. It is ample even on a machine that is busy.
const DefaultSlack = 500 * time.Millisecond

// Figures are what a client did. A figure that is not known is nil, and absent in JSON.
// Times are in seconds to the microsecond, shares and means to the sixth decimal.
//
// A quota here is what its limiter counts together: the arrivals of one quota under one key.
//
// An attempt is one try of one document: a GET for it or for a part of it, or its item in a
// batch, refused or not. A redirect and the first request for its link are one attempt; each
// further request for the link is one more. A HEAD is a request and no attempt.
type Figures struct {
	// Requests that arrived, and those of them that were refused; an item of a batch that
	// was refused refuses no request.
	Requests  int `json:"requests"`
	Throttled int `json:"throttled"`
	// ThrottledShare is Throttled / Requests.
	ThrottledShare float64 `json:"throttled_share"`

	// Early arrivals came after a wait of their quota had been sent whole, and before it
	// ended. Late are those of them that came more than slack after such a wait was sent:
	// they were not under way. RetriesEarly are those of Early with an attempt of a document
	// that had one before.
	Early        int `json:"early"`
	Late         int `json:"late"`
	RetriesEarly int `json:"retries_early"`
	// EarliestS is by how many seconds the earliest of Early came before the wait's end.
	EarliestS float64 `json:"earliest_s"`
	// Burst is the most requests that came after the end of a wait and before the first of
	// them had its answer, itself included: 1 is a probe. Waits that overlap are one. Nil:
	// nothing came after a wait.
	Burst *int `json:"burst,omitempty"`
	// RestS is how long a quota was left alone after a refusal without a valid wait: the
	// longest silence in it that began at most slack after the refusal was sent whole, for
	// until then requests were under way; or less, if the refusal's own HTTP/1 connection
	// brought the next request sooner. It is the shortest such rest. Nil: nothing came after
	// such a refusal that was surely not under way.
	RestS *float64 `json:"rest_s,omitempty"`

	Documents int `json:"documents"` // that there are
	Asked     int `json:"asked"`     // with an attempt
	Delivered int `json:"delivered"` // whole, of one version, once at least
	// Withheld are documents that were not delivered and that the service refused for good:
	// the last answer that was not a throttle was 401, 403, 404 or 410. A 401
	// wants a token and a link that is refused is too old, unless a rule made that answer:
	// those are not for good.
	Withheld int `json:"withheld"`
	Lost     int `json:"lost"` // Documents without Delivered and Withheld
	// AttemptsMost and AttemptsMean are the attempts of a document that was asked for.
	AttemptsMost int     `json:"attempts_most"`
	AttemptsMean float64 `json:"attempts_mean"`
	// Repeats are attempts that came after their document had been delivered at the version
	// that it had then. What was answered 304 was a check and repeated nothing.
	Repeats int `json:"repeats"`
	// Mixed are documents that were continued at a version of which the client was never
	// sent the bytes before, but of another: two versions as if they were one.
	Mixed int `json:"mixed"`
	// Leaked are requests that brought a credential to another origin.
	Leaked int `json:"leaked"`

	// SpanS is the time from the first arrival to the last answer, BestS the shortest in
	// which the limits let so many documents through, or which the rules' waits took up if
	// that is longer: a limit goes on filling while a wait lasts. Nil: a quota's limit does
	// not say, and no rule told a wait in it.
	SpanS float64  `json:"span_s"`
	BestS *float64 `json:"best_s,omitempty"`
	// Goodput is BestS / SpanS; Time is SpanS / BestS when nothing is lost. Nil where BestS
	// is under a second.
	Goodput *float64 `json:"goodput,omitempty"`
	Time    *float64 `json:"time,omitempty"`

	// Hung are clients that were killed because they went on past the limit; Exit is the
	// highest exit code of a client that ended. Nil: the journal does not say.
	Hung int  `json:"hung"`
	Exit *int `json:"exit,omitempty"`
}

// Judge says what a client did. Slack is how long after an answer was sent an arrival may
// still have been under way, [DefaultSlack] for want of a reason; zero is none. The record's
// arrivals may be in any order.
func Judge(rec *journal.Record, slack time.Duration) Figures {
	return look(rec, slack).Figures
}

// findings are figures and, by name, what shows them.
type findings struct {
	Figures
	shown map[string]witness
}

// A witness is one line that shows a figure; n is the arrival that it begins with.
type witness struct {
	n    int
	line string
}

func look(rec *journal.Record, slack time.Duration) *findings {
	f := &findings{shown: map[string]witness{}}
	arrivals := make([]*journal.Arrival, len(rec.Arrivals))
	for i := range rec.Arrivals {
		arrivals[i] = &rec.Arrivals[i]
	}
	slices.SortStableFunc(arrivals, func(a, b *journal.Arrival) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.N, b.N))
	})
	f.requests(arrivals)
	scopes, order := map[scope][]*journal.Arrival{}, []scope{}
	for _, a := range arrivals {
		s := scopeOf(a)
		if scopes[s] == nil {
			order = append(order, s)
		}
		scopes[s] = append(scopes[s], a)
	}
	for _, s := range order {
		f.waits(scopes[s], slack)
		f.rest(scopes[s], slack)
	}
	docs := f.documents(rec.Head.Documents, arrivals)
	f.took(rec.Head.Quotas, scopes, docs, arrivals)
	f.ends(rec.Events)
	return f
}

// A scope is what a limiter counts together.
type scope struct{ quota, key string }

func scopeOf(a *journal.Arrival) scope { return scope{a.Quota, a.Key} }

// requests counts what needs no context.
func (f *findings) requests(arrivals []*journal.Arrival) {
	f.Requests = len(arrivals)
	for _, a := range arrivals {
		if a.Refused != "" {
			f.Throttled++
			f.show("throttled", a.N, "%s was the first that was refused", named{a})
			f.show("throttled_share", a.N, "%s was the first that was refused", named{a})
		}
		if len(a.Leaked) > 0 {
			f.Leaked++
			f.show("leaked", a.N, "%s brought %s to an origin that it is not for", named{a}, listed(a.Leaked))
		}
	}
	if f.Requests > 0 {
		f.ThrottledShare = decimals(float64(f.Throttled) / float64(f.Requests))
	}
}

// ends counts how clients ended.
func (f *findings) ends(events []journal.Event) {
	for _, e := range events {
		switch e.Event {
		case "timeout":
			f.Hung++
			f.show("hung", 0, "client %d went on past the time limit and was killed", e.Client)
		case "ended":
			if f.Exit == nil || e.Code > *f.Exit {
				f.Exit = new(e.Code)
				f.shown["exit"] = witness{0, fmt.Sprintf("client %d ended with exit code %d", e.Client, e.Code)}
			}
		}
	}
}
