package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dogear/dogear"
)

// ask lets the person at the terminal say which requests share a quota. Where there is no
// terminal it asks nobody, and the run ends before anything is sent.
func (c *call) ask(s round, keys []string) error {
	if _, ok := terminal(c.Stdin); !ok {
		return nil
	}
	if _, ok := terminal(c.Stderr); !ok {
		return nil
	}
	fmt.Fprintf(c.Stderr, "Which requests share one quota? Nobody has said so yet for:\n")
	for _, k := range keys[:min(10, len(keys))] {
		fmt.Fprintf(c.Stderr, "  %s\n", k)
	}
	if n := len(keys) - 10; n > 0 {
		fmt.Fprintf(c.Stderr, "  and %d more\n", n)
	}
	fmt.Fprintf(c.Stderr, "Each line is one quota, shared by every dogear process: is that so? [y/N] ")
	line, err := c.answer()
	if c.ctx.Err() != nil {
		return &codedError{code: cancelCode(c.ctx), err: errors.New("stopped at the question: nothing was sent"), try: "dogear resume " + s.job.Name}
	}
	if a := strings.ToLower(strings.TrimSpace(line)); err != nil || a != "y" && a != "yes" {
		return &codedError{code: exitConfig, err: errors.New("the scope was not confirmed: nothing was sent"),
			try: fmt.Sprintf("dogear resume %s --scope job, or --scope KEY with a key that all who share the quota name", s.job.Name)}
	}
	set := s.job.Settings
	for _, k := range keys {
		by := dogear.Confirmation{By: who(), Source: "answered at the terminal", At: time.Now()}
		if err := s.store.Confirm(c.ctx, k, by, set.Rate, set.Burst, set.Concurrency); err != nil {
			return &codedError{code: exitIO, err: err}
		}
	}
	return nil
}

// answer reads a line from the terminal, or nothing when a signal comes first. The reading
// goroutine then ends with the program, which is about to.
func (c *call) answer() (string, error) {
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := bufio.NewReader(c.Stdin).ReadString('\n')
		got <- read{line, err}
	}()
	defer fmt.Fprintln(c.Stderr)
	select {
	case r := <-got:
		return r.line, r.err
	case <-c.ctx.Done():
		return "", context.Cause(c.ctx)
	}
}

// once does something once for each key.
type once struct {
	mu   sync.Mutex
	done map[string]bool
}

func newOnce() *once { return &once{done: map[string]bool{}} }

func (o *once) do(key string, f func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done[key] {
		return nil
	}
	if err := f(); err != nil {
		return err
	}
	o.done[key] = true
	return nil
}
