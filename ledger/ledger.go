// Package ledger states what dogear expects of its durable record of jobs, documents, runs,
// requests and scopes. Think of it as the one place where a promise is kept: what the ledger
// says has happened, has happened, and survives the process that said so.
//
// Every method is one transaction, but for those that say otherwise. Calls that wait at the
// same moment may share a commit.
// Nothing that is stored holds a credential; the caller sees to that, and tests look for it.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/dogear/dogear"
)

// What callers may match.
var (
	// ErrNoJob says that no job has the name.
	ErrNoJob = errors.New("no such job")
	// ErrJobExists says that the name is taken.
	ErrJobExists = errors.New("a job of this name exists")
	// ErrLeaseLost says that this process was taken for dead: it writes nothing more and
	// stops sending.
	ErrLeaseLost = errors.New("this process was taken for dead: its lease ran out")
	// ErrNoScope says that no scope has the key.
	ErrNoScope = errors.New("no such scope")
	// ErrNotRunning says that nobody runs the job.
	ErrNotRunning = errors.New("nobody is running this job")
	// ErrNoWait says that the scope is not closed.
	ErrNoWait = errors.New("the scope is not waiting")
)

// A RunningError says that a job is being run by another process.
type RunningError struct {
	Job  string
	PID  int
	Host string
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("job %s is being run by process %d on %s", e.Job, e.PID, e.Host)
}

// A ConflictError says that two lines of a list claim one id for two addresses.
type ConflictError struct {
	ID    string
	Lines [2]int64
	// Secret says that the two differ only in what was stripped.
	Secret bool
}

func (e *ConflictError) Error() string {
	if e.Secret {
		return fmt.Sprintf("lines %d and %d name the same document with two credentials or signatures", e.Lines[0], e.Lines[1])
	}
	return fmt.Sprintf("lines %d and %d give the id %q to two addresses", e.Lines[0], e.Lines[1], e.ID)
}

// Settings are what a job keeps from its first command on, so that resume needs none of it.
// Names of variables and files of credentials are kept, credentials never.
type Settings struct {
	Source       []string      `json:"source"`
	Digest       string        `json:"digest,omitempty"` // SHA-256 of the lists, to see whether they changed
	Sink         string        `json:"sink"`             // absolute
	SinkShown    string        `json:"sink_shown"`       // as the user wrote it
	Scope        string        `json:"scope,omitempty"`  // host, job or a key; empty: not said
	Rate         float64       `json:"rate,omitempty"`   // a second
	Burst        int           `json:"burst,omitempty"`
	Concurrency  int           `json:"concurrency,omitempty"`
	Attempts     int           `json:"attempts,omitempty"`
	MaxRequests  int64         `json:"max_requests,omitempty"`
	MaxThrottles int           `json:"max_throttles,omitempty"`
	BackoffBase  time.Duration `json:"backoff_base,omitempty"`
	BackoffMax   time.Duration `json:"backoff_max,omitempty"`
	IdleTimeout  time.Duration `json:"idle_timeout,omitempty"`
	MaxSize      int64         `json:"max_size,omitempty"`
	BearerEnv    string        `json:"bearer_env,omitempty"`
	BearerFile   string        `json:"bearer_file,omitempty"`
	Profile      string        `json:"profile,omitempty"`    // a shipped name or a file, absolute; empty: by the host
	BaseURL      string        `json:"base_url,omitempty"`   // where the profile's service is
	Tier         string        `json:"tier,omitempty"`       // which of the profile's plans applies; empty: its first
	Batch        int           `json:"batch,omitempty"`      // the most items in a batch; zero: what the profile allows; negative: none
	Identity     string        `json:"identity,omitempty"`   // the name of the credential in scope keys
	Login        string        `json:"login,omitempty"`      // app or person: tokens come from the tenant's authority
	Tenant       string        `json:"tenant,omitempty"`     // in scope keys
	ClientID     string        `json:"client_id,omitempty"`  // in scope keys
	SecretEnv    string        `json:"secret_env,omitempty"` // the variable with the client's secret
	Headers      []string      `json:"headers,omitempty"`    // templates such as "X-Team: ${TEAM}"
	Before       []string      `json:"before,omitempty"`     // the ledgers that it was in before, as Name says
}

// A Job is a fixed list of documents.
type Job struct {
	ID       int64
	Name     string
	Settings Settings
	Created  time.Time // wall time
	Total    int64     // documents
	First    int64     // the Seq of its first document; the others follow, with gaps for repeats
	// Listing says that it is listed in pages, and that the last is not there yet: Total is
	// what is known so far.
	Listing bool
	// Cursor is where a listing in pages goes on and, when it is complete, where changes are
	// told. Empty for a job that was listed at once, and before the first page.
	Cursor string
}

// A Paged is what became of one page.
type Paged struct {
	New     int64 // documents that the job did not have
	Dropped int64 // documents that are no part of it any more
	// Changed and Gone are pending documents that are so now. Only a page of changes has any.
	Changed, Gone int64
	// Back are changed documents that are pending again.
	Back int64
}

// Counts are what a job has come to, over all its runs.
type Counts struct {
	Documents map[dogear.State]int64
	Sent      int64 // requests, but items and those that were not sent
	Throttled int64
	ByStatus  map[int]int64
	Attempts  int64 // of all documents together, throttled ones too
	Open      int64 // documents with a request that has no recorded end
	Most      int   // the most that one document has paid of its cap
}

// A Run is one bounded round.
type Run struct {
	ID        int64
	Number    int64 // counts from 1 in its job
	Reason    dogear.StopReason
	Started   time.Time // wall time
	Ended     time.Time // wall time; zero while it goes on
	Deadline  time.Time // wall time; zero if none
	Sent      int64
	Throttled int64
	Done      int64
	Bytes     int64
	PID       int
	Live      bool // it goes on: its process is there
}

// A Worker is a process that helps with a run.
type Worker struct {
	PID   int
	Host  string
	Since time.Time // wall time at which it came to the ledger
}

// A Lane is the documents of a job that are read under one set of scopes.
type Lane struct {
	ID      int64
	Scopes  []string
	Pending int64 // documents that are pending, whatever they wait for
}

// Remaining is one document that is not done.
type Remaining struct {
	Seq       int64
	ID        string
	Name      string
	Version   string // the job's
	Found     string // the source's, where it is another
	State     dogear.State
	Attempts  int
	NotBefore time.Time // wall time; its own or its scope's, the later; zero: at once
	Reason    string
}

// A ChangedDocument is a document of which the source has another version than the job.
type ChangedDocument struct {
	dogear.Document
	Found string
}

// A Settlement is a document that is saved, with its temporary file's name.
type Settlement struct {
	dogear.Result
	Temp string
	// Folded is the path as the strictest file system compares names.
	Folded string
}

// A Partial is the beginning of a document's body that is kept in the sink's temporary file.
type Partial struct {
	Size      int64  // durable bytes
	Total     int64  // of the whole body; negative if unknown
	Validator string // the strong ETag or the Last-Modified under which it may be continued
}

// A Release is a wait that a person ended.
type Release struct {
	Key, By, Reason string
	At              time.Time // wall time
	NotBefore       time.Time // wall time that was given up
}

// Store is what every ledger does. All methods may be called at once from many goroutines.
// An error means that nothing of the call was stored.
type Store interface {
	// Where says which ledger this is, without credentials.
	Where() string
	// Name tells the ledger from all others, by whatever address it is reached.
	Name() string
	// Now is the moment on the ledger's clock. It never runs backwards within one boot of
	// the machine, whatever is done to the wall clock.
	Now() time.Time
	// Ahead is how far the wall clock by which the ledger dates is ahead of this machine's, to
	// the second; zero where it is the same clock. It asks nobody.
	Ahead() time.Duration
	Close() error

	// Create lists documents into a new job. Until the sequence has ended without an error
	// there is no job. Documents with the same id and fingerprint are one, the first; it
	// returns how many were repeats. Errors match [ErrJobExists] or are a [*ConflictError],
	// of several conflicts the one that the list comes to first. Its memory is bounded,
	// however long the list is.
	Create(ctx context.Context, name string, s Settings, docs iter.Seq2[dogear.Document, error]) (Job, int64, error)
	// CreatePaged makes a job whose listing comes in pages. Errors match [ErrJobExists].
	CreatePaged(ctx context.Context, name string, s Settings) (Job, error)
	// AddPage takes the next page of a job's listing, with its cursor. Until the last page,
	// the last word on a document counts, and one that is gone is dropped; the last page puts
	// the names of folders before those of their documents, and drops what is in a folder
	// outside the listing. It may take several transactions then: where it fails the page may
	// be added again.
	//
	// After the last page a page tells changes: pending documents that the service has in
	// another version become changed, those it has not any more gone, and changed ones that
	// are again as they were listed pending. A job never grows.
	AddPage(ctx context.Context, job int64, p dogear.Page) (Paged, error)
	// SetSettings replaces what the job keeps.
	SetSettings(ctx context.Context, job int64, s Settings) error
	Job(ctx context.Context, name string) (Job, error)
	Jobs(ctx context.Context) iter.Seq2[Job, error]
	// SinkJob names the job that saves into the folder, or "".
	SinkJob(ctx context.Context, sink string) (string, error)
	// Forget drops a job, its documents, runs and requests. It refuses a running one with a
	// [*RunningError]. Results in the sink and scopes stay.
	Forget(ctx context.Context, job int64) error
	Counts(ctx context.Context, job int64) (Counts, error)
	// Compare looks a listed document up in the job by its id: it returns the stored one
	// with its Line and Offset moved to the new ones. Found is false for a new line.
	Compare(ctx context.Context, job int64, d dogear.Document) (stored dogear.Document, found bool, err error)

	// Begin starts a run, closing the runs of dead holders as interrupted, freeing their
	// claims, settling their requests as in doubt, and making in-doubt documents pending
	// again. It refuses with a [*RunningError].
	Begin(ctx context.Context, job int64, deadline time.Time) (Run, error)
	EndRun(ctx context.Context, run int64, reason dogear.StopReason) error
	// Join lets this process help with the run of a job, and returns it: what it claims,
	// sends and settles is the run's. The error matches [ErrNotRunning].
	Join(ctx context.Context, job int64) (Run, error)
	// Leave ends the help with a job. What is still in flight here is in doubt where a request
	// is open, else pending.
	Leave(ctx context.Context, job int64) error
	// Others counts the job's documents that other holders have in flight. What dead holders
	// left is settled by it, as Begin does.
	Others(ctx context.Context, job int64) (int64, error)
	// Workers are the processes that help with a run.
	Workers(ctx context.Context, run int64) ([]Worker, error)
	Runs(ctx context.Context, job int64) iter.Seq2[Run, error]
	// Renew keeps this process's lease and says how many requests wait in each scope.
	Renew(ctx context.Context, waiting map[string]int) error

	// Lanes are the sets of scopes that the job's documents are read under.
	Lanes(ctx context.Context, job int64) ([]Lane, error)
	// Rescope gives each lane new scopes, made of those that its documents were listed with.
	Rescope(ctx context.Context, job int64, scopes func(listed []string) []string) error
	// Claim takes up to n pending documents of a lane whose time has come and that have
	// paid less than attempts, fewest first, then in list order.
	Claim(ctx context.Context, lane int64, n, attempts int) ([]dogear.Document, error)
	// Return moves documents out of flight that no request's end moves: claims that were not
	// sent, and what could not be reached. Documents that this holder does not hold are
	// passed over.
	Return(ctx context.Context, fates []dogear.Fate) error
	// Recheck makes the job's documents in these states, of changed, denied and gone, pending
	// again that have paid less than attempts, and reports how many: a new run checks them
	// once more. It may take several transactions; where it fails, some may be pending already.
	Recheck(ctx context.Context, job int64, attempts int, states ...dogear.State) (int64, error)
	// NextDue is the earliest moment at which a pending document of the lane may go on that
	// may not now, on the ledger's clock; zero if there is none.
	NextDue(ctx context.Context, lane int64, attempts int) (time.Time, error)
	// Reopen makes documents pending again, as when their result is missing, and forgets
	// their results.
	Reopen(ctx context.Context, docs []int64, reason string) error
	// Refund gives documents back one attempt each.
	Refund(ctx context.Context, docs []int64) error

	// Settle marks documents done, each with its result, not yet placed, and marks the
	// documents in placed as placed.
	Settle(ctx context.Context, run int64, done []Settlement, placed []int64) error
	// Unplaced are the job's results that may not have their final name yet.
	Unplaced(ctx context.Context, job int64) iter.Seq2[Settlement, error]
	// Rename gives an unplaced result another path.
	Rename(ctx context.Context, doc int64, path, folded string) error
	// Taken reports which of the folded paths other documents of the job have.
	Taken(ctx context.Context, job int64, folded []string) (map[string]bool, error)

	// SavePartial remembers the durable first bytes of a body that broke; a zero Size
	// forgets them. Settle forgets them too.
	SavePartial(ctx context.Context, doc int64, p Partial) error
	// Partial is zero where nothing is kept.
	Partial(ctx context.Context, doc int64) (Partial, error)

	// ChangedDocuments are the job's documents in state changed, with what was found. An
	// address that is secret is empty.
	ChangedDocuments(ctx context.Context, job int64) iter.Seq2[ChangedDocument, error]
	Results(ctx context.Context, job int64) iter.Seq2[dogear.Result, error]
	Remaining(ctx context.Context, job int64) iter.Seq2[Remaining, error]
	Requests(ctx context.Context, job int64) iter.Seq2[dogear.Request, error]

	// Decide runs the gate's decision on the scopes under keys, which are made where they
	// are missing, in one transaction, and stores what it leaves in the docket. The
	// decision calls no store and waits for nobody: it may be made while others wait for its
	// transaction, and again, with a new docket, after a failed commit.
	Decide(ctx context.Context, keys []string, decide func(*dogear.Docket)) error
	// Await returns when another process may have changed a scope. It looks no more than 20
	// times a second.
	Await(ctx context.Context) error
	Scopes(ctx context.Context) iter.Seq2[dogear.Scope, error]
	// Confirm records who knows which requests share the quota, and what pace was agreed.
	// Zero figures leave what is there.
	Confirm(ctx context.Context, key string, c dogear.Confirmation, rate float64, burst, concurrency int) error
	// Release ends a scope's wait and keeps who did it, when and why.
	Release(ctx context.Context, key, by, reason string) error
	Releases(ctx context.Context, key string) iter.Seq2[Release, error]
}

// Here is a moment that the store has dated, such as a run's deadline, by this machine's wall
// clock. None stays none.
func Here(s Store, t time.Time) time.Time { return moved(t, -s.Ahead()) }

// There is a moment of this machine's wall clock as the store dates it. None stays none.
func There(s Store, t time.Time) time.Time { return moved(t, s.Ahead()) }

func moved(t time.Time, d time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(d)
}

// A Portable store can be moved into another one.
type Portable interface {
	Store
	// Export is all of the ledger but what is in flight, for [Store.Import] of another. It
	// refuses with a [*RunningError] while a job is being run.
	Export(ctx context.Context) iter.Seq2[Record, error]
	// Import takes what another ledger has. Nothing of it is seen before the sequence has
	// ended without an error. Errors match [ErrJobExists] where a job's name is taken. A scope
	// that is here already waits for the later of both. Fold is the form in which no two paths
	// of results may be equal.
	Import(ctx context.Context, records iter.Seq2[Record, error], fold func(path string) string) error
}
