package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"regexp"
	"strings"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/gate"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/reader"
	"github.com/dogear/dogear/wire"
)

// round is everything that one run needs.
type round struct {
	store     ledger.Store
	job       ledger.Job
	sink      sink
	sources   *sources
	flags     roundFlags
	storeFlag string
	help      bool // another process has begun the run
}

// run reads one round, shows it, and returns its end as an exit code.
func (c *call) run(s round) error {
	defer s.sink.Close()
	set := s.job.Settings
	w, err := wire.New(wire.Config{IdleTimeout: set.IdleTimeout})
	if err != nil {
		return &usageError{err: err}
	}
	defer w.Close()
	if !s.help {
		if err := c.confirm(s); err != nil {
			return err
		}
	}
	end := s.flags.Deadline.at
	if !s.flags.Deadline.given {
		end = time.Now().Add(24 * time.Hour).Round(0)
	}
	g, err := gate.New(gate.Config{
		Store: s.store, Wire: w, By: "job " + s.job.Name, Deadline: end, RequireConfirmed: true,
		MaxThrottles: set.MaxThrottles, MaxRequests: set.MaxRequests,
		BackoffBase: set.BackoffBase, BackoffMax: set.BackoffMax,
		Profile: s.sources.services.of, Parts: s.sources.services.parts,
	})
	if err != nil {
		return &usageError{err: err}
	}
	v := c.newView(s, g)
	tokens, err := newLogin(set, s.sources.services.at, v.tell)
	if err != nil {
		return err
	}
	credentials := newCredentials(set, tokens)
	credentials.agent = s.sources.services.agent
	if want := s.sources.services.unnamed(credentials.headers); want != "" {
		v.tell("the service refuses requests that do not name their sender: --header 'User-Agent: …' with " + want)
	}
	cfg := reader.Config{
		Store: s.store, Job: s.job, Gate: g, Source: s.sources, Sink: s.sink, Credentials: credentials,
		Log: newLog(v), Deadline: end, Grace: 10 * time.Second, Abort: c.Abort, Help: s.help,
		Scopes: func(u *url.URL) []string { return scopesOf(s.job, s.sources.scopes(u)) },
		// Who gives tokens is a quota of its own, though it may be at the service's address.
		TokenScopes: func(u *url.URL) []string { return scopesOf(s.job, []string{dogear.HostKey(u)}) },
	}
	if s.flags.Grace != nil {
		cfg.Grace = *s.flags.Grace
	}
	if lanes, err := lanesOf(c.ctx, s); err != nil {
		return &codedError{code: exitIO, err: err}
	} else if s.sources.services.batches(keysOf(lanes)) {
		cfg.Batch = s.sources.services.batch
	}
	if s.sources.drives != nil {
		cfg.Pages = s.sources.drives
		cfg.Listed = func(ctx context.Context) error { return c.whenListed(ctx, s) }
	}
	cfg.Confirm = documented(s)
	if set.Scope != "" {
		cfg.Confirm = confirmer(s, "--scope "+set.Scope)
	}
	if tokens != nil {
		for _, key := range cfg.TokenScopes(tokens.Endpoint()) { // who names the tenant names where its tokens come from
			if err := c.confirmLogin(s, key); err != nil {
				return &codedError{code: exitIO, err: err}
			}
		}
	}
	return c.finish(s, v, reader.New(cfg))
}

// finish runs the reader under a view, and says how it ended.
func (c *call) finish(s round, v *view, r *reader.Runner) error {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(c.ctx))
	defer stop(nil)
	v.show(r)
	defer context.AfterFunc(c.ctx, func() { // a signal's cause becomes the run's reason
		stop(&reader.Stop{Reason: dogear.Cancelled, Err: context.Cause(c.ctx)})
		v.say("nothing more is sent; what is in flight finishes, and a second signal aborts it")
	})()
	end, err := r.Run(ctx)
	v.close()
	if err != nil {
		return err
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), time.Minute)
	if end.Reason == dogear.LedgerFailed { // it may not answer now either
		after, cancel = context.WithTimeout(after, time.Second/2)
	}
	defer cancel()
	return c.conclude(after, s, end)
}

// conclude says how a run ended, and returns its exit code.
func (c *call) conclude(ctx context.Context, s round, end reader.Ending) error {
	if job, err := s.store.Job(ctx, s.job.Name); err == nil {
		s.job = job // a listing may have gone on
	}
	code := exits[end.Reason]
	counts, err := s.store.Counts(ctx, s.job.ID)
	switch {
	case err != nil && end.Reason == dogear.LedgerFailed:
		c.sayEnd(s, end)
		return exitError(code)
	case err != nil:
		return &codedError{code: exitIO, err: err}
	case end.Reason == dogear.Completed && counts.Documents[dogear.Done] < s.job.Total:
		code = exitData
	case end.Reason == dogear.Cancelled:
		code = cancelCode(c.ctx)
	}
	if s.flags.JSON {
		sum, err := summarize(ctx, s.store, s.job)
		if err != nil {
			return &codedError{code: exitIO, err: err}
		}
		if err := json.NewEncoder(c.Stdout).Encode(sum); err != nil {
			return err
		}
	}
	c.say(s, end, counts)
	if code != 0 {
		return exitError(code)
	}
	return nil
}

// who is the user, for records of who confirmed or released.
func who() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "unknown"
}

// confirmer confirms scopes as they are met, each once.
func confirmer(s round, source string) func(context.Context, string) error {
	known := newOnce()
	set := s.job.Settings
	var before map[string]dogear.Confirmation
	return func(ctx context.Context, key string) error {
		return known.do(key, func() (err error) {
			if before == nil {
				if before, err = confirmations(ctx, s.store); err != nil {
					return err
				}
			}
			by := before[key]
			if !by.OK() { // who has said more than a flag says is kept
				by = dogear.Confirmation{By: who(), Source: source, At: time.Now()}
			}
			return s.store.Confirm(ctx, key, by, set.Rate, set.Burst, set.Concurrency)
		})
	}
}

// documented confirms scopes that are met on the way, each once, where their service
// documents them.
func documented(s round) func(context.Context, string) error {
	known := newOnce()
	return func(ctx context.Context, key string) error {
		return known.do(key, func() error {
			before, err := confirmations(ctx, s.store)
			if err != nil {
				return err
			}
			return s.sources.services.confirm(ctx, s.store, key, before)
		})
	}
}

// confirm sees to it that every scope of the job is confirmed before anything is sent: by
// the flag, by an earlier confirmation, or by asking at a terminal. Where nobody can be
// asked the run will say so (W6).
func (c *call) confirm(s round) error {
	lanes, err := lanesOf(c.ctx, s)
	if err != nil {
		return &codedError{code: exitIO, err: err}
	}
	set := s.job.Settings
	if s.sources.drives != nil && set.Scope == "" {
		if err := s.sources.services.confirmAll(c.ctx, s.store); err != nil {
			return &codedError{code: exitIO, err: err}
		}
	}
	if set.Scope != "" {
		confirm := confirmer(s, "--scope "+set.Scope)
		for _, key := range keysOf(lanes) {
			if err := confirm(c.ctx, key); err != nil {
				return &codedError{code: exitIO, err: err}
			}
		}
		return nil
	}
	open, err := unconfirmed(c.ctx, s.store, keysOf(lanes))
	if err != nil {
		return &codedError{code: exitIO, err: err}
	}
	if len(open) > 0 {
		if err := c.ask(s, open); err != nil {
			return err
		}
	}
	if set.Rate > 0 || set.Burst > 0 || set.Concurrency > 0 { // the last statement counts for every process
		scopes, err := confirmations(c.ctx, s.store)
		if err != nil {
			return &codedError{code: exitIO, err: err}
		}
		for _, key := range keysOf(lanes) {
			if by := scopes[key]; by.OK() {
				if err := s.store.Confirm(c.ctx, key, by, set.Rate, set.Burst, set.Concurrency); err != nil {
					return &codedError{code: exitIO, err: err}
				}
			}
		}
	}
	return nil
}

func keysOf(lanes []ledger.Lane) []string {
	seen := map[string]bool{}
	var keys []string
	for _, l := range lanes {
		for _, k := range l.Scopes {
			if !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	return keys
}

func confirmations(ctx context.Context, s ledger.Store) (map[string]dogear.Confirmation, error) {
	out := map[string]dogear.Confirmation{}
	for sc, err := range s.Scopes(ctx) {
		if err != nil {
			return nil, err
		}
		out[sc.Key] = sc.Confirmed
	}
	return out, nil
}

func unconfirmed(ctx context.Context, s ledger.Store, keys []string) ([]string, error) {
	known, err := confirmations(ctx, s)
	if err != nil {
		return nil, err
	}
	var open []string
	for _, k := range keys {
		if !known[k].OK() {
			open = append(open, k)
		}
	}
	return open, nil
}

// say tells people how the run ended, what remains and what to do next.
func (c *call) say(s round, end reader.Ending, counts ledger.Counts) {
	w := c.Stderr
	if s.help && c.ctx.Err() != nil {
		fmt.Fprintf(w, "%s: this worker has left, the run goes on: %d of %d documents done\n", s.job.Name, counts.Documents[dogear.Done], s.job.Total)
		fmt.Fprintf(w, "  try: dogear worker %s%s\n", s.job.Name, storeArg(s.storeFlag))
		return
	}
	done, total := counts.Documents[dogear.Done], s.job.Total
	fmt.Fprintf(w, "%s: %s: %d of %d documents done", s.job.Name, end.Reason, done, total)
	for _, st := range []dogear.State{dogear.Pending, dogear.InFlight, dogear.InDoubt, dogear.Changed, dogear.Denied, dogear.Gone, dogear.Failed} {
		if n := counts.Documents[st]; n > 0 {
			fmt.Fprintf(w, ", %d %s", n, st)
		}
	}
	fmt.Fprintf(w, "; %d requests sent, %d throttled\n", counts.Sent, counts.Throttled)
	if s.job.Listing && total > 0 {
		fmt.Fprintf(w, "  the listing is not complete: there may be more documents, and none was read yet\n")
	}
	if end.Others > 0 {
		fmt.Fprintf(w, "  %d of what was listed are no documents that can be read: notebooks, and links to folders elsewhere\n", end.Others)
	}
	if end.Missing > 0 {
		fmt.Fprintf(w, "  %d results were missing in the sink or of another size: their documents were read again\n", end.Missing)
	}
	if u, ok := errors.AsType[*reader.UnconfirmedError](end.Err); ok {
		fmt.Fprintf(w, "dogear: nobody has said which requests share the quota of %s\n", strings.Join(u.Keys, ", "))
		for _, k := range u.Keys[:min(3, len(u.Keys))] {
			fmt.Fprintf(w, "  try: dogear scopes confirm %s --source 'how you know'%s\n", k, storeArg(s.storeFlag))
		}
		fmt.Fprintf(w, "  or:  dogear resume %s --scope host%s\n", s.job.Name, storeArg(s.storeFlag))
		return
	}
	c.sayWhy(end)
	switch {
	case end.Reason == dogear.Completed && done == total:
	case end.Reason == dogear.Completed:
		fmt.Fprintf(w, "  try: dogear remaining %s%s\n", s.job.Name, storeArg(s.storeFlag))
	case end.Reason == dogear.AttemptsExhausted:
		fmt.Fprintf(w, "  try: dogear remaining %s%s\n", s.job.Name, storeArg(s.storeFlag))
		fmt.Fprintf(w, "  or:  dogear resume %s%s --attempts %d\n", s.job.Name, storeArg(s.storeFlag), 2*s.job.Settings.Attempts)
	case end.Reason == dogear.RequestsExhausted:
		fmt.Fprintf(w, "  try: dogear resume %s%s --max-requests %d\n", s.job.Name, storeArg(s.storeFlag), 2*s.job.Settings.MaxRequests)
	case end.Reason == dogear.StopUnauthorized:
		fmt.Fprintf(w, "  try: %s\n", credentialTry(s.job.Settings, s.job.Name+storeArg(s.storeFlag)))
	case end.Reason == dogear.SourceRefused && s.job.Listing && total == 0:
		fmt.Fprintf(w, "  try: dogear forget %s%s, and dogear read with the right source or --base-url\n", s.job.Name, storeArg(s.storeFlag))
	case !end.NotBefore.IsZero():
		fmt.Fprintf(w, "  try: dogear resume %s%s at or after %s\n", s.job.Name, storeArg(s.storeFlag), stamp(end.NotBefore))
	default:
		fmt.Fprintf(w, "  try: dogear resume %s%s\n", s.job.Name, storeArg(s.storeFlag))
	}
}

// sayEnd is all that can be said of a run where the ledger does not answer.
func (c *call) sayEnd(s round, end reader.Ending) {
	fmt.Fprintf(c.Stderr, "%s: %s: its place is as the ledger has it\n", s.job.Name, end.Reason)
	c.sayWhy(end)
	fmt.Fprintf(c.Stderr, "  try: dogear resume %s%s when the ledger answers\n", s.job.Name, storeArg(s.storeFlag))
}

// sayWhy says what ended a run, where the reason does not say all.
func (c *call) sayWhy(end reader.Ending) {
	if st, ok := errors.AsType[*reader.Stop](end.Err); ok {
		end.Err = st.Err // its reason has been said
	}
	if end.Err != nil && end.Reason != dogear.Cancelled && end.Reason != dogear.Completed {
		fmt.Fprintf(c.Stderr, "dogear: %s\n", shown(end.Err.Error()))
	}
}

// storeArg is the flag that names a ledger, for a command that a person may paste.
func storeArg(store string) string {
	if store == "" {
		return ""
	}
	if strings.Contains(store, "://") { // it may hold a password
		u, err := url.Parse(store)
		store = dogear.Redact(store)
		if err == nil && u.User.Username() != "" {
			store = strings.Replace(store, "://", "://"+url.User(u.User.Username()).String()+"@", 1)
		}
	}
	if !plain.MatchString(store) {
		store = "'" + strings.ReplaceAll(store, "'", `'\''`) + "'"
	}
	return " --store " + store
}

// plain is what a shell takes as it is.
var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// credentialTry is what to do when a service takes a credential no more.
func credentialTry(set ledger.Settings, job string) string {
	switch {
	case set.Login != "":
		return "look at what the app and the person may do in the tenant; then dogear resume " + job
	case set.BearerEnv != "":
		return "a new token in the variable " + set.BearerEnv + "; then dogear resume " + job
	case set.BearerFile != "":
		return "a new token in the file " + set.BearerFile + "; then dogear resume " + job
	}
	return "dogear resume " + job + " --bearer-env VARIABLE"
}
