package reader

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/profile"
)

// linger is how long a batch that is not full waits for further documents that are claimed.
const linger = 2 * time.Millisecond

// ahead is how many documents are handed out before a worker is free, so that a batch fills.
func (r *run) ahead() int {
	if r.Batch == nil {
		return 0
	}
	return claimBlock / 2
}

// A bundle is the documents that go into one batch.
type bundle struct {
	form  *profile.Batch
	most  int
	root  *url.URL // what the items' addresses are relative to
	items []*attempt
	reqs  []*http.Request
}

// gather reads a document together with others that are at hand, in one batch.
func (l *lane) gather(d dogear.Document) {
	b := &bundle{}
	rest, ok := l.add(b, d)
	timer := time.NewTimer(linger)
	defer timer.Stop()
fill:
	for ok && len(b.items) > 0 && len(b.items) < b.most {
		select {
		case d, more := <-l.docs:
			if !more {
				break fill
			}
			rest, ok = l.add(b, d)
		case <-timer.C:
			break fill
		}
	}
	switch len(b.items) {
	case 0:
	case 1:
		b.items[0].follow(b.reqs[0], l.keys, 0)
	default:
		l.sendBatch(b)
	}
	if rest != nil {
		l.read(*rest)
	}
}

// add puts a document into a bundle. It returns a document that does not fit into it.
func (l *lane) add(b *bundle, d dogear.Document) (rest *dogear.Document, ok bool) {
	if d.Partial || d.Secret {
		return &d, false
	}
	a := &attempt{lane: l, doc: d}
	req, err := a.first()
	if err != nil {
		l.run.hold(dogear.Fate{Doc: d.Seq, State: dogear.Pending, Reason: err.Error()})
		l.finished()
		return nil, true
	}
	form, most := l.run.Batch(req.URL)
	if form == nil || req.Header.Get("Authorization") != "" {
		return &d, false
	}
	root := *req.URL
	root.Path, root.RawPath, root.RawQuery = "/", "", ""
	if form.Form == "graph" { // its items are relative to the version that the batch is of
		root.Path = strings.TrimSuffix(path.Dir(form.Path), "/") + "/"
	}
	switch {
	case !strings.HasPrefix(req.URL.Path, root.Path):
		return &d, false
	case b.form == nil:
		b.form, b.root, b.most = form, &root, max(1, most>>l.halved.Load())
	case *b.root != root:
		return &d, false
	}
	b.items, b.reqs = append(b.items, a), append(b.reqs, req)
	return nil, true
}

// envelope is the request that carries a bundle.
func (l *lane) envelope(b *bundle) (*http.Request, error) {
	urls := make([]string, len(b.reqs))
	for i, req := range b.reqs {
		u := req.URL.RequestURI()
		if b.form.Form == "graph" {
			u = "/" + strings.TrimPrefix(u, b.root.Path)
		}
		urls[i] = u
	}
	contentType, body, err := gate.EncodeBatch(b.form, urls)
	if err != nil {
		return nil, err
	}
	to := *b.root
	to.Path = b.form.Path
	req, err := http.NewRequestWithContext(l.run.flight, b.form.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentType)
	return req, nil
}

// sendBatch reads a bundle in one request, and deals with each item by its own answer (R3).
func (l *lane) sendBatch(b *bundle) {
	r := l.run
	req, err := l.envelope(b)
	if err != nil {
		l.alone.Store(true)
		r.Log.Warn("documents are read one by one: a batch cannot be made of them", "err", err)
		for i, a := range b.items {
			a.follow(b.reqs[i], l.keys, 0)
		}
		return
	}
	items := make([]gate.Item, len(b.items))
	for i, a := range b.items {
		items[i] = gate.Item{Request: b.reqs[i], Record: dogear.Request{Job: r.Job.ID, Run: r.id, Doc: a.doc.Seq, DocID: a.doc.ID, Kind: dogear.Item}}
	}
	rec := dogear.Request{Job: r.Job.ID, Run: r.id, Scopes: l.keys, Kind: dogear.Batch}
	home := b.items[0].home
	sign := r.signed(home)
	x, parts, unknown, err := r.sendBatch(l.open, b.form, req, rec, items, func(req *http.Request) error {
		err := sign(req)
		if with := req.Header.Get("Authorization"); with != "" { // an item may be refused for it
			for _, item := range b.reqs {
				item.Header.Set("Authorization", with)
			}
		}
		return err
	})
	if err != nil {
		for _, a := range b.items {
			r.giveBack([]dogear.Fate{{Doc: a.doc.Seq, State: dogear.Pending}})
			a.finished()
		}
		l.refused(err)
		return
	}
	r.tally(x)
	if x.Status == http.StatusOK {
		r.accepted()
	}
	if len(unknown) > 0 {
		r.Log.Warn("a batch was answered for requests that were not in it", "answers", len(unknown))
	}
	l.answered(b, req, x, parts)
}

// answered deals with the items of a batch that left, or that could not.
func (l *lane) answered(b *bundle, req *http.Request, x *gate.Exchange, parts []*gate.Exchange) {
	whole, failed := errors.AsType[*gate.BatchError](parts[0].Err)
	switch {
	case failed && x.Outcome == dogear.Throttled: // the envelope itself was refused
		if b.most>>1 > 0 {
			l.halved.Add(1)
		}
	case failed:
		l.batchFailed(b, req, x, parts, whole)
		return
	case x.Response == nil:
		if x.Outcome == dogear.Throttled {
			break
		}
		for i, a := range b.items[1:] {
			a.cut(parts[i+1])
			a.finished()
		}
		b.items[0].unanswered(parts[0], req.URL, l.keys, 0)
		b.items[0].finished()
		return
	}
	for i, a := range b.items {
		a.item(b.reqs[i], parts[i])
	}
}

// item deals with one item as if it had been sent alone. A redirect is followed without the
// worker: the others of the batch do not wait for it.
func (a *attempt) item(req *http.Request, x *gate.Exchange) {
	switch {
	case x.Outcome == dogear.Throttled:
		a.finished()
	case x.Response == nil:
		x.End(dogear.Transient, 0, a.transient(dogear.StripText(x.Err.Error()), 0))
		a.finished()
	default:
		next, wait := a.judge(req, x)
		if next == nil {
			a.finished()
			return
		}
		a.detach(next, a.run.Scopes(next.URL), x.N(), wait)
	}
}

// cut settles an item whose batch got no HTTP answer. That the origin may be down is counted
// once, for the batch.
func (a *attempt) cut(x *gate.Exchange) {
	switch {
	case errors.Is(x.Err, errAborted):
		x.End(dogear.Doubtful, 0, &dogear.Fate{Doc: a.doc.Seq, State: dogear.InDoubt, Reason: "the run ended before the answer came"})
	case x.N() == 0:
		fate := dogear.Fate{Doc: a.doc.Seq, State: dogear.Pending}
		if a.open.Err() == nil {
			fate.NotBefore = a.backoff()
		}
		a.run.giveBack([]dogear.Fate{fate})
	case x.Outcome == dogear.NotSent || x.Outcome == dogear.Unprocessed:
		x.End(x.Outcome, 0, &dogear.Fate{Doc: a.doc.Seq, State: dogear.Pending, NotBefore: a.backoff(), Refund: 1})
	default:
		x.End(dogear.Transient, 0, a.transient(dogear.StripText(x.Err.Error()), 0))
	}
}

// batchFailed settles the items of a batch that was answered as a whole, and not by items.
func (l *lane) batchFailed(b *bundle, req *http.Request, x *gate.Exchange, parts []*gate.Exchange, why *gate.BatchError) {
	r := l.run
	reason := dogear.StripText(why.Error())
	unpaid := func(outcome dogear.Outcome, reason string) {
		for i, a := range b.items {
			parts[i].End(outcome, 0, &dogear.Fate{Doc: a.doc.Seq, State: dogear.Pending, Reason: reason, Refund: 1})
		}
	}
	switch {
	case why.Status == http.StatusUnauthorized:
		unpaid(dogear.Unauthorized, "unauthorized")
		b.items[0].renewed(req)
	case why.Status >= 400 && why.Status < 500 && why.Status != http.StatusFailedDependency && why.Status != http.StatusRequestTimeout:
		l.alone.Store(true) // it is the batch that is not wanted, not the documents
		r.Log.Warn("documents are read one by one: the service does not take batches", "status", why.Status)
		unpaid(dogear.Unprocessed, reason)
	default:
		for i, a := range b.items {
			parts[i].End(dogear.Transient, 0, a.transient(reason, x.Hint.Wait))
		}
		if why.Status >= 500 {
			b.items[0].failedAt(req.URL, l.keys, true, reason)
		}
	}
	for _, a := range b.items {
		a.finished()
	}
}
