package scenario

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

//go:embed builtin/*.yaml
var files embed.FS

// standard are the built-in scenarios that ask nothing of a client but to read a list of
// addresses; further, those that ask for more: a credential, a hash to compare, a listing.
var (
	standard = []string{
		"seconds", "http-date", "old-dates", "skewed-clock", "several-hints", "later-wins",
		"no-hint", "illegal-hints", "hint-zero",
		"many-workers", "two-quotas", "sliding-window", "token-bucket", "leaky-bucket", "concurrency", "ban", "counted",
		"status-503", "status-529", "forever", "long-wait",
		"server-errors", "cut", "slow", "changed", "withdrawn", "expiring-links",
	}
	further = []string{
		"many-processes", "kill", "hang", "forbidden-reason", "ok-error-body",
		"wrong-length", "wrong-digest", "login-page",
		"credentials", "expiring-token", "paged-listing", "batch", "graph-drive",
	}
)

// Builtin are the names of the built-in scenarios, in the order in which they are shown.
func Builtin() []string { return slices.Concat(standard, further) }

// Standard are those of [Builtin] that ask nothing of a client but to read a list of addresses.
func Standard() []string { return slices.Clone(standard) }

// An UnknownError says that there is no built-in scenario of a name. It matches
// [fs.ErrNotExist].
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no scenario %q%s\nbuilt in: %s\na file is named by its path, such as ./%s.yaml",
		e.Name, didYouMean(e.Name, Builtin()), strings.Join(Builtin(), ", "), strings.Trim(e.Name, "./"))
}

// Is reports that a file is missing.
func (e *UnknownError) Is(target error) bool { return target == fs.ErrNotExist }

// Load reads a built-in scenario by its name, or a file by its path: a path has a separator
// in it, or ends in .yaml or .yml. The error matches [fs.ErrNotExist] if there is no such
// scenario, and is an [*Error] if there is a mistake in it.
func Load(nameOrPath string) (*Scenario, error) {
	if strings.ContainsAny(nameOrPath, `/\`) || strings.HasSuffix(nameOrPath, ".yaml") || strings.HasSuffix(nameOrPath, ".yml") {
		data, err := read(nameOrPath)
		if err != nil {
			return nil, fmt.Errorf("read the scenario: %w", err)
		}
		return Parse(nameOrPath, data)
	}
	if !slices.Contains(Builtin(), nameOrPath) {
		return nil, &UnknownError{nameOrPath}
	}
	data, err := files.ReadFile("builtin/" + nameOrPath + ".yaml")
	if err != nil {
		return nil, err
	}
	return Parse(nameOrPath, data)
}

// read reads a file up to a size that Parse refuses.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}
