//go:build unix

package sqlite

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// private refuses a file or a folder that others can read or write, or that is theirs: the
// names of documents are nobody else's business, and a forged ledger would be obeyed.
func private(path string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: %w; try: --store with a path of your own", path, ErrOwner)
	}
	mode := "600"
	if info.IsDir() {
		mode = "700"
	}
	if info.Mode().Perm()&0o066 != 0 {
		return fmt.Errorf("%s: %w; try: chmod %s %s", path, ErrExposed, mode, path)
	}
	return nil
}

// writable asks the kernel, which knows of more than mode bits.
func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }
