package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

const wiki = `name: wiki
title: A wiki
sources: {docs: "https://wiki.example.com/limits"}
base: {url: "https://wiki.example.com", source: docs, known: documented}
hosts: [wiki.example.com]
parts:
  reader: {given: who reads, or: identity}
scopes:
  - {name: reader, key: [reader], source: docs, known: documented, limits: [{requests: 50, per: 1s, source: docs, known: documented}]}
throttles:
  - {status: [200], body: {path: errcode, in: [45009]}, waits: [2s], source: docs, known: documented}
statuses:
  - {status: [200], body: {path: errcode, in: [7]}, means: denied, source: docs, known: documented}
unknown: [whether refused requests count]
`

// A user's own profile: its documented scope needs no confirmation at another base address
// either (W6), a limit at the level of the body is a throttle, and an error body is no
// document.
func TestProfileOfOnesOwn(t *testing.T) {
	t.Parallel()
	s := serve(t, standin.Config{Rules: []standin.Rule{
		standin.On("/doc/3", standin.First(1, standin.Page(200, "application/json", `{"errcode":45009}`))),
		standin.On("/doc/5", standin.Page(200, "application/json", `{"errcode":7}`)),
	}})
	u := newUser(t)
	u.list("l.txt", s, 12)
	u.write("wiki.yaml", wiki)
	u.must(65, "read", "l.txt", "-o", "out", "--profile", "wiki.yaml", "--base-url", s.URL(""), "--identity", "me", "--progress", "none", "--concurrency", "1")
	got := u.status("l")
	if got.Documents.Done != 11 || got.Documents.Denied != 1 || got.Requests.Throttled != 1 || got.Requests.Sent != 13 {
		t.Errorf("%+v, %+v: want 11 done and 1 denied in 13 requests, 1 throttled", got.Documents, got.Requests)
	}
	if len(got.Scopes) != 1 || got.Scopes[0].Key != "wiki:reader=me" || !got.Scopes[0].Confirmed {
		t.Errorf("scopes %+v, want one confirmed wiki:reader=me", got.Scopes)
	}
	for _, d := range u.remaining("l") {
		if d.State != "denied" || !strings.Contains(d.Reason, "profile") {
			t.Errorf("%+v: want it denied by the profile", d)
		}
	}
	var refused time.Time
	for _, a := range s.Journal.Arrivals(nil) {
		if a.Path == "/doc/3" && a.Bytes == int64(len(`{"errcode":45009}`)) {
			refused = a.Sent
		}
	}
	for _, a := range s.Journal.Arrivals(func(a journal.Arrival) bool { return a.At.After(refused) }) {
		if since := a.At.Sub(refused); since < 2*time.Second {
			t.Errorf("arrival %d came %v after a refusal that is documented to last 2s", a.N, since)
		}
	}
	r := u.must(0, "scopes")
	if !strings.Contains(r.stdout, "profile wiki") {
		t.Errorf("dogear scopes does not say who confirmed:\n%s", r.stdout)
	}
}

func TestProfileMistakes(t *testing.T) {
	t.Parallel()
	s := serve(t, standin.Config{})
	u := newUser(t)
	u.list("l.txt", s, 2)
	u.write("wrong.yaml", wiki+"rates: 5")
	u.must(64, "read", "l.txt", "--profile", "nobody").says(t, "nobody", "dogear profiles")
	u.must(78, "read", "l.txt", "--profile", "wrong.yaml").says(t, "wrong.yaml:15:1", "rates")
	u.must(64, "read", "l.txt", "--base-url", s.URL("")).says(t, "--profile")
	u.must(64, "read", "l.txt", "--profile", "github", "--base-url", "ftp://x").says(t, "--base-url")
	if n := s.Journal.Len(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
