package judge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseAsserts(t *testing.T) {
	for _, test := range []struct {
		text string
		want []Assert
	}{
		{"late == 0", []Assert{{"late", "==", 0}}},
		{"early==0, lost == 0", []Assert{{"early", "==", 0}, {"lost", "==", 0}}},
		{" goodput>=0.95 ,\texit != -1 ", []Assert{{"goodput", ">=", 0.95}, {"exit", "!=", -1}}},
		{"rest_s > .5,burst<=1,throttled_share<0.1", []Assert{{"rest_s", ">", 0.5}, {"burst", "<=", 1}, {"throttled_share", "<", 0.1}}},
	} {
		got, err := ParseAsserts(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: -want +got:\n%s", test.text, diff)
		}
	}
}

func TestParseAssertsErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", `"", character 1: an assertion is missing, such as late == 0`},
		{"late == 0,", `"late == 0,", character 11: an assertion is missing, such as late == 0`},
		{"late == 0,, lost == 0", `"late == 0,, lost == 0", character 11: ", lost == 0" does not begin with the name of a figure`},
		{"late == 0, erly == 0", `"late == 0, erly == 0", character 12: there is no figure "erly"; there are: requests, throttled, ` +
			`throttled_share, early, late, retries_early, earliest_s, burst, rest_s, documents, asked, delivered, withheld, lost, ` +
			`attempts_most, attempts_mean, repeats, mixed, leaked, span_s, best_s, goodput, time, hung, exit`},
		{"Late == 0", `"Late == 0", character 1: there is no figure "Late"; there are: `},
		{"late", `"late", character 5: after late comes one of == != < <= > >=`},
		{"late = 0", `"late = 0", character 6: after late comes one of == != < <= > >=`},
		{"late === 0", `"late === 0", character 6: after late comes one of`},
		{"late == none", `"late == none", character 9: after == comes a number, such as 0 or 0.5`},
		{"late ==", `"late ==", character 8: after == comes a number`},
		{"late == 0.0.1", `"late == 0.0.1", character 9: after == comes a number`},
		{"late == " + strings.Repeat("9", 400), `character 9: after == comes a number`},
		{"goodput >= 0,97", `"goodput >= 0,97", character 14: there is no figure "97"; there are: `},
		{"late == 0 lost == 0", `"late == 0 lost == 0", character 11: "lost == 0" is too much: between assertions there is a comma`},
		{"late == 1e3", `"late == 1e3", character 10: "e3" is too much`},
		{"late == 0, spät == 0", `"late == 0, spät == 0", character 12: there is no figure "spät"`},
		{"late == 0, lost == ä", `character 20: after == comes a number`},
	} {
		got, err := ParseAsserts(test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v and the error\n\t%v\nwant\n\t%s", test.text, got, err, test.want)
		}
	}
}

func TestParseAssert(t *testing.T) {
	got, err := ParseAssert(" late<= 3 ")
	if want := (Assert{"late", "<=", 3}); got != want || err != nil {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	_, err = ParseAssert("late == 0, lost == 0")
	if want := `"late == 0, lost == 0", character 10: ", lost == 0" is too much: an assertion is a figure, a comparison and a number`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

func FuzzParseAsserts(f *testing.F) {
	f.Add("late == 0, goodput >= 0.5")
	f.Add("ä,<=,\xff==")
	f.Fuzz(func(t *testing.T, text string) {
		asserts, err := ParseAsserts(text)
		if err != nil {
			return
		}
		var again []string
		for _, a := range asserts {
			again = append(again, a.String())
		}
		got, err := ParseAsserts(strings.Join(again, ","))
		if diff := cmp.Diff(asserts, got); diff != "" || err != nil {
			t.Errorf("%q, written as %q: %v\n%s", text, again, err, diff)
		}
	})
}

// Each operator below, at and above its number.
func TestOperators(t *testing.T) {
	for op, want := range map[string][3]bool{
		"==": {false, true, false}, "!=": {true, false, true},
		"<": {true, false, false}, "<=": {true, true, false}, ">": {false, false, true}, ">=": {false, true, true},
	} {
		for i, v := range []float64{1, 2, 3} {
			if got := (Assert{"late", op, 2}).holds(v); got != want[i] {
				t.Errorf("%v %s 2: %v, want %v", v, op, got, want[i])
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		journal, assert, value string
		pass                   bool
		why                    string
	}{
		{"requests", "requests == 7", "7", true, ""},
		{"requests", "requests<=5", "7", false, "requests is 7, not <= 5"},
		{"requests", "throttled_share <= 0.28", "0.286", false, "arrival 2 (GET /doc/2) was the first that was refused"},
		{"requests", "throttled_share <= 0.2857", "0.286", false, "arrival 2 (GET /doc/2) was the first that was refused"},
		{"requests", "throttled_share <= 0.286", "0.286", true, ""},
		{"requests", "throttled_share < 0.286", "0.285714", true, ""}, // 0.286 would not be
		{"requests", "throttled == 0", "2", false, "arrival 2 (GET /doc/2) was the first that was refused"},
		{"requests", "leaked == 0", "2", false, "arrival 6 (GET /doc/3) brought Authorization and Cookie to an origin that it is not for"},
		{"early", "early == 0", "4", false, "arrival 3 (GET /doc/3) came 9.6 s before the wait told by arrival 1 ended"},
		{"early", "late == 0", "2", false, "arrival 5 (GET /doc/1) came 9.5 s before the wait told by arrival 1 ended"},
		{"early", "retries_early == 0", "1", false, "arrival 5 (GET /doc/1) came 9.5 s before the wait told by arrival 1 ended"},
		{"early", "earliest_s < 1", "9.6", false, "arrival 3 (GET /doc/3) came 9.6 s before the wait told by arrival 1 ended"},
		{"early", "early >= 5", "4", false, "early is 4, not >= 5"},
		{"extended", "late == 0", "2", false, "arrival 3 (GET /doc/3) came 9.3 s before the wait told by arrival 1 ended"},
		{"burst", "burst <= 1", "3", false, "3 requests came after the wait told by arrival 14 had ended and before the first of them, arrival 15 (GET /doc/4), had its answer"},
		{"burst-past", "burst <= 1", "unknown", true, ""},
		{"burst-past", "burst == 1", "unknown", false, "burst is unknown, not == 1"},
		{"rest-connection", "rest_s >= 0.5", "0.003", false, "arrival 2 (GET /doc/1) came when arrival 1 (GET /doc/1) had been refused without a wait, after a silence of only 3 ms"},
		{"rest-hot", "rest_s >= 0.5", "0.1", false, "arrival 3 (GET /doc/1) came when arrival 1 (GET /doc/1) had been refused without a wait, after a silence of only 100 ms"},
		{"rest-none", "rest_s >= 0.5", "unknown", true, ""},
		{"rest-none", "rest_s <= 3", "unknown", false, "rest_s is unknown, not <= 3"},
		{"empty", "documents == 3", "3", true, ""},
		{"empty", "asked == 3", "0", false, "documents 1, 2 and 1 more were never asked for"},
		{"empty", "lost == 0", "3", false, "documents 1, 2 and 1 more were never delivered whole"},
		{"attempts", "lost == 0", "2", false, "documents 3 and 5 were never delivered whole"},
		{"attempts", "delivered == 5", "3", false, "documents 3 and 5 were never delivered whole"},
		{"attempts", "delivered <= 2", "3", false, "delivered is 3, not <= 2"},
		{"attempts", "attempts_most <= 2", "3", false, "document 4 was asked for 3 times"},
		{"attempts", "attempts_mean <= 1", "2", false, "document 4 was asked for 3 times"},
		{"best-lost", "lost == 0", "1", false, "document 3 was never delivered whole"},
		{"withheld", "withheld == 0", "5", false, "document 1 was answered 403 by arrival 1"},
		{"withheld", "lost == 0", "3", false, "documents 5, 6 and 1 more were never delivered whole"},
		{"repeats", "repeats == 0", "4", false, "document 1 was asked for again by arrival 4 (GET /doc/1) after arrival 1 had delivered it"},
		{"ranges", "mixed == 0", "3", false, "arrival 8 continued document 4 from byte 40 at version 1, and what had been sent before it was of another"},
		{"best-window", "goodput >= 0.9", "0.8", false, "5 of 5 documents took 5.0 s, and 4.0 s at best"},
		{"best-window", "time <= 1.1", "1.25", false, "5 of 5 documents took 5.0 s, and 4.0 s at best"},
		{"best-window", "span_s <= 4.5", "5", false, "span_s is 5, not <= 4.5"},
		{"best-lost", "time <= 9", "unknown", false, "time is unknown: documents were lost, or best_s is unknown or under a second"},
		{"requests", "goodput >= 0", "unknown", false, "goodput is unknown: best_s is unknown or under a second"},
		{"best-unknown", "best_s >= 0", "unknown", false, "best_s is unknown: what the limit lets through depends on more than the limit"},
		{"ends", "hung == 0", "1", false, "client 2 went on past the time limit and was killed"},
		{"ends", "exit == 0", "3", false, "client 1 ended with exit code 3"},
		{"ended-well", "exit == 0", "0", true, ""},
		{"empty", "exit == 0", "unknown", false, "exit is unknown: the journal has no end of a client"},
	} {
		a, err := ParseAssert(test.assert)
		if err != nil {
			t.Fatal(err)
		}
		rec := read(t, test.journal)
		got := a.Check(Judge(rec, DefaultSlack), rec, DefaultSlack)
		want := Check{Assert: a.String(), Value: test.value, Pass: test.pass, Why: test.why}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %s: -want +got:\n%s", test.journal, test.assert, diff)
		}
	}
}

// A share that is small is not written as none.
func TestCheckWritesNoZero(t *testing.T) {
	a := Assert{"throttled_share", "<", 0.5}
	if got := a.Check(Figures{ThrottledShare: 0.00001}, nil, 0); got.Value != "0.00001" || !got.Pass {
		t.Errorf("got %+v", got)
	}
}

// Words of a client reach a terminal: no control characters, and not a page of them.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"/doc/1":                      "/doc/1",
		"/doc/é":                      "/doc/é",
		"/\x1b[2J":                    `"/\x1b[2J"`,
		"/a\nb":                       `"/a\nb"`,
		"/\xff":                       "/�",
		"/" + strings.Repeat("x", 99): "/" + strings.Repeat("x", 79) + "…",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
