package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres"
	"github.com/dogear/dogear/reader"
)

// view shows a run while it goes: a live bar at a terminal, else a line now and then.
type view struct {
	call   *call
	s      round
	gate   *gate.Gate
	run    *reader.Runner
	before ledger.Counts // of earlier runs
	done0  int64         // documents that earlier runs have done
	left   int64         // documents that this run may read

	quit chan struct{}
	wg   sync.WaitGroup

	mu      sync.Mutex
	out     io.Writer     // above the bar, if there is one; nil: nothing is shown
	busy    time.Duration // time in which something could be sent
	looked  time.Time
	entered map[string]time.Time // waits that were shown
	theirs  reader.Progress      // what the run's other processes have done, since before
}

const (
	lineEvery = 10 * time.Second
	lookEvery = time.Second
)

// newView prepares a view; warnings may be written to it before it is shown.
func (c *call) newView(s round, g *gate.Gate) *view {
	return &view{call: c, s: s, gate: g, quit: make(chan struct{}), looked: time.Now(), entered: map[string]time.Time{}}
}

// show begins to show a run.
func (v *view) show(r *reader.Runner) {
	c, s := v.call, v.s
	v.run = r
	if counts, err := s.store.Counts(c.ctx, s.job.ID); err == nil {
		v.before, v.done0 = counts, counts.Documents[dogear.Done]
	}
	v.left = s.job.Total - v.done0
	_, live := terminal(c.Stderr)
	switch {
	case s.flags.Progress == "none":
	case s.flags.Progress == "auto" && live:
		v.wg.Go(v.others)
		v.live()
	default:
		v.wg.Go(v.others)
		v.out = c.Stderr
		v.wg.Go(v.plain)
	}
}

// say writes a line for people beside the progress.
func (v *view) say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.out != nil {
		fmt.Fprintln(v.out, v.s.job.Name+": "+text)
	}
}

// tell says what a person has to do, whatever is shown.
func (v *view) tell(text string) {
	fmt.Fprintln(v, v.s.job.Name+": "+shown(text))
}

// Write lets a log write above the bar.
func (v *view) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.out != nil {
		return v.out.Write(b)
	}
	return v.call.Stderr.Write(b)
}

func (v *view) close() {
	close(v.quit)
	v.wg.Wait()
}

// plain writes a line every ten seconds, and one whenever a wait begins.
func (v *view) plain() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last, was := time.Now(), false
	for {
		select {
		case <-v.quit:
			return
		case <-tick.C:
		}
		waits := v.waits()
		since, _ := v.away()
		gone := since > silent
		if time.Since(last) < lineEvery && !v.newWait(waits) && gone == was {
			continue
		}
		last, was = time.Now(), gone
		line := v.counts()
		for _, text := range v.holds(waits) {
			line += "; " + text
		}
		fmt.Fprintln(v.call.Stderr, shown(line))
	}
}

// newWait reports whether a wait has begun or was lengthened since the last look.
func (v *view) newWait(waits []gate.View) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	fresh := false
	for _, w := range waits {
		if w.NotBefore.After(v.entered[w.Key]) {
			v.entered[w.Key] = w.NotBefore
			fresh = fresh || w.Left > 2*time.Second
		}
	}
	return fresh
}

// waits are the scopes that are closed now, the longest first.
func (v *view) waits() []gate.View {
	all := v.gate.View()
	closed := slices.DeleteFunc(all, func(w gate.View) bool { return w.Left == 0 })
	slices.SortFunc(closed, func(a, b gate.View) int { return int(b.Left - a.Left) })
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if len(closed) == 0 || len(closed) < len(all) {
		v.busy += now.Sub(v.looked)
	}
	v.looked = now
	return closed
}

// silent is an absence of the ledger at which people wonder whether anything happens.
const silent = 2 * time.Second

// away is how long the ledger has not answered, and how much longer that is borne.
func (v *view) away() (since, left time.Duration) {
	if s, ok := v.s.store.(*postgres.Store); ok {
		return s.Away()
	}
	return 0, 0
}

// slow is a pace at which people wonder whether anything happens, in requests a second.
const slow = 0.2

// holds says why little or nothing is sent: a ledger that does not answer, scopes that wait,
// and such as go slowly.
func (v *view) holds(waits []gate.View) (lines []string) {
	if since, left := v.away(); since > silent {
		if at := v.s.flags.Deadline.at; !at.IsZero() {
			left = max(0, min(left, time.Until(at)))
		}
		lines = append(lines, fmt.Sprintf("the ledger has not answered for %s: nothing is sent until it does, and the run ends in %s if it does not", short(since), short(left)))
	}
	for _, w := range waits {
		lines = append(lines, waitText(w))
	}
	for _, s := range v.gate.View() {
		if s.Left == 0 && s.Waiting > 0 && s.Rate > 0 && s.Rate < slow {
			every := time.Duration(float64(time.Second) / s.Rate)
			lines = append(lines, fmt.Sprintf("%s goes at one request in %s, %d behind it", s.Key, short(every), s.Waiting))
		}
	}
	return lines
}

// counts is what there is to say of the run in one line.
func (v *view) counts() string {
	p := v.progress()
	if p.Listing {
		return fmt.Sprintf("%s: listing, %d documents so far, %d requests, %d throttled", v.s.job.Name, p.Listed, v.before.Sent+p.Sent, v.before.Throttled+p.Throttled)
	}
	line := fmt.Sprintf("%s: %d/%d documents, %s, %d requests, %d throttled", v.s.job.Name,
		v.done0+p.Done, v.total(p), bytesText(p.Bytes), v.before.Sent+p.Sent, v.before.Throttled+p.Throttled)
	if other := p.Changed + p.Denied + p.Gone + p.Failed; other > 0 {
		line += fmt.Sprintf(", %d not to be had", other)
	}
	v.mu.Lock()
	busy := v.busy
	v.mu.Unlock()
	if p.Done > 0 && busy > 0 { // while something could be sent
		line += fmt.Sprintf(", %.1f/s", float64(p.Done)/busy.Seconds())
	}
	return line
}

// total is how many documents the job has, as far as its listing has come.
func (v *view) total(p reader.Progress) int64 { return max(v.s.job.Total, p.Listed) }

// waitText says which scope waits until when, why, and how many wait behind it.
func waitText(w gate.View) string {
	until := time.Now().Add(w.Left)
	text := fmt.Sprintf("%s waits %s until %s (%s, met by %s)", w.Key, short(w.Left), until.UTC().Format("15:04:05Z"), w.Cause, w.SetBy)
	if w.Waiting > 0 {
		text += fmt.Sprintf(", %d behind it", w.Waiting)
	}
	return text
}

func short(d time.Duration) time.Duration {
	if d > time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}

// eta is how long the rest may take, with waits counted in: what is left at the rate at
// which documents came while something could be sent, and the longest wait before it.
func (v *view) eta(waits []gate.View) (time.Duration, bool) {
	p := v.progress()
	v.mu.Lock()
	busy := v.busy
	v.mu.Unlock()
	over := p.Done + p.Changed + p.Denied + p.Gone + p.Failed
	if over == 0 || busy == 0 {
		return 0, false
	}
	d := time.Duration(float64(busy) / float64(over) * float64(max(0, v.left+v.total(p)-v.s.job.Total-over)))
	if len(waits) > 0 {
		d += waits[0].Left
	}
	return d, true
}

// live draws a bar and, under it, a line for each scope that waits.
func (v *view) live() {
	out, _ := terminal(v.call.Stderr)
	p := mpb.New(mpb.WithOutput(out), mpb.WithRefreshRate(200*time.Millisecond), mpb.WithWidth(40))
	text := func(f func() string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string { return shown(f()) })
	}
	bar := p.AddBar(v.s.job.Total,
		mpb.PrependDecorators(text(v.counts)),
		mpb.AppendDecorators(text(v.ends)),
		mpb.BarExtender(mpb.BarFillerFunc(func(w io.Writer, _ decor.Statistics) error {
			for _, text := range v.holds(v.waits()) {
				if _, err := fmt.Fprintln(w, "  "+shown(text)); err != nil {
					return err
				}
			}
			return nil
		}), false))
	v.out = p
	v.wg.Go(func() { v.draw(p, bar) })
}

// draw moves the bar until the run is over.
func (v *view) draw(p *mpb.Progress, bar *mpb.Bar) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-v.quit:
			done = true
		case <-tick.C:
		}
		p := v.progress()
		bar.SetTotal(v.total(p), false)
		bar.SetCurrent(min(v.done0+p.Done, v.total(p)-1)) // full only when it is over
	}
	bar.SetCurrent(v.done0 + v.progress().Done)
	bar.Abort(false)
	p.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out = nil
}

// ends says when the run may be over: by itself, and by its deadline.
func (v *view) ends() string {
	var parts []string
	if d, ok := v.eta(v.waits()); ok && d > 0 {
		parts = append(parts, "about "+d.Round(time.Second).String()+" left")
	}
	if at := v.s.flags.Deadline.at; !at.IsZero() {
		parts = append(parts, "deadline in "+time.Until(at).Round(time.Second).String())
	}
	return " " + strings.Join(parts, ", ")
}
