package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/acceptance"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/sqlite"
	"github.com/dogear/dogear/plan"
	"github.com/dogear/dogear/profile"
)

type planCmd struct {
	Source    []string `arg:"" optional:"" help:"What would be read: lists (.txt, .csv, .jsonl), - for standard input, or one http(s) address. It is only counted."`
	Documents *int64   `help:"How many documents, where there is no list; with one address: how many like that one." placeholder:"N"`
	Size      size     `help:"Of a document on average, where the list does not say it." placeholder:"SIZE"`
	Cost      string   `help:"What a document costs in the service's units, in place of what the profile says." placeholder:"N"`
	Requests  *int64   `help:"Requests for one document, such as a read and its redirect. Default: 1." placeholder:"N"`
	serviceFlags
	batchFlag
	Part        []string       `help:"What is known of the credential, by the profile's parts, such as user=anna; an empty value leaves it out." placeholder:"NAME=VALUE" sep:"none"`
	Tier        string         `help:"Which of the profile's plans applies. Default: its first." placeholder:"NAME"`
	Scope       string         `help:"Which requests share one quota, as in dogear read." placeholder:"host|job|KEY"`
	Rate        string         `help:"The agreed pace in requests, such as 10/s, 600/m or 5000/h." placeholder:"N/s"`
	Burst       *int64         `help:"Requests that may leave at once under --rate." placeholder:"N"`
	Concurrency *int64         `help:"Requests in flight; goes with --latency. Default: dogear's own 16." placeholder:"N"`
	Latency     *time.Duration `help:"How long one answer takes. Default: that is left out." placeholder:"DURATION"`
	Deadline    string         `help:"By when it has to be done: a duration from the start, or an RFC 3339 time." placeholder:"TIME"`
	Lang        string         `help:"The language: ${enum}." enum:"en,zh" default:"en"`
	Markdown    string         `help:"Write an assessment sheet as Markdown; - for standard output." placeholder:"FILE"`
	HTML        string         `name:"html" help:"Write it as a page; - for standard output." placeholder:"FILE"`
	JSON        bool           `name:"json" help:"One JSON object, in place of the text."`
	storeFlag
}

// Help is the text behind --help.
func (planCmd) Help() string { return planHelp }

// Run makes a plan. Nothing is sent.
func (r *planCmd) Run(c *call) error {
	ask, err := r.ask(c, time.Now())
	if err != nil {
		return err
	}
	p, err := plan.New(ask)
	if err != nil {
		return &usageError{err: err, try: "dogear plan --help"}
	}
	return r.print(c, p)
}

// ask turns the command line into a question.
func (r *planCmd) ask(c *call, now time.Time) (ask plan.Ask, err error) {
	if err := r.check(); err != nil {
		return ask, err
	}
	given(&ask.Requests, r.Requests)
	given(&ask.Concurrency, r.Concurrency)
	given(&ask.Latency, r.Latency)
	ask.Size, ask.Tier = int64(r.Size), r.Tier
	if ask.Cost, err = parseCost(r.Cost); err != nil {
		return ask, err
	}
	if ask.Rate, err = r.rate(); err != nil {
		return ask, err
	}
	if ask.Deadline, err = planDeadline(r.Deadline, now); err != nil {
		return ask, err
	}
	if r.Scope != "" {
		ask.Scoped = "--scope " + r.Scope
	}
	for _, row := range acceptance.Rows() {
		ask.Rows = append(ask.Rows, plan.Row{Name: row.Name, Must: row.Must})
	}
	set := ledger.Settings{Source: slices.Clone(r.Source), Scope: r.Scope}
	if err := errors.Join(r.batchFlag.apply(&set), r.serviceFlags.apply(&set)); err != nil {
		return ask, err
	}
	ask.Batch = int64(set.Batch)
	if err := r.load(c, &ask, &set); err != nil {
		return ask, err
	}
	ask.Scopes, err = c.ledgerScopes(r.storeFlag)
	return ask, err
}

// check refuses what contradicts itself.
func (r *planCmd) check() error {
	if err := errors.Join(positive("--documents", r.Documents), positive("--requests", r.Requests), positive("--burst", r.Burst),
		positive("--concurrency", r.Concurrency), positive("--latency", r.Latency)); err != nil {
		return err
	}
	toStdout := 0
	for _, on := range []bool{r.Markdown == "-", r.HTML == "-", r.JSON} {
		if on {
			toStdout++
		}
	}
	one := len(r.Source) == 1 && isAddress(r.Source[0])
	switch {
	case len(r.Source) == 0 && r.Documents == nil:
		return &usageError{err: errors.New("what would be read? name a list, or say how many documents"), try: "dogear plan --profile NAME --documents N"}
	case len(r.Source) > 0 && r.Documents != nil && !one:
		return usage("--documents: a list says by itself how many there are; with one address it is how many like that one")
	case len(r.Source) == 0 && r.Scope != "":
		return usage("--scope goes with a list or an address: which requests share a quota is told by addresses")
	case r.Scope != "" && (!scopeKeys.MatchString(r.Scope) || strings.Contains(r.Scope, "://")):
		return usage("--scope: host, job, or a key without blanks, such as msgraph:tenant=T,app=A")
	case r.Burst != nil && r.Rate == "":
		return usage("--burst goes with --rate")
	case r.Concurrency != nil && r.Latency == nil:
		return usage("--concurrency goes with --latency: how many at a time says nothing without how long one takes")
	case r.Concurrency != nil && *r.Concurrency > 1024:
		return usage("--concurrency: no more than 1024")
	case toStdout > 1:
		return usage("--json, --markdown - and --html - each want standard output for themselves")
	}
	return nil
}

var costs = regexp.MustCompile(`^[0-9]{1,15}(\.[0-9]{1,9})?$`)

func parseCost(s string) (*big.Rat, error) {
	if s == "" {
		return nil, nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !costs.MatchString(s) || !ok {
		return nil, usage("--cost: %q is no number of units, such as 2 or 0.5", s)
	}
	return r, nil
}

// rate is --rate as it is written, not as a float would have it.
func (r *planCmd) rate() (*plan.Rate, error) {
	if r.Rate == "" {
		return nil, nil
	}
	n, unit, _ := strings.Cut(r.Rate, "/")
	amount, ok := new(big.Rat).SetString(n)
	if _, err := parseRate(r.Rate); err != nil || !ok {
		return nil, usage("--rate: %q is no rate: give a number and a unit, such as 10/s, 600/m or 5000/h", r.Rate)
	}
	out := &plan.Rate{Amount: amount, Per: map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]}
	given(&out.Burst, r.Burst)
	return out, nil
}

// planDeadline is a deadline that counts from the start, or a moment.
func planDeadline(s string, now time.Time) (plan.Deadline, error) {
	if s == "" || s == "none" {
		return plan.Deadline{}, nil
	}
	d, err := parseDeadline(s, now)
	if err != nil {
		return plan.Deadline{}, usage("--deadline: %w", err)
	}
	if within, err := time.ParseDuration(s); err == nil {
		return plan.Within(within), nil
	}
	return plan.Until(now, d.at), nil
}

// load counts what would be read.
func (r *planCmd) load(c *call, ask *plan.Ask, set *ledger.Settings) error {
	if err := noListing(r.Source); err != nil {
		return err
	}
	sources, err := openSources(c, set)
	if err != nil {
		return err
	}
	defer sources.close()
	s := sources.services
	if r.Profile != "" {
		ask.Profile = s.given
		if _, shipped := profile.Get(r.Profile); !shipped {
			ask.File = r.Profile
		}
		ask.Base = r.BaseURL
	}
	if err := r.parts(ask.Profile, s.parts); err != nil {
		return err
	}
	if len(r.Source) == 0 {
		l := plan.Load{Documents: *r.Documents}
		if s.given != nil {
			l = plan.LoadOf(s.given, r.base(s.given), s.parts, *r.Documents)
		}
		ask.Loads = []plan.Load{l}
		return nil
	}
	ask.Placed, ask.Listed = true, r.Documents == nil
	sources.scopes = nil // they go by whole addresses here
	count := &planCount{cmd: r, services: s, lines: map[uint64]line{}, hosts: map[string]*profile.Profile{}}
	for d, err := range sources.documents(c.ctx) {
		if err == nil {
			err = count.add(d)
		}
		if err != nil {
			return count.failed(c, err)
		}
	}
	ask.Loads, ask.Repeats = count.loads.All(), count.repeats
	if len(ask.Loads) == 0 {
		return &codedError{code: exitData, err: fmt.Errorf("there is no address in %s", strings.Join(r.Source, ", "))}
	}
	if len(r.Part) > 0 && ask.Profile == nil && count.profile == nil {
		return usage("--part goes with a profile, and none is known for this source (--profile)")
	}
	if ask.Profile == nil && count.profile != nil {
		ask.Profile = count.profile
		if err := r.parts(ask.Profile, s.parts); err != nil {
			return err
		}
	}
	return nil
}

// noListing refuses sources that would have to be asked.
func noListing(source []string) error {
	for _, name := range source {
		service, _, found := strings.Cut(name, ":")
		if _, err := os.Stat(name); !found || err == nil || isAddress(name) {
			continue
		}
		if _, known := profile.Get(service); known {
			return usage("%s: listing it takes requests, and a plan sends none: say how many documents there are with --profile %s --documents N", dogear.StripText(name), service)
		}
	}
	return nil
}

// base is the address that stands for all of a service.
func (r *planCmd) base(p *profile.Profile) *url.URL {
	if u, err := url.Parse(r.BaseURL); err == nil && r.BaseURL != "" {
		return u
	}
	if p.Base != nil {
		return p.Base.URL
	}
	return &url.URL{}
}

// parts puts --part into what is known of the credential.
func (r *planCmd) parts(p *profile.Profile, parts map[string]string) error {
	var known []string
	if p != nil {
		for _, part := range p.Parts {
			if part.Given != "" {
				known = append(known, part.Name)
			}
		}
	}
	for _, s := range r.Part {
		name, value, ok := strings.Cut(s, "=")
		switch {
		case !ok || name == "":
			return usage("--part: give a name and a value, such as user=anna")
		case p == nil && len(r.Source) > 0: // its host may find one
		case !slices.Contains(known, name):
			return usage("--part: the profile asks for no %s; it knows %s", name, orElse(strings.Join(known, ", "), "none"))
		}
		if value != "" {
			parts[name] = value
		}
	}
	return nil
}

// ledgerScopes are the scopes of the ledger, if there is one: a plan makes none.
func (c *call) ledgerScopes(flag storeFlag) (map[string]dogear.Scope, error) {
	path := orElse(flag.Store, os.Getenv("DOGEAR_STORE"))
	if path == "" {
		var err error
		if path, err = sqlite.DefaultPath(); err != nil {
			return nil, nil
		}
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !strings.Contains(path, "://") {
		if flag.Store != "" {
			return nil, &codedError{code: exitNoInput, err: fmt.Errorf("--store: there is no ledger at %s", flag.Store)}
		}
		return nil, nil
	}
	s, err := c.open(flag)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out := map[string]dogear.Scope{}
	for sc, err := range s.Scopes(c.ctx) {
		if err != nil {
			return nil, &codedError{code: exitIO, err: err}
		}
		out[sc.Key] = sc
	}
	return out, nil
}

// print writes the plan to wherever it was asked for.
func (r *planCmd) print(c *call, p *plan.Plan) error {
	lang := plan.English
	if r.Lang == "zh" {
		lang = plan.Chinese
	}
	var files pages
	defer func() { files.discard() }()
	text := true
	for _, o := range []struct {
		flag, path string
		write      func(io.Writer, plan.Lang) error
	}{{"--markdown", r.Markdown, p.Markdown}, {"--html", r.HTML, p.HTML}} {
		switch o.path {
		case "":
		case "-":
			text = false
			if err := o.write(c.Stdout, lang); err != nil {
				return written(err)
			}
		default:
			file := &page{flag: o.flag, path: o.path, fill: func(w io.Writer, _ []drill.Result) error { return o.write(w, lang) }}
			if err := file.open(); err != nil {
				return &codedError{code: exitCantCreate, err: fmt.Errorf("%s: %w", o.flag, err)}
			}
			files = append(files, file)
		}
	}
	if err := files.write(nil); err != nil {
		return err
	}
	switch {
	case r.JSON:
		return written(encode(c.Stdout, p))
	case text:
		return written(p.Text(c.Stdout, lang))
	}
	return nil
}
