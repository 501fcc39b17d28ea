package plan

import (
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
)

// An Ask is what a plan is made of. Zero fields were not said.
type Ask struct {
	// Profile is what is known of the service; nil: nothing. File is where it was read, if it
	// is a user's own. Base is the address under which it is meant, without credentials;
	// empty: the profile's.
	Profile *profile.Profile
	File    string
	Base    string
	// Tier is one of the profile's plans. Empty: its first.
	Tier string

	Loads []Load
	// Listed says that the documents are in a list, which takes no requests to read, and Placed
	// that the addresses by which the loads were made are theirs.
	Listed, Placed bool
	// Repeats are the lines of a list that name a document again. They are in no load.
	Repeats int64

	Size     int64    // of a document in bytes, on average, where the list does not say it
	Requests int64    // for one document, such as a read and its redirect; zero: 1
	Cost     *big.Rat // of a document in units; nil: the profile's, for each request
	// Batch is how many documents are read in one batch. Zero: what the service and its
	// limits let through; negative: batches are not used.
	Batch int64

	// Rate is the agreed pace; nil: none.
	Rate *Rate
	// Latency is how long one answer takes, and Concurrency how many are awaited at a time.
	// Without a Latency nothing is said of it; without a Concurrency it is dogear's own.
	Latency     time.Duration
	Concurrency int64

	Deadline Deadline
	// Scoped says how the user has said which requests share a quota, such as "--scope host".
	// Empty: they have not.
	Scoped string
	// Scopes are what the ledger has, by scope key.
	Scopes map[string]dogear.Scope
	// Rows are what must be seen before the reading is accepted.
	Rows []Row
}

// A Rate is a number of requests in a time. Burst of them may leave at once; zero: that was not
// said.
type Rate struct {
	Amount *big.Rat
	Per    time.Duration
	Burst  int64
}

// A Row is one situation of an acceptance table.
type Row struct{ Name, Must string }

// A Deadline is when a run ends. The zero value is none.
type Deadline struct {
	within   time.Duration
	from, at time.Time
}

// Within is a deadline that counts from the start, whenever that is.
func Within(d time.Duration) Deadline { return Deadline{within: d} }

// Until is a deadline at a moment, for a plan that counts from another one.
func Until(from, at time.Time) Deadline { return Deadline{within: at.Sub(from), from: from, at: at} }

func (d Deadline) given() bool { return d.within > 0 }

// A Load is documents that are counted alike.
type Load struct {
	// Profile is what is known of their service; nil: nothing.
	Profile *profile.Profile
	// Members are the scopes that a request for one of them is counted against.
	Members   []profile.Membership
	Documents int64
	// Sized is of how many of them the size is known, and Bytes those sizes in all.
	Sized, Bytes int64
	// Batched says that the profile's batch call can read them.
	Batched bool
}

// Loads gathers documents one by one. The zero value is ready.
type Loads struct {
	all   []Load
	index map[string]int
}

// Add adds to the documents of what is counted alike.
func (l *Loads) Add(more Load) {
	var key []byte
	for _, m := range more.Members {
		key = append(append(key, m.Key...), ' ')
		key = append(strconv.AppendFloat(key, m.Cost, 'g', -1, 64), '\n')
	}
	key = strconv.AppendBool(key, more.Batched)
	i, known := l.index[string(key)]
	if !known {
		if l.index == nil {
			l.index = map[string]int{}
		}
		l.index[string(key)] = len(l.all)
		l.all = append(l.all, more)
		return
	}
	to := &l.all[i]
	to.Documents, to.Sized, to.Bytes = sum(to.Documents, more.Documents), sum(to.Sized, more.Sized), sum(to.Bytes, more.Bytes)
}

// All are the loads so far, in the order in which they were met.
func (l *Loads) All() []Load { return l.all }

// check says what contradicts itself.
func (a *Ask) check() error {
	var documents int64
	for _, l := range a.Loads {
		documents = sum(documents, l.Documents)
	}
	switch {
	case documents == 0:
		return errors.New("there is no document to plan for")
	case a.Concurrency > 0 && a.Latency == 0:
		return errors.New("how many answers are awaited at a time says nothing without how long one takes (--latency)")
	case a.Rate != nil && a.Rate.Amount.Sign() <= 0:
		return errors.New("a rate is above zero")
	}
	if err := a.checkTier(); err != nil {
		return err
	}
	return a.checkBatch()
}

func (a *Ask) checkTier() error {
	if a.Tier == "" {
		return nil
	}
	var plans []string
	if a.Profile != nil {
		plans = a.Profile.Plans()
	}
	switch {
	case len(plans) == 0:
		return errors.New("the limits are the same for all plans: there is no tier to choose")
	case !slices.Contains(plans, a.Tier):
		return fmt.Errorf("there is no tier %s; there are %s", a.Tier, strings.Join(plans, ", "))
	}
	return nil
}

func (a *Ask) checkBatch() error {
	if a.Batch <= 0 {
		return nil
	}
	switch b := a.batch(); {
	case b == nil:
		return errors.New("no batch call is documented: read the documents one by one (--batch off)")
	case b.NoMedia:
		return errors.New("the service's batch call carries no contents of documents: read them one by one (--batch off)")
	case a.Batch > int64(b.Most):
		return fmt.Errorf("the service takes at most %d in one batch", b.Most)
	}
	return nil
}

func (a *Ask) batch() *profile.Batch {
	if a.Profile == nil {
		return nil
	}
	return a.Profile.Batch
}

// tier is the plan that is meant, and whether it is only assumed.
func (a *Ask) tier() (name string, assumed bool) {
	if a.Tier != "" || a.Profile == nil {
		return a.Tier, false
	}
	if plans := a.Profile.Plans(); len(plans) > 0 {
		return plans[0], true
	}
	return "", false
}

// LoadOf is so many documents like the one at an address, whose sizes are not known. Parts are
// what is known of the credential: see [profile.Profile.Belongs].
func LoadOf(p *profile.Profile, u *url.URL, parts map[string]string, documents int64) Load {
	if p == nil {
		return Load{Members: []profile.Membership{{Key: dogear.HostKey(u), Cost: 1}}, Documents: documents}
	}
	return Load{Profile: p, Members: p.Belongs("GET", u, parts), Documents: documents,
		Batched: p.Batch != nil && !p.Batch.NoMedia && (u.Host == "" || p.Covers(u.Host))}
}
