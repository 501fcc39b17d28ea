package report

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/dogear/dogear/drill"
	"github.com/dogear/dogear/drill/journal"
	"github.com/dogear/dogear/drill/judge"
)

// said is a result in which all text is from outside.
func said(text string) drill.Result {
	rec := small()
	rec.Head.Scenario, rec.Head.About = text, text
	for i := range rec.Head.Quotas {
		rec.Head.Quotas[i].Name += text
	}
	for i := range rec.Arrivals {
		a := &rec.Arrivals[i]
		a.Quota, a.Key, a.Kind, a.Method, a.Path, a.Proto = a.Quota+text, text, text, text, text, text
		a.Worker, a.Fault, a.End, a.Leaked = a.Worker+text, text, text, []string{text}
		a.Header, a.Hint = http.Header{text: {text}}, http.Header{"Retry-After": {text}, text: {text}}
		if a.Refused != "" {
			a.Refused = text
		}
	}
	rec.Events = append(rec.Events, journal.Event{Event: text, At: moment(9), Client: 1})
	return drill.Result{
		Scenario: text, About: text, Client: text, Why: text, Journal: text, Said: text, Record: rec,
		Checks: []judge.Check{{Assert: text, Value: text, Why: text}},
	}
}

// shape is the elements of a page with their attributes' names.
func shape(doc node) string {
	var b strings.Builder
	for _, e := range doc.all("") {
		fmt.Fprint(&b, e.Data)
		for _, a := range e.Attr {
			fmt.Fprint(&b, " ", a.Key)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// Whatever text says, it stays text.
func TestHostile(t *testing.T) {
	_, doc := page(t, said("harmless"))
	want := shape(doc)
	for _, text := range []string{
		`</svg><script>alert(1)</script>`,
		`</title></desc></style></text><script>alert(1)</script>`,
		`" onload="alert(1)" x="`,
		`'><img src=https://example.com/ onerror=alert(1)>`,
		`]]><!-- --!> <![CDATA[ {{.}} {{template "style.css"}}`,
		"\x00\x01\x1b[31m\x7f\u0085\u2028\u2029\r\t",
		"\u202egpj.exe\u202c \u2066\u2067\u2069 \u200f\u061c \ufeff",
		"\xff\xfe\xc0\x80 \xed\xa0\x80",
		"الوثيقة עברית 文書 " + strings.Repeat("\u0301", 50),
		strings.Repeat("very long ", 10_000),
	} {
		got, doc := page(t, said(text))
		if shape(doc) != want {
			t.Errorf("%.40q changes the page's elements", text)
		}
		for _, r := range got {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\ufeff' {
				t.Errorf("%.40q leaves %U on the page", text, r)
				break
			}
		}
		if most := 200_000; len(got) > most {
			t.Errorf("%.40q makes a page of %d bytes, want at most %d", text, len(got), most)
		}
	}
}

// What is shown can still be read.
func TestHostileIsShown(t *testing.T) {
	_, doc := page(t, said(`<b>&"`))
	p := doc.picture(t)
	for what, e := range map[string]node{"mark": p.one(t, "use", "late"), "band": p.all("tspan", "quota")[0], "table": doc.one(t, "table", "all"), "title": doc.all("head")[0].one(t, "title")} {
		if !strings.Contains(e.text(), `<b>&"`) {
			t.Errorf("the %s says %q, want the text as it is in it", what, e.text())
		}
	}
}

// A page stays small however much there is to show, and tells what it left out.
func TestBounded(t *testing.T) {
	text, doc := page(t, judged(t, storm(2000), ""))
	if most := 1_200_000; len(text) > most {
		t.Errorf("the page of a long storm has %d bytes, want at most %d", len(text), most)
	}
	p := doc.picture(t)
	if n := len(p.all("use")); n > 0 {
		t.Errorf("a long storm has %d marks of single requests, want columns alone", n)
	}
	if n, most := len(p.all("rect")), 4*marksMost; n > most {
		t.Errorf("a long storm has %d columns, want at most %d", n, most)
	}
	all := judged(t, storm(2000), "").Figures.Early
	caption := doc.one(t, "figcaption").text()
	if !strings.Contains(caption, number(all)+" requests") || len(p.all("rect", "late")) == 0 {
		t.Errorf("the caption is %q, want the %d early requests in it, and columns of them", caption, all)
	}
}

// Of many requests that are in order, the few early ones are still to be seen, each.
func TestBoundedKeepsEarly(t *testing.T) {
	rec := record("polite", crowd{
		quota: "main", workers: 16, docs: 7_000, burst: 1 << 30, rate: 1, wait: time.Second,
		rest: 45 * time.Millisecond, long: 60 * time.Millisecond, nameOf: numbered,
	})
	for _, i := range []int{100, 5000, 5001, 6_900} {
		a := &rec.Arrivals[i]
		a.Told = &journal.Wait{N: 1, Sent: a.At.Add(-2 * time.Second), Until: a.At.Add(time.Millisecond)}
	}
	text, doc := page(t, judged(t, rec, ""))
	if n := len(doc.picture(t).all("use", "late")); n != 4 {
		t.Errorf("%d late requests are drawn, want 4", n)
	}
	if caption := doc.one(t, "figcaption").text(); !strings.Contains(caption, "Every early request still has a mark") {
		t.Errorf("the caption is %q", caption)
	}
	if most := 1_000_000; len(text) > most {
		t.Errorf("the page has %d bytes, want at most %d", len(text), most)
	}
}

// What is short, long or impossible still makes a page.
func TestCorners(t *testing.T) {
	arrival := journal.Arrival{N: 1, At: epoch, Method: "GET", Path: "/"}
	at := func(moments ...time.Time) *journal.Record {
		rec := &journal.Record{Head: journal.Head{Drill: 1}}
		for i, m := range moments {
			a := arrival
			a.N, a.At, a.Sent, a.Ended, a.Until = i+1, m, m, m, m.AddDate(200, 0, 0)
			a.Told = &journal.Wait{N: 1, Sent: m.AddDate(-300, 0, 0), Until: m.AddDate(300, 0, 0)}
			rec.Arrivals = append(rec.Arrivals, a)
		}
		rec.Events = []journal.Event{{Event: "killed", Client: 1}, {Event: "killed", At: epoch.AddDate(2000, 0, 0), Client: -2}}
		return rec
	}
	zero := at(epoch)
	zero.Events = nil
	for name, rec := range map[string]*journal.Record{
		"no record":       nil,
		"empty":           {},
		"events alone":    {Events: []journal.Event{{Event: "ended", At: epoch, Client: 1, Code: 127}}},
		"no times at all": {Arrivals: []journal.Arrival{{}, {}}},
		"one":             zero,
		"one instant":     at(epoch, epoch, epoch),
		"out of order":    at(epoch.Add(time.Hour), epoch),
		"centuries":       at(epoch, epoch.AddDate(5000, 0, 0)),
		"before all time": at(time.Time{}, epoch),
	} {
		text, doc := page(t, drill.Result{Record: rec, TookS: math.Inf(1)})
		for _, e := range doc.all("figure") {
			for _, part := range e.all("") {
				inside(t, part, 900)
			}
		}
		for _, bad := range []string{"NaN", "Inf", "%!", "ZgotmplZ"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: the page has %q in it", name, bad)
			}
		}
		if drawn := len(doc.all("figure")) == 1; drawn != (rec != nil && len(rec.Arrivals) > 0) {
			t.Errorf("%s: drawn %v", name, drawn)
		}
	}
	if _, doc := page(t); len(doc.all("table")) > 0 || !strings.Contains(doc.one(t, "body").text(), "No scenario was run") {
		t.Error("a page without a result does not say so")
	}
}

// A journal that was cut says so below the picture.
func TestCut(t *testing.T) {
	rec := small()
	rec.Cut = 1234
	_, doc := page(t, judged(t, rec, ""))
	if got := doc.one(t, "figcaption").text(); !strings.Contains(got, "cut in its line 1,234") {
		t.Errorf("the caption is %q, want the line in it", got)
	}
}
