package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger"
)

const maxHops = 10

// attempt is one try of one document: its read with all redirect hops.
type attempt struct {
	*lane
	doc  dogear.Document
	home *url.URL       // its own address: credentials go to this origin and no other
	part ledger.Partial // what is kept of the body, and under which validator
	hops int
}

// read tries one document once and sees to it that its end is known.
func (l *lane) read(d dogear.Document) {
	a := &attempt{lane: l, doc: d}
	req, err := a.first()
	if err != nil {
		l.run.hold(dogear.Fate{Doc: d.Seq, State: dogear.Pending, Reason: err.Error()})
		l.finished()
		return
	}
	a.follow(req, l.keys, 0)
}

// hold keeps a document claimed until the run's end: in this run nothing can be done for it.
func (r *run) hold(f dogear.Fate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = append(r.held, f)
}

// returnHeld gives held documents back, with the reason why they were not read.
func (r *run) returnHeld() {
	r.mu.Lock()
	held := r.held
	r.mu.Unlock()
	r.giveBack(held)
}

// first makes the document's request. Credentials come at the moment of sending.
func (a *attempt) first() (*http.Request, error) {
	address := a.doc.Address
	if address == "" {
		var err error
		if address, err = a.run.Source.Address(a.doc); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(a.run.flight, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("the address of line %d cannot be read", a.doc.Line)
	}
	if u := req.URL.User; u != nil { // user info is a credential of this origin, not part of a request line
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
		req.URL.User = nil
	}
	a.home = req.URL
	if a.doc.Partial {
		if a.part, err = a.run.Store.Partial(a.run.flight, a.doc.Seq); err != nil {
			return nil, fmt.Errorf("look for what is kept of the body: %w", err)
		}
		if d := a.run.direct; d != nil && !d.Kept(a.doc.Seq, a.part.Size, a.part.Validator) {
			a.part = ledger.Partial{} // another machine has it
		}
		if a.checks() == "" {
			a.ranged(req)
		}
	}
	return req, nil
}

// ranged asks for what follows the part of the body that is kept.
func (a *attempt) ranged(req *http.Request) {
	if a.part.Size > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", a.part.Size))
		req.Header.Set("If-Range", a.part.Validator)
	}
}

// follow sends requests until one is answered by something else than a redirect. A hop that
// belongs to other scopes leaves the lane's worker free: another scope's wait is none of its.
func (a *attempt) follow(req *http.Request, keys []string, parent int64) {
	for {
		x, ok := a.send(req, keys, parent)
		if !ok {
			a.finished()
			return
		}
		next, wait := a.judge(req, x)
		if next == nil {
			a.finished()
			return
		}
		parent = x.N()
		to := a.run.Scopes(next.URL)
		if wait == 0 && slices.Equal(to, keys) {
			req = next
			continue
		}
		a.detach(next, to, parent, wait)
		return
	}
}

// detach goes on with a document without the lane's worker.
func (a *attempt) detach(next *http.Request, keys []string, parent int64, wait time.Duration) {
	select {
	case a.run.detached <- struct{}{}:
		a.all.Go(func() {
			defer func() { <-a.run.detached }()
			a.away(next, keys, parent, wait)
		})
	case <-a.open.Done():
		a.later("redirected")
	}
}

// away follows a redirect to another scope, after the wait that the answer asked for.
func (a *attempt) away(req *http.Request, keys []string, parent int64, wait time.Duration) {
	for _, k := range keys {
		if a.run.Confirm == nil {
			break
		}
		if err := a.run.Confirm(a.open, k); err != nil {
			a.later("redirected")
			a.refused(err)
			return
		}
	}
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-a.open.Done():
			a.later("redirected")
			return
		}
	}
	a.follow(req, keys, parent)
}

// later ends the attempt with its document pending, and says why.
func (a *attempt) later(reason string) {
	a.run.giveBack([]dogear.Fate{{Doc: a.doc.Seq, State: dogear.Pending, Reason: reason}})
	a.finished()
}

// linkLife is how long the target of a redirect is used: it may be signed, and a signed link
// is resolved again after a wait, from the document's own address (R4).
const linkLife = time.Minute

var errStaleLink = errors.New("the redirect's target has aged in a wait: it is asked for again")

// send sends one request and deals with all that is no answer. It reports false where the
// document's fate is settled.
func (a *attempt) send(req *http.Request, keys []string, parent int64) (*gate.Exchange, bool) {
	r := a.run
	rec := dogear.Request{Job: r.Job.ID, Run: r.id, Doc: a.doc.Seq, DocID: a.doc.ID, Scopes: keys, Kind: dogear.Read}
	if parent != 0 {
		rec.Kind, rec.Parent = dogear.Redirect, parent
	}
	resolved, signed := time.Now(), r.signed(a.home)
	x, err := r.send(a.open, req, rec, func(req *http.Request) error {
		if parent != 0 && time.Since(resolved) > linkLife && r.resolveAgain(a.doc.Seq) {
			return errStaleLink
		}
		return signed(req)
	})
	if err != nil {
		fate := dogear.Fate{Doc: a.doc.Seq, State: dogear.Pending}
		if errors.Is(err, errStaleLink) {
			fate.Refund = 1
		} else {
			defer a.refused(err)
		}
		r.giveBack([]dogear.Fate{fate})
		return nil, false
	}
	r.tally(x)
	switch {
	case x.Outcome == dogear.Throttled:
		drain(x.Response)
		a.answered(req.URL)
		return nil, false
	case x.Response != nil:
		return x, true
	}
	a.unanswered(x, req.URL, keys, parent)
	return nil, false
}

// resolveAgain reports whether a document's redirect is asked for anew; no more than twice
// in a run, for a slow pace may age every link.
func (r *run) resolveAgain(doc int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resolved[doc]++
	return r.resolved[doc] <= 2
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// unanswered settles a request that got no HTTP answer.
func (a *attempt) unanswered(x *gate.Exchange, u *url.URL, keys []string, parent int64) {
	r := a.run
	reason := dogear.StripText(x.Err.Error())
	charged := true
	switch {
	case x.Outcome == dogear.NotSent && a.open.Err() != nil: // the end of the run, or of the lane, cut it
		fate := dogear.Fate{Doc: a.doc.Seq, State: dogear.Pending}
		if x.N() == 0 {
			r.giveBack([]dogear.Fate{fate})
			return
		}
		fate.Refund = 1
		x.End(dogear.NotSent, 0, &fate)
		return
	case errors.Is(x.Err, errAborted):
		x.End(dogear.Doubtful, 0, &dogear.Fate{Doc: a.doc.Seq, State: dogear.InDoubt, Reason: "the run ended before the answer came"})
		return
	case x.Outcome == dogear.NotSent || x.Outcome == dogear.Unprocessed:
		fate := dogear.Fate{Doc: a.doc.Seq, State: dogear.Pending, Reason: reason, NotBefore: a.backoff()}
		if x.N() == 0 { // no permit was used: nothing was charged
			r.giveBack([]dogear.Fate{fate})
			charged = parent != 0
		} else {
			if parent == 0 {
				fate.Refund = 1
			}
			charged = parent != 0
			if x.Outcome == dogear.Unprocessed {
				fate.NotBefore = time.Time{}
			}
			x.End(x.Outcome, 0, &fate)
		}
	default:
		x.End(dogear.Transient, 0, a.transient(reason, 0))
	}
	if x.Outcome != dogear.Unprocessed {
		a.failedAt(u, keys, charged, reason)
	}
}

// answered notes that an origin lives, and that it can be reached from here.
func (a *attempt) answered(u *url.URL) {
	a.run.outages.answered(u)
	a.rest.over()
}

// failedAt counts a failure of an origin, and closes its scopes when it seems to be down.
// The documents that met it are not charged.
func (a *attempt) failedAt(u *url.URL, keys []string, paid bool, why string) {
	r := a.run
	if a.open.Err() != nil { // an ending run knows nothing of the origin's health
		return
	}
	row := r.outages.failed(u, failure{a.doc.Seq, paid, r.Store.Now()})
	if len(row) == unwell {
		r.Log.Warn("no good answer, three times in a row", "last", why)
	}
	left, cutOff := a.rest.left()
	if left > 0 { // it began before the rest
		return
	}
	if len(row) < enoughFailures || distinct(row) < enoughDocuments && !a.allThatAreLeft(distinct(row)) {
		if cutOff {
			a.rest.take(r.set.BackoffBase)
		}
		return
	}
	r.outages.answered(u) // begin a new row
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.open), 5*time.Second)
	defer cancel()
	err := r.Gate.Flush(ctx)
	if err == nil {
		err = r.Store.Refund(ctx, charged(row))
	}
	var alone bool
	if err == nil {
		alone, err = r.Gate.Down(ctx, keys, row[0].at)
	}
	switch origin := u.Scheme + "://" + u.Host; {
	case err != nil:
		a.refused(err)
	case alone:
		a.rest.take(r.set.BackoffBase)
		r.Log.Warn("an origin answers other processes and not this one: it rests, and tries now and then", "origin", origin)
	default:
		a.rest.over()
		r.Log.Warn("an origin is down: its scopes wait", "origin", origin)
	}
}

// allThatAreLeft reports whether the lane has no more than n documents that are not done.
func (a *attempt) allThatAreLeft(n int) bool {
	list, err := a.run.Store.Lanes(a.open, a.run.Job.ID)
	if err != nil {
		return false
	}
	for _, l := range list {
		if l.ID == a.id {
			return l.Pending+a.busy.Load()-1 <= int64(n) // this one is counted twice: it came back, and is busy
		}
	}
	return false
}

// transient is the fate of a document whose attempt failed in a way that may pass.
func (a *attempt) transient(reason string, least time.Duration) *dogear.Fate {
	at := a.backoff()
	if t := a.run.Store.Now().Add(least); least > 0 && t.After(at) {
		at = t
	}
	return &dogear.Fate{Doc: a.doc.Seq, State: dogear.Pending, Reason: reason, NotBefore: at}
}

// backoff is when a document may be tried again: exponential by what it has paid, with
// equal jitter (E5).
func (a *attempt) backoff() time.Time {
	return a.run.Store.Now().Add(a.run.step(a.doc.Attempts))
}

// step is the pause after so many failures.
func (r *run) step(failures int) time.Duration {
	step := r.set.BackoffBase << min(failures, 30)
	if step <= 0 || step > r.set.BackoffMax {
		step = r.set.BackoffMax
	}
	return step/2 + jitter(step/2)
}

// drain reads the rest of a short body, so that its connection can be used again.
func drain(resp *http.Response) int64 {
	if resp == nil {
		return 0
	}
	n, _ := io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
	return n
}

func (r *run) counted(f func(*Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.count)
}
