package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// SandboxTarget is where a job sees its sandbox, and its working directory.
const SandboxTarget = "/sandbox"

// A Sandbox is what a job brings: its folder on the node and the variables it wants.
type Sandbox struct {
	Dir string   // absolute; the job sees it at SandboxTarget, writable
	Env []string // KEY=value, besides PATH, HOME, TMPDIR and the definition's own
}

// A Job is one command to run in a tree.
type Job struct {
	Tree       string
	Definition *Definition
	Sandbox    Sandbox
	Argv       []string
}

// A Launcher is one way to run a command inside a tree. Command gives the whole argv, never a shell string; the first
// program in it that is ours reads the rest from its control pipe (see Run).
type Launcher interface {
	Name() string
	// Isolates tells whether what runs inside is kept from the node's files, processes and network.
	Isolates() bool
	// Command gives the process to start for a job.
	Command(job *Job) (*process, error)
}

// process is what a launcher starts. self says that it is our own program, with namespaces to be made for it.
type process struct {
	argv  []string
	setup *setup // mounts that our own init makes itself, in namespaces to be made for it; nil with a launcher's program
	rest  *setup // what a launcher's program leaves to our init
	// forked is that process 1 is a fork of this one, and argv nothing.
	forked bool
	files  []*os.File

	user   *jobUser // who the job is, where process 1 is somebody else
	around around   // what our own program, which is the one to start, makes for the launcher's
	bundle *bundle  // what an OCI runtime or a machine reads; nil with others

	machine *machine // what the job is put into with a kernel of its own
}

// around is what a launcher's program is started in, besides a session of its own.
type around int

const (
	nothing around = iota
	veiled         // a view of the files without control groups
	boxed          // besides, processes of its own, of which it is the first and user 0; its standard streams are not the job's
)

// streams is the number of the descriptor at which a job's standard input is found, followed by its output.
func (p *process) streams() int {
	if p.around == boxed {
		return firstFile + len(p.files)
	}
	return 0
}

// A jobUser is who a job is, where process 1 of its environment has to be somebody else.
type jobUser struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// DefaultLaunchers is the order for definitions that name none.
func DefaultLaunchers() []string { return []string{"bwrap", "namespaces", "crun", "runc"} }

func launcherNames() []string {
	return append(DefaultLaunchers(), "podman", "apptainer", "proot", "microvm")
}

func newLauncher(name, self string) Launcher {
	switch name {
	case "bwrap":
		return &bubblewrap{self}
	case "namespaces":
		return &namespaces{}
	case "crun":
		return crun(self)
	case "runc":
		return runc(self)
	case "podman":
		return &podman{self}
	case "apptainer":
		return &apptainer{self}
	case "proot":
		return &proot{self}
	case "microvm":
		return &microvm{self}
	}
	return nil
}

// A NoLauncherError tells why none of a definition's launchers works on this node.
type NoLauncherError struct {
	Tag   string
	Tried []error
}

func (e *NoLauncherError) Error() string {
	var why []string
	for _, err := range e.Tried {
		why = append(why, err.Error())
	}
	return fmt.Sprintf("environment %s: no launcher works on this node: %s", e.Tag, strings.Join(why, "; "))
}

// Launch runs a job with the first launcher of the definition's order that works in its tree: what a node allows is
// seen by doing it. self is the path of our program for a node, grid-launch.
func Launch(ctx context.Context, self string, job *Job, o RunOptions) (Outcome, error) {
	d := job.Definition
	names := d.Launchers
	switch {
	case d.System != nil:
		names = []string{"microvm"}
	case len(names) == 0:
		names = DefaultLaunchers()
	}
	failed := &NoLauncherError{Tag: d.Tag}
	for _, name := range names {
		l := newLauncher(name, self)
		if !l.Isolates() && !d.Open {
			failed.Tried = append(failed.Tried, &LauncherError{name, errors.New("no isolation, and no open = true")})
			continue
		}
		out, err := Run(ctx, l, job, o)
		if _, ok := errors.AsType[*LauncherError](err); !ok || ctx.Err() != nil {
			return out, err
		}
		failed.Tried = append(failed.Tried, err)
	}
	return Outcome{}, failed
}
