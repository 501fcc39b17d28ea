package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// flock takes the file's lock, waiting for it. Windows gives it back when the process ends,
// however it ends.
func flock(f *os.File) error { return lockHow(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// tryFlock is flock without waiting.
func tryFlock(f *os.File) (bool, error) { return tryHow(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// tryShared takes the lock together with others that take it so, without waiting.
func tryShared(f *os.File) (bool, error) { return tryHow(f, 0) }

func funlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}

func tryHow(f *os.File, flags uint32) (bool, error) {
	err := lockHow(f, flags|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func lockHow(f *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}
