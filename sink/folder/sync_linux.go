package folder

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncsWhole reports whether syncfs on the folder makes everything in it durable and says so
// when it could not. It does on local file systems that are known here, since Linux 5.8: older
// kernels report no lost writes, overlayfs reports none of its upper layer's, and FUSE and
// SMB ask no server to make anything durable.
func syncsWhole(dir *os.File) bool {
	var at unix.Statfs_t
	var host unix.Utsname
	err := control(dir, func(fd int) error {
		return errors.Join(unix.Fstatfs(fd, &at), unix.Uname(&host))
	})
	if err != nil {
		return false
	}
	switch uint32(at.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
	default:
		return false
	}
	var major, minor int
	_, err = fmt.Sscanf(unix.ByteSliceToString(host.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 5 || major == 5 && minor >= 8)
}

// syncfs makes all of the folder's file system durable. The error matches
// [errors.ErrUnsupported] where the system has no such call, or a sandbox forbids it.
func syncfs(dir *os.File) error {
	err := control(dir, unix.Syncfs)
	if errors.Is(err, unix.EPERM) {
		err = errors.ErrUnsupported
	}
	return os.NewSyscallError("syncfs", err)
}
