package durable

import (
	"bytes"
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
	tooLong := fmt.Errorf("%s has more than %d bytes", path, limit)
	if info.Size() > limit {
		return nil, tooLong
	}
	var text bytes.Buffer
	text.Grow(int(info.Size()) + bytes.MinRead) // so that it is not copied again and again
	if _, err := text.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(text.Len()) > limit {
		return nil, tooLong
	}
	return text.Bytes(), nil
}
