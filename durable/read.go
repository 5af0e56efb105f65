package durable

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// ReadFile reads a regular file of at most so many bytes. Whatever else is named, a
// pipe, a device or a longer file, is an error that says so; nothing is waited for.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
