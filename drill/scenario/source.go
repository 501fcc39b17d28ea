package scenario

import "slices"

// Source is the file of a built-in scenario. The error is an [*UnknownError] if there is none
// of that name.
func Source(name string) ([]byte, error) {
	if !slices.Contains(Builtin(), name) {
		return nil, &UnknownError{name}
	}
	return files.ReadFile("builtin/" + name + ".yaml")
}
