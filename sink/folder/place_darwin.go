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
		return unix.RenameatxNp(fd, from, fd, to, unix.RENAME_EXCL)
	})
	if errors.Is(err, unix.EINVAL) {
		err = errors.ErrUnsupported
	}
	return os.NewSyscallError("renameatx_np", err)
}
