package report

// A label is text beside something that is on the time line from one place to another.
type label struct {
	From, To percent
	Text     string // empty: there was no room
	Row      int    // from 0

	// Once it has its place: it starts or ends at X.
	X      percent
	Anchor string // start or end
	Wide   bool   // there is no room for it on a narrow page
}

// What a letter takes of the width: on paper, and on a phone.
const (
	letterWide   = percent(1.0)
	letterNarrow = percent(2.4)
)

// place puts labels, sorted by From, into rows in which they do not overlap, and returns how
// many rows they take.
func place(labels []label, rows int) int {
	wide, narrow := make([]percent, rows), make([]percent, rows)
	used := 0
	for i := range labels {
		l := &labels[i]
		letters := percent(len([]rune(l.Text)) + 1)
		l.X, l.Anchor = l.From, "start"
		left, leftNarrow := l.X, l.X
		if l.X+letters*letterWide > 100 || l.X > 50 && l.X+letters*letterNarrow > 100 {
			l.X, l.Anchor = l.To, "end"
			left, leftNarrow = max(l.X-letters*letterWide, 0), l.X-letters*letterNarrow
		}
		row := 0
		for row < rows && wide[row] > left {
			row++
		}
		if row == rows {
			l.Text = ""
			continue
		}
		l.Row, used = row, max(used, row+1)
		wide[row] = left + letters*letterWide
		l.Wide = leftNarrow < narrow[row] || leftNarrow+letters*letterNarrow > 100
		if !l.Wide {
			narrow[row] = leftNarrow + letters*letterNarrow
		}
	}
	return used
}
