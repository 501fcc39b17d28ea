package drill

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// The beginning and the end are kept, and what is between them is counted.
func TestOutput(t *testing.T) {
	for _, size := range []int{0, 1, outputHead - 1, outputHead, outputHead + 1, outputHead + outputTail, outputHead + 5*outputTail + 7} {
		for _, chunk := range []int{1000, 32 << 10, size + 1} {
			text := make([]byte, size)
			for i := range text {
				text[i] = 'a' + byte(i%23)
			}
			path := filepath.Join(t.TempDir(), "log")
			o, err := createOutput(path)
			if err != nil {
				t.Fatal(err)
			}
			for rest := text; len(rest) > 0; rest = rest[min(chunk, len(rest)):] {
				if _, err := o.Write(rest[:min(chunk, len(rest))]); err != nil {
					t.Fatal(err)
				}
			}
			if err := o.close(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checkKept(t, got, text)
		}
	}
}

var leftOut = regexp.MustCompile(`\n\[(\d+) bytes left out\]\n`)

func checkKept(t *testing.T, got, text []byte) {
	t.Helper()
	at := leftOut.FindSubmatchIndex(got)
	if at == nil {
		if !bytes.Equal(got, text) {
			t.Errorf("of %d bytes %d are kept, and nothing is said", len(text), len(got))
		}
		return
	}
	n, _ := strconv.Atoi(string(got[at[2]:at[3]]))
	head, tail := got[:at[0]], got[at[1]:]
	if len(head)+n+len(tail) != len(text) || !bytes.HasPrefix(text, head) || !bytes.HasSuffix(text, tail) || len(tail) < outputTail {
		t.Errorf("of %d bytes %d and %d are kept, and %d are said to be left out", len(text), len(head), len(tail), n)
	}
}

func TestOutputLast(t *testing.T) {
	long := bytes.Repeat([]byte("ä"), 400)
	tests := []struct{ text, want string }{
		{"", ""},
		{"one\n", "one"},
		{"one\ntwo\nthree\n\n", "two\nthree"},
		{" 10%\r 50%\r100%\r\ndone\n", "100%\ndone"},
		{string(long), string(long[:300]) + "…"},
	}
	for _, tt := range tests {
		o := &output{total: outputHead, tail: []byte(tt.text)}
		if got := o.last(2); got != tt.want {
			t.Errorf("%.40q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}
