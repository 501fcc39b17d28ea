package folder

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestName(t *testing.T) {
	const id = "the-id" // its SHA-256 begins with 19fe5033
	long := strings.Repeat("a", 300)
	tests := []struct{ text, want string }{
		{"report.pdf", "report.pdf"},
		{"Jahresbericht 2025, Teil 2 (final).pdf", "Jahresbericht 2025, Teil 2 (final).pdf"},
		{"area/sub/page.html?x=1", "area_sub_page.html_x=1"},
		{"../../x", "_.._x"},
		{`..\..\x`, "_.._x"},
		{"/etc/passwd", "_etc_passwd"},
		{`C:\x`, "C__x"},
		{"a:b", "a_b"},
		{"", "document-19fe5033"},
		{".", "document-19fe5033"},
		{"..", "document-19fe5033"},
		{" . . ", "document-19fe5033"},
		{"\u200d\ufeff", "document-19fe5033"},
		{".hidden", "hidden"},
		{" x ", "x"},
		{"x...", "x"},
		{"x. .txt. ", "x. .txt"},
		{"a\x00b\x1bc\x7fd\u0085e", "a_b_c_d_e"},
		{"a\nb", "a_b"},
		{"a\xff\xfeb", "a__b"},
		{"a\ufffdb", "a_b"},
		{"invoice\u202efdp.exe", "invoicefdp.exe"},
		{"a\u2066b\u2069", "ab"},
		{"soft\u00adhyphen", "softhyphen"},
		{"no\u00a0break\u3000wide", "no break wide"},
		{"e\u0301te\u0301.txt", "\u00e9t\u00e9.txt"},
		{"e\u200b\u0301", "\u00e9"},
		{"👩\u200d👩\u200d👧 ❤\ufe0f.md", "👩\u200d👩\u200d👧 ❤\ufe0f.md"},
		{"می\u200cخواهم", "می\u200cخواهم"},
		{"\u200d.dogear-5.part", "dogear-5.part"},
		{"\u3164.dogear-5.part", "dogear-5.part"},
		{".dogear-5.part", "dogear-5.part"},
		{".dogear-job", "dogear-job"},
		{"dogear.jsonl", "_dogear.jsonl"},
		{"DOGEAR.JSONL", "_DOGEAR.JSONL"},
		{"dogear.j\u017fonl", "_dogear.j\u017fonl"},
		{"dog\u200dear.jsonl", "_dog\u200dear.jsonl"},
		{"dogear.jsonl.", "_dogear.jsonl"},
		{"CON", "_CON"},
		{"con.txt", "_con.txt"},
		{"Con .tar.gz", "_Con .tar.gz"},
		{"nul", "_nul"},
		{"COM1", "_COM1"},
		{"com0.x", "_com0.x"},
		{"LPT\u00b9", "_LPT\u00b9"},
		{"lpt\u00b3.txt", "_lpt\u00b3.txt"},
		{"conin$", "_conin$"},
		{"CONOUT$.log", "_CONOUT$.log"},
		{"COM10", "COM10"},
		{"COM", "COM"},
		{"console.txt", "console.txt"},
		{"\u212aelvin", "Kelvin"},
		{"\u0300\u00ad" + strings.Repeat("\u0301", 9), "\u0300" + strings.Repeat("\u0301", 7)}, // was not idempotent
		{"\ue000\U000e0041\U0010ffff", "__"},
		{long + ".pdf", strings.Repeat("a", 200-4-9) + "~" + digest(long+".pdf\x00"+id) + ".pdf"},
		{long, strings.Repeat("a", 200-9) + "~" + digest(long+"\x00"+id)},
		{"x" + strings.Repeat("é", 150), "x" + strings.Repeat("é", 95) + "~" + digest("x"+strings.Repeat("é", 150)+"\x00"+id)},
		{"con." + long, "_con." + strings.Repeat("a", 200-5-9) + "~" + digest("con."+long+"\x00"+id)},
		{"Report v2. " + long, "Report v2. " + strings.Repeat("a", 200-11-9) + "~" + digest("Report v2. "+long+"\x00"+id)},
	}
	for _, tt := range tests {
		if got := Name(tt.text, id); got != tt.want {
			t.Errorf("Name(%q) = %q, want %q", tt.text, got, tt.want)
		}
		checkName(t, tt.text, id)
	}
}

func TestAlternative(t *testing.T) {
	const id = "the-id"
	tests := []struct {
		text string
		n    int
		want string
	}{
		{"report.pdf", 1, "report~19fe5033.pdf"},
		{"report.pdf", 2, "report~19fe5033-2.pdf"},
		{"report", 1, "report~19fe5033"},
		{"area/page.html?x=1", 1, "area_page.html_x=1~19fe5033"},
		{"con.txt", 1, "_con~19fe5033.txt"},
		{"DOGEAR.jsonl", 3, "_DOGEAR~19fe5033-3.jsonl"},
		{"", 1, "document-19fe5033~19fe5033"},
		{strings.Repeat("ü", 97) + ".html", 1, strings.Repeat("ü", 93) + "~19fe5033.html"},
	}
	for _, tt := range tests {
		got := Alternative(tt.text, id, tt.n)
		if got != tt.want {
			t.Errorf("Alternative(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

func TestFold(t *testing.T) {
	same := [][2]string{
		{"Report.PDF", "report.pdf"},
		{"\u00e9", "E\u0301"},
		{"straße", "STRASSE"},
		{"straẞe", "strasse"},
		{"ΣΊΣΥΦΟΣ", "σίσυφος"},
		{"ÿ", "Ÿ"},
		{"ǆ", "ǅ"},
		{"ﬁle", "FILE"},
		{"ſ", "S"},
		{"\u0390", "\u1fd3"},
		{"❤\ufe0f", "❤"},
		{"a\u200db", "ab"},
		{"Å", "\u212b"},
		{"µ", "μ"},
		{"ᾳ", "ΑΙ"},
	}
	for _, p := range same {
		if a, b := Fold(p[0]), Fold(p[1]); a != b {
			t.Errorf("Fold(%q) = %q, Fold(%q) = %q, want the same", p[0], a, p[1], b)
		}
	}
	for _, p := range [][2]string{{"a", "b"}, {"é", "e"}, {"a b", "ab"}, {"1", "¹"}, {"a~1", "a~2"}} {
		if Fold(p[0]) == Fold(p[1]) {
			t.Errorf("Fold(%q) and Fold(%q) are both %q", p[0], p[1], Fold(p[0]))
		}
	}
}

// text generates what services may call a document, with a taste for trouble.
func text() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[a-zA-Z0-9 ._-]{0,12}`),
		rapid.SampledFrom([]string{".", "..", "/", `\`, " ", ":", "CON", "nul", "com1", "LPT\u00b2", "conin$", ".txt",
			"dogear", ".jsonl", ".dogear-", ".part", "\u202e", "\u200d", "\ufe0f", "\u3164", "\u034f", "\u0301",
			"\u0344", "\ufb2c", "e", "E", "ß", "İ", "ı", "K", "\u0345", "\u1fb4", "가", "ᄀ", "ᅡ", "\x00", "\xff",
			"\xed\xa0\x80", "\U000e0061", "👩", "\ufdfa", "\u2028", "\u00a0", "~"}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom([]string{"a", "é", "日", "👧", "\u0301", "\u0344", "\u0390", "."}).Draw(t, "what"),
				rapid.IntRange(0, 250).Draw(t, "times"))
		}),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 6), func(p []string) string { return strings.Join(p, "") })
}

func TestNameProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkName(t, text().Draw(t, "text"), rapid.String().Draw(t, "id"))
	})
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"", "a/b.html?x=1", "../../x", "CON", "con .txt", "\u200d.dogear-5.part", "dogear.jsonl",
		strings.Repeat("\u0344", 40), "\xff\u202e", strings.Repeat("日", 120) + ".pdf"} {
		f.Add(s, "id")
	}
	f.Fuzz(func(t *testing.T, text, id string) { checkName(t, text, id) })
}

func FuzzFold(f *testing.F) {
	f.Add("Straße")
	f.Add("\u0390\u0345")
	f.Fuzz(func(t *testing.T, text string) { checkFold(t, Name(text, "id")) })
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkName checks all that Name and Alternative promise of one text.
func checkName(t failer, text, id string) {
	t.Helper()
	name := Name(text, id)
	checkSafe(t, text, name)
	checkFold(t, name)
	if again := Name(name, id); again != name {
		t.Errorf("Name(%q) = %q, and of that %q, want it unchanged", text, name, again)
	}
	if other := Name(text, id); other != name {
		t.Errorf("Name(%q) = %q, then %q", text, name, other)
	}
	names := map[string]bool{Fold(name): true}
	for n := 1; n < 12; n++ {
		alt := Alternative(text, id, n)
		checkSafe(t, text, alt)
		checkFold(t, alt)
		if again := Name(alt, id); again != alt {
			t.Errorf("Name(Alternative(%q, %d)) = %q, want %q", text, n, again, alt)
		}
		if names[Fold(alt)] {
			t.Errorf("Alternative(%q, %d) = %q, which was there", text, n, alt)
		}
		names[Fold(alt)] = true
	}
}

// checkSafe knows what the three systems refuse, from their documents and not from the code.
func checkSafe(t failer, text, name string) {
	t.Helper()
	complain := func(what string) {
		t.Helper()
		t.Errorf("the name %q for %q %s", name, text, what)
	}
	if name == "" || len(name) > 200 || len(utf16.Encode([]rune(name))) > 200 {
		complain(fmt.Sprintf("has %d bytes", len(name)))
	}
	if !utf8.ValidString(name) || !norm.NFC.IsNormalString(name) {
		complain("is not UTF-8 in NFC")
	}
	if strings.Trim(name, ". ") != name {
		complain("has dots or spaces at an end")
	}
	for _, r := range name {
		override := r == '\u061c' || r == '\u200e' || r == '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
		if r < ' ' || unicode.IsControl(r) || override || strings.ContainsRune(`<>:"/\|?*`+"\ufffd\ufeff\u2028\u2029", r) {
			complain(fmt.Sprintf("has %U", r))
		}
	}
	fold := Fold(name)
	if strings.HasPrefix(fold, ".") || fold == "dogear.jsonl" || strings.EqualFold(name, "dogear.jsonl") {
		complain("may be a file of dogear's own")
	}
	base := strings.ToLower(strings.TrimRight(strings.SplitN(name, ".", 2)[0], " "))
	for _, device := range []string{"con", "prn", "aux", "nul", "conin$", "conout$"} {
		if base == device {
			complain("is a device of Windows")
		}
	}
	for _, port := range []string{"com", "lpt"} {
		if n, ok := strings.CutPrefix(base, port); ok && len([]rune(n)) == 1 && strings.Contains("0123456789¹²³", n) {
			complain("is a device of Windows")
		}
	}
}

func checkFold(t failer, name string) {
	t.Helper()
	fold := Fold(name)
	for how, other := range map[string]string{
		"itself folded": fold,
		"NFD":           norm.NFD.String(name),
		"upper case":    strings.ToUpper(name),
		"lower case":    strings.ToLower(name),
		"title case":    strings.ToTitle(name),
	} {
		if how == "lower case" && strings.ContainsRune(name, 'İ') {
			continue // becomes a plain i in strings.ToLower, and i with a dot above in Unicode's folding
		}
		if got := Fold(other); got != fold {
			t.Errorf("Fold(%q) = %q, and of its %s %q, want the same", name, fold, how, got)
		}
	}
}

func BenchmarkName(b *testing.B) {
	for _, text := range []string{"Annual report 2025.pdf", "area/sub/page.html", "Jahresübersicht für Prüfer.pdf"} {
		b.Run(text[:6], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fold(Name(text, "id"))
			}
		})
	}
}
