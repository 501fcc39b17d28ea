//go:build linux

// Package bench is what the benchmarks share: a server of small documents on the loopback
// interface, and a command that is run with an eye on what it uses.
package bench

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Serve answers every path that ends in a number with a document of size bytes under a strong
// ETag, without any limit. It returns the address to put the path after.
func Serve(size int) (base string, stop func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	noise := make([]byte, size)
	if _, err := rand.Read(noise); err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseUint(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], 10, 64)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Length", strconv.Itoa(size))
		h.Set("ETag", fmt.Sprintf(`"%d"`, n))
		if r.Method == http.MethodHead {
			return
		}
		body := slices.Clone(noise) // no two documents are the same
		binary.BigEndian.PutUint64(body, n)
		w.Write(body)
	})}
	go s.Serve(l) // ends with Close
	return "http://" + l.Addr().String(), s.Close, nil
}

// Usage is what one command took.
type Usage struct {
	Wall, CPU time.Duration
	RSS       int64 // bytes, at most
	Out       string
	Code      int
}

// Run runs a command in a folder and waits for it. Exit codes other than those that are
// named are errors.
func Run(dir string, codes []int, name string, args ...string) (Usage, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	u := Usage{Wall: time.Since(start), Out: out.String()}
	if cmd.ProcessState == nil {
		return u, err
	}
	u.Code = cmd.ProcessState.ExitCode()
	u.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.RSS = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	if !slices.Contains(codes, u.Code) {
		return u, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return u, nil
}

// Count counts the files of exactly size bytes in a folder.
func Count(dir string, size int64) (n int, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		fi, err := d.Info()
		if err == nil && fi.Size() == size {
			n++
		}
		return err
	})
	return n, err
}

// Spread is the median of some figures with the least and the most.
func Spread(v []float64, format string) string {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 {
		return "none"
	}
	median := (s[len(s)/2] + s[(len(s)-1)/2]) / 2
	return fmt.Sprintf(format+" ("+format+" to "+format+")", median, s[0], s[len(s)-1])
}
