package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// warnings is a log for people: one line a warning, as errors look, with its facts behind it.
type warnings struct {
	mu    *sync.Mutex
	w     io.Writer
	attrs []slog.Attr
}

func newLog(w io.Writer) *slog.Logger { return slog.New(warnings{mu: &sync.Mutex{}, w: w}) }

// Enabled implements [slog.Handler].
func (warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements [slog.Handler].
func (h warnings) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString("dogear: " + r.Message)
	separator := ": "
	fact := func(a slog.Attr) bool {
		fmt.Fprintf(&b, "%s%s %v", separator, a.Key, a.Value)
		separator = ", "
		return true
	}
	for _, a := range h.attrs {
		fact(a)
	}
	r.Attrs(fact)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := fmt.Fprintln(h.w, shown(b.String()))
	return err
}

// WithAttrs implements [slog.Handler].
func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)
	return h
}

// WithGroup implements [slog.Handler]; nothing here has groups.
func (h warnings) WithGroup(string) slog.Handler { return h }
