package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/ledger"
	"github.com/dogear/dogear/ledger/postgres"
)

// The exit codes are the BSD sysexits names. They are a contract with scripts: add, never
// renumber.
const (
	exitDifference = 1
	exitUsage      = 64
	exitData       = 65
	exitNoInput    = 66
	exitDown       = 69
	exitSoftware   = 70
	exitCantCreate = 73
	exitIO         = 74
	exitTemporary  = 75
	exitNoPerm     = 77
	exitConfig     = 78
	exitInt        = 130
	exitTerm       = 143
)

// exits is what each end of a run means to a script. Cancelled is 130 or 143, by its signal.
var exits = map[dogear.StopReason]int{
	dogear.Completed:          0,
	dogear.Deadline:           exitTemporary,
	dogear.WaitPastDeadline:   exitTemporary,
	dogear.AttemptsExhausted:  exitData,
	dogear.ThrottlesExhausted: exitTemporary,
	dogear.RequestsExhausted:  exitData,
	dogear.Cancelled:          exitInt,
	dogear.Interrupted:        exitTemporary, // of a worker whose run's process died
	dogear.ScopeUnconfirmed:   exitConfig,
	dogear.StopUnauthorized:   exitNoPerm,
	dogear.SourceRefused:      exitNoInput,
	dogear.SourceUnreachable:  exitDown,
	dogear.SinkFailed:         exitCantCreate,
	dogear.LedgerFailed:       exitIO,
}

// A usageError says that the command line is wrong.
type usageError struct {
	err error
	try string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{err: fmt.Errorf(format, args...)} }

// A codedError is an error with its exit code and what to try next.
type codedError struct {
	code int
	err  error
	try  string
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// An exitError ends with a code and says nothing more: everything has been said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// fail writes what went wrong, to what, and what to do next, and returns the exit code.
func (e Env) fail(err error) int {
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[exitError](err); ok {
		return int(code)
	}
	code, try := exitSoftware, ""
	if u, ok := errors.AsType[*usageError](err); ok {
		code, try = exitUsage, u.try
	} else if c, ok := errors.AsType[*codedError](err); ok {
		code, try = c.code, c.try
	} else if r, ok := errors.AsType[*ledger.RunningError](err); ok {
		err, code, try = r, exitTemporary, "dogear status "+r.Job+"; if that process is gone, again in 30s, when its lease is over"
	} else if errors.Is(err, ledger.ErrNotRunning) { // it ended before a worker could join
		code, try = exitTemporary, "dogear status"
	} else if errors.Is(err, ledger.ErrLeaseLost) || errors.Is(err, postgres.ErrRights) || errors.Is(err, postgres.ErrUnreachable) {
		code = exitIO
	} else if _, ok := errors.AsType[*fs.PathError](err); ok {
		code = exitIO
	}
	printError(e.Stderr, err.Error(), try)
	return code
}

func printError(w io.Writer, text, try string) {
	fmt.Fprintln(w, "dogear:", shown(text))
	if try != "" {
		fmt.Fprintln(w, "  try:", shown(try))
	}
}

// shown makes text from outside safe to print: a terminal must not obey it.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
