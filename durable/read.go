package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular is that a pipe, a device or a directory stands where a regular file is meant.
var ErrNotRegular = errors.New("is no regular file")

// Open opens a regular file for reading. Whatever else is named is an ErrNotRegular;
// nothing is waited for: a pipe would be for its writer, a device for good.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is Open with the flags and the mode of os.OpenFile.
func OpenFile(path string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, mode)
	return regular(path, f, err)
}

// OpenIn is Open for a file below a root, with the flags of os.OpenFile.
func OpenIn(root *os.Root, name string, flags int) (*os.File, error) {
	f, err := root.OpenFile(name, flags|syscall.O_NONBLOCK, 0)
	return regular(name, f, err)
}

// regular closes what is no regular file.
func regular(name string, f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s %w", name, ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFile reads a regular file of at most so many bytes, as Open opens it. A longer one
// is an error that says so.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
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
