package folder

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameExclusive renames and replaces nothing. The error matches [errors.ErrUnsupported]
// where the file system cannot.
func renameExclusive(s *Sink, from, to string) error {
	err := control(s.dir, func(fd int) error {
		return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
	})
	if errors.Is(err, unix.EINVAL) { // what a file system says to a flag that it does not know
		err = errors.ErrUnsupported
	}
	return os.NewSyscallError("renameat2", err)
}
