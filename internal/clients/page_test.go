package clients

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestPage holds docs/clients.md against testdata/seen.json and the table of the clients.
func TestPage(t *testing.T) {
	s, err := readSeen()
	if err != nil {
		t.Fatal(err)
	}
	want := page(s)
	name := filepath.Join(root, "docs/clients.md")
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what testdata/seen.json says; try: go test ./internal/clients -run Page -update", name)
	}
}

const pageHead = `# Clients in the drill

What HTTP clients did when a service limited them, each with what its documentation offers for such a service. Each ran
through ` + "`dogear drill run`" + ` against the same stand-in service, with as many workers as the scenario says. This page states what
was seen of these versions with these settings, and no more; ` + "`make clients`" + ` measures it anew, and the tests hold the verdicts.

Measured on %s. Each client ran %d times in each scenario; where the runs differ, the least and the most are given.

## Verdicts

`

const pageFigures = `
A client passes where every assertion of the scenario held. Behind "fail" and "varies" are the figures for which one did not
hold; "varies" passed at least once. [drill.md](drill.md) says what each figure is. In short: *throttled* is the share of the
requests that were refused; *early* requests came after a wait had been told and before it was over, and *late* are those of
them that cannot have been under way when it was told; *burst* is the most that came after a wait before the first of them
had its answer; *rest* is the longest silence after a refusal without a hint; *leaked* requests brought a credential to another
origin; *delivered* are the documents that were sent whole. A batch is one request, and a 200 though items of it were refused.
`

const pageReproduce = `
## How to reproduce a row

` + "```" + `
make build
scripts/clients.sh                       # installs the clients, in these versions
go -C clients/go build -o bin/ ./...
` + "```" + `

Then, at the root of the repository:
`

// page is docs/clients.md.
func page(s *seen) string {
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, s.Machine, updateRounds)
	head := []string{"client"}
	for _, in := range scenarios {
		head = append(head, in.name)
	}
	table(&b, head, func(c *client) []string {
		row := []string{c.name}
		for _, in := range scenarios {
			row = append(row, s.verdict(c, in))
		}
		return row
	})
	b.WriteString(pageFigures)
	for _, in := range scenarios {
		s.section(&b, in)
	}
	b.WriteString("\n## Versions and settings\n\n")
	table(&b, []string{"client", "version", "settings"}, func(c *client) []string {
		return []string{c.name, s.version(c), c.settings}
	})
	b.WriteString(pageReproduce)
	for _, c := range clients {
		fmt.Fprintf(&b, "\n%s:\n\n```\n%s```\n", c.name, strings.Join(reproduce(&c), ""))
	}
	return b.String()
}

// section is one scenario, with a row for each client that was run in it.
func (s *seen) section(b *strings.Builder, in scenario) {
	fmt.Fprintf(b, "\n## %s\n\n%s `dogear drill run %s -- …`\n\n", in.name, s.About[in.name], in.file)
	head := append(append([]string{"client", "verdict", "requests"}, in.figures...), "delivered")
	table(b, head, func(c *client) []string {
		rounds := s.rounds(c, in)
		if len(rounds) == 0 {
			return nil
		}
		row := []string{c.name, s.verdict(c, in)}
		for _, name := range head[2:] {
			row = append(row, cell(name, rounds))
		}
		return row
	})
	for _, c := range clients {
		if why := c.not[in.name]; why != "" {
			fmt.Fprintf(b, "\n%s is not in this table: %s.\n", c.name, why)
		}
	}
	if in.note != "" {
		fmt.Fprintf(b, "\n%s\n", in.note)
	}
}

// table writes a table with a row for each client that has one.
func table(b *strings.Builder, head []string, row func(*client) []string) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat(" --- |", len(head)))
	for _, c := range clients {
		if cells := row(&c); cells != nil {
			fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		}
	}
}

// reproduce are the commands that make a client's row, one for all scenarios that can share
// it.
func reproduce(c *client) []string {
	var lines []string
	files := map[string]string{}
	for _, in := range scenarios {
		if c.not[in.name] != "" {
			continue
		}
		line := fmt.Sprintf("-- %s\n", c.line(in))
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		files[line] += in.file + " "
	}
	for i, line := range lines {
		lines[i] = "./dogear drill run " + files[line] + line
	}
	return lines
}

// verdict is a cell such as "fail: late, burst".
func (s *seen) verdict(c *client, in scenario) string {
	rounds := s.rounds(c, in)
	if len(rounds) == 0 {
		return "–"
	}
	pass, same := verdict(rounds)
	if pass {
		return "pass"
	}
	var failed []string
	for _, r := range rounds {
		for _, name := range r.Failed {
			if name = strings.TrimSuffix(name, "_s"); !slices.Contains(failed, name) {
				failed = append(failed, name)
			}
		}
	}
	word := "fail"
	if !same {
		word = "varies"
	}
	return word + ": " + strings.Join(failed, ", ")
}

// figures are the columns of the scenarios' tables: a number, or false where there is none.
var figures = map[string]func(round) (float64, bool){
	"requests":  func(r round) (float64, bool) { return float64(r.Requests), true },
	"throttled": func(r round) (float64, bool) { return 100 * float64(r.Throttled) / float64(r.Requests), true },
	"early":     func(r round) (float64, bool) { return float64(r.Early), true },
	"late":      func(r round) (float64, bool) { return float64(r.Late), true },
	"leaked":    func(r round) (float64, bool) { return float64(r.Leaked), true },
	"delivered": func(r round) (float64, bool) { return float64(r.Delivered), true },
	"burst": func(r round) (float64, bool) {
		if r.Burst == nil {
			return 0, false
		}
		return float64(*r.Burst), true
	},
	"rest": func(r round) (float64, bool) {
		if r.RestS == nil {
			return 0, false
		}
		return *r.RestS, true
	},
}

// cell is a figure over all rounds, such as "12–14".
func cell(name string, rounds []round) string {
	var all []float64
	for _, r := range rounds {
		if v, ok := figures[name](r); ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return "–"
	}
	form, unit := "%.0f", ""
	switch name {
	case "throttled":
		unit = " %"
	case "rest":
		form, unit = "%.1f", " s"
	case "delivered":
		unit = fmt.Sprintf(" of %d", rounds[0].Documents)
	}
	least, most := fmt.Sprintf(form, slices.Min(all)), fmt.Sprintf(form, slices.Max(all))
	if least == most {
		return least + unit
	}
	return least + "–" + most + unit
}

// machine says what the figures were measured on.
func machine() string {
	system := runtime.GOOS
	if f, err := os.Open("/etc/os-release"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
				system = strings.Trim(name, `"`)
			}
		}
	}
	return fmt.Sprintf("%s, %s, %d CPUs, over the loopback interface", system, runtime.GOARCH, runtime.NumCPU())
}
