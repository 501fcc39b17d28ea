package list

import (
	"io"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/dogear/dogear"
)

// A list of a million lines takes no more memory than one of ten.
func TestConstantMemory(t *testing.T) {
	const n = 1_000_000
	l := Reader("generated", &generator{n: n}, Guess)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	lines, most := 0, uint64(0)
	for doc, err := range l.Documents(0, func(u *url.URL) []string { return []string{dogear.HostKey(u)} }) {
		if err != nil {
			t.Fatal(err)
		}
		if lines++; doc.Line != int64(lines) {
			t.Fatalf("line %d, want %d", doc.Line, lines)
		}
		if lines%100_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
	}
	if lines != n {
		t.Errorf("%d lines, want %d", lines, n)
	}
	if grown := int64(most) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
}

// A generator is a long list, made while it is read: half of it of one host, the rest of
// many.
type generator struct {
	i, n int
	left []byte
}

func (g *generator) Read(p []byte) (int, error) {
	if len(g.left) == 0 {
		if g.i == g.n {
			return 0, io.EOF
		}
		host := "docs.example.com"
		if g.i%2 == 1 {
			host = "h" + strconv.Itoa(g.i) + ".example.com"
		}
		g.left = append(g.left[:0], "https://"+host+"/area/sub/page-"+strconv.Itoa(g.i)+".html?lang=en\n"...)
		g.i++
	}
	n := copy(p, g.left)
	g.left = g.left[n:]
	return n, nil
}

func BenchmarkText(b *testing.B) {
	for _, bench := range []struct{ name, line string }{
		{"plain", "https://docs.example.com/area/sub/page-123456.html"},
		{"query", "https://docs.example.com/area/sub/page.html?id=123456&lang=en"},
		{"escaped", "https://docs.example.com/area/sub/%E9%A1%B5-123456.html"},
		{"signed", "https://docs.example.com/area/sub/page-123456.html?X-Amz-Date=20261129T200000Z&X-Amz-Signature=0123456789abcdef"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			content := strings.Repeat(bench.line+"\n", 10_000)
			benchmark(b, write(b, "l.txt", content))
		})
	}
}

func BenchmarkFields(b *testing.B) {
	for name, content := range map[string]string{
		"l.csv":   "url,id,version\n" + strings.Repeat("https://docs.example.com/area/sub/page.html,page-123456,\"\"\"5d41402a\"\"\"\n", 10_000),
		"l.jsonl": strings.Repeat(`{"url":"https://docs.example.com/area/sub/page.html","id":"page-123456","version":"\"5d41402a\""}`+"\n", 10_000),
	} {
		b.Run(name, func(b *testing.B) {
			benchmark(b, write(b, name, content))
		})
	}
}

func benchmark(b *testing.B, l *List) {
	b.ReportAllocs()
	lines := 0
	for b.Loop() {
		for _, err := range l.Documents(0, func(u *url.URL) []string { return []string{dogear.HostKey(u)} }) {
			if err != nil {
				b.Fatal(err)
			}
			lines++
		}
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
}
