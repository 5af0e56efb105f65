package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// machine is where Slurm's commands are: this machine, or one over SSH.
type machine interface {
	// run runs a command with the given standard input (may be nil) and
	// hands its standard output to out. A command that ended with a code
	// is an *exitError; any other error means that its outcome is unknown,
	// unless it is a *dialError: then it was never started.
	run(ctx context.Context, argv []string, in io.Reader, out io.Writer) error
	// files opens a session for files; it ends with ctx or Close.
	files(ctx context.Context) (files, error)
	close() error
}

// files moves files. Paths are of the machine, with slashes.
type files interface {
	// put writes a file, making its directory if missing.
	put(path string, mode fs.FileMode, r io.Reader) error
	// get opens a file at an offset and tells its whole size.
	get(path string, offset int64) (io.ReadCloser, int64, error)
	// list returns the regular files below dir, by their relative names.
	// Links to directories are not followed.
	list(dir string) ([]file, error)
	Close() error
}

// regular goes to an offset of an open file that must be a regular one, and
// tells its whole size. It closes the file where it fails.
func regular(f interface {
	io.ReadSeekCloser
	Stat() (fs.FileInfo, error)
}, name string, offset int64) (io.ReadCloser, int64, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// file is one file of a job's directory.
type file struct {
	name string
	size int64
}

// exitError is a command that ended with a code other than 0.
type exitError struct {
	code   int
	stderr string
}

func (e *exitError) Error() string {
	if e.stderr != "" {
		return e.stderr
	}
	return fmt.Sprintf("exit code %d", e.code)
}

// dialError is a connection that could not be made: nothing was sent.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// maxAnswer bounds what one command may say (100,000 jobs are some 20 MB).
const (
	maxAnswer = 256 << 20
	maxStderr = 16 << 10
	maxFiles  = 100_000 // in one job's directory
)

// errTooLong is an answer over a limit.
var errTooLong = errors.New("the answer is too long")

// capped keeps at most max bytes; more is an error, or is dropped if quiet.
type capped struct {
	bytes.Buffer
	max   int
	quiet bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := c.max - c.Len()
	if len(p) <= room {
		return c.Buffer.Write(p)
	}
	c.Buffer.Write(p[:max(0, room)])
	if c.quiet {
		return len(p), nil
	}
	return max(0, room), errTooLong
}
