package plan

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/profile"
)

// hostile is text that means something to a browser, to Markdown or to a terminal.
const hostile = "<script>alert(1)</script> | a `b` *c* [d](http://evil.example) \\ \u202e \x1b[31m &lt;"

// gallery is all that a plan can have to say.
func gallery(t *testing.T) map[string]Ask {
	minute := service(t, []string{"requests: 100, per: 1m, plan: small; requests: 1000, per: 1m, plan: large; units: 500, per: 1h, burst: 20"}, costsTwo)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	with := func(a Ask, change func(*Ask)) Ask { change(&a); return a }
	short := func(a *Ask) { a.Deadline = Within(3 * time.Minute) }
	graph, _ := profile.Get("msgraph")
	generic, _ := profile.Get("generic")
	drive, _ := profile.Get("google-drive")
	odd, err := profile.Parse("odd.yaml", []byte(fmt.Sprintf("name: odd\ntitle: %q\nunknown: [%q]\nbase: {url: \"https://x.example/a_(b)\", source: \"https://x.example/(c)|d\", known: reported, note: %q}\nuser_agent: {want: %q, required: true, source: \"https://x.example/e\", known: documented}\nparts: {user: {given: %q}}\nscopes:\n  - {name: s, key: [user], source: \"https://x.example/f\", known: reported, note: %q, limits: [{requests: 5, per: 1s, source: \"https://x.example/g\", known: reported, note: %q}]}\nversion: {field: %q, check: none, request: %q, source: \"https://x.example/h\", known: documented}\nsdk_retries: [{sdk: %q, does: %q, off: %q, source: \"https://x.example/i\", known: documented}]\nfacts: [{says: %q, source: \"https://x.example/j\", known: documented}]\n",
		hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile)))
	if err != nil {
		t.Fatal(err)
	}
	many := Ask{Placed: true, Listed: true, Deadline: Within(time.Hour)}
	for i := range 60 {
		many.Loads = append(many.Loads, LoadOf(nil, &url.URL{Scheme: "https", Host: fmt.Sprintf("host-%d.example.com", i)}, nil, int64(i+1)))
	}
	mixed := ask(minute, 10)
	dear := mixed.Loads[0]
	dear.Members = slices.Clone(dear.Members)
	dear.Members[0].Cost = 5
	mixed.Loads = append(mixed.Loads, dear)
	confirmed := dogear.Confirmation{By: hostile, Source: hostile, At: now}
	return map[string]Ask{
		"fits":        with(ask(minute, 10), func(a *Ask) { short(a); a.Tier = "large" }),
		"too much":    with(ask(minute, 1000), short),
		"impossible":  with(ask(minute, 10), func(a *Ask) { a.Cost = ratInt(501) }),
		"no deadline": ask(minute, 300),
		"by a moment": with(ask(minute, 10), func(a *Ask) { a.Deadline = Until(now, now.Add(90*time.Minute)) }),
		"unsaid":      with(ask(service(t, []string{"bytes: 1 GB, per: 1h; concurrent: 3", ""}), 10), short),
		"hopeless":    with(ask(service(t, []string{"bytes: 1 B, per: 1h; concurrent: 3"}), 1<<62), short),
		"once":        with(ask(service(t, []string{"requests: 9, per: 1s"}, batchOnce), 100), func(a *Ask) { a.Batch, a.Requests, a.Latency = 0, 2, 1500*time.Millisecond; short(a) }),
		"too small":   with(ask(service(t, []string{"units: 1, per: 1s"}, strings.Replace(batchEach, "units: 1,", "units: 2,", 1)), 100), func(a *Ask) { a.Batch = 0; short(a) }),
		"odd":         with(ask(odd, 5), func(a *Ask) { a.File, a.Base = hostile, hostile; short(a); a.Rows = []Row{{hostile, hostile}} }),
		"generic":     with(ask(generic, 5), short),
		"nothing":     {Loads: []Load{{Documents: 7}}},
		"a rate":      {Loads: []Load{{Documents: 7}}, Rate: &Rate{big.NewRat(10, 3), time.Minute, 2}, Deadline: Within(time.Hour)},
		"unplaced":    with(ask(drive, 5), func(a *Ask) { a.Placed = false; short(a) }),
		"graph": with(ask(graph, 120_000), func(a *Ask) {
			a.Loads[0] = LoadOf(graph, graph.Base.URL, nil, 120_000)
			a.Batch, a.Size = 0, 2_000_000
			a.Deadline = Within(2 * time.Hour)
		}),
		"ledger": with(ask(nil, 9), func(a *Ask) {
			a.Loads[0] = LoadOf(nil, &url.URL{Scheme: "https", Host: "h.example.com"}, nil, 9)
			a.Scopes = map[string]dogear.Scope{"host:h.example.com": {Rate: 0.5, Burst: 2, Concurrency: 4, Confirmed: confirmed}}
			a.Latency, a.Scoped, a.Repeats = time.Second, "--scope host", 3
			short(a)
		}),
		"mixed": with(mixed, short),
		"many":  many,
	}
}

// all visits every piece of text of a sheet.
func (s *sheet) all(visit func(span)) {
	texts := func(t text) {
		for _, one := range t {
			visit(one)
		}
	}
	blocks := func(all []block) {
		for _, b := range all {
			texts(b.Para)
			for _, item := range b.List {
				texts(item)
			}
			if b.Table != nil {
				for _, row := range append(b.Table.Rows, b.Table.Head) {
					for _, cell := range row {
						texts(cell)
					}
				}
			}
		}
	}
	blocks(s.Lead)
	for _, part := range s.Sections {
		visit(span{Text: part.Title})
		blocks(part.Blocks)
	}
}

// Whatever a plan says, in Chinese it is Chinese: but for what is typed, names, addresses, and
// the profile's own words.
func TestChineseSheets(t *testing.T) {
	for name, a := range gallery(t) {
		p := made(t, a)
		for _, s := range []*sheet{p.whole(Chinese), p.short(Chinese)} {
			s.all(func(one span) {
				if one.Kind != code && one.Kind != foreign && one.Link == "" && sentence.MatchString(one.Text) {
					t.Errorf("%s: English in Chinese: %q", name, one.Text)
				}
			})
		}
	}
}

// Both languages have the same sections, tables and lists.
func TestSameInBothLanguages(t *testing.T) {
	form := func(s *sheet) string {
		var b strings.Builder
		blocks := func(all []block) {
			for _, k := range all {
				fmt.Fprintf(&b, " p%t l%d c%d", k.Para != nil, len(k.List), len(k.Code))
				if k.Table != nil {
					fmt.Fprintf(&b, " t%dx%d", len(k.Table.Rows), len(k.Table.Rows[0]))
				}
			}
		}
		blocks(s.Lead)
		for _, part := range s.Sections {
			b.WriteString("\n" + part.ID)
			blocks(part.Blocks)
		}
		return b.String()
	}
	for name, a := range gallery(t) {
		p := made(t, a)
		if en, zh := form(p.whole(English)), form(p.whole(Chinese)); en != zh {
			t.Errorf("%s: English%s\nChinese%s", name, en, zh)
		}
	}
}

// A page is whole on its own, runs nothing, and what comes from outside is text in it.
func TestHTML(t *testing.T) {
	for name, a := range gallery(t) {
		p := made(t, a)
		for _, l := range []Lang{English, Chinese} {
			var b strings.Builder
			if err := p.HTML(&b, l); err != nil {
				t.Fatal(err)
			}
			doc, err := html.Parse(strings.NewReader(b.String()))
			if err != nil {
				t.Fatal(err)
			}
			ids, headings := map[string]bool{}, 0
			for n := range doc.Descendants() {
				if n.Type != html.ElementNode {
					continue
				}
				switch n.Data {
				case "script", "link", "img", "iframe", "object", "form", "svg":
					t.Errorf("%s: the page has a %s", name, n.Data)
				case "html":
					if attr(n, "lang") != l.code {
						t.Errorf("%s: the page is in %q, want %q", name, attr(n, "lang"), l.code)
					}
				case "h2":
					headings++
				case "tr":
					checkRow(t, name, n)
				}
				for _, at := range n.Attr {
					switch {
					case strings.HasPrefix(at.Key, "on"), at.Key == "src", at.Key == "style":
						t.Errorf("%s: <%s %s=%q>", name, n.Data, at.Key, at.Val)
					case at.Key == "href" && !strings.HasPrefix(at.Val, "https://"):
						t.Errorf("%s: a link to %q", name, at.Val)
					case at.Key == "id" && ids[at.Val]:
						t.Errorf("%s: the id %s is there twice", name, at.Val)
					case at.Key == "id":
						ids[at.Val] = true
					}
				}
			}
			if headings < 9 {
				t.Errorf("%s: %d sections", name, headings)
			}
			if !strings.Contains(b.String(), "default-src 'none'") {
				t.Errorf("%s: the page may fetch something", name)
			}
			if strings.Contains(b.String(), "ZgotmplZ") || strings.ContainsAny(b.String(), "\x1b\u202e") {
				t.Errorf("%s: what came from outside is in the page as it was", name)
			}
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// checkRow holds a row to as many cells as the first one of its table.
func checkRow(t *testing.T, name string, row *html.Node) {
	t.Helper()
	cells := func(n *html.Node) int {
		count := 0
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode {
				count++
			}
		}
		return count
	}
	table := row.Parent.Parent
	for first := range table.Descendants() {
		if first.Type == html.ElementNode && first.Data == "tr" {
			if got, want := cells(row), cells(first); got != want {
				t.Errorf("%s: a row has %d cells, want %d", name, got, want)
			}
			return
		}
	}
}

// In Markdown what comes from outside is text as well, and rows are whole.
func TestMarkdown(t *testing.T) {
	for name, a := range gallery(t) {
		var b strings.Builder
		if err := made(t, a).Markdown(&b, Chinese); err != nil {
			t.Fatal(err)
		}
		columns, inCode := 0, false
		for line := range strings.SplitSeq(b.String(), "\n") {
			if strings.HasPrefix(line, "```") {
				inCode = !inCode
			}
			if inCode || !strings.HasPrefix(line, "|") {
				columns = 0
				continue
			}
			n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if columns > 0 && n != columns {
				t.Errorf("%s: a row has %d columns, want %d: %s", name, n-1, columns-1, line)
			}
			columns = n
		}
		if strings.Contains(b.String(), "(http://evil.example)") && !strings.Contains(b.String(), `\[d\](http://evil.example)`) || strings.ContainsAny(b.String(), "\x1b\u202e") {
			t.Errorf("%s: what came from outside is a link:\n%s", name, b.String())
		}
		if strings.Contains(strings.ReplaceAll(b.String(), `\<script\>`, ""), "<script>") {
			for line := range strings.SplitSeq(b.String(), "\n") { // as typed it may stand
				if strings.Contains(line, "<script>") && !strings.Contains(line, "`") && !strings.HasPrefix(line, "dogear ") {
					t.Errorf("%s: what came from outside is HTML: %s", name, line)
				}
			}
		}
	}
}

// At a terminal nothing from outside is obeyed, and lines are no wider than most terminals.
func TestText(t *testing.T) {
	for name, a := range gallery(t) {
		for _, l := range []Lang{English, Chinese} {
			var b strings.Builder
			if err := made(t, a).Text(&b, l); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(b.String(), "\x1b\u202e") {
				t.Errorf("%s: what came from outside is in the text as it was", name)
			}
			inTable := false
			for line := range strings.SplitSeq(b.String(), "\n") {
				if strings.HasPrefix(line, "  "+l.words["head.scope"]) {
					inTable = true
				} else if line == "" {
					inTable = false
				}
				if width(line) > lineWidth+2 && !inTable && !strings.Contains(line, "://") {
					t.Errorf("%s: a line takes %d columns: %s", name, width(line), line)
				}
			}
		}
	}
}

// The fields that scripts read.
func TestJSON(t *testing.T) {
	a := gallery(t)["by a moment"]
	got, err := json.Marshal(made(t, a))
	if err != nil {
		t.Fatal(err)
	}
	limit := func(rest string) string {
		return `{"scope":"s0","key":"demo:class=s0,host=demo.example.com",` + rest + `,"from":"profile","known":"documented","source":"https://example.com/limits",`
	}
	want := `{"profile":"demo","title":"Demo","base_url":"https://demo.example.com","tier":"small","tier_assumed":true,"verdict":"fits","documents":10,"requests":10,` +
		`"deadline":"2026-11-30T13:30:00.000Z","deadline_s":5400,"shortest_s":0,"done_by_deadline":10,"margin_s":5400,"latest_start":"2026-11-30T13:30:00.000Z","earliest_finish":"2026-11-30T12:00:00.000Z",` +
		`"scopes":[{"scope":"s0","key":"demo:class=s0,host=demo.example.com","confirmed":true,"source":"https://example.com/s0","documents":10}],"limits":[` +
		limit(`"limit":"100 requests in 1 min (small)","unit":"requests","amount":100,"per_s":60,"tier":"small"`) + `"needs":10,"shortest_s":0,"done_by_deadline":10},` +
		limit(`"limit":"500 units in 1 h, 20 at once","unit":"units","amount":500,"per_s":3600,"burst":20`) + `"needs":20,"shortest_s":0,"done_by_deadline":10}],` +
		`"questions":["Which version of the interface is read, and until when will it be kept?","Which of these applies to us: small, large?","How many documents does a page of a listing hold, and what does one cost?","Whether refused requests count"]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, a := range gallery(t) {
		b, err := json.Marshal(made(t, a))
		if err != nil || strings.Contains(string(b), "null") || strings.Contains(string(b), "Infinity") {
			t.Errorf("%s: %v %s", name, err, b)
		}
	}
}

// Numbers and times are never shown as less than they are, and what may be at most as no more.
func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		English.span(96*time.Minute, true):              "1 h 36 min",
		English.span(time.Hour+1, true):                 "1 h 1 s",
		English.span(time.Hour+time.Second-1, false):    "1 h",
		English.span(49*time.Hour+30*time.Second, true): "2 d 1 h 1 min",
		English.span(3300*time.Millisecond, true):       "3.3 s",
		English.span(3301*time.Millisecond, true):       "3.4 s",
		English.span(3399*time.Millisecond, false):      "3.3 s",
		English.span(1, true):                           "1 ms",
		English.span(0, true):                           "at once",
		English.span(1<<63-1, true):                     "more than 292 years",
		Chinese.span(26*time.Hour, true):                "26 小时",
		Chinese.window(24 * time.Hour):                  " 24 小时",
		Chinese.window(time.Minute):                     "分钟",
		English.window(30 * 24 * time.Hour):             "30 d",
		English.window(1500 * time.Millisecond):         "1,500 ms",
		sizeText(6_666_666):                             "6.66 MB",
		sizeText(999):                                   "999 B",
		sizeText(400_000_000_000):                       "400 GB",
		sizeText(1<<63 - 1):                             "9.22 EB",
		decimal(big.NewRat(1, 3)):                       "0.334",
		decimal(big.NewRat(5, 2)):                       "2.5",
		decimal(ratInt(1_234_567)):                      "1,234,567",
		decimal(scaled(1<<62, ratInt(4))):               "9,223,372,036,854,775,807",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
