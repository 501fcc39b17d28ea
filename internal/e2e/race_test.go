//go:build race

package e2e

// buildFlags build the binary with the race detector, as the tests are: in all but SQLite.
var buildFlags = []string{"-race", "-gcflags=modernc.org/...=-race=false"}
