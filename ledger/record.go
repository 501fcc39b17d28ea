package ledger

import (
	"time"

	"github.com/dogear/dogear"
)

// A Record is a part of a ledger on its way into another one. Exactly one field is set. They
// come in this order: each job with its runs, its documents, its folders and its requests, then
// all scopes and releases. Numbers in them mean something inside their job alone.
//
// Moments at which something may go on are told as what was left of them, by the clock of the
// ledger that they come from. Whoever takes them waits that long: late, never early.
type Record struct {
	Job      *JobRecord      `json:"job,omitempty"`
	Run      *RunRecord      `json:"run,omitempty"`
	Document *DocumentRecord `json:"document,omitempty"`
	Request  *RequestRecord  `json:"request,omitempty"`
	Folder   *dogear.Folder  `json:"folder,omitempty"`
	Scope    *ScopeRecord    `json:"scope,omitempty"`
	Release  *Release        `json:"release,omitempty"`
}

// A JobRecord is a job, without its rows.
type JobRecord struct {
	Name     string       `json:"name"`
	Settings Settings     `json:"settings"`
	Created  time.Time    `json:"created"`
	Listing  bool         `json:"listing,omitempty"`
	Cursor   string       `json:"cursor,omitempty"`
	Lanes    []LaneRecord `json:"lanes"`
	Attempts int64        `json:"attempts"` // of all documents together
}

// A LaneRecord is the scopes that documents were listed with, and are read under.
type LaneRecord struct {
	Listed []string `json:"listed"`
	Scopes []string `json:"scopes"`
}

// A RunRecord is a run that has ended.
type RunRecord struct {
	Number    int64             `json:"number"`
	Reason    dogear.StopReason `json:"reason"`
	Started   time.Time         `json:"started"`
	Ended     time.Time         `json:"ended"`
	Deadline  time.Time         `json:"deadline,omitzero"`
	Sent      int64             `json:"sent,omitempty"`
	Throttled int64             `json:"throttled,omitempty"`
	Done      int64             `json:"done,omitempty"`
	Bytes     int64             `json:"bytes,omitempty"`
	PID       int               `json:"pid,omitempty"`
}

// A DocumentRecord is a document with its result, if it is done.
type DocumentRecord struct {
	Place    int64         `json:"place"` // in its job, from 0
	Lane     int           `json:"lane"`  // of the job's lanes, from 0
	ID       string        `json:"id"`
	Address  string        `json:"address,omitempty"` // empty where it is the ID, or secret
	Secret   bool          `json:"secret,omitempty"`
	List     int           `json:"list,omitempty"`
	Line     int64         `json:"line,omitempty"`
	Offset   int64         `json:"offset,omitempty"`
	Name     string        `json:"name"`
	Parent   string        `json:"parent,omitempty"`
	Version  string        `json:"version,omitempty"`
	SHA256   string        `json:"sha256,omitempty"`
	Digest   string        `json:"digest,omitempty"`
	Size     *int64        `json:"size,omitempty"`
	State    dogear.State  `json:"state"`
	Attempts int           `json:"attempts,omitempty"`
	Delay    time.Duration `json:"delay,omitempty"` // what is left until it may be tried again
	Reason   string        `json:"reason,omitempty"`
	Found    string        `json:"found,omitempty"`
	Partial  *Partial      `json:"partial,omitempty"`
	Result   *ResultRecord `json:"result,omitempty"`
}

// A ResultRecord is what a document was saved as.
type ResultRecord struct {
	Run         int64     `json:"run"` // its number
	Version     string    `json:"version"`
	Path        string    `json:"path"`
	Size        int64     `json:"size"`
	SHA256      string    `json:"sha256"`
	ContentType string    `json:"content_type,omitempty"`
	ReadAt      time.Time `json:"read_at"`
	Temp        string    `json:"temp,omitempty"` // it may not have its path yet
}

// A RequestRecord is a request that has ended, or is in doubt.
type RequestRecord struct {
	N       int64          `json:"n"`                // in the ledger that it comes from
	Parent  int64          `json:"parent,omitempty"` // the same
	Run     int64          `json:"run"`              // its number
	Place   *int64         `json:"place,omitempty"`  // its document's
	Scopes  []string       `json:"scopes"`
	Kind    dogear.Kind    `json:"kind"`
	Granted time.Time      `json:"granted"`
	Sent    time.Time      `json:"sent,omitzero"`
	Ended   time.Time      `json:"ended,omitzero"`
	Status  int            `json:"status,omitempty"`
	Outcome dogear.Outcome `json:"outcome,omitempty"`
	Hint    string         `json:"hint,omitempty"`
	Until   time.Time      `json:"until,omitzero"`
	Bytes   int64          `json:"bytes,omitempty"`
}

// A ScopeRecord is the state of a scope. What its pace says of moments means nothing in
// another ledger.
type ScopeRecord struct {
	Key         string              `json:"key"`
	Confirmed   dogear.Confirmation `json:"confirmed,omitzero"`
	Rate        float64             `json:"rate,omitempty"`
	Burst       int                 `json:"burst,omitempty"`
	Concurrency int                 `json:"concurrency,omitempty"`
	Wait        time.Duration       `json:"wait,omitempty"` // what is left of it
	Probing     bool                `json:"probing,omitempty"`
	Streak      int                 `json:"streak,omitempty"`
	Hinted      bool                `json:"hinted,omitempty"`
	Cause       dogear.Cause        `json:"cause,omitempty"`
	SetBy       string              `json:"set_by,omitempty"`
	Pace        []byte              `json:"pace,omitempty"`
}

// Into puts the state of a scope into what a ledger has of it: it waits for the later of
// both, and what is there already is kept where it says something.
func (r *ScopeRecord) Into(s *dogear.Scope, now time.Time) {
	if !s.Confirmed.OK() {
		s.Confirmed = r.Confirmed
	}
	if s.Rate == 0 {
		s.Rate, s.Burst = r.Rate, r.Burst
	}
	if s.Concurrency == 0 {
		s.Concurrency = r.Concurrency
	}
	at := now.Add(r.Wait)
	waits := r.Wait > 0 && at.After(s.NotBefore)
	if waits {
		s.NotBefore = at
		s.Generation++
	}
	if waits || s.Cause == dogear.NoCause { // the last wait, even one that is over, says what a row of them may mean
		s.Cause, s.SetBy, s.Hinted = r.Cause, r.SetBy, r.Hinted
	}
	s.Probing = s.Probing || r.Probing
	s.Streak = max(s.Streak, r.Streak)
	if len(s.Pace) == 0 && len(r.Pace) > 0 {
		s.Pace, s.Rebooted = r.Pace, true
	}
}

// Numbers are the new numbers of a job's requests on their way into another ledger. The last
// of them are known: a request comes soon after what is its parent.
type Numbers struct{ last, before map[int64]int64 }

// numbersMost is how many are known at least, and half of how many at most.
const numbersMost = 1 << 19

// Put takes the new number of a request.
func (n *Numbers) Put(old, new int64) {
	if n.last == nil || len(n.last) == numbersMost {
		n.last, n.before = map[int64]int64{}, n.last
	}
	n.last[old] = new
}

// Of is the new number of a request; zero if it is not known.
func (n *Numbers) Of(old int64) int64 {
	if new, ok := n.last[old]; ok {
		return new
	}
	return n.before[old]
}
