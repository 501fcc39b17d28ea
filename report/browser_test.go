package report

import (
	"bytes"
	"context"
	"image"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// chromium finds the browser. Where it is missing the test is skipped, unless DOGEAR_REQUIRE
// names it.
func chromium(t *testing.T) string {
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
	return path
}

// browse has the browser do one thing with a page, and returns what it printed.
func browse(t *testing.T, page string, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-crash-reporter", "--disable-breakpad", "--disable-dev-shm-usage",
		"--user-data-dir=" + t.TempDir(),
	}, flags...)
	cmd := exec.CommandContext(ctx, chromium(t), append(args, "file://"+page)...)
	cmd.WaitDelay = 5 * time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, errs.Bytes())
	}
	return string(out)
}

// written is a page in a file.
func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The values of the browser's setting preferredColorScheme.
const (
	dark  = "0"
	light = "1"
)

func screenshot(t *testing.T, page, size, scheme string) image.Image {
	t.Helper()
	name := filepath.Join(t.TempDir(), "shot.png")
	browse(t, page, "--window-size="+size, "--blink-settings=preferredColorScheme="+scheme, "--screenshot="+name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// bright is how bright a pixel is, from 0 to 1.
func bright(m image.Image, x, y int) float64 {
	r, g, b, _ := m.At(x, y).RGBA()
	return float64(r+g+b) / 3 / 0xffff
}

// reds counts the pixels that are as red as an early mark.
func reds(m image.Image) int {
	n := 0
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			if r, g, b, _ := m.At(x, y).RGBA(); r > 0xb000 && g < 0x6800 && b < 0x6800 {
				n++
			}
		}
	}
	return n
}

// In a browser a page is light or dark as its reader likes it, and a storm is red.
func TestBrowserSchemes(t *testing.T) {
	chromium(t)
	stormy, _ := page(t, judged(t, storm(60), ""))
	calm, _ := page(t, judged(t, queue(140), ""))
	inLight := screenshot(t, written(t, stormy), "1200,1600", light)
	inDark := screenshot(t, written(t, stormy), "1200,1600", dark)
	if got := bright(inLight, 3, 3); got < 0.95 {
		t.Errorf("the light page is %.2f bright, want 1", got)
	}
	if got := bright(inDark, 3, 3); got > 0.15 {
		t.Errorf("the dark page is %.2f bright, want hardly anything", got)
	}
	inOrder := reds(screenshot(t, written(t, calm), "1200,1600", light))
	for scheme, n := range map[string]int{"light": reds(inLight), "dark": reds(inDark)} {
		if n < 20_000 || inOrder > n/20 {
			t.Errorf("%s: %d red pixels in a storm, %d in a queue: want many, and few", scheme, n, inOrder)
		}
	}
}

// measure looks at a page in frames of some widths, and writes down what is too wide for
// them or too small for people.
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
			const r = e.getBoundingClientRect(), style = getComputedStyle(e), text = e.textContent.slice(0, 40)
			if (r.width < 2 || e.closest("thead")) continue
			if (r.right > wide || r.left < 0) out.push(wide + " has outside " + e.tagName + " " + text)
			if (e.firstChild && e.firstChild.nodeType === 3 && e.firstChild.data.trim() && parseFloat(style.fontSize) < 10) out.push(wide + " has small " + text)
		}
	}
	document.body.textContent = "[[" + out.slice(0, 30).join("\n") + "]]"
}
</script>`

// On a phone, in the width of a sheet and on a desk nothing is wider than what it is on, and
// all text can be read.
func TestBrowserWidths(t *testing.T) {
	chromium(t)
	text, _ := everything(t)
	frames := strings.ReplaceAll(measure, "PAGE", written(t, text))
	out := browse(t, written(t, frames), "--allow-file-access-from-files", "--dump-dom")
	_, found, _ := strings.Cut(out, "[[")
	found, _, ok := strings.Cut(found, "]]")
	if !ok {
		t.Fatalf("the browser measured nothing:\n%s", out)
	}
	if want := "360 needs 360\n703 needs 703\n1200 needs 1200"; found != want {
		t.Errorf("got:\n%s\nwant:\n%s", found, want)
	}
}

// On paper a page has all its pictures, in their colours.
func TestBrowserPrint(t *testing.T) {
	chromium(t)
	text, _ := everything(t)
	name := filepath.Join(t.TempDir(), "page.pdf")
	browse(t, written(t, text), "--no-pdf-header-footer", "--print-to-pdf="+name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	pages := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(b, -1))
	if pages < 6 || pages > 16 {
		t.Errorf("the page is printed on %d sheets, want 6 to 16", pages)
	}
	if box := regexp.MustCompile(`/MediaBox \[[^]]*\]`).Find(b); !regexp.MustCompile(`\[0 0 59[45][.\d]* 84[12][.\d]*\]`).Match(box) {
		t.Errorf("a sheet is %s, want A4", box)
	}
	if most := 5_000_000; len(b) > most {
		t.Errorf("the printed page has %d bytes, want at most %d", len(b), most)
	}
}
