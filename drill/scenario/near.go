package scenario

import "strings"

// near is the name that somebody who wrote s has probably meant; "" if there is none.
func near(s string, names []string) string {
	best, least := "", len(s)/3+1
	for _, name := range names {
		if d := distance(s, name); d <= least && (best == "" || d < least) {
			best, least = name, d
		}
	}
	return best
}

// didYouMean ends a message about a name that is not there.
func didYouMean(s string, names []string) string {
	if name := near(s, names); name != "" {
		return "; did you mean " + name + "?"
	}
	return ""
}

// distance is how many letters must be put in, left out or replaced to make b of a.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
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
