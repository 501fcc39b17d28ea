//go:build unix

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flock takes the file's lock, waiting for it. The kernel gives it back when the process
// ends, however it ends.
func flock(f *os.File) error { return flockHow(f, unix.LOCK_EX) }

// tryFlock is flock without waiting.
func tryFlock(f *os.File) (bool, error) { return tryHow(f, unix.LOCK_EX) }

// tryShared takes the lock together with others that take it so, without waiting.
func tryShared(f *os.File) (bool, error) { return tryHow(f, unix.LOCK_SH) }

func funlock(f *os.File) error { return flockHow(f, unix.LOCK_UN) }

func tryHow(f *os.File, how int) (bool, error) {
	err := flockHow(f, how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func flockHow(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}
