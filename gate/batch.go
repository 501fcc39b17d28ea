package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/batch"
	"github.com/dogear/dogear/profile"
)

// An Item is one request in a batch.
type Item struct {
	Request *http.Request  // as it would be sent by itself; it is not
	Record  dogear.Request // its row in the ledger
}

// ErrNoAnswer is the Err of an item that the answer to its batch leaves out.
var ErrNoAnswer = errors.New("the answer to the batch leaves it out")

// A BatchError is the Err of items whose batch brought no answers to items.
type BatchError struct {
	Status int
	Reason string
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("its batch was answered %d %s: %s", e.Status, http.StatusText(e.Status), e.Reason)
}

// SendBatch admits a batch and sends it once, as [Gate.Send] does. Req is the batch's
// envelope, whose body the form makes of the items. Each item is charged to the scopes by
// itself, and judged by its own answer whatever the envelope's status (R3); the scopes wait
// for the longest hint among them. It returns the envelope's exchange, which is settled, and
// one for each item, which is to be dealt with as if it had been sent alone; one that was
// throttled is settled. Unknown are the ids of answers to nothing that was asked.
func (g *Gate) SendBatch(ctx context.Context, form *profile.Batch, req *http.Request, r dogear.Request, items []Item, sign func(*http.Request) error) (envelope *Exchange, parts []*Exchange, unknown []string, err error) {
	r.Costs = map[string]float64{}
	for _, it := range items {
		said := dogear.Request{}
		g.costs(it.Request, &said)
		for _, key := range r.Scopes {
			r.Costs[key] += said.Cost(key)
		}
		r.Items = append(r.Items, it.Record)
	}
	x, err := g.Send(ctx, req, r, sign)
	if err != nil {
		return nil, nil, nil, err
	}
	parts = make([]*Exchange, len(items))
	for i := range items {
		parts[i] = &Exchange{Outcome: x.Outcome, Err: x.Err, Received: x.Received}
		if x.permit != nil {
			parts[i].permit = x.permit.items[i]
			parts[i].permit.used = x.permit.used
		}
	}
	if x.Response == nil {
		x.End(x.Outcome, 0, nil)
		for _, part := range parts {
			if x.Outcome == dogear.Throttled && part.permit != nil {
				part.endThrottled(x)
			}
		}
		return x, parts, nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(x.Response.Body, maxBatch+1))
	x.Response.Body.Close()
	answers, unknown, why := readBatch(form, x.Response, len(items), body, err)
	switch {
	case why == "":
		x.End(dogear.OK, int64(len(body)), nil)
	case x.Status >= 200 && x.Status < 300:
		x.End(dogear.Invalid, int64(len(body)), nil)
	default:
		x.End(dogear.Transient, int64(len(body)), nil)
	}
	for i, it := range items {
		if why != "" {
			parts[i].Err = &BatchError{x.Status, why}
		} else {
			g.part(parts[i], it.Request, answers[i])
		}
		if parts[i].Outcome == dogear.Throttled {
			parts[i].endThrottled(x)
		}
	}
	return x, parts, unknown, nil
}

// readBatch finds the items' answers, in the items' order. Why tells why there are none.
func readBatch(form *profile.Batch, resp *http.Response, n int, body []byte, err error) (answers []batch.Answer, unknown []string, why string) {
	switch {
	case err != nil:
		return nil, nil, "it broke off"
	case len(body) > maxBatch:
		return nil, nil, fmt.Sprintf("more than %d bytes", maxBatch)
	}
	all, err := batch.Decode(form.Form, resp.Header.Get("Content-Type"), body)
	if err != nil && len(all) == 0 { // else what is good counts, and what is broken is missing
		return nil, nil, "it cannot be read as answers to a batch"
	}
	answers, unknown = batch.Match(itemIDs(n), all, form.CaseBlindIDs)
	return answers, unknown, ""
}

// itemIDs are the ids of n items: their numbers, from 1.
func itemIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint(i + 1)
	}
	return ids
}

// EncodeBatch is the body of an envelope for items at these addresses.
func EncodeBatch(form *profile.Batch, urls []string) (contentType string, body []byte, err error) {
	items := make([]batch.Item, len(urls))
	for i, id := range itemIDs(len(urls)) {
		items[i] = batch.Item{ID: id, URL: urls[i]}
	}
	return batch.Encode(form.Form, items)
}

// part makes an item's answer one that could have come alone.
func (g *Gate) part(x *Exchange, req *http.Request, a batch.Answer) {
	x.Outcome, x.Err = dogear.Unsettled, nil
	if a.Status == 0 {
		x.Outcome, x.Err = dogear.Transient, ErrNoAnswer
		return
	}
	h := a.Header
	if h == nil {
		h = http.Header{}
	}
	if said, err := strconv.Atoi(h.Get("Content-Length")); err == nil && said != len(a.Body) && a.Status == http.StatusOK {
		x.Outcome, x.Err = dogear.Transient, fmt.Errorf("its answer in the batch has %d bytes and says %d", len(a.Body), said)
		return
	}
	g.judge(x, req, &http.Response{StatusCode: a.Status, Header: h, Request: req, ContentLength: int64(len(a.Body)),
		Body: &partBody{Reader: bytes.NewReader(a.Body), all: len(a.Body)}}, false)
}

// partBody is the body of an item's answer.
type partBody struct {
	*bytes.Reader
	all int
}

func (b *partBody) Close() error { return nil }

// Received is how much of it was read; see [wire.Received].
func (b *partBody) Received() int64 { return int64(b.all - b.Len()) }

// endThrottled settles an item that was refused. Its scopes are closed by the envelope.
func (x *Exchange) endThrottled(envelope *Exchange) {
	p := x.permit
	end := p.end(dogear.Throttled)
	end.Status, end.Hint = x.Status, x.Hint.Raw
	if end.Status == 0 {
		end.Status, end.Hint = envelope.Status, envelope.Hint.Raw
	}
	if x.Hint.Valid() {
		end.Until = p.gate.cfg.Store.Now().Add(x.Hint.Wait)
	}
	end.Fate = &dogear.Fate{Doc: p.request.Doc, State: dogear.Pending, Reason: "throttled", Refund: 1}
	p.gate.settle(&op{permit: p, end: end, said: x.said, reply: reply{kind: answered, received: x.Received}})
}
