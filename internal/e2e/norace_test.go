//go:build !race

package e2e

// buildFlags build the binary as the tests are.
var buildFlags []string
