package sqlite

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNetworkFileSystems(t *testing.T) {
	for _, magic := range []int64{0x6969, 0x517B, 0xFF534D42, 0xFE534D42, -0xACB2BE} { // the last is CIFS with a sign
		if err := localType("/mnt", magic); !errors.Is(err, ErrNetwork) {
			t.Errorf("file system %x: got error %v, want one that matches ErrNetwork", magic, err)
		}
	}
	for _, magic := range []int64{unix.EXT4_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC} {
		if err := localType("/mnt", magic); err != nil {
			t.Errorf("file system %x: %v", magic, err)
		}
	}
	if err := local(t.TempDir()); err != nil {
		t.Error(err)
	}
}
