package sqlite

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"syscall"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A conn is a connection to the ledger's file. It is one goroutine's at a time.
type conn struct{ *sqlite.Conn }

// pragmas hold for every connection. A commit is durable when it returns (FULL).
var pragmas = []string{
	`PRAGMA synchronous = FULL`,
	`PRAGMA temp_store = MEMORY`,
}

// writePragmas are the write connection's alone: a cache that holds what one transaction
// writes, and a checkpoint every 16 MiB, so that a page that is written over and over goes to
// the file once.
var writePragmas = []string{
	`PRAGMA journal_mode = WAL`,
	`PRAGMA cache_size = -8192`,
	`PRAGMA wal_autocheckpoint = 4096`,
	`PRAGMA journal_size_limit = 67108864`,
}

// busyTimeout is a safety net: who writes holds the lock file, and readers never wait.
const busyTimeout = 10 * time.Second

func connect(path string, flags sqlite.OpenFlags) (conn, error) {
	c, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return conn{}, explain(err)
	}
	c.SetBusyTimeout(busyTimeout)
	if err := (conn{c}).set(pragmas); err != nil {
		return conn{}, errors.Join(err, c.Close())
	}
	return conn{c}, nil
}

func (c conn) set(pragmas []string) error {
	for _, p := range pragmas {
		if err := sqlitex.ExecuteTransient(c.Conn, p, nil); err != nil {
			return explain(err)
		}
	}
	return nil
}

// exec runs a statement that returns no rows.
func (c conn) exec(query string, args ...any) error {
	return c.rows(query, nil, args...)
}

// row runs a statement, calls read with its first row and reports whether there was one.
func (c conn) row(query string, read func(*sqlite.Stmt), args ...any) (bool, error) {
	stmt, err := c.bind(query, args)
	if err != nil {
		return false, err
	}
	found, err := stmt.Step()
	if err != nil {
		return false, explain(err)
	}
	if found {
		read(stmt)
	}
	if err := stmt.Reset(); err != nil {
		return false, explain(err)
	}
	return found, nil
}

// rows runs a statement and calls read with each of its rows.
func (c conn) rows(query string, read func(*sqlite.Stmt), args ...any) error {
	stmt, err := c.bind(query, args)
	if err != nil {
		return err
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			return explain(err)
		}
		if !more {
			break
		}
		if read != nil {
			read(stmt)
		}
	}
	if err := stmt.Reset(); err != nil {
		return explain(err)
	}
	return nil
}

// bind gets the query's statement ready. Statements are prepared once a connection.
func (c conn) bind(query string, args []any) (*sqlite.Stmt, error) {
	stmt, err := c.Prepare(query)
	if err != nil {
		return nil, explain(err)
	}
	for i, a := range args {
		switch a := a.(type) {
		case nil:
			stmt.BindNull(i + 1)
		case int64:
			stmt.BindInt64(i+1, a)
		case int:
			stmt.BindInt64(i+1, int64(a))
		case bool:
			stmt.BindBool(i+1, a)
		case float64:
			stmt.BindFloat(i+1, a)
		case string:
			stmt.BindText(i+1, a)
		case []byte:
			stmt.BindBytes(i+1, a)
		case time.Time:
			stmt.BindInt64(i+1, nanos(a))
		default:
			return nil, fmt.Errorf("parameter %d is of type %T", i+1, a)
		}
	}
	return stmt, nil
}

// number is the first column of the statement's first row; zero if there is none.
func (c conn) number(query string, args ...any) (int64, error) {
	var n int64
	_, err := c.row(query, func(r *sqlite.Stmt) { n = r.ColumnInt64(0) }, args...)
	return n, err
}

// explain adds what callers may match to an error of SQLite's.
func explain(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull:
		return &fullError{err}
	case sqlite.ResultCorrupt:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case sqlite.ResultNotADB:
		return fmt.Errorf("%w: %w", ErrForeign, err)
	case sqlite.ResultReadOnly, sqlite.ResultPerm:
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	case sqlite.ResultBusy:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// A fullError is a commit that found no space.
type fullError struct{ err error }

func (e *fullError) Error() string { return ErrFull.Error() + ": " + e.err.Error() }

func (e *fullError) Unwrap() []error { return []error{ErrFull, syscall.ENOSPC, e.err} }

// nanos is how an instant is stored. What does not fit is the last instant that does: for a
// wait, later is never wrong.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.After(lastInstant):
		return math.MaxInt64
	}
	return t.UnixNano()
}

var lastInstant = time.Unix(0, math.MaxInt64)

// instant is the time that nanos stored.
func instant(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// later is ns moved by d without running over the last instant; none stays none.
func later(ns int64, d time.Duration) int64 {
	switch {
	case ns == 0:
		return 0
	case d > 0 && ns > math.MaxInt64-int64(d):
		return math.MaxInt64
	case ns == math.MaxInt64:
		return ns
	}
	return ns + int64(d)
}

// digest is how a SHA-256 in hex is stored: in half the space, and as it is if it is none.
func digest(s string) any {
	if b, err := hex.DecodeString(s); err == nil && len(b) == 32 && hex.EncodeToString(b) == s {
		return b
	}
	if s == "" {
		return nil
	}
	return s
}

func digestAt(r *sqlite.Stmt, col int) string {
	if r.ColumnType(col) == sqlite.TypeBlob {
		b := make([]byte, r.ColumnLen(col))
		r.ColumnBytes(col, b)
		return hex.EncodeToString(b)
	}
	return r.ColumnText(col)
}

func instantAt(r *sqlite.Stmt, col int) time.Time { return instant(r.ColumnInt64(col)) }

// textOr is NULL for the empty string, which saves its bytes in most rows.
func textOr(s string) any {
	if s == "" {
		return nil
	}
	return s
}
