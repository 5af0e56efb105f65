package cli

import (
	"errors"
	"io/fs"
	"os"

	"gridbroker/durable"
)

// writeWhole writes a file, or replaces it. Where it cannot be written whole, as on a full disk, what was there stays, and
// nothing where there was nothing. What is no regular file, a pipe or a link for example, is written to where it is, and so is a
// file in a directory where none can be made.
func writeWhole(path string, text []byte, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return writeNew(path, string(text), mode)
	}
	if err == nil && info.Mode().IsRegular() {
		if err := durable.Replace(path, ".new-*", info.Mode().Perm(), text); !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return os.WriteFile(path, text, mode)
}
