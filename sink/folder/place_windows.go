package folder

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// renameExclusive renames and replaces nothing, and returns when the rename is durable. It
// goes by the folder's path: Windows does not let anybody move a folder that is held open.
func renameExclusive(s *Sink, from, to string) error {
	old, err := windows.UTF16PtrFromString(filepath.Join(s.path, from))
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(filepath.Join(s.path, to))
	if err != nil {
		return err
	}
	return os.NewSyscallError("MoveFileEx", windows.MoveFileEx(old, name, windows.MOVEFILE_WRITE_THROUGH))
}
