package plan

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// browse has a browser do one thing with a page, and returns what it printed. Where there is none
// the test is skipped, unless DOGEAR_REQUIRE names it.
func browse(t *testing.T, page string, flags ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes its time")
	}
	path, err := exec.LookPath("chromium")
	if err != nil && slices.Contains(strings.Split(os.Getenv("DOGEAR_REQUIRE"), ","), "chromium") {
		t.Fatalf("DOGEAR_REQUIRE names chromium: %v", err)
	}
	if err != nil {
		t.Skipf("chromium is not installed (apt-get install chromium): %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-crash-reporter", "--disable-breakpad", "--disable-dev-shm-usage", "--user-data-dir=" + t.TempDir()}, flags...)
	cmd := exec.CommandContext(ctx, path, append(args, "file://"+page)...)
	cmd.WaitDelay = 5 * time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, errs.Bytes())
	}
	return string(out)
}

// stored is a page in a file.
func stored(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func sheetOf(t *testing.T, name string, l Lang) string {
	t.Helper()
	var b strings.Builder
	if err := made(t, gallery(t)[name]).HTML(&b, l); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// measure looks at a page in frames of some widths, and writes down what is too wide for them.
const measure = `<!DOCTYPE html>
<iframe src="file://PAGE" style="border:0;width:360px;height:800px"></iframe>
<iframe src="file://PAGE" style="border:0;width:703px;height:800px"></iframe>
<iframe src="file://PAGE" style="border:0;width:1200px;height:800px"></iframe>
<script>
onload = () => {
	const out = []
	for (const frame of document.querySelectorAll("iframe")) {
		const doc = frame.contentDocument, wide = doc.documentElement.clientWidth
		out.push(wide + " needs " + doc.documentElement.scrollWidth)
		for (const e of doc.querySelectorAll("body *")) {
			const r = e.getBoundingClientRect()
			if (!e.closest(".wide") && (r.right > wide || r.left < 0)) out.push(wide + " has outside " + e.tagName + " " + e.textContent.slice(0, 40))
		}
	}
	document.body.textContent = "[[" + out.slice(0, 30).join("\n") + "]]"
}
</script>`

// On a phone, in the width of a sheet and on a desk nothing is wider than what it is on; tables
// that are can be moved by themselves.
func TestBrowserWidths(t *testing.T) {
	for _, name := range []string{"graph", "odd"} {
		frames := strings.ReplaceAll(measure, "PAGE", stored(t, sheetOf(t, name, English)))
		out := browse(t, stored(t, frames), "--allow-file-access-from-files", "--dump-dom")
		_, found, _ := strings.Cut(out, "[[")
		found, _, ok := strings.Cut(found, "]]")
		if want := "360 needs 360\n703 needs 703\n1200 needs 1200"; !ok || found != want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, found, want)
		}
	}
}

// On paper a sheet is a few pages of A4.
func TestBrowserPrint(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.pdf")
	browse(t, stored(t, sheetOf(t, "graph", English)), "--no-pdf-header-footer", "--print-to-pdf="+name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if pages := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(b, -1)); pages < 2 || pages > 8 {
		t.Errorf("the sheet is printed on %d pages, want 2 to 8", pages)
	}
	if box := regexp.MustCompile(`/MediaBox \[[^]]*\]`).Find(b); !regexp.MustCompile(`\[0 0 59[45][.\d]* 84[12][.\d]*\]`).Match(box) {
		t.Errorf("a page is %s, want A4", box)
	}
}

// Text can be told from what is behind it, in both schemes (WCAG 2: 1.4.3).
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
		for _, front := range []string{"ink", "soft", "good", "bad", "open"} {
			for _, back := range []string{"page", "shade"} {
				f, b := colour[front], colour[back]
				if got := (max(f, b) + 0.05) / (min(f, b) + 0.05); got < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f, want 4.5", scheme, front, back, got)
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
