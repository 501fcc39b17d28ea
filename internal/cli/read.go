package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/sink/folder"
	"github.com/dogear/dogear/source/list"
)

// jobFlags are what a job keeps; resume replaces what is given.
type jobFlags struct {
	Scope        string         `help:"Which requests share one quota: host (all of a host), job (all of the job), or a key that others name too." placeholder:"host|job|KEY"`
	Rate         rate           `help:"The agreed pace of the scope, such as 10/s, 600/m or 5000/h. Default: learnt." placeholder:"N/s"`
	Burst        *int           `help:"Requests that may leave at once under --rate." placeholder:"N"`
	Concurrency  *int           `help:"Requests in flight in the scope, over all processes. Default: 16." placeholder:"N"`
	Attempts     *int           `help:"Cumulative cap on the attempts of a document. Default: 8." placeholder:"N"`
	MaxRequests  *int64         `help:"Cumulative cap on the requests of the job. Default: none." placeholder:"N"`
	MaxThrottles *int           `help:"Throttle events in a row of one scope that are borne without a valid hint. Default: 10." placeholder:"N"`
	BackoffBase  *time.Duration `help:"First wait without a valid hint. Default: 1s." placeholder:"DURATION"`
	BackoffMax   *time.Duration `help:"Longest wait without a valid hint. Default: 5m." placeholder:"DURATION"`
	IdleTimeout  *time.Duration `help:"One request without progress. Default: 60s." placeholder:"DURATION"`
	MaxSize      size           `help:"The largest body that is accepted. Default: 4GiB." placeholder:"SIZE"`
	BearerEnv    string         `help:"Variable that holds a bearer token." placeholder:"VAR" xor:"bearer"`
	BearerFile   string         `help:"File that holds a bearer token; read again when it changes." placeholder:"FILE" xor:"bearer"`
	Header       []string       `help:"A header, such as 'X-Team: docs' or 'X-Key: $${KEY}'." placeholder:"'K: V'" sep:"none"`
}

// roundFlags are each run's own.
type roundFlags struct {
	Deadline deadline       `help:"This run's end: a duration, an RFC 3339 time, or none. Default: 24h." placeholder:"TIME"`
	Grace    *time.Duration `help:"For requests in flight at the end. Default: 10s." placeholder:"DURATION"`
	Progress string         `help:"How progress is shown: ${enum}." enum:"auto,plain,none" default:"auto"`
	JSON     bool           `name:"json" help:"Print the run's summary as JSON at the end."`
}

type readCmd struct {
	Source []string `arg:"" help:"A list (.txt, .csv, .jsonl), - for standard input, one http(s) address, or drives of a service: msgraph:drive/ID, msgraph:site/HOST:/path, msgraph:me."`
	Job    string   `help:"The job's name. Default: from the source's name." placeholder:"NAME"`
	Out    string   `short:"o" help:"The folder for results. Default: ./NAME." placeholder:"DIR"`
	serviceFlags
	tierFlag
	batchFlag
	loginFlags
	jobFlags
	roundFlags
	storeFlag
}

// Help is the text behind --help.
func (readCmd) Help() string { return readHelp }

// Run lists the source into a new job and reads it.
func (r *readCmd) Run(c *call) error {
	set := ledger.Settings{Source: r.Source}
	whole := c.ctx
	if at := r.Deadline.at; !at.IsZero() { // listing is bounded as well
		var cancel context.CancelFunc
		c.ctx, cancel = context.WithDeadlineCause(c.ctx, at, errListing)
		defer cancel()
	}
	if err := r.jobFlags.apply(&set, r.Source); err != nil {
		return err
	}
	if err := errors.Join(r.tierFlag.apply(&set), r.batchFlag.apply(&set), r.loginFlags.apply(&set)); err != nil {
		return err
	}
	if err := r.serviceFlags.apply(&set); err != nil {
		return err
	}
	if err := r.roundFlags.check(); err != nil {
		return err
	}
	name, err := r.jobName()
	if err != nil {
		return err
	}
	if r.Out == "" {
		r.Out = "./" + name
	}
	if strings.Contains(r.Out, "://") {
		return usage("-o %s: this dogear saves into folders: give the path of one", dogear.StripText(r.Out))
	}
	set.SinkShown = r.Out
	if set.Sink, err = filepath.Abs(r.Out); err != nil {
		return &codedError{code: exitCantCreate, err: err}
	}
	sources, err := openSources(c, &set)
	if err != nil {
		return err
	}
	defer sources.close()
	sources.services.said = r.Tier != ""
	if err := checkCredentials(set); err != nil {
		return err
	}
	if _, err := newLogin(set, sources.services.at, nil); err != nil {
		return err
	}
	s, err := c.open(r.Store)
	if err != nil {
		return err
	}
	defer s.Close()
	out, err := r.openSink(c, s, name, set)
	if err != nil {
		return err
	}
	var job ledger.Job
	if sources.drives != nil {
		job, err = c.paged(s, name, set)
	} else {
		job, err = c.list(s, name, set, sources)
	}
	if err != nil {
		return errors.Join(err, out.Abandon())
	}
	c.ctx = whole
	return c.run(round{store: s, job: job, sink: out, sources: sources, flags: r.roundFlags, storeFlag: r.Store})
}

// openSink checks that neither the job's name nor its folder is in use, and opens the folder.
func (r *readCmd) openSink(c *call, s ledger.Store, name string, set ledger.Settings) (*folder.Sink, error) {
	if _, err := s.Job(c.ctx, name); err == nil {
		return nil, &usageError{err: fmt.Errorf("job %q exists: it was not touched", name), try: "dogear resume " + name + ", or another name with --job"}
	} else if !errors.Is(err, ledger.ErrNoJob) {
		return nil, &codedError{code: exitIO, err: err}
	}
	other, err := s.SinkJob(c.ctx, set.Sink)
	if err != nil {
		return nil, &codedError{code: exitIO, err: err}
	}
	if other != "" {
		return nil, &codedError{code: exitCantCreate, err: fmt.Errorf("the folder %s belongs to job %q", r.Out, other), try: "another folder with -o"}
	}
	return openFolder(s, name, set)
}

func openFolder(s ledger.Store, name string, set ledger.Settings) (*folder.Sink, error) {
	var before []string
	for _, where := range set.Before {
		before = append(before, name+" in "+where)
	}
	out, err := folder.Open(set.Sink, name+" in "+s.Where(), before...)
	if err != nil {
		return nil, &codedError{code: exitCantCreate, err: err}
	}
	return out, nil
}

// list makes the job of everything that the sources name.
func (c *call) list(s ledger.Store, name string, set ledger.Settings, sources *sources) (ledger.Job, error) {
	job, repeats, err := s.Create(c.ctx, name, set, sources.documents(c.ctx))
	if err != nil {
		return job, listError(c.ctx, err, name)
	}
	if job.Total == 0 {
		err := s.Forget(c.ctx, job.ID)
		return job, errors.Join(&codedError{code: exitData, err: fmt.Errorf("there is no address in %s", strings.Join(set.Source, ", "))}, err)
	}
	if sources.services.unused() && set.Scope == "" {
		err := s.Forget(c.ctx, job.ID)
		return job, errors.Join(&codedError{code: exitConfig, err: fmt.Errorf("no address in %s is at the service that --profile names", strings.Join(set.Source, ", ")),
			try: "--base-url URL, which says where it is"}, err)
	}
	set.Digest = sources.digest()
	if err := s.SetSettings(c.ctx, job.ID, set); err != nil {
		return job, &codedError{code: exitIO, err: err}
	}
	job.Settings = set
	if err := rescope(c.ctx, s, job); err != nil {
		return job, err
	}
	if set.Scope == "" {
		if err := sources.services.confirmAll(c.ctx, s); err != nil {
			return job, &codedError{code: exitIO, err: err}
		}
	}
	if repeats > 0 {
		fmt.Fprintf(c.Stderr, "dogear: %d lines name a document again: each is read once\n", repeats)
	}
	return job, nil
}

// rescope says under which scopes the job's hosts are read.
func rescope(ctx context.Context, s ledger.Store, job ledger.Job) error {
	err := s.Rescope(ctx, job.ID, func(hosts []string) []string { return scopesOf(job, hosts) })
	if err != nil {
		return &codedError{code: exitIO, err: err}
	}
	return nil
}

// scopesOf are the keys of the scopes of requests to these hosts.
func scopesOf(job ledger.Job, hosts []string) []string {
	switch job.Settings.Scope {
	case "", "host":
		return hosts
	case "job":
		return []string{"job:" + job.Name}
	default:
		return []string{job.Settings.Scope}
	}
}

var errListing = errors.New("the deadline came while the list was read: there is no job yet")

// listError says what is wrong with a list.
func listError(ctx context.Context, err error, name string) error {
	var conflict *ledger.ConflictError
	var line *list.LineError
	switch {
	case errors.Is(context.Cause(ctx), errListing):
		return &codedError{code: exitTemporary, err: errListing}
	case ctx.Err() != nil:
		return &codedError{code: cancelCode(ctx), err: errors.New("stopped while listing: there is no job yet")}
	case errors.Is(err, ledger.ErrJobExists):
		return &usageError{err: fmt.Errorf("job %q exists: it was not touched", name), try: "dogear resume " + name}
	case errors.As(err, &conflict), errors.As(err, &line):
		return &codedError{code: exitData, err: err}
	}
	return &codedError{code: exitIO, err: err}
}

var jobNames = regexp.MustCompile(`^[\pL\pN][\pL\pN._-]{0,99}$`)

// jobName is the given name, or one made from the source's.
func (r *readCmd) jobName() (string, error) {
	if r.Job != "" {
		if !jobNames.MatchString(r.Job) {
			return "", usage("--job: a name is made of letters, digits, points, dashes and underscores, and begins with a letter or a digit")
		}
		return r.Job, nil
	}
	first := r.Source[0]
	if first == "-" {
		return "", &usageError{err: errors.New("a list from standard input needs a name"), try: "dogear read - --job NAME"}
	}
	name := strings.TrimSuffix(filepath.Base(first), filepath.Ext(first))
	if u, err := url.Parse(first); err == nil && isAddress(first) {
		name = u.Hostname()
		if base := path.Base(u.Path); base != "/" && base != "." {
			name = base
		}
	}
	name = strings.Trim(regexp.MustCompile(`[^\pL\pN._-]+`).ReplaceAllString(name, "-"), "-._")
	if len(name) > 100 {
		name = name[:100]
	}
	if !jobNames.MatchString(name) {
		return "", usage("no name can be made of %s: give one with --job NAME", dogear.Redact(first))
	}
	return name, nil
}

func isAddress(s string) bool {
	l := strings.ToLower(s)
	return strings.HasPrefix(l, "http://") || strings.HasPrefix(l, "https://")
}

// check refuses what contradicts itself or can mean nothing.
func (r roundFlags) check() error {
	if r.Grace != nil && *r.Grace < 0 {
		return usage("--grace: a duration is not negative")
	}
	return nil
}

// apply puts what is given into a job's settings and fills in the rest.
func (f jobFlags) apply(s *ledger.Settings, source []string) error {
	if err := f.check(); err != nil {
		return err
	}
	put(&s.Scope, f.Scope)
	put(&s.Rate, float64(f.Rate))
	given(&s.Burst, f.Burst)
	given(&s.Concurrency, f.Concurrency)
	given(&s.Attempts, f.Attempts)
	given(&s.MaxRequests, f.MaxRequests)
	given(&s.MaxThrottles, f.MaxThrottles)
	given(&s.BackoffBase, f.BackoffBase)
	given(&s.BackoffMax, f.BackoffMax)
	given(&s.IdleTimeout, f.IdleTimeout)
	put(&s.MaxSize, int64(f.MaxSize))
	if f.BearerEnv != "" || f.BearerFile != "" {
		s.BearerEnv, s.BearerFile = f.BearerEnv, f.BearerFile
		if f.BearerFile != "" {
			abs, err := filepath.Abs(f.BearerFile)
			if err != nil {
				return usage("--bearer-file: %w", err)
			}
			s.BearerFile = abs
		}
	}
	if len(f.Header) > 0 {
		s.Headers = f.Header
	}
	if s.Burst > 0 && s.Rate == 0 {
		return usage("--burst goes with --rate")
	}
	fill(&s.Attempts, 8)
	fill(&s.MaxThrottles, 10)
	fill(&s.BackoffBase, time.Second)
	fill(&s.BackoffMax, 5*time.Minute)
	fill(&s.IdleTimeout, time.Minute)
	fill(&s.MaxSize, 4<<30)
	if s.BackoffMax < s.BackoffBase {
		return usage("--backoff-max is shorter than --backoff-base")
	}
	return nil
}

func put[T comparable](dst *T, v T) {
	var zero T
	if v != zero {
		*dst = v
	}
}

func given[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

func fill[T comparable](dst *T, v T) {
	var zero T
	if *dst == zero {
		*dst = v
	}
}

var scopeKeys = regexp.MustCompile(`^[\x21-\x7e]{1,200}$`)

func (f jobFlags) check() error {
	if err := errors.Join(positive("--burst", f.Burst), positive("--concurrency", f.Concurrency), positive("--attempts", f.Attempts),
		positive("--max-requests", f.MaxRequests), positive("--max-throttles", f.MaxThrottles), positive("--backoff-base", f.BackoffBase),
		positive("--backoff-max", f.BackoffMax), positive("--idle-timeout", f.IdleTimeout)); err != nil {
		return err
	}
	if f.Concurrency != nil && *f.Concurrency > 1024 {
		return usage("--concurrency: no more than 1024")
	}
	if f.Scope != "" && (!scopeKeys.MatchString(f.Scope) || strings.Contains(f.Scope, "://")) {
		return usage("--scope: host, job, or a key without blanks, such as msgraph:tenant=T,app=A")
	}
	for _, h := range f.Header {
		if err := checkHeader(h); err != nil {
			return err
		}
	}
	return nil
}

// positive refuses a figure that is given and is not above zero.
func positive[T int | int64 | time.Duration](flag string, v *T) error {
	if v != nil && *v <= 0 {
		return usage("%s: give a number above zero", flag)
	}
	return nil
}

// cancelCode is the exit code of a command that a signal ended.
func cancelCode(ctx context.Context) int {
	if terminated(ctx) {
		return exitTerm
	}
	return exitInt
}
