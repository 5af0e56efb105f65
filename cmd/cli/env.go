// Package cli is the command: one file per verb, the wiring of the parts, and
// the table from errors to exit codes. Nothing below it knows of flags,
// streams or the environment.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"

	"gridbroker/plugins"
)

// Env is all the command takes from outside, so that tests can replace it.
type Env struct {
	In          io.Reader
	Out, Err    io.Writer
	Getenv      func(string) string
	Environ     []string
	Dir         string // working directory
	Exe         string // absolute path of this program, to start helpers with
	UID         int
	Now         func() time.Time
	Closed      bool // whoever called closed Out, as it seems
	Terminal    bool // Out is a terminal: colour, live tables
	ErrTerminal bool // Err is a terminal: progress bars
	InTerminal  bool // In is a terminal: questions are asked
	Width       int  // columns of the terminal; 0 where there is none
	// Release gives SIGINT and SIGTERM back to whoever asks for them next; nil: nobody else has them.
	Release func()
	// Backends are what jobs can be run by; nil: all there are.
	Backends []plugins.Backend
}

// OSEnv is the environment of this process.
func OSEnv() Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	env := Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv: homely(os.Getenv), Environ: os.Environ(), Dir: dir, Exe: executable(), UID: os.Geteuid(), Now: time.Now,
	}
	env.Closed = closedOut(os.Stdout)
	env.ErrTerminal = term.IsTerminal(int(os.Stderr.Fd()))
	env.InTerminal = term.IsTerminal(int(os.Stdin.Fd()))
	fd := int(os.Stdout.Fd())
	if env.Terminal = term.IsTerminal(fd); env.Terminal {
		env.Width, _, _ = term.GetSize(fd)
	}
	return env
}

// homely is the environment with a home directory that can be relied upon: one
// that HOME does not name, or names by a relative path, is looked up in the
// user database, so that nothing is ever read from the working directory instead.
func homely(getenv func(string) string) func(string) string {
	home := sync.OnceValue(func() string {
		if dir := getenv("HOME"); filepath.IsAbs(dir) {
			return dir
		}
		if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil && filepath.IsAbs(u.HomeDir) {
			return u.HomeDir
		}
		return ""
	})
	return func(name string) string {
		if name == "HOME" {
			return home()
		}
		return getenv(name)
	}
}

// errHomeless is a user without a home directory.
var errHomeless = errors.New("HOME is not set to an absolute path, and the user database has no home directory for this user: set HOME")

// together makes a writer fit for messages of several goroutines. A file is so
// by itself.
func together(w io.Writer) io.Writer {
	if _, ok := w.(*os.File); ok {
		return w
	}
	return &oneByOne{w: w}
}

// oneByOne writes for one caller at a time.
type oneByOne struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (o *oneByOne) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// written is standard output, which may be on a full disk: what is lost there is told
// at the end, whatever the verb made of it.
type written struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (w *written) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err == nil {
			w.err = err
		}
	}
	return n, err
}

// lost is that not all could be written; what was to be done is done.
func (w *written) lost() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		return nil
	}
	return fmt.Errorf("what this command prints could not be written: %w (what it did is done: grid list has the jobs)", w.err)
}

// executable is the path by which this program was called. The name is kept
// where it is a link, since tests and installations give one binary several
// names.
func executable() string {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			return path
		}
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
