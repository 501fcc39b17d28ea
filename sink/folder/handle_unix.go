//go:build unix

package folder

import (
	"os"

	"golang.org/x/sys/unix"
)

// control calls do with the file's descriptor, again while signals interrupt it. The error
// matches [os.ErrClosed] when the file is closed.
func control(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var did error
	err = c.Control(func(fd uintptr) {
		for did = unix.EINTR; did == unix.EINTR; {
			did = do(int(fd))
		}
	})
	if err != nil {
		return err
	}
	return did
}
