package scenario

import (
	"net/http"
	"time"

	"github.com/dogear/dogear/drill/standin"
)

// config is a quota as a service, on top of what all quotas share.
func (q quota) config(shared standin.Config, listen string) standin.Config {
	cfg := shared
	cfg.Listen, cfg.Quota, cfg.First, cfg.Last = listen, q.name, q.share.first, q.share.last
	if q.limit != nil {
		cfg.Limit, cfg.Key = q.limit.limiter(q.refusal.wait), q.limit.sharedBy()
		cfg.Refusal = q.refusal.standin()
	}
	for _, r := range q.rules {
		cfg.Rules = append(cfg.Rules, r.standin())
	}
	return cfg
}

// limiter is the limit at work. Wait is what a limiter tells that does not know how long
// anything takes.
func (l *limit) limiter(wait time.Duration) standin.Limiter {
	var out standin.Limiter
	rate := float64(l.requests) / l.per.Seconds() // a second
	switch l.kind {
	case "window":
		out = standin.Window(l.requests, l.per)
	case "sliding":
		out = standin.Sliding(l.requests, l.per, l.counted)
	case "bucket":
		out = standin.Bucket(rate, l.burst)
		if l.counted {
			out = standin.CountedBucket(rate, l.burst)
		}
	case "leaky":
		out = standin.Leaky(rate, l.queue)
	case "concurrency":
		out = held{standin.Parallel(l.requests, wait), l.takes}
	}
	if l.ban > 0 {
		out = standin.Ban(out, l.ban)
	}
	return out
}

// held keeps what a limiter grants in the service for a time.
type held struct {
	standin.Limiter
	takes time.Duration
}

// Take asks the limiter.
func (h held) Take(key string, now time.Time) standin.Grant {
	g := h.Limiter.Take(key, now)
	if g.OK {
		g.Delay += h.takes
	}
	return g
}

// sharedBy says which requests share the limit; nil: all.
func (l *limit) sharedBy() func(*http.Request) string {
	switch l.by {
	case "credential":
		return standin.ByCredential
	case "header":
		return standin.ByHeader(l.header)
	}
	return nil
}

func (r refusal) standin() standin.Refusal {
	return standin.Refusal{
		Status: r.status, Body: r.body, Type: r.typ, Wait: r.wait,
		Hint: &standin.Template{Fields: r.headers, Skew: r.skew, Invalid: !r.valid},
	}
}

func (r rule) standin() standin.Rule {
	return standin.Where(standin.Select{
		Documents: r.documents.ranges(), Requests: r.requests.ranges(), Arrivals: r.arrivals.ranges(),
		After: r.after, Until: r.until, Every: int64(r.every),
	}, r.action())
}

func (s spans) ranges() []standin.Range {
	var out []standin.Range
	for _, r := range s {
		out = append(out, standin.Range{First: r.first, Last: r.last})
	}
	return out
}

// What an answer of do: error says unless the rule says it.
const errorBody = `{"error":{"code":"internalError","message":"something went wrong, try again later"}}`

// action is what is done to a request.
func (r rule) action() standin.Rule {
	switch r.do {
	case "throttle":
		return standin.Refuse(r.refusal.standin())
	case "status":
		if r.body == "" {
			return standin.Status(r.status)
		}
		return standin.Page(r.status, orElse(r.typ, "text/plain; charset=utf-8"), r.body)
	case "cut":
		return standin.Cut(r.bytes)
	case "reset":
		return standin.Reset(r.bytes)
	case "hang":
		return standin.HangAfter(r.bytes)
	case "slow":
		return standin.Slow(0, r.pause)
	case "short":
		return standin.Shorter(1)
	case "long":
		return standin.Longer(1)
	case "digest":
		return standin.WrongDigest
	case "login":
		return standin.Login
	case "error":
		if r.body == "" {
			return standin.Page(http.StatusOK, "application/json", errorBody)
		}
		return standin.Page(http.StatusOK, orElse(r.typ, "text/plain; charset=utf-8"), r.body)
	case "change":
		return standin.ChangeNow
	case "deny":
		return standin.Deny
	case "gone":
		return standin.Gone
	}
	return standin.Delay(r.pause)
}

func orElse(s, preset string) string {
	if s == "" {
		return preset
	}
	return s
}
