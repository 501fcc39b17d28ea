package profile

import (
	"fmt"
	"strings"
)

// An Error is a mistake in a profile's file.
type Error struct {
	File    string
	Line    int // from 1; zero: the file as a whole is meant
	Column  int // from 1, in characters
	Message string
	Text    string // the line
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	number := fmt.Sprint(e.Line)
	return fmt.Sprintf("%s:%d:%d: %s\n> %s | %s\n  %*s | %s^", e.File, e.Line, e.Column, e.Message,
		number, e.Text, len(number), "", indent(e.Text, e.Column))
}

// indent is as wide as what stands before a column of a line.
func indent(line string, column int) string {
	var b strings.Builder
	for _, r := range line {
		if column--; column == 0 {
			break
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// didYouMean ends a message about a name that is not there.
func didYouMean(s string, names []string) string {
	best, least := "", len(s)/3+1
	for _, name := range names {
		if d := distance(s, name); d <= least && (best == "" || d < least) {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is how many letters must be put in, left out or replaced to make b of a.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) > 64 { // nobody means that
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
