package cli

import (
	"context"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/reader"
)

// others looks once a second at what the other processes of the run have done.
func (v *view) others() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(v.call.ctx))
	defer cancel()
	go func() { <-v.quit; cancel() }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for shared := v.s.help; ; {
		select {
		case <-v.quit:
			return
		case <-tick.C:
		}
		if !shared { // one process alone knows it all
			n, err := v.s.store.Others(ctx, v.s.job.ID)
			if err != nil || n == 0 {
				continue
			}
			shared = true
		}
		now, err := v.s.store.Counts(ctx, v.s.job.ID)
		if err != nil {
			continue // the run itself says what is wrong with the ledger
		}
		theirs := theirsOf(v.before, now, v.run.Progress())
		v.mu.Lock()
		v.theirs = theirs
		v.mu.Unlock()
	}
}

// theirsOf is what other processes have done, of what was counted before and is now.
func theirsOf(before, now ledger.Counts, own reader.Progress) (p reader.Progress) {
	of := func(s dogear.State, own int64) int64 { return max(0, now.Documents[s]-before.Documents[s]-own) }
	p.Done = of(dogear.Done, own.Done)
	p.Changed = of(dogear.Changed, own.Changed)
	p.Denied = of(dogear.Denied, own.Denied)
	p.Gone = of(dogear.Gone, own.Gone)
	p.Failed = of(dogear.Failed, own.Failed)
	p.Sent = max(0, now.Sent-before.Sent-own.Sent)
	p.Throttled = max(0, now.Throttled-before.Throttled-own.Throttled)
	return p
}

// progress is how far the run is, with all of its processes. Bytes are this one's.
func (v *view) progress() reader.Progress {
	p := v.run.Progress()
	v.mu.Lock()
	defer v.mu.Unlock()
	p.Done += v.theirs.Done
	p.Changed += v.theirs.Changed
	p.Denied += v.theirs.Denied
	p.Gone += v.theirs.Gone
	p.Failed += v.theirs.Failed
	p.Sent += v.theirs.Sent
	p.Throttled += v.theirs.Throttled
	return p
}
