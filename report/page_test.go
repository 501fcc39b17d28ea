package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/dogear/dogear/drill"
)

// page renders results and returns what was written and what a browser makes of it.
func page(t *testing.T, results ...drill.Result) (string, node) {
	t.Helper()
	var b bytes.Buffer
	if err := Drill(&b, results); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), node{doc}
}

// A node is a part of a page.
type node struct{ *html.Node }

// all are the elements below n that have a name (any, if it is empty) and all classes.
func (n node) all(name string, classes ...string) []node {
	var out []node
	for d := range n.Descendants() {
		e := node{d}
		if d.Type != html.ElementNode || name != "" && d.Data != name {
			continue
		}
		has := strings.Fields(e.attr("class"))
		if !slices.ContainsFunc(classes, func(c string) bool { return !slices.Contains(has, c) }) {
			out = append(out, e)
		}
	}
	return out
}

// one is the only such element.
func (n node) one(t *testing.T, name string, classes ...string) node {
	t.Helper()
	all := n.all(name, classes...)
	if len(all) != 1 {
		t.Fatalf("there are %d elements %s %v, want 1", len(all), name, classes)
	}
	return all[0]
}

// picture is the only picture.
func (n node) picture(t *testing.T) node {
	t.Helper()
	return n.one(t, "figure", "picture").one(t, "svg")
}

func (n node) attr(name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func (n node) text() string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func (n node) id(t *testing.T, id string) node {
	t.Helper()
	for _, e := range n.all("") {
		if e.attr("id") == id {
			return e
		}
	}
	t.Fatalf("nothing has the id %q", id)
	return node{}
}
