package sqlite

import "errors"

// What callers may match, beside the errors of package ledger.
var (
	// ErrExposed says that others than the ledger's owner may read or write it.
	ErrExposed = errors.New("others can read or write it")
	// ErrOwner says that the ledger belongs to another user.
	ErrOwner = errors.New("it belongs to another user")
	// ErrForeign says that the file is not one of dogear's.
	ErrForeign = errors.New("it is not a ledger of dogear's")
	// ErrCorrupt says that the file is damaged.
	ErrCorrupt = errors.New("it is damaged")
	// ErrNewer says that a newer dogear made the file.
	ErrNewer = errors.New("a newer dogear made it")
	// ErrNetwork says that the file is on a network file system, whose locks cannot be trusted.
	ErrNetwork = errors.New("it is on a network file system")
	// ErrReadOnly says that the file cannot be written.
	ErrReadOnly = errors.New("it cannot be written")
	// ErrFull says that there is no space left. Such an error matches syscall.ENOSPC too.
	ErrFull = errors.New("no space left")
	// ErrBusy says that another process holds the ledger's lock and does not move, as when
	// it was stopped in the middle of a transaction.
	ErrBusy = errors.New("another process holds the ledger and does not go on")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the ledger is closed")
)
