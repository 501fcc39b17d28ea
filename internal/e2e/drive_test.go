package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/standin"
)

// drive serves documents 1 to n in a drive, behind signed links.
func drive(t *testing.T, n int, cfg standin.Config) *standin.Service {
	t.Helper()
	cfg.First, cfg.Last = 1, n
	if cfg.Graph == nil {
		cfg.Graph = &standin.Graph{Folders: 6, Page: 20}
	}
	cfg.Links = standin.NewLinks(3 * time.Second)
	s := serve(t, cfg)
	t.Cleanup(func() { _ = cfg.Links.Service().Close() })
	return s
}

// readDrive is the command that reads the drive of a service.
func readDrive(s *standin.Service, more ...string) []string {
	return append([]string{"read", "msgraph:drive/D1", "--base-url", s.URL(""), "-o", "out", "--progress", "none", "--backoff-base", "200ms"}, more...)
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// pages are how many requests of a drive's listing were answered.
func pages(s *standin.Service) (n int) {
	for _, a := range s.Journal.Arrivals(nil) {
		if a.Kind == journal.List && a.Status == http.StatusOK {
			n++
		}
	}
	return n
}

// wholeOnce sees that every document came whole, and once, in all that a journal has.
func wholeOnce(t *testing.T, s *standin.Service, n int) {
	t.Helper()
	whole := map[int]int{}
	for _, a := range s.Journal.Arrivals(nil) {
		if a.Whole {
			whole[a.Document]++
		}
		for _, it := range a.Items {
			if it.Whole {
				whole[it.Document]++
			}
		}
		if len(a.Leaked) > 0 {
			t.Errorf("arrival %d brought %v to the signed link", a.N, a.Leaked)
		}
		if a.Told != nil && a.At.Before(a.Told.Until) {
			t.Errorf("arrival %d (%s %s) came %v before the wait was over", a.N, a.Kind, a.Path, a.Told.Until.Sub(a.At))
		}
	}
	for doc := 1; doc <= n; doc++ {
		if whole[doc] != 1 {
			t.Errorf("document %d came whole %d times", doc, whole[doc])
		}
	}
}

// A drive whose service refuses a fifth of all items: every document once, what arrived is
// what the ledger has, nothing comes inside a wait, and nothing secret to the signed links.
func TestDrive(t *testing.T) {
	t.Parallel()
	const docs = 60
	tokens := standin.NewTokens(0)
	s := drive(t, docs, standin.Config{Tokens: tokens, Rules: []standin.Rule{
		standin.Where(standin.Select{Documents: []standin.Range{{First: 1, Last: docs}}, Requests: []standin.Range{{First: 1, Last: 1}}, Every: 5},
			standin.Throttle(429, standin.Seconds, time.Second)),
	}})
	u := newUser(t)
	u.vars = append(u.vars, "TOKEN="+tokens.Valid())
	u.must(0, readDrive(s, "--bearer-env", "TOKEN")...)
	wholeOnce(t, s, docs)
	got := u.status("D1")
	if got.State != "completed" || got.Documents.Done != docs || got.Requests.Throttled == 0 {
		t.Errorf("%+v", got)
	}
	if got.Requests.Sent != s.Journal.Len() {
		t.Errorf("%d arrived, the ledger has %d", s.Journal.Len(), got.Requests.Sent)
	}
	tries := 0
	for _, a := range s.Journal.Arrivals(nil) {
		if a.Kind == journal.Hop {
			tries++
		}
		tries += len(a.Items)
	}
	if got.Attempts.Total != tries {
		t.Errorf("%d attempts in the ledger, %d in the journal", got.Attempts.Total, tries)
	}
	folders := 0
	for _, r := range u.results("D1") {
		if strings.Contains(r.Path, "_") {
			folders++
		}
		if !strings.HasPrefix(r.ID, "msgraph:drive/D1/items/") || r.Version == "" {
			t.Errorf("result %+v", r)
		}
	}
	if folders == 0 {
		t.Error("no result is named after its folder")
	}
	u.must(0, "verify", "D1", "--deep")
	for _, file := range []string{u.ledger(), u.path("out/dogear.jsonl")} {
		if text := read(t, file); strings.Contains(text, "sig=") || strings.Contains(text, strings.TrimPrefix(u.vars[len(u.vars)-1], "TOKEN=")) {
			t.Errorf("%s holds a token or a signed link", file)
		}
	}
}

// A listing that is cut by a wait past the deadline goes on at its cursor.
func TestDriveListingGoesOn(t *testing.T) {
	t.Parallel()
	const docs = 60
	var refuse atomic.Bool
	refuse.Store(true)
	s := drive(t, docs, standin.Config{})
	s.SetRules(func(x *standin.Exchange) bool {
		if strings.HasSuffix(x.R.URL.Path, "/delta") && x.Arrival == 3 && refuse.Swap(false) {
			return standin.Throttle(429, standin.Seconds, 4*time.Second)(x)
		}
		return false
	})
	u := newUser(t)
	r := u.must(75, readDrive(s, "--deadline", "3s")...)
	r.says(t, "wait_past_deadline", "listing is not complete")
	before := pages(s)
	if got := u.must(0, "status", "D1", "--json").stdout; !strings.Contains(got, `"listing":"incomplete"`) {
		t.Errorf("status does not say that the listing is not complete: %s", got)
	}
	u.must(0, "resume", "D1", "--progress", "none")
	wholeOnce(t, s, docs)
	if n := u.status("D1").Requests.Sent; n != s.Journal.Len() {
		t.Errorf("%d arrived, the ledger has %d", s.Journal.Len(), n)
	}
	both := pages(s)
	newUser(t).must(0, readDrive(s)...)
	if all := pages(s) - both; before != 2 || both != all {
		t.Errorf("%d pages before the wait and %d in all, want 2 and %d", before, both, all)
	}
}

// An expired cursor is no error: the listing begins again and skips what the job has.
func TestDriveResync(t *testing.T) {
	t.Parallel()
	const docs = 60
	s := drive(t, docs, standin.Config{})
	var once atomic.Bool
	s.SetRules(func(x *standin.Exchange) bool {
		if x.Arrival == 3 && !once.Swap(true) {
			s.ExpireTokens()
		}
		return false
	})
	u := newUser(t)
	u.must(0, readDrive(s)...).says(t, "completed")
	wholeOnce(t, s, docs)
	expired := 0
	for _, a := range s.Journal.Arrivals(nil) {
		if a.Status == http.StatusGone {
			expired++
		}
	}
	if got := u.status("D1"); expired != 1 || got.Documents.Total != docs || got.Requests.Sent != s.Journal.Len() {
		t.Errorf("%d expired cursors, %+v", expired, got)
	}
}

// K5, K6: what has changed or gone since the listing is told by one request, and none of it is
// read; what is as it was is.
func TestDriveChanges(t *testing.T) {
	t.Parallel()
	const docs = 60
	s := drive(t, docs, standin.Config{})
	var shut atomic.Bool
	shut.Store(true)
	s.SetRules(func(x *standin.Exchange) bool {
		return shut.Load() && !strings.HasSuffix(x.R.URL.Path, "/delta") && standin.Throttle(429, standin.Seconds, 5*time.Second)(x)
	})
	u := newUser(t)
	u.must(75, readDrive(s, "--deadline", "4s")...)
	shut.Store(false)
	s.Change(7)
	s.Withhold(9, http.StatusNotFound)
	before := s.Journal.Len()
	u.must(65, "resume", "D1", "--progress", "none")
	got := u.status("D1").Documents
	if got.Changed != 1 || got.Gone != 1 || got.Done != docs-2 {
		t.Errorf("%+v: want 1 changed, 1 gone, the others done", got)
	}
	for _, a := range s.Journal.Arrivals(nil)[before:] {
		asked := []int{a.Document}
		for _, it := range a.Items {
			asked = append(asked, it.Document)
		}
		if slices.Contains(asked, 7) || slices.Contains(asked, 9) {
			t.Errorf("arrival %d asks for a document that the service had said is changed or gone", a.N)
		}
	}
	u.must(0, "verify", "D1", "--deep")

	// It becomes what it was listed as, and is read; the gone one stays gone.
	u.must(0, "rebatch", "D1", "--job", "again")
	u.must(0, "resume", "again", "--progress", "none")
	u.must(0, "verify", "again", "--deep")
}

// K5: a document that changes between listing and reading is not mixed into the job: its bytes
// do not have the listed digest, and the service says why.
func TestDriveChangesWhileRead(t *testing.T) {
	t.Parallel()
	const docs = 30
	s := drive(t, docs, standin.Config{})
	var once atomic.Bool
	s.SetRules(func(x *standin.Exchange) bool {
		if !strings.HasSuffix(x.R.URL.Path, "/delta") && !once.Swap(true) {
			s.Change(11)
		}
		return false
	})
	u := newUser(t)
	u.must(65, readDrive(s)...)
	if got := u.status("D1"); got.Documents.Changed != 1 || got.Documents.Done != docs-1 || got.Requests.Sent != s.Journal.Len() {
		t.Errorf("%+v", got)
	}
	checks := 0
	for _, r := range u.requests("D1") {
		if r.Kind == "check" {
			checks++
		}
	}
	if checks != 1 {
		t.Errorf("%d checks, want one for the document whose bytes differ", checks)
	}
	u.must(0, "verify", "D1", "--deep")
}

// fakeGraph answers the delta of drive D1 page by page.
func fakeGraph(t *testing.T, page func(token string) (status int, body string)) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := page(r.URL.Query().Get("token"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, strings.ReplaceAll(body, "{base}", "http://"+r.Host))
	}))
	t.Cleanup(s.Close)
	return s
}

// Listings that lead elsewhere, in circles or nowhere end with a clear error; nothing is sent
// to where they lead, and what was listed is kept.
func TestDriveBadListings(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	next := func(base, token string) string {
		return fmt.Sprintf(`{"value":[],"@odata.nextLink":"%s/v1.0/drives/D1/root/delta?token=%s"}`, base, token)
	}
	var n atomic.Int64
	for _, tt := range []struct {
		name string
		page func(string) (int, string)
		code int
		says string
	}{
		{"another host", func(string) (int, string) { return 200, next(other.URL, "a") }, 66, "another host"},
		{"the same cursor", func(string) (int, string) { return 200, next("{base}", "a") }, 66, "would never end"},
		{"a circle", func(token string) (int, string) {
			return 200, next("{base}", map[string]string{"": "a", "a": "b", "b": "c", "c": "a"}[token])
		}, 66, "would never end"},
		{"no end", func(string) (int, string) { return 200, next("{base}", fmt.Sprint(n.Add(1))) }, 66, "does not end"},
		{"no JSON", func(string) (int, string) { return 200, "<html>" }, 66, ""},
		{"cut", func(string) (int, string) { return 200, `{"value":[]}` }, 66, ""},
		{"not found", func(string) (int, string) { return 404, `{"error":{"code":"itemNotFound"}}` }, 66, "404"},
		{"forbidden", func(string) (int, string) { return 403, `{"error":{"code":"accessDenied"}}` }, 66, "403"},
		{"unauthorized", func(string) (int, string) { return 401, `{}` }, 77, "401"},
		{"always expired", func(string) (int, string) { return 410, `{"error":{"code":"resyncChangesApplyDifferences"}}` }, 66, "begin again"},
		{"always broken", func(string) (int, string) { return 500, `{}` }, 69, "500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := fakeGraph(t, tt.page)
			u := newUser(t)
			r := u.must(tt.code, "read", "msgraph:drive/D1", "--base-url", s.URL, "-o", "out", "--progress", "none", "--attempts", "3", "--backoff-base", "10ms", "--rate", "1000/s", "--burst", "100")
			r.says(t, tt.says)
		})
	}
	t.Cleanup(func() {
		if got := elsewhere.Load(); got != 0 {
			t.Errorf("%d requests went to the other host", got)
		}
	})
}

// A site is all its drives; me is whoever the token is of.
func TestDriveSites(t *testing.T) {
	t.Parallel()
	const docs = 45
	s := drive(t, docs, standin.Config{Graph: &standin.Graph{Drives: 3, Folders: 2, Page: 10}})
	u := newUser(t)
	u.must(0, "read", "msgraph:site/contoso.sharepoint.com:/sites/team", "--base-url", s.URL(""), "--progress", "none")
	if got := u.status("team").Documents; got.Done < docs {
		t.Errorf("%+v: want all %d documents of three drives", got, docs)
	}
	u.must(0, "verify", "team", "--deep")
	u.must(0, "read", "msgraph:me", "--job", "mine", "--base-url", s.URL(""), "--progress", "none")
	if got := u.status("mine").Documents.Done; got < docs/3 {
		t.Errorf("%d documents of one's own drive, want %d", got, docs/3)
	}
}

// One file is a source too, and so is a folder; a profile's plan is the pace.
func TestDriveParts(t *testing.T) {
	t.Parallel()
	s := drive(t, 20, standin.Config{Graph: &standin.Graph{}})
	u := newUser(t)
	u.must(0, readDrive(s, "--job", "all", "--tier", "above-50k-licences")...)
	name := ""
	for _, r := range u.results("all") {
		if strings.HasSuffix(r.ID, "000012") {
			name = r.Path
		}
	}
	u.must(0, "read", "msgraph:drive/D1/"+name, "--job", "one", "--base-url", s.URL(""), "--progress", "none")
	if got := u.results("one"); len(got) != 1 || got[0].Path != name {
		t.Errorf("results %+v, want %s alone", got, name)
	}
	u.must(0, "resume", "one", "--progress", "none")
	rates := map[string]float64{}
	for _, sc := range u.status("all").Scopes {
		rates[sc.Key] = sc.RatePerS
	}
	if got := rates["msgraph:tenant=default,app=default"]; got < 104 || got > 105 { // 6250 units a minute
		t.Errorf("the plan above-50k-licences goes at %v a second, want 104.2", got)
	}
	u.must(0, "resume", "all", "--tier", "up-to-1k-licences", "--progress", "none")
	for _, sc := range u.status("all").Scopes {
		if sc.Key == "msgraph:tenant=default,app=default" && (sc.RatePerS < 20 || sc.RatePerS > 21) {
			t.Errorf("after resume --tier it goes at %v a second, want 20.8", sc.RatePerS)
		}
	}
	u.must(64, "resume", "all", "--tier", "huge")
}
