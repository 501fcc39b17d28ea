// Package reader runs one bounded round over a job: claim, admit, send, judge, save, settle.
//
// Think of a run as a number of lanes, one for each set of scopes, so that the wait of one
// holds no other. A lane claims documents and its workers read them; bodies stream into the
// sink's temporary files; one saver makes them durable in groups and marks them done. Every
// end of a run, a crash included, leaves a ledger from which the next goes on.
package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/profile"
)

// Source knows where a document is read.
type Source interface {
	// Address is the address under which the document is read now, credentials included.
	Address(doc dogear.Document) (string, error)
}

// Sink is where results are saved. Temporary files are known by their document's number,
// results by their path.
type Sink interface {
	// Create opens a document's temporary file after its first keep bytes, which prefix reads.
	Create(doc, keep int64) (w io.WriteCloser, prefix io.Reader, err error)
	// SyncPart makes what a closed temporary file holds durable.
	SyncPart(doc int64) error
	// Sync makes the closed temporary files of these documents, and all that was placed
	// before, durable.
	Sync(docs []int64) error
	// Place gives a temporary file its path. The error matches [fs.ErrExist] when that is
	// taken; nothing is ever replaced.
	Place(doc int64, path string) error
	// Size is the size of a result; the error matches [fs.ErrNotExist] if it is missing.
	Size(ctx context.Context, path string) (int64, error)
	// Held is the size of a document's temporary file; the error matches [fs.ErrNotExist].
	Held(doc int64) (int64, error)
	// Remove removes a document's temporary file; that there is none is no error.
	Remove(doc int64) error
	// Sweep removes the temporary files of all documents but those that keep names.
	Sweep(keep func(doc int64) bool) error
	// WriteList writes the list of all results.
	WriteList(ctx context.Context, rows iter.Seq2[dogear.Result, error]) error
	// Name is a path for a document: its nth alternative where the ones before are taken.
	Name(name, id string, n int) string
	// Fold is the form in which no two paths may be equal.
	Fold(path string) string
}

// Direct is a sink that cannot rename: a result is put under its path before it is settled,
// and is durable then. Its temporary files are this machine's alone. Sync and Place of such a
// sink are not called.
type Direct interface {
	Sink
	// Put saves a document's closed temporary file as res.Path. Where the path has this very
	// result of this document already, it is saved; where it has anything else, the error
	// matches [fs.ErrExist]. Nothing is ever replaced, and nothing half is left.
	Put(ctx context.Context, res dogear.Result) error
	// Inventory lists the sink once, and tells whether it has a result of that path and size.
	Inventory(ctx context.Context) (has func(path string, size int64) bool, err error)
	// Keep is SyncPart, and remembers on this machine under which validator the bytes came.
	Keep(doc int64, validator string) error
	// Kept reports whether so many bytes that came under the validator are on this machine.
	Kept(doc, size int64, validator string) bool
}

// Credentials sign requests at the moment of sending.
type Credentials interface {
	// Sign puts credentials and headers on a request to one of the job's own addresses. It
	// sends nothing: the error matches [ErrExpired] where a credential has to be renewed first.
	Sign(*http.Request) error
	// Renew gets another credential, and reports whether it differs from that on a request
	// that was refused; nil: the one at hand has expired. What has to be sent for that goes
	// through rt. The error matches [ErrNoCredential] where trying again is of no use.
	Renew(ctx context.Context, refused *http.Request, rt http.RoundTripper) (bool, error)
	// Names are the headers that must not reach another origin.
	Names() []string
}

// Config configures a run. Zero fields mean the defaults that are named.
type Config struct {
	Store       ledger.Store
	Job         ledger.Job
	Gate        *gate.Gate
	Source      Source
	Sink        Sink
	Credentials Credentials // nil: none
	Log         *slog.Logger
	// Deadline is when the run ends, by this machine's wall clock; zero means none.
	Deadline time.Time
	// Grace is what requests in flight get at the end.
	Grace time.Duration
	// Abort ends the grace at once when it is closed.
	Abort <-chan struct{}
	// Help joins a run that another process has begun. Its deadline is the run's.
	Help bool
	// Pages is the service that lists the job; nil: it was listed at once.
	Pages Pages
	// Listed is called when a listing in pages is complete, before anything of it is read.
	Listed func(context.Context) error
	// Scopes names the scopes of an address.
	Scopes func(*url.URL) []string
	// TokenScopes names those of the address that gives tokens.
	TokenScopes func(*url.URL) []string
	// Batch is the service's batch call through which an address can be read, and the most
	// items to put into one; nil, or nil from it: it is read by itself.
	Batch func(*url.URL) (form *profile.Batch, most int)
	// Confirm is called when a redirect leads to a scope that was not listed, before its
	// first request; nil leaves such scopes unconfirmed.
	Confirm func(ctx context.Context, key string) error
}

// A Stop is a reason to end the run at once. Cancel a run's context with it as the cause.
type Stop struct {
	Reason dogear.StopReason
	Err    error // nil where the reason says all
}

func (s *Stop) Error() string {
	if s.Err == nil {
		return string(s.Reason)
	}
	return fmt.Sprintf("%s: %v", s.Reason, s.Err)
}

func (s *Stop) Unwrap() error { return s.Err }

// An Ending is how a run ended.
type Ending struct {
	Run    ledger.Run
	Reason dogear.StopReason
	// Err is what made it end, where that is more than the reason says.
	Err error
	// Missing are results that the ledger had and the sink had not any more.
	Missing int64
	// Others is what the listing has that is no document.
	Others int64
	// NotBefore is when the earliest remaining wait is over, in wall time; zero if none is.
	NotBefore time.Time
	Scope     string // whose wait that is
}

// run is one round in progress.
type run struct {
	Config
	set  ledger.Settings
	id   int64
	stop context.CancelCauseFunc // ends halted

	halted   context.Context  // ends when the run has to end: stopped, cancelled, at its deadline
	goneBy   func() time.Time // when the command has to be gone, once halted has ended
	dispatch context.Context  // ends with halted, or when nothing is left to be sent
	flight   context.Context  // ends when nothing more may be received
	saves    chan saved
	direct   Direct                    // the sink, where results are put under their paths at once; else nil
	putBy    atomic.Pointer[time.Time] // when nothing more may be put into the sink; nil before the end
	renamed  renamed
	stayed   atomic.Bool // claims could not be given back
	late     atomic.Bool // the ledger did not answer before the command had to be gone
	outages  outages
	detached chan struct{} // bounds the documents that wait for another lane's scope
	unlisted bool          // the listing is not complete, and for now cannot go on

	mu       sync.Mutex
	soft     []error // why lanes ended with documents left
	held     []dogear.Fate
	resolved map[int64]int // how often a document's redirect was asked for again
	denied   int           // refusals in a row
	// refusedWith are the credentials that were answered 401 since the last other answer.
	refusedWith map[uint64]bool
	count       Progress
}

// Progress is how far a run is, for people.
type Progress struct {
	Done, Changed, Denied, Gone, Failed int64
	Bytes, Sent, Throttled              int64
	Started                             time.Time
	// Listing says that the listing goes on; Listed is what came of it so far, and Others
	// what it has that is no document.
	Listing        bool
	Listed, Others int64
}

// A Runner is one run. Its Progress may be asked for while it goes.
type Runner struct{ r *run }

// New prepares a run.
func New(cfg Config) *Runner {
	direct, _ := cfg.Sink.(Direct)
	waiting := 2 * groupMost
	if direct != nil {
		waiting = putsMost
	}
	return &Runner{&run{
		direct:   direct,
		Config:   cfg,
		set:      cfg.Job.Settings,
		saves:    make(chan saved, waiting),
		outages:  outages{rows: map[string][]failure{}},
		resolved: map[int64]int{},
		detached: make(chan struct{}, 256),
		count:    Progress{Started: time.Now()},
	}}
}

// Progress tells how far the run is.
func (x *Runner) Progress() Progress {
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	return x.r.count
}

// Run reads until nothing is left that may be read now, the deadline is near, or ctx is
// done; a cause of ctx that is a [*Stop] becomes the reason. When it returns, so has every
// goroutine that it started, and the ledger has everything.
func (x *Runner) Run(ctx context.Context) (Ending, error) {
	r := x.r
	if r.Help {
		return r.help(ctx)
	}
	rec, err := r.Store.Begin(ctx, r.Job.ID, ledger.There(r.Store, r.Deadline))
	if err != nil {
		return Ending{}, err
	}
	r.id = rec.ID
	defer r.begin(ctx)()
	end := Ending{Run: rec}
	if end.Missing, err = r.reconcile(ctx); err != nil {
		end.Reason, end.Err = reasonOf(err, dogear.SinkFailed), err
		r.finish(&end)
		return end, nil
	}
	if err := r.confirmed(ctx); err != nil {
		end.Reason, end.Err = reasonOf(err, dogear.LedgerFailed), err
		r.finish(&end)
		return end, nil
	}
	if err := r.round(ctx, rec.Number == 1); err != nil {
		end.Reason, end.Err = reasonOf(err, dogear.LedgerFailed), err
	} else {
		r.judgeEnd(&end)
	}
	end.Others = x.Progress().Others
	if end.Reason != dogear.SinkFailed && end.Reason != dogear.LedgerFailed {
		last, cancel := r.finishing()
		if err := r.placeLeft(last); err != nil {
			r.Log.Warn("the next run places the last results", "err", err)
		}
		cancel()
	}
	r.finish(&end)
	return end, nil
}

// round reads until everything has ended, and reports a hard reason to stop, if any.
func (r *run) round(ctx context.Context, first bool) error {
	var abort context.CancelCauseFunc
	r.flight, abort = context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	var ended context.CancelFunc
	r.dispatch, ended = context.WithCancel(r.halted)
	defer ended()
	gateCtx, closeGate := context.WithCancel(context.WithoutCancel(ctx))
	defer closeGate()
	var all, saver sync.WaitGroup
	all.Go(func() { r.watchGrace(abort) })
	all.Go(func() {
		if err := r.Gate.Run(gateCtx); err != nil {
			r.stop(&Stop{Reason: dogear.LedgerFailed, Err: err})
		}
	})
	saver.Go(r.save)
	if r.Help {
		all.Go(func() { r.watchRun(gateCtx) })
	}

	if r.listed(first) {
		r.lanes()
	}
	close(r.saves)
	saver.Wait()
	flushErr := r.flush()
	hard := context.Cause(r.halted)
	ended()
	abort(nil)
	closeGate()
	all.Wait()
	r.returnHeld()
	if hard == nil {
		hard = flushErr
	}
	return hard
}

// flush brings the ledger up to date with what the gate has settled.
func (r *run) flush() error {
	ctx, cancel := r.finishing()
	defer cancel()
	if err := r.Gate.Flush(ctx); err != nil {
		return &Stop{Reason: dogear.LedgerFailed, Err: err}
	}
	return nil
}

// watchGrace aborts what is in flight when dispatch has ended and the grace is over, or at
// once when the run is told to.
func (r *run) watchGrace(abort context.CancelCauseFunc) {
	select {
	case <-r.dispatch.Done():
	case <-r.Abort:
		r.stop(&Stop{Reason: dogear.Cancelled})
	}
	t := time.NewTimer(r.Grace)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Abort:
	case <-r.flight.Done():
	}
	put := time.Now().Add(putGrace)
	r.putBy.Store(&put)
	abort(errAborted)
}

// errAborted ends requests in flight when the grace is over.
var errAborted = errors.New("the run ended before the answer was whole")

// finish records the run's end, though its context may be done.
func (r *run) finish(end *Ending) {
	if end.Reason != dogear.SinkFailed && end.Reason != dogear.LedgerFailed {
		if err := r.writeList(end.Reason); err != nil && end.Err == nil {
			end.Err = fmt.Errorf("write the sink's list of results: %w", err)
			if end.Reason == dogear.Completed {
				end.Reason = dogear.SinkFailed
			}
		}
	}
	ctx, cancel := r.finishing()
	defer cancel()
	if err := r.Store.EndRun(ctx, r.id, end.Reason); err != nil && end.Reason != dogear.LedgerFailed {
		end.Reason, end.Err = dogear.LedgerFailed, err
	}
}

// writeList writes the sink's list of results. A run that has to be gone soon leaves the old
// one where there are too many: the next writes it.
func (r *run) writeList(reason dogear.StopReason) error {
	ctx, cancel := r.finishing()
	defer cancel()
	if reason == dogear.Cancelled || reason == dogear.Deadline {
		ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
	}
	err := r.Sink.WriteList(ctx, r.Store.Results(ctx, r.Job.ID))
	if ctx.Err() != nil {
		r.Log.Warn("the list of results in the sink is of an earlier run", "job", r.Job.Name)
		return nil
	}
	return err
}

// reasonOf is the reason that an error carries, or the one given.
func reasonOf(err error, otherwise dogear.StopReason) dogear.StopReason {
	if s, ok := errors.AsType[*Stop](err); ok {
		return s.Reason
	}
	return otherwise
}
