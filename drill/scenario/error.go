package scenario

import "fmt"

// An Error is a mistake in a scenario file.
type Error struct {
	File    string
	Line    int // from 1; zero: the file as a whole is meant
	Column  int // from 1, in characters
	Message string
	Text    string // the line
}

// wide is how many characters of a line are shown.
const wide = 120

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	line, caret := excerpt([]rune(e.Text), e.Column-1)
	number := fmt.Sprint(e.Line)
	return fmt.Sprintf("%s:%d:%d: %s\n> %s | %s\n  %*s | %s^", e.File, e.Line, e.Column, e.Message, number, line, len(number), "", caret)
}

// excerpt is a line around one of its characters, and blanks as wide as what stands before it.
func excerpt(line []rune, at int) (text, blanks string) {
	at = min(max(at, 0), len(line))
	before, after := line[:at], line[at:]
	if len(before) > wide/2 && len(line) > wide {
		before = append([]rune("…"), before[len(before)-wide/2:]...)
	}
	if len(before)+len(after) > wide {
		after = append(after[:wide-len(before):wide-len(before)], '…')
	}
	for _, r := range before {
		if r != '\t' {
			r = ' '
		}
		blanks += string(r)
	}
	return string(before) + string(after), blanks
}
