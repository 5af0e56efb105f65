package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// streams are a job's standard streams; nil means /dev/null.
type streams struct{ in, out, err *os.File }

// open opens the job's standard streams. Output files never leave the job's
// directory; one name for both streams is one file.
func (sv *supervisor) open() (std *streams, err error) {
	root, err := os.OpenRoot(filepath.Join(sv.dir, "work"))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	std = &streams{}
	if std.out, err = create(root, sv.spec.Stdout); err != nil {
		return nil, fmt.Errorf("standard output: %w", err)
	}
	if sv.spec.Stderr == sv.spec.Stdout {
		std.err = std.out
	} else if std.err, err = create(root, sv.spec.Stderr); err != nil {
		std.close()
		return nil, fmt.Errorf("standard error: %w", err)
	}
	if std.in, err = openInput(root, sv.spec.Stdin); err != nil {
		std.close()
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return std, nil
}

// give sets a program's streams. Those that are nil stay so: a nil file in an
// interface would close the stream instead of opening /dev/null.
func (s *streams) give(cmd *exec.Cmd) {
	if s.in != nil {
		cmd.Stdin = s.in
	}
	if s.out != nil {
		cmd.Stdout = s.out
	}
	if s.err != nil {
		cmd.Stderr = s.err
	}
}

func create(root *os.Root, name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return noPipe(root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND|syscall.O_NONBLOCK, 0o600))
}

// noPipe refuses a named pipe, which was opened without waiting: who waits for its other end sees neither a cancellation
// nor the end of the wall time.
func noPipe(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		err = fmt.Errorf("%s is a named pipe", f.Name())
	}
	if err == nil {
		err = syscall.SetNonblock(int(f.Fd()), false) // for the job
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openInput opens standard input: a file of the job's directory, or an
// absolute path on this machine.
func openInput(root *os.Root, name string) (*os.File, error) {
	switch {
	case name == "":
		return nil, nil
	case filepath.IsAbs(name):
		return noPipe(os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
	}
	return noPipe(root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

func (s *streams) close() {
	for _, f := range []*os.File{s.in, s.out, s.err} {
		if f != nil {
			f.Close() // closing the shared file twice is harmless
		}
	}
}
