//go:build unix && !darwin

package folder

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flushToDevice makes a file of a group durable; the group's end is syncDir.
func flushToDevice(f *os.File) error { return f.Sync() }

// syncDir makes the names in a folder durable. Some network file systems have no such thing:
// there the server keeps names by itself.
func syncDir(d *os.File) error {
	err := d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}
