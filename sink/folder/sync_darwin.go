package folder

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushToDevice hands a file of a group to the device. The group's end is syncDir, and by
// fcntl(2) what was given to the device by fsync before F_FULLFSYNC is durable after it: one
// flush of the device's cache a group, not one a file.
func flushToDevice(f *os.File) error {
	return os.NewSyscallError("fsync", control(f, unix.Fsync))
}

// syncDir makes the names in a folder durable, by F_FULLFSYNC.
func syncDir(d *os.File) error { return d.Sync() }
