package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"gridbroker/plugins"
)

// Machine is where a batch system's commands are: this machine, or one over SSH.
type Machine interface {
	// Run runs a command with the given standard input (may be nil) and
	// hands its standard output to out. A command that ended with a code
	// is an *ExitError; any other error means that its outcome is unknown,
	// unless it is a *DialError: then it was never started.
	Run(ctx context.Context, argv []string, in io.Reader, out io.Writer) error
	// Files opens a session for files; it ends with ctx or Close.
	Files(ctx context.Context) (Files, error)
	Close() error
}

// Files moves files. Paths are of the machine, with slashes.
type Files interface {
	// Put writes a file, making its directory if missing.
	Put(path string, mode fs.FileMode, r io.Reader) error
	// Get opens a file of a job's directory at an offset and tells its whole size in bytes.
	// Links are followed as long as they do not lead out of that directory.
	Get(dir, name string, offset int64) (io.ReadCloser, int64, error)
	// List returns the regular files below dir, by their relative names, and with an error
	// what could not be looked at. Links to directories are not followed.
	List(dir string) ([]File, error)
	Close() error
}

// File is one file of a job's directory.
type File struct {
	Name     string
	Size     int64 // bytes
	Modified time.Time
	Mode     fs.FileMode // permissions alone
	Err      error       // why it, or the directory that it is, could not be looked at: told when it is to be brought
}

func fileOf(name string, info fs.FileInfo) File {
	return File{Name: name, Size: info.Size(), Modified: info.ModTime(), Mode: info.Mode().Perm()}
}

// errOdd is what is no regular file.
type errOdd string

func (name errOdd) Error() string { return string(name) + " is not a regular file" }

// errDeep is a directory that is not looked into.
type errDeep string

func (name errDeep) Error() string {
	return fmt.Sprintf("what lies more than %d directories deep is not looked for: %q", plugins.Deepest, string(name[:min(len(name), 80)]))
}

// errOut is a file that lies elsewhere.
type errOut string

func (name errOut) Error() string {
	return string(name) + " is, or lies behind, a link that leads out of the job's directory"
}

// within is the real name of a file of a job's directory: a job may leave links to what is not its own, by which who follows them
// would read it. real resolves links; jobs is the real name of the directory in
// which that of the job lies, and is no link.
func within(jobs string, real func(string) (string, error), dir, name string) (string, error) {
	file, err := real(path.Join(dir, name))
	if err != nil {
		return "", err
	}
	if job := path.Join(jobs, path.Base(dir)); !strings.HasPrefix(file, job+"/") {
		return "", errOut(name)
	}
	return file, nil
}

// opened goes to an offset of a file that was looked at, and tells its whole
// size. It closes the file where it fails, or looking at it did.
func opened(f io.ReadSeekCloser, info fs.FileInfo, err error, offset int64) (io.ReadCloser, int64, error) {
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// ExitError is a command that ended with a code other than 0.
type ExitError struct {
	Code   int
	Stderr string
}

func (e *ExitError) Error() string {
	if e.Stderr != "" {
		return e.Stderr
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// DialError is a connection that could not be made: nothing was sent.
type DialError struct{ Err error }

func (e *DialError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *DialError) Unwrap() error { return e.Err }

const (
	maxStderr = 16 << 10
	maxFiles  = 100_000 // in one job's directory
)

// errTooLong is an answer over a limit.
var errTooLong = errors.New("the answer is too long")

// Answer keeps at most Max bytes of what a command says; more is an error, or
// is dropped if Quiet.
type Answer struct {
	bytes.Buffer
	Max   int
	Quiet bool
}

// Write implements io.Writer.
func (c *Answer) Write(p []byte) (int, error) {
	room := c.Max - c.Len()
	if len(p) <= room {
		return c.Buffer.Write(p)
	}
	c.Buffer.Write(p[:max(0, room)])
	if c.Quiet {
		return len(p), nil
	}
	return max(0, room), errTooLong
}
