package drill

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dogear/dogear/drill/judge"
)

func TestVerdict(t *testing.T) {
	ok := judge.Check{Assert: "late == 0", Value: "0", Pass: true}
	bad := judge.Check{Assert: "burst <= 1", Value: "16", Why: "16 requests at once after the wait"}
	tests := []struct {
		name   string
		f      judge.Figures
		checks []judge.Check
		pass   bool
		why    string
	}{
		{"orderly", judge.Figures{Requests: 62, Throttled: 2, Documents: 60, Delivered: 60}, []judge.Check{ok}, true,
			"60 of 60 delivered in 62 requests, 2 throttled, none early"},
		{"under way", judge.Figures{Requests: 70, Throttled: 10, Early: 8, Documents: 60, Delivered: 60}, []judge.Check{ok}, true,
			"60 of 60 delivered in 70 requests, 10 throttled, 8 early, under way"},
		{"nobody asserts", judge.Figures{Requests: 70, Throttled: 10, Early: 8, Late: 3, Documents: 60, Delivered: 60}, nil, true,
			"60 of 60 delivered in 70 requests, 10 throttled, 8 early, 3 of them late"},
		{"the first that fails", judge.Figures{Requests: 1}, []judge.Check{ok, bad, {Why: "another"}}, false, "16 requests at once after the wait"},
		{"nothing", judge.Figures{}, []judge.Check{ok}, false, "sent nothing"},
	}
	for _, tt := range tests {
		pass, why := Verdict(tt.f, tt.checks)
		if pass != tt.pass || why != tt.why {
			t.Errorf("%s: got %v, %q, want %v, %q", tt.name, pass, why, tt.pass, tt.why)
		}
	}
}

func someResults() []Result {
	burst := 1
	return []Result{
		{Scenario: "many-workers", Client: "curl", Pass: true, Why: "60 of 60 delivered", Took: 12345 * time.Millisecond, TookS: 12.345,
			Figures: judge.Figures{Requests: 62, Throttled: 2, Burst: &burst, Documents: 60, Delivered: 60}},
		{Scenario: "ünïcode", About: "A <b>.", Client: "curl", Why: "a \x1b[31m red\nline & \"quotes\" \u202e", Took: time.Second, TookS: 1,
			Figures: judge.Figures{Requests: 5, Early: 4, Late: 3, Documents: 60},
			Checks:  []judge.Check{{Assert: "hung == 0", Value: "0", Pass: true}, {Assert: "late < 1", Value: "3", Why: "3 late\x00"}},
			Said:    "]]> \xff the end"},
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	table := NewTable(&b, []string{"many-workers", "ünïcode"})
	for _, r := range someResults() {
		if err := table.Row(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.End(); err != nil {
		t.Fatal(err)
	}
	want := `      scenario         took  requests  throttled  early   late  burst  delivered  why
pass  many-workers    12.3s        62          2      0      0      1      60/60  60 of 60 delivered
FAIL  ünïcode          1.0s         5          0      4      3      -       0/60  a �[31m red line & "quotes" �
1 of 2 passed
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// A row is there as soon as its result is.
func TestTableStreams(t *testing.T) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(NewTable(w, []string{"a"}).Row(someResults()[0])) }()
	b, err := io.ReadAll(r)
	if err != nil || !strings.HasSuffix(string(b), "delivered\n") {
		t.Errorf("got %q, %v", b, err)
	}
}

// Scripts read these fields.
func TestResultJSON(t *testing.T) {
	r := someResults()[0]
	r.Checks = []judge.Check{{Assert: "late == 0", Value: "0", Pass: true}}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if f, ok := got["figures"].(map[string]any); !ok || f["requests"] != 62.0 {
		t.Errorf("the figures are %v", got["figures"])
	}
	delete(got, "figures") // the judge's
	want := map[string]any{"scenario": "many-workers", "about": "", "client": "curl", "pass": true, "why": "60 of 60 delivered", "took_s": 12.345,
		"checks": []any{map[string]any{"assert": "late == 0", "value": "0", "pass": true}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJUnit(&b, someResults()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		XMLName  xml.Name `xml:"testsuite"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Time     string   `xml:"time,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Class   string `xml:"classname,attr"`
			Time    string `xml:"time,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if got.Tests != 2 || got.Failures != 1 || got.Time != "13.345" || len(got.Cases) != 2 {
		t.Errorf("got %+v of\n%s", got, b.String())
	}
	if c := got.Cases[0]; c.Name != "many-workers" || c.Class != "drill.curl" || c.Time != "12.345" || c.Failure != nil {
		t.Errorf("the first case is %+v", c)
	}
	f := got.Cases[1].Failure
	if f == nil {
		t.Fatalf("no failure in\n%s", b.String())
	}
	if want := "a \ufffd[31m red\nline & \"quotes\" \u202e"; f.Message != want {
		t.Errorf("the message is %q, want %q", f.Message, want)
	}
	if want := "A <b>.\nlate < 1: it is 3: 3 late\ufffd\n]]> \ufffd the end"; f.Text != want {
		t.Errorf("the text is %q, want %q", f.Text, want)
	}
}
