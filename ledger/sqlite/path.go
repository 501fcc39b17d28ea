package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultPath is the ledger in the user's state folder.
func DefaultPath() (string, error) {
	folder, err := stateFolder(runtime.GOOS, os.Getenv, os.UserHomeDir)
	if err != nil {
		return "", fmt.Errorf("find the folder of the ledger: %w; try: --store PATH", err)
	}
	return filepath.Join(folder, "ledger.db"), nil
}

func stateFolder(system string, env func(string) string, home func() (string, error)) (string, error) {
	if system == "windows" {
		if d := env("LocalAppData"); d != "" {
			return filepath.Join(d, "dogear"), nil
		}
		return "", fmt.Errorf("%%LocalAppData%% is not set")
	}
	// The XDG base directory specification: a relative path is to be ignored.
	if d := env("XDG_STATE_HOME"); system != "darwin" && filepath.IsAbs(d) {
		return filepath.Join(d, "dogear"), nil
	}
	h, err := home()
	if err != nil {
		return "", err
	}
	if system == "darwin" {
		return filepath.Join(h, "Library", "Application Support", "dogear"), nil
	}
	return filepath.Join(h, ".local", "state", "dogear"), nil
}
