package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/journal"
)

// small is a record in which everything there is to see is there once or twice.
func small() *journal.Record {
	read := func(n int, quota, worker string, at, long float64) journal.Arrival {
		return journal.Arrival{
			N: n, At: moment(at), Ended: moment(at + long), Sent: moment(at + long), Quota: quota, Worker: worker, Kind: journal.Read,
			Method: "GET", Path: fmt.Sprintf("/doc/%d", n), Document: n, Status: 200, Whole: true, End: journal.Sent,
		}
	}
	rec := &journal.Record{
		Head: journal.Head{Drill: 1, Scenario: "small", StartedAt: epoch, Documents: 7, Quotas: []journal.Quota{{Name: "a"}, {Name: "b"}}, Expect: []string{"late==0"}},
		Arrivals: []journal.Arrival{
			read(1, "a", "w2", 0, 0.5),
			read(2, "b", "w10", 0.1, 0.5),
			read(3, "a", "w10", 1, 0.001),
			read(4, "a", "w2", 1.2, 0.001),
			read(5, "a", "w10", 3, 0.001),
			read(6, "b", "w2", 3.5, 0.2),
			read(7, "a", "w10", 8, 0.1),
		},
		Events: []journal.Event{
			{Event: "started", At: moment(-0.2), Client: 1}, {Event: "killed", At: moment(6), Client: 1, Code: -1},
			{Event: "started", At: moment(7), Client: 1}, {Event: "ended", At: moment(10), Client: 1, Code: 75},
		},
	}
	told := journal.Wait{N: 3, Sent: moment(1.001), Until: moment(5)}
	for i := range rec.Arrivals {
		a := &rec.Arrivals[i]
		switch a.N {
		case 3, 4, 5:
			a.Status, a.Refused, a.Whole, a.Until = 429, journal.ByLimit, false, told.Until
			if a.N > 3 {
				a.Told = &told
			}
		case 6:
			a.End, a.Whole = journal.Cut, false
		case 7:
			a.Until = moment(60)
		}
	}
	return rec
}

func TestPicture(t *testing.T) {
	_, doc := page(t, judged(t, small(), "about"))
	p := doc.picture(t)
	for _, tt := range []struct {
		what string
		got  int
		want int
	}{
		{"marks answered", len(p.all("use", "answered")), 3},
		{"marks refused in time", len(p.all("use", "refused")), 1},
		{"marks failed", len(p.all("use", "failed")), 1},
		{"marks early, under way", len(p.all("use", "early")), 1},
		{"marks early, late", len(p.all("use", "late")), 1},
		{"bars of what took long", len(p.all("line", "bar")), 4},
		{"lanes, of a and of b", len(p.all("line", "lane")), 4},
		{"waits", len(p.all("rect", "wait")), 2},
		{"waits that go on", len(p.all("rect", "beyond")), 1},
		{"events", len(p.all("line", "event")), 3},
		{"columns of the strip", len(p.all("g", "column")), 7},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.what, tt.got, tt.want)
		}
	}
	var names []string
	for _, n := range p.all("text", "name") {
		names = append(names, n.text())
	}
	if want := []string{"w2", "w10", "w2", "w10"}; !slices.Equal(names, want) {
		t.Errorf("the lanes are %v, want %v", names, want)
	}
	for _, q := range p.all("tspan", "quota") {
		names = append(names, q.text())
	}
	if got, want := names[4:], []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("the bands are %v, want %v", got, want)
	}
	late := p.one(t, "use", "late")
	if got, want := late.attr("x"), "30.00%"; got != want {
		t.Errorf("the request at 3 of 10 s is at %s, want %s", got, want)
	}
	for _, want := range []string{"request 5 at 3.000", "GET /doc/5", "status 429, refused by the limit", "early by 2.000", "with request 3"} {
		if !strings.Contains(late.text(), want) {
			t.Errorf("its words are %q, want %q in them", late.text(), want)
		}
	}
	if got, want := p.all("rect", "wait")[0].attr("x")+" "+p.all("rect", "wait")[0].attr("width"), "10.01% 39.99%"; got != want {
		t.Errorf("the first wait is at %s, want %s", got, want)
	}
	if got, want := p.all("text", "told")[1].text(), "until 1\u202fmin"; !strings.Contains(got, want) {
		t.Errorf("the wait that goes on says %q, want %q in it", got, want)
	}
}

// What cannot be seen is said.
func TestPictureInWords(t *testing.T) {
	_, doc := page(t, judged(t, small(), ""))
	p := doc.picture(t)
	if got, want := p.attr("role"), "img"; got != want {
		t.Errorf("the picture's role is %q, want %q", got, want)
	}
	var said []string
	for _, id := range strings.Fields(p.attr("aria-labelledby")) {
		said = append(said, doc.id(t, id).text())
	}
	if len(said) != 2 {
		t.Fatalf("the picture is labelled by %q, want a title and a description", said)
	}
	for _, want := range []string{
		"small: 7 requests in 10\u202fs", "3 answered, 3 refused, 1 ended with an error or cut off",
		"2 requests were early", "1 late", "until 1\u202fmin", "killed at 6\u202fs", "ended, exit 75",
	} {
		if all := strings.Join(said, " "); !strings.Contains(all, want) {
			t.Errorf("the picture says %q, want %q in it", all, want)
		}
	}
}

func TestTable(t *testing.T) {
	r := judged(t, small(), "")
	goodput := 0.973
	r.Figures.Burst, r.Figures.Goodput, r.Figures.Requests, r.Figures.Throttled = nil, &goodput, 12_345, 3
	two := r
	two.Client, two.Scenario, two.Pass, two.Record = "wget", "other", true, nil
	_, doc := page(t, r, two)
	table := doc.one(t, "table", "all")
	var heads, cells []string
	for _, h := range table.all("thead")[0].all("th") {
		if h.attr("scope") != "col" {
			t.Errorf("the header %q has no scope", h.text())
		}
		heads = append(heads, h.text())
	}
	for _, c := range table.all("tbody")[0].all("tr")[0].all("td") {
		cells = append(cells, c.text())
	}
	want := []string{"FAIL", "12,345", "3 (<\u202f1\u202f%)", "2", "1", unknown, "1", "3\u2009/\u20097", "4", "97\u202f%", "12.3\u202fs"}
	if !slices.Equal(cells, want) {
		t.Errorf("the row is %q, want %q", cells, want)
	}
	for _, c := range table.all("td", "bad") {
		if c.attr("data-label") != "late" {
			t.Errorf("the figure %q is marked as bad; the only check that failed is of late", c.attr("data-label"))
		}
	}
	if len(table.all("td", "bad")) == 0 {
		t.Error("no figure is marked as bad")
	}
	if len(heads) != len(want)+1 {
		t.Errorf("there are %d headers, want %d", len(heads), len(want)+1)
	}
	row := table.all("tbody")[1]
	name := row.all("th")[0]
	if name.attr("scope") != "row" || !strings.Contains(name.text(), "wget") {
		t.Errorf("the second row's header is %q with the scope %q, want wget in it and row", name.text(), name.attr("scope"))
	}
	section := doc.id(t, strings.TrimPrefix(name.all("a")[0].attr("href"), "#"))
	if !strings.Contains(section.text(), "There is no journal to draw") {
		t.Errorf("the section without a record says %q", section.text())
	}
	if got, want := doc.one(t, "p", "outcome").text(), "1 of 2 scenarios failed"; got != want {
		t.Errorf("the verdict is %q, want %q", got, want)
	}
	if got, want := doc.one(t, "h1").text(), "Drill: curl, wget"; got != want {
		t.Errorf("the heading is %q, want %q", got, want)
	}
}

func TestChecks(t *testing.T) {
	r := judged(t, small(), "")
	r.Said = "curl: (22) error\nretrying\n"
	_, doc := page(t, r)
	table := doc.one(t, "table", "checks")
	row := table.all("tbody")[0].one(t, "tr")
	if got := row.text(); !strings.HasPrefix(got, r.Checks[0].Assert+"1FAIL") || !strings.Contains(got, "/doc/5") {
		t.Errorf("the check is %q, want its assertion, its value, FAIL and the arrival", got)
	}
	if got := doc.one(t, "pre").text(); got != r.Said {
		t.Errorf("the client's last words are %q, want %q", got, r.Said)
	}
}

// The judge and the picture count alike.
func TestEarlyIsAsJudged(t *testing.T) {
	for name, rec := range map[string]*journal.Record{"storm": storm(60), "queue": queue(140), "small": small()} {
		r := judged(t, rec, "")
		_, doc := page(t, r)
		p := doc.picture(t)
		late := len(p.all("use", "late"))
		early := late + len(p.all("use", "early"))
		if early != r.Figures.Early || late != r.Figures.Late {
			t.Errorf("%s: %d early and %d late are drawn, want %d and %d", name, early, late, r.Figures.Early, r.Figures.Late)
		}
		if marks := len(p.all("use")); marks != len(rec.Arrivals) {
			t.Errorf("%s: %d marks are drawn, want %d", name, marks, len(rec.Arrivals))
		}
		if storm := name == "storm"; storm != (late > 500) {
			t.Errorf("%s: %d late", name, late)
		}
	}
}

// A page is whole on its own, runs nothing and fetches nothing.
func TestSelfContained(t *testing.T) {
	text, doc := everything(t)
	for _, name := range []string{"script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "foreignObject", "animate", "set"} {
		if n := len(doc.all(name)); n > 0 {
			t.Errorf("there are %d elements %s", n, name)
		}
	}
	for _, e := range doc.all("") {
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("an element %s has %s=%q", e.Data, a.Key, a.Val)
			}
		}
	}
	text = strings.ReplaceAll(text, "url(#", "")
	for _, bad := range []string{"http:", "https:", "//", "@import", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
	policy := doc.all("meta")[1]
	if policy.attr("http-equiv") != "Content-Security-Policy" || policy.attr("content") != "default-src 'none'; style-src 'unsafe-inline'" {
		t.Errorf("the policy is %v", policy.Attr)
	}
	ids := map[string]bool{}
	for _, e := range doc.all("") {
		if id := e.attr("id"); id != "" && ids[id] {
			t.Errorf("the id %q is there twice", id)
		} else {
			ids[id] = true
		}
	}
	for _, e := range doc.all("") {
		if to, ok := strings.CutPrefix(e.attr("href"), "#"); ok && !ids[to] {
			t.Errorf("a link leads to %q, which is not there", to)
		}
	}
}

// Headings go down one step at a time, and everything that is drawn is inside its picture.
func TestOrder(t *testing.T) {
	_, doc := everything(t)
	level := 0
	for _, e := range doc.all("") {
		if len(e.Data) == 2 && e.Data[0] == 'h' && e.Data[1] >= '1' && e.Data[1] <= '6' {
			if next := int(e.Data[1] - '0'); next > level+1 {
				t.Errorf("the heading %q is of level %d under %d", e.text(), next, level)
			} else {
				level = next
			}
		}
	}
	for _, svg := range doc.all("figure") {
		high, err := strconv.Atoi(svg.all("svg")[0].attr("height"))
		if err != nil {
			t.Fatal(err)
		}
		if most := 900; high > most {
			t.Errorf("a picture is %d pixels high, want at most %d: it has to fit on a page", high, most)
		}
		for _, e := range svg.all("") {
			inside(t, e, high)
		}
	}
}

func inside(t *testing.T, e node, high int) {
	t.Helper()
	for _, a := range e.Attr {
		switch a.Key {
		case "x", "x1", "x2", "width":
			p, err := strconv.ParseFloat(strings.TrimSuffix(a.Val, "%"), 64)
			if strings.HasSuffix(a.Val, "%") && (err != nil || p < 0 || p > 100) {
				t.Errorf("%s has %s=%q", e.Data, a.Key, a.Val)
			}
		case "y", "y1", "y2":
			if y, err := strconv.ParseFloat(a.Val, 64); err != nil || y < 0 || y > float64(high) {
				t.Errorf("%s has %s=%q in a picture of %d", e.Data, a.Key, a.Val, high)
			}
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		all, failed int
		want        string
	}{
		{0, 0, "No scenario was run"},
		{1, 0, "The scenario passed"},
		{1, 1, "The scenario failed"},
		{12, 0, "12 of 12 scenarios passed"},
		{12, 12, "12 of 12 scenarios failed"},
		{12, 3, "3 of 12 scenarios failed"},
	} {
		if got := verdict(tt.all, tt.failed); got != tt.want {
			t.Errorf("verdict(%d, %d) = %q, want %q", tt.all, tt.failed, got, tt.want)
		}
	}
}

func TestErrorOfWriter(t *testing.T) {
	err := Drill(full{}, []drill.Result{{Scenario: "x", Took: time.Second}})
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Drill = %v, want the writer's error", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("disk full") }
