// Package scenario is what the stand-in service is told to be: a strict YAML file that says
// how many documents there are, behind which limits, how they refuse, and what goes wrong.
// docs/drill.md describes the file.
//
//	s, err := scenario.Load("many-workers")
//	…
//	st, err := s.Start(scenario.Options{})
//	…
//	defer st.Close()
//	for _, doc := range st.List() {
//		read(doc.URL)
//	}
//	st.Journal.Arrivals(nil) // what the service saw of it
package scenario

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/dogear/dogear/drill/judge"
)

// A Scenario is a scenario file that was read. All its values are possible ones.
type Scenario struct {
	Name      string
	About     string // one line
	Documents int    // numbered from 1
	Size      int    // of each, in bytes; zero: standin.Size of its number
	Workers   int    // how many a client is told to use
	Clients   int    // how many are started together
	// Kill is when the clients are killed and started again, since their start.
	Kill []time.Duration
	// TimeLimit is how long a client may run.
	TimeLimit time.Duration
	// Expect is what a judge asserts.
	Expect []string

	digests    bool
	validators string
	token      *lifetime
	links      *lifetime
	pages      *pages
	graph      *graph
	google     bool
	quotas     []quota
}

// lifetime is for how long something is good; zero: for ever.
type lifetime time.Duration

// pages are how documents are listed.
type pages struct {
	size   int
	cursor time.Duration // for how long one is good; zero: for ever
}

// graph is how the documents of each quota lie in drives.
type graph struct {
	drives  int
	folders int           // of each drive
	page    int           // items
	cursor  time.Duration // for how long a token is good; zero: for ever
}

// The bounds of what a file may ask for.
const (
	maxDocuments = 100_000
	maxSize      = 64 << 20
	maxTotal     = 1 << 30 // bytes of all documents
	maxWorkers   = 1000
	maxClients   = 64
	maxQuotas    = 16
	maxRules     = 1000
	maxDrives    = 20
	maxFolders   = 1000 // of a drive
	minTime      = time.Millisecond
	maxTime      = 365 * 24 * time.Hour
)

var scenarioKeys = []string{"about", "documents", "size", "digests", "validators", "workers", "clients", "kill", "time_limit",
	"token", "links", "pages", "graph", "google", "quotas", "expect"}

var validators = []string{"etag", "modified", "both", "none"}

// usual is what is asserted of a client in every scenario that says nothing else.
var usual = []string{"late == 0", "lost == 0", "repeats == 0", "leaked == 0", "mixed == 0", "hung == 0"}

// Parse reads a scenario. A mistake in it is an [*Error].
func Parse(name string, data []byte) (*Scenario, error) {
	d := &document{name: name}
	root := d.parse(data)
	if d.err != nil {
		return nil, d.err
	}
	s := d.scenario(root)
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

func (d *document) scenario(root ast.Node) *Scenario {
	m := d.mapping(root, "a scenario", scenarioKeys)
	s := &Scenario{
		Name:       strings.TrimSuffix(filepath.Base(d.name), filepath.Ext(d.name)),
		About:      m.about(),
		Documents:  m.number("documents", 20, 1, maxDocuments),
		Size:       m.size("size", maxSize),
		Workers:    m.number("workers", 8, 1, maxWorkers),
		Clients:    m.number("clients", 1, 1, maxClients),
		TimeLimit:  m.duration("time_limit", time.Minute, time.Second, time.Hour),
		digests:    m.flag("digests", false),
		validators: m.text("validators", "etag", validators...),
		google:     m.flag("google", false),
	}
	if s.Size*s.Documents > maxTotal {
		m.fail("size", "%d documents of %d bytes are more than 1 GiB", s.Documents, s.Size)
	}
	s.Kill = m.kill(s.TimeLimit)
	s.token = m.lifetime("token")
	s.links = m.lifetime("links")
	s.pages = m.pages()
	s.graph = m.graph()
	s.Expect = m.expect()
	if d.err == nil { // the quotas are measured by the numbers above
		s.quotas = m.quotas(s)
	}
	return s
}

// about is the line that says what the scenario is for.
func (m mapping) about() string {
	s := m.text("about", "")
	switch {
	case !m.has("about"):
		m.fail("about", "about is missing: say in one line what the scenario shows")
	case strings.TrimSpace(s) == "":
		m.fail("about", "about is empty: say in one line what the scenario shows")
	case strings.ContainsRune(s, '\n') || len(s) > 200:
		m.fail("about", "about is one line of at most 200 letters")
	}
	return s
}

// kill is the moments at which clients are killed, each later than the one before.
func (m mapping) kill(limit time.Duration) []time.Duration {
	var out []time.Duration
	for _, n := range m.list("kill", 100) {
		at := m.doc.duration(n, "a moment of kill", minTime, limit-minTime) // before the limit
		if len(out) > 0 && at <= out[len(out)-1] {
			m.doc.fail(n, "%v is not after %v: the moments of kill are in their order", at, out[len(out)-1])
		}
		out = append(out, at)
	}
	return out
}

func (m mapping) lifetime(key string) *lifetime {
	if !m.has(key) {
		return nil
	}
	inner := m.doc.mapping(m.values[key], key, []string{"lifetime"})
	v := lifetime(inner.duration("lifetime", 0, minTime, maxTime))
	return &v
}

var pagesKeys = []string{"size", "cursor"}

func (m mapping) pages() *pages {
	if !m.has("pages") {
		return nil
	}
	inner := m.doc.mapping(m.values["pages"], "pages", pagesKeys)
	return &pages{inner.number("size", 100, 1, maxDocuments), inner.duration("cursor", 0, minTime, maxTime)}
}

var graphKeys = []string{"drives", "folders", "page", "cursor"}

func (m mapping) graph() *graph {
	if !m.has("graph") {
		return nil
	}
	inner := m.doc.mapping(m.values["graph"], "graph", graphKeys)
	return &graph{
		drives:  inner.number("drives", 1, 1, maxDrives),
		folders: inner.number("folders", 0, 0, maxFolders),
		page:    inner.number("page", 100, 1, maxDocuments),
		cursor:  inner.duration("cursor", 0, minTime, maxTime),
	}
}

// expect is the assertions, each of which a judge understands.
func (m mapping) expect() []string {
	if !m.has("expect") {
		return append([]string(nil), usual...)
	}
	var out []string
	for _, n := range m.list("expect", 100) {
		s, ok := m.doc.textOf(n)
		if !ok {
			m.doc.fail(n, "an expectation is a text such as: late == 0")
		}
		if _, err := judge.ParseAssert(s); ok && err != nil {
			m.doc.fail(n, "%v", err)
		}
		out = append(out, s)
	}
	return out
}
