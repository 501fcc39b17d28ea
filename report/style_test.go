package report

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// Text and marks can be told from what is behind them, in both schemes (WCAG 2: 1.4.3, 1.4.11).
func TestContrast(t *testing.T) {
	style, err := files.ReadFile("template/style.css")
	if err != nil {
		t.Fatal(err)
	}
	roots := regexp.MustCompile(`:root \{([^}]*)\}`).FindAllSubmatch(style, -1)
	if len(roots) != 2 {
		t.Fatalf("the style has %d sets of colours, want a light one and a dark one", len(roots))
	}
	for i, scheme := range []string{"light", "dark"} {
		colour := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([\w-]+): #(\w{6});`).FindAllSubmatch(roots[i][1], -1) {
			colour[string(m[1])] = luminance(t, string(m[2]))
		}
		for _, tt := range []struct {
			least        float64
			fronts, back []string
		}{
			{4.5, []string{"ink", "soft", "good", "bad", "edge"}, []string{"page"}},
			{4.5, []string{"on-bad"}, []string{"bad"}},
			{3, []string{"answered", "refused", "failed", "early", "column", "dark", "edge", "event"}, []string{"page", "shade", "hatch"}},
			{3, []string{"dark"}, []string{"column"}}, // the parts of a column
		} {
			for _, f := range tt.fronts {
				for _, b := range tt.back {
					front, okF := colour[f]
					back, okB := colour[b]
					if !okF || !okB {
						t.Fatalf("%s: there is no colour %s or %s", scheme, f, b)
					}
					got := (max(front, back) + 0.05) / (min(front, back) + 0.05)
					if got < tt.least {
						t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", scheme, f, b, got, tt.least)
					}
				}
			}
		}
	}
}

// luminance is the relative luminance of a colour in hexadecimal.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(c uint64) float64 {
		f := float64(c&0xff) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(rgb>>16) + 0.7152*linear(rgb>>8) + 0.0722*linear(rgb)
}
