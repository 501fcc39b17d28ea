package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogear/dogear/drill"
)

func TestCutCommand(t *testing.T) {
	tests := []struct{ args, ours, command string }{
		{"drill run", "drill run", ""},
		{"drill run a --tls -- curl -s --retry 5 {urls}", "drill run a --tls", "curl -s --retry 5 {urls}"},
		{"drill run -- env -- --json", "drill run", "env -- --json"},
		{"drill run a --", "drill run a", ""},
		{"drill judge -- -strange.jsonl", "drill judge -- -strange.jsonl", ""},
		{"read -- -strange.txt", "read -- -strange.txt", ""},
		{"drill", "drill", ""},
	}
	for _, tt := range tests {
		ours, command := cutCommand(strings.Fields(tt.args))
		if !slices.Equal(ours, strings.Fields(tt.ours)) || !slices.Equal(command, strings.Fields(tt.command)) {
			t.Errorf("%s: got %q and %q", tt.args, ours, command)
		}
	}
}

func writes(text string, err error) func(io.Writer, []drill.Result) error {
	return func(w io.Writer, _ []drill.Result) error {
		_, werr := io.WriteString(w, text)
		return errors.Join(werr, err)
	}
}

// A page is there whole or as it was.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	for _, tt := range []struct {
		text string
		err  error
		want string
	}{
		{"first", nil, "first"},
		{"half", errors.New("the disk is full"), "first"},
		{"second", nil, "second"},
	} {
		p := &page{path: path, flag: "--html", fill: writes(tt.text, tt.err)}
		if err := p.open(); err != nil {
			t.Fatal(err)
		}
		all := pages{p}
		if err := all.write(nil); !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, want %v", tt.text, err, tt.err)
		}
		all.discard()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != tt.want {
			t.Errorf("after %q the page is %q, %v", tt.text, got, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// A link stays one, and what is no file is not replaced by one.
func TestPageInPlace(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, os.DevNull} {
		p := &page{path: path, fill: writes("text", nil)}
		if err := p.open(); err != nil {
			t.Fatal(err)
		}
		if err := p.write(nil); err != nil {
			t.Error(err)
		}
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != "text" {
		t.Errorf("behind the link is %q, %v", got, err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is %v, %v", os.DevNull, info.Mode(), err)
	}
}
