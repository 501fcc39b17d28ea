package folder

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	// maxName is the longest name in bytes. Systems take 255, some count UTF-16 units, and
	// what handles a file likes to put something behind its name.
	maxName = 200
	// maxExt is the longest extension, with its dot, that a shortened name keeps.
	maxExt = 12
	// maxMarks is how many combining marks may follow each other. Scripts need fewer; behind
	// 30 of them normalization puts a character of its own.
	maxMarks = 8
	// forbidden cannot be in a name on Windows; the slash and the NUL nowhere.
	forbidden = `<>:"/\|?*`
	// joiners are invisible and change how their neighbours are written, in Persian and in
	// emoji. They stay between other characters, and case-insensitive systems skip them.
	joiners = "\u200c\u200d\ufe0e\ufe0f"
	// edges are taken from both ends: a leading dot hides a file, Windows drops dots and
	// spaces at the end, and a joiner must not stand before a dot for those who skip it.
	edges = ". " + joiners
)

// Name makes the file name of a document from what it is called, which may be any text: a
// title, or a path. The name is one element of a path that Linux, macOS and Windows accept,
// in Unicode's NFC, at most 200 bytes long, and never hidden, a device of Windows, one of
// this package's own files or a trick of writing direction. A name that is safe stays as it
// is; what must go becomes "_", and what cannot be seen is left out. A text that is too long
// is cut before its extension, and a digest of all of it and the id is put there.
//
// Different texts may have the same name: see [Fold] and [Alternative].
func Name(name, id string) string {
	if plain(name) {
		return name
	}
	s := strings.Trim(norm.NFC.String(clean(norm.NFC.String(name))), edges)
	if s == "" {
		return "document-" + digest(id)
	}
	if reserved(s) {
		s = "_" + s
	}
	if len(s) > maxName {
		s = tagged(s, "~"+digest(name+"\x00"+id))
	}
	return s
}

// Alternative is another name for a document whose [Name] is taken: it bears a digest of the
// id. Should that be taken too, n from 2 on makes others.
func Alternative(name, id string, n int) string {
	tag := "~" + digest(id)
	if n > 1 {
		tag += "-" + strconv.Itoa(n)
	}
	return tagged(Name(name, id), tag)
}

// Fold is the same for two names that any file system may take for one: case, Unicode's
// normal forms and what cannot be seen make no difference. It is for names that [Name] or
// [Alternative] made. It folds more than any one system: full case folding as APFS and ext4
// do, upper case as NTFS does, ignored characters as HFS+ and ext4 do.
func Fold(name string) string {
	if ascii(name) {
		return strings.ToLower(name)
	}
	s := strings.Map(func(r rune) rune {
		if ignorable(r) {
			return -1
		}
		return r
	}, name)
	s = cases.Fold().String(norm.NFD.String(s))
	s = strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, s)
	return norm.NFC.String(s)
}

// plain reports whether a text is a safe name as it is, for those in ASCII. It may say no to
// a safe one.
func plain(s string) bool {
	if s == "" || len(s) > maxName || strings.Trim(s, ". ") != s {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !safe[c] {
			return false
		}
	}
	return !reserved(s)
}

// safe are the bytes that are safe within a name.
var safe = func() (t [256]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		t[c] = !strings.ContainsRune(forbidden, rune(c))
	}
	return t
}()

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// clean replaces what no name may hold and leaves out what nobody can see, in a text that is
// in NFC. It may undo that: what stood apart may be neighbours now.
func clean(name string) string {
	var b strings.Builder
	b.Grow(min(len(name), 4*maxName))
	marks := 0
	for _, r := range name {
		joiner := strings.ContainsRune(joiners, r)
		if !joiner && ignorable(r) {
			continue
		}
		if !unicode.Is(unicode.M, r) {
			marks = 0
		} else if marks++; marks > maxMarks {
			continue
		}
		switch {
		case joiner:
			b.WriteRune(r)
		case unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case r == utf8.RuneError, !unicode.IsGraphic(r), strings.ContainsRune(forbidden, r):
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ignorable reports whether a character cannot be seen: formatting, the overrides of writing
// direction among it, and fillers. Case-insensitive ext4 and HFS+ skip such in names.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// reserved reports whether a system or this package has its own use for the name.
func reserved(s string) bool {
	if (len(s) == len(listName) || !ascii(s)) && Fold(s) == listName {
		return true
	}
	// To Windows "con .txt" is the console, too.
	base, _, _ := strings.Cut(s, ".")
	base = strings.TrimRight(base, " ")
	if len(base) < 3 || len(base) > len("CONOUT$") {
		return false
	}
	base = strings.ToUpper(base)
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	port, ok := strings.CutPrefix(base, "COM")
	if !ok {
		port, ok = strings.CutPrefix(base, "LPT")
	}
	return ok && utf8.RuneCountInString(port) == 1 && strings.ContainsAny(port, "0123456789¹²³")
}

// tagged puts a tag before the extension and cuts what stands before it to make room.
func tagged(s, tag string) string {
	stem, ext := split(s)
	if room := maxName - len(tag) - len(ext); len(stem) > room {
		for !utf8.RuneStart(stem[room]) {
			room--
		}
		stem = strings.TrimRight(stem[:room], edges)
	}
	return stem + tag + ext
}

// split parts a name before its extension: a few letters and digits behind the last dot.
func split(s string) (stem, ext string) {
	i := strings.LastIndexByte(s, '.')
	if i <= 0 || len(s)-i > maxExt {
		return s, ""
	}
	for _, c := range []byte(s[i+1:]) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return s, ""
		}
	}
	return s[:i], s[i:]
}

// digest is short and enough to tell a few names apart.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
