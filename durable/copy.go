package durable

import (
	"errors"
	"io"
	"os"
)

// CopyFile copies a regular file to a new one, which is its owner's alone. A pipe or a
// device is an error; nothing is waited for.
func CopyFile(from, to string) error {
	in, err := Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return CopyTo(in, to)
}

// CopyTo writes a new file, which is its owner's alone.
func CopyTo(in io.Reader, to string) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
