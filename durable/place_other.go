//go:build !linux

package durable

import (
	"fmt"
	"os"
	"syscall"
)

// PlaceOf tells which file or directory a path leads to: its number in the file system.
func PlaceOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprint(st.Ino), nil
	}
	return "", nil
}
