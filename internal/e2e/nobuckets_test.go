//go:build nobuckets

package e2e

// The binary is built as the tests are: without the libraries of bucket services.
func init() { buildFlags = append(buildFlags, "-tags", "nobuckets") }
