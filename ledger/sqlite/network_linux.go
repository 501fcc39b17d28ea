package sqlite

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// networks are the file systems whose locks several machines would have to agree on. One
// that is mounted through FUSE cannot be told from a local one.
var networks = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.CIFS_SUPER_MAGIC: "CIFS",
	unix.SMB2_SUPER_MAGIC: "SMB2",
	unix.AFS_SUPER_MAGIC:  "AFS",
	unix.CEPH_SUPER_MAGIC: "Ceph",
}

// local refuses a folder on a network file system.
func local(folder string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return fmt.Errorf("look at the file system of %s: %w", folder, err)
	}
	return localType(folder, int64(st.Type))
}

func localType(folder string, magic int64) error {
	if name, ok := networks[magic&0xffffffff]; ok {
		return fmt.Errorf("%s: %w (%s); try: --store with a path on a local disk, or postgres://… for several machines", folder, ErrNetwork, name)
	}
	return nil
}
