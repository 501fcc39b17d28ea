package sqlite

import (
	"fmt"
	"os"
	"time"
)

// patience is how long a transaction waits for other processes before it gives up: far more
// than the longest transaction takes, so that only a stopped process is waited for in vain.
const patience = 10 * time.Second

// A writeLock is a lock file around every write transaction. SQLite's own waiting is
// polling, which starves one of several busy writers; the kernel's is a queue.
type writeLock struct {
	file     *os.File
	patience time.Duration
	// taken gets the outcome of a lock that was asked for and has not come; nil if none was.
	taken chan error
}

func openWriteLock(path string) (*writeLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &writeLock{file: f, patience: patience}, nil
}

// lock waits for the lock. The error matches ErrBusy if it did not come; then it is still
// asked for, and the next call goes on waiting for it.
func (l *writeLock) lock() error {
	if l.taken == nil {
		if ok, err := tryFlock(l.file); ok || err != nil {
			return err
		}
		l.taken = make(chan error, 1)
		go func() { l.taken <- flock(l.file) }() // ends with the lock or with the process
	}
	t := time.NewTimer(l.patience)
	defer t.Stop()
	select {
	case err := <-l.taken:
		l.taken = nil
		return err
	case <-t.C:
		return fmt.Errorf("%w: waited %v for %s", ErrBusy, l.patience, l.file.Name())
	}
}

func (l *writeLock) unlock() error { return funlock(l.file) }

func (l *writeLock) close() error {
	if l.taken != nil {
		return nil // the goroutine in lock still uses the file
	}
	return l.file.Close()
}
