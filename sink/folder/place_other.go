//go:build !linux && !darwin && !windows

package folder

import "errors"

func renameExclusive(*Sink, string, string) error { return errors.ErrUnsupported }
