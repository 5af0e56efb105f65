package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// writeWhole writes a file, or replaces it. Where it cannot be written whole, as on a full disk, what was there stays: it is
// written beside its place first. What is no regular file, a pipe or a link for example, is written to where it is, and so is a
// file in a directory where none can be made.
func writeWhole(path string, text []byte, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, text, mode)
	}
	beside := fmt.Sprintf("%s.new-%d", path, os.Getpid())
	switch failed := writeNew(beside, string(text), mode); {
	case errors.Is(failed, fs.ErrPermission):
		return os.WriteFile(path, text, mode)
	case errors.Is(failed, fs.ErrNotExist):
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist} // of a name that the user has given
	case failed != nil:
		return failed
	}
	if err == nil {
		err = os.Chmod(beside, info.Mode().Perm())
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(beside))
	}
	return err
}
