package drill

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

const (
	outputHead = 4 << 20  // of what a client prints is kept from the beginning
	outputTail = 64 << 10 // and at least so much from the end
)

// An output keeps what a client prints, whose amount nobody knows: the beginning and the end.
type output struct {
	f     *os.File
	total int64
	tail  []byte // the last of all that was written
}

func createOutput(path string) (*output, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &output{f: f}, nil
}

// Write never fails: a full disk is not the client's fault, and must not change what it does.
func (o *output) Write(b []byte) (int, error) {
	if room := outputHead - o.total; room > 0 {
		_, _ = o.f.Write(b[:min(int64(len(b)), room)])
	}
	o.total += int64(len(b))
	o.tail = append(o.tail, b...)
	if len(o.tail) > 2*outputTail {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-outputTail:]...)
	}
	return len(b), nil
}

// close writes the end of a long output behind its beginning.
func (o *output) close() error {
	if rest := o.total - outputHead; rest > 0 {
		kept := o.tail[max(0, int64(len(o.tail))-rest):]
		if left := rest - int64(len(kept)); left > 0 {
			_, _ = fmt.Fprintf(o.f, "\n[%d bytes left out]\n", left)
		}
		_, _ = o.f.Write(kept)
	}
	return o.f.Close()
}

// last are the last n lines, each cut where it is very long.
func (o *output) last(n int) string {
	lines := strings.Split(string(bytes.TrimSpace(o.tail)), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, l := range lines {
		// A progress meter draws over its line: what is left of it is what comes last.
		l = strings.TrimRight(l, "\r")
		l = l[strings.LastIndexByte(l, '\r')+1:]
		if len(l) > 300 {
			l = strings.ToValidUTF8(l[:300], "") + "…"
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}
