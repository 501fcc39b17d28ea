package reader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
)

const (
	groupMost = 512                   // documents that are made durable together
	groupWait = 20 * time.Millisecond // for company, while the run goes on
)

// saved is a body that is whole and waits to be made durable.
type saved struct {
	doc    dogear.Document
	result dogear.Result
}

// save makes bodies durable and marks their documents done, group by group, until there are
// no more. While one group is made durable the one before gets its names.
func (r *run) save() {
	settled := make(chan []named)
	var placing sync.WaitGroup
	placing.Go(func() {
		for group := range settled {
			if err := r.placeAll(group); err != nil {
				r.stop(err)
				for range settled { // the next run places what this one has not
				}
			}
		}
	})
	r.saveAll(settled)
	close(settled)
	placing.Wait()
	if placed := r.renamed.take(); len(placed) > 0 && r.failed() == nil {
		if err := r.notePlaced(placed); err != nil {
			r.Log.Warn("the next run will look at the last results again", "err", err)
		}
	}
}

// saveAll makes group after group durable and settles it.
func (r *run) saveAll(settled chan<- []named) {
	for first := range r.saves {
		group := r.gather(first)
		rows, err := r.saveGroup(group)
		if err == nil {
			settled <- rows
			continue
		}
		r.stop(err)
		r.drop(group)
		for s := range r.saves {
			r.drop([]saved{s})
		}
	}
}

// failed is why the sink or the ledger ended the run, if one did.
func (r *run) failed() error {
	s, ok := errors.AsType[*Stop](context.Cause(r.dispatch))
	if ok && (s.Reason == dogear.SinkFailed || s.Reason == dogear.LedgerFailed) {
		return s
	}
	return nil
}

// named is a result that is settled and has to get its name.
type named struct {
	doc dogear.Document
	row ledger.Settlement
}

// renamed collects what has its name, and is known to be durable after the next Sync.
type renamed struct {
	mu   sync.Mutex
	docs []int64
}

func (r *renamed) add(doc int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.docs = append(r.docs, doc)
}

func (r *renamed) take() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	docs := r.docs
	r.docs = nil
	return docs
}

// gather collects a group: what is there, and while the run goes on what comes in a moment.
func (r *run) gather(first saved) []saved {
	group, most := []saved{first}, groupMost
	if r.direct != nil { // what waits for a bucket that takes nothing was read in vain
		most = putMost
	}
	t := time.NewTimer(groupWait)
	defer t.Stop()
	for len(group) < most {
		select {
		case s, ok := <-r.saves:
			if !ok {
				return group
			}
			group = append(group, s)
		case <-t.C:
			return group
		case <-r.dispatch.Done():
			for len(group) < most {
				select {
				case s, ok := <-r.saves:
					if !ok {
						return group
					}
					group = append(group, s)
				default:
					return group
				}
			}
		}
	}
	return group
}

// saveGroup makes a group durable and settles it, together with what had its name before
// and is durably there now.
func (r *run) saveGroup(group []saved) ([]named, error) {
	ctx, cancel := r.finishing()
	defer cancel()
	docs := make([]int64, len(group))
	for i, s := range group {
		docs[i] = s.doc.Seq
	}
	if r.direct != nil {
		return nil, r.putGroup(group)
	}
	placed := r.renamed.take()
	if err := r.Sink.Sync(docs); err != nil {
		return nil, &Stop{Reason: dogear.SinkFailed, Err: fmt.Errorf("make results durable: %w", err)}
	}
	n := newNaming(group)
	err := r.name(ctx, n, n.all())
	if err == nil {
		err = r.Store.Settle(ctx, r.id, n.rows, placed)
	}
	if err != nil {
		return nil, notMarked(len(group), err)
	}
	out := make([]named, len(group))
	for i, row := range n.rows {
		out[i] = named{group[i].doc, row}
	}
	r.countDone(n.rows)
	return out, nil
}

func notMarked(n int, err error) error {
	return &Stop{Reason: dogear.LedgerFailed, Err: fmt.Errorf("mark %d documents done: %w", n, err)}
}

func (r *run) countDone(rows []ledger.Settlement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.denied = 0
	for _, row := range rows {
		r.count.Done++
		r.count.Bytes += row.Size
	}
}

// placeAll gives settled results their names.
func (r *run) placeAll(group []named) error {
	ctx, cancel := r.finishing()
	defer cancel()
	for _, n := range group {
		if err := r.place(ctx, n.doc, n.row); err != nil {
			return err
		}
		r.renamed.add(n.row.Doc)
	}
	return nil
}

// naming is a group on the way to its paths.
type naming struct {
	group []saved
	rows  []ledger.Settlement
	tries []int           // which alternative of its name each is at
	used  map[string]bool // folded paths of this group
}

func newNaming(group []saved) *naming {
	return &naming{group, make([]ledger.Settlement, len(group)), make([]int, len(group)), map[string]bool{}}
}

// all are the group's members.
func (n *naming) all() []int {
	out := make([]int, len(n.group))
	for i := range out {
		out[i] = i
	}
	return out
}

// name gives these results of a group paths that no other of the job has.
func (r *run) name(ctx context.Context, n *naming, unsure []int) error {
	group, rows, tries, used := n.group, n.rows, n.tries, n.used
	for len(unsure) > 0 {
		folded := make([]string, len(unsure))
		for j, i := range unsure {
			path := r.Sink.Name(group[i].doc.Name, group[i].doc.ID, tries[i])
			rows[i] = ledger.Settlement{Result: group[i].result, Folded: r.Sink.Fold(path)}
			rows[i].Path = path
			folded[j] = rows[i].Folded
		}
		taken, err := r.Store.Taken(ctx, r.Job.ID, folded)
		if err != nil {
			return fmt.Errorf("look for taken names: %w", err)
		}
		var again []int
		for _, i := range unsure {
			if f := rows[i].Folded; taken[f] || used[f] {
				tries[i]++
				again = append(again, i)
			} else {
				used[f] = true
			}
		}
		unsure = again
	}
	return nil
}

// place gives a settled result its path. Where something foreign has it, the ledger gets
// another path first.
func (r *run) place(ctx context.Context, d dogear.Document, row ledger.Settlement) error {
	for n := 1; ; n++ {
		err := r.Sink.Place(row.Doc, row.Path)
		if err == nil {
			return nil
		}
		if size, e := r.Sink.Size(ctx, row.Path); errors.Is(err, fs.ErrNotExist) && e == nil && size == row.Size {
			return nil // another process of the run was quicker
		}
		if !errors.Is(err, fs.ErrExist) {
			return &Stop{Reason: dogear.SinkFailed, Err: fmt.Errorf("place %s: %w", row.Path, err)}
		}
		row.Path = r.Sink.Name(d.Name, d.ID, n)
		row.Folded = r.Sink.Fold(row.Path)
		taken, err := r.Store.Taken(ctx, r.Job.ID, []string{row.Folded})
		if err == nil && !taken[row.Folded] {
			err = r.Store.Rename(ctx, row.Doc, row.Path, row.Folded)
		}
		if err != nil {
			return &Stop{Reason: dogear.LedgerFailed, Err: fmt.Errorf("give %s another name: %w", d.ID, err)}
		}
	}
}

func (r *run) notePlaced(docs []int64) error {
	ctx, cancel := r.finishing()
	defer cancel()
	if err := r.Sink.Sync(nil); err != nil {
		return err
	}
	return r.Store.Settle(ctx, r.id, nil, docs)
}

// drop gives back documents that were received and could not be saved.
func (r *run) drop(group []saved) {
	fates := make([]dogear.Fate, len(group))
	for i, s := range group {
		fates[i] = dogear.Fate{Doc: s.doc.Seq, State: dogear.Pending, Reason: "could not be saved"}
	}
	r.giveBack(fates)
}
