//go:build !linux

package folder

import (
	"errors"
	"os"
)

func syncsWhole(*os.File) bool { return false }

func syncfs(*os.File) error { return errors.ErrUnsupported }
