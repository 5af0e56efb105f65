// Package cli is the command: one file per verb, the wiring of the parts, and
// the table from errors to exit codes. Nothing below it knows of flags,
// streams or the environment.
package cli

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Env is all the command takes from outside, so that tests can replace it.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Environ  []string
	Dir      string // working directory
	UID      int
	Now      func() time.Time
	Terminal bool // Out is a terminal: colour, live tables, progress bars
	Width    int  // columns of the terminal; 0 where there is none
}

// OSEnv is the environment of this process.
func OSEnv() Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	env := Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ(), Dir: dir, UID: os.Geteuid(), Now: time.Now,
	}
	fd := int(os.Stdout.Fd())
	if env.Terminal = term.IsTerminal(fd); env.Terminal {
		env.Width, _, _ = term.GetSize(fd)
	}
	return env
}
