package drill

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"` // seconds
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes results as a JUnit test suite, which CI services read.
func WriteJUnit(w io.Writer, results []Result) error {
	suite := junitSuite{Name: "dogear drill", Tests: len(results)}
	total := 0.0
	for _, r := range results {
		c := junitCase{Class: "drill." + r.Client, Name: r.Scenario, Time: fmt.Sprintf("%.3f", r.TookS)}
		if !r.Pass {
			suite.Failures++
			c.Failure = &junitFailure{Message: r.Why, Text: failures(r)}
		}
		total += r.TookS
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = fmt.Sprintf("%.3f", total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w) // what XML has no place for becomes U+FFFD
	enc.Indent("", "  ")
	if err := enc.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// failures are all that a client failed, a line each, and what it said.
func failures(r Result) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.About)
	for _, c := range r.Checks {
		if !c.Pass {
			fmt.Fprintf(&b, "%s: it is %s: %s\n", c.Assert, c.Value, c.Why)
		}
	}
	b.WriteString(r.Said)
	return b.String()
}
