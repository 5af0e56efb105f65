package environment

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
)

// The supervisor outside and process 1 inside talk over two pipes. Control carries one line of JSON, the task, and then
// a byte for each signal to pass on; its end means that the supervisor is gone. Status carries one line for what
// happened: "started", then "exit N", "signal N" or "memory", or "unfit WHY" where the environment could not be made of what
// the launcher gave, or "failed WHY" where it was and the job's program did not start.
const (
	controlFD = 3
	statusFD  = 4
	stderrFD  = 5 // the job's; the launcher's own program has another
)

// A task is what process 1 does.
type task struct {
	Argv   []string `json:"argv,omitempty"` // empty: a probe, which ends well at once
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	Limits Limits   `json:"limits"`
	Nested bool     `json:"nested"`
	Setup  *setup   `json:"setup,omitempty"`
	User   *jobUser `json:"user,omitempty"` // who the job is; nil: who process 1 is
	// Streams is the descriptor of the job's standard input, followed by that of its output; 0: they are process 1's own.
	Streams int `json:"streams,omitempty"`

	Files uint64 `json:"files,omitempty"` // that the job may have open, where that is known to be another number than process 1's

	Machine *machine `json:"machine,omitempty"` // for the supervisor of a machine
}

func readTask(r *bufio.Reader) (*task, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	t := &task{}
	return t, json.Unmarshal(line, t)
}

// Outcome is how a job in an environment ended.
type Outcome struct {
	Exit       int            // exit code, where Signal is 0
	Signal     syscall.Signal // the signal that ended it
	OutOfTime  bool           // its wall time was over
	OutOfSpace bool           // it had more memory than its limit
	Told       syscall.Signal // the last signal that was passed on to it; 0: none
	Cut        bool           // process 1 was killed before it could tell
}

// Code is the outcome as a shell tells it: the exit code, or 128 plus the signal's number.
func (o Outcome) Code() int {
	if o.Signal != 0 {
		return 128 + int(o.Signal)
	}
	return o.Exit
}

// errNoInit is a launcher behind which our process 1 never came up.
var errNoInit = errors.New("the launcher ended before the job")

// A LauncherError is a launcher that does not work on this node; the job never ran, and another launcher may do.
type LauncherError struct {
	Launcher string
	Err      error
}

func (e *LauncherError) Error() string { return e.Launcher + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *LauncherError) Unwrap() error { return e.Err }

// A StartError is a job that never ran: its program is not there or does not start.
type StartError struct{ Why string }

func (e *StartError) Error() string { return "the job was not started: " + e.Why }

// readOutcome reads the status pipe to the outcome, or to its end. Explain tells what other words mean, nil: nothing.
func readOutcome(r io.Reader, explain func(word, rest string) error) (Outcome, error) {
	var out Outcome
	started, ended := false, false
	for s := bufio.NewScanner(io.LimitReader(r, 64<<10)); !ended && s.Scan(); {
		word, rest, _ := strings.Cut(s.Text(), " ")
		switch word {
		case "started":
			started = true
		case "unfit":
			return out, &LauncherError{Err: errors.New(rest)}
		case "failed":
			return out, &StartError{rest}
		case "memory":
			out.OutOfSpace = true
		case "exit":
			_, err := fmt.Sscan(rest, &out.Exit)
			ended = err == nil
		case "signal":
			_, err := fmt.Sscan(rest, &out.Signal)
			ended = err == nil
		default:
			if err := explain(word, rest); err != nil {
				return out, err
			}
		}
	}
	switch {
	case !started:
		return out, errNoInit
	case !ended:
		out.Signal, out.Cut = syscall.SIGKILL, true // process 1 was killed, and with it the job
	}
	return out, nil
}
