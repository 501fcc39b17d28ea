// Package mutants breaks dogear's rules on purpose, one at a time, and looks whether its own
// table notices.
package mutants
