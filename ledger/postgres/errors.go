package postgres

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dogear/dogear/ledger"
)

// What callers may match, beside the errors of package ledger.
var (
	// ErrAddress says that the address of the database cannot be understood.
	ErrAddress = errors.New("it is no address of a PostgreSQL database")
	// ErrVersion says that the server is too old.
	ErrVersion = errors.New("the server is older than PostgreSQL 15")
	// ErrEncoding says that the database cannot hold every text.
	ErrEncoding = errors.New("the database's encoding is not UTF8")
	// ErrForeign says that the schema is not one of dogear's.
	ErrForeign = errors.New("the schema dogear is not a ledger's")
	// ErrNewer says that a newer dogear made the schema.
	ErrNewer = errors.New("a newer dogear made it")
	// ErrRights says that the role may not do what was asked.
	ErrRights = errors.New("the role has no right to do this")
	// ErrUnreachable says that the database did not answer for as long as is borne.
	ErrUnreachable = errors.New("the database does not answer")
	// ErrUncertain says that the connection broke in the middle of a commit and did not come
	// back: nobody knows what was stored. Such an error matches ErrUnreachable too.
	ErrUncertain = errors.New("it is not known whether it was stored")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the ledger is closed")
)

// A dbError is an error of the database's without what it says of rows and passwords.
type dbError struct {
	text string
	code string
	kind error // what callers may match, or nil
}

func (e *dbError) Error() string { return e.text }

func (e *dbError) Unwrap() error { return e.kind }

// plain are the classes of errors whose messages name no values: connections, authorization,
// names of databases, statements, resources, operators, the system.
const plain = "08 28 3D 42 53 55 57 58 XX"

// explain makes an error of pgx's fit to be shown, and adds what callers may match.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return explainCode(pg)
	}
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		return ErrAddress // its text may hold the password
	}
	return err
}

func explainCode(pg *pgconn.PgError) error {
	e := &dbError{code: pg.Code, text: "the database says: SQLSTATE " + pg.Code}
	switch {
	case pg.Code == "42501":
		e.kind = ErrRights
		e.text = fmt.Sprintf("%v: %s; try: the grants in docs/operations.md", ErrRights, pg.Message)
	case pg.Code == "23505":
		if pg.ConstraintName == "jobs_name" {
			return ledger.ErrJobExists
		}
		e.text += " on " + pg.ConstraintName
	case pg.Code == "53100":
		e.kind = syscall.ENOSPC
		e.text = "the database has no space left"
	case strings.Contains(plain, pg.Code[:2]):
		e.text = fmt.Sprintf("the database says: %s (SQLSTATE %s)", pg.Message, pg.Code)
	case pg.TableName != "":
		e.text += " on table " + pg.TableName
	}
	return e
}

// codeOf is the SQLSTATE of an error, or "".
func codeOf(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	if e, ok := errors.AsType[*dbError](err); ok {
		return e.code
	}
	return ""
}

// undone reports whether the database undid a transaction for the sake of others: it may be
// tried again at once.
func undone(err error) bool {
	switch codeOf(err) {
	case "40001", "40P01", "55P03":
		return true
	}
	return false
}

// broken reports whether an error is the connection's or the server's, and not the work's.
func broken(err error) bool {
	if err == nil {
		return false
	}
	code := codeOf(err)
	switch {
	case code == "":
		return true // pgx's own: the connection
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"), code == "53300", code == "25P03":
		return true
	case code == "25006": // a standby, or a server that was made one
		return true
	}
	return false
}
