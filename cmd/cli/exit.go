package cli

import (
	"context"
	"errors"
	"fmt"

	"gridbroker/credential"
	"gridbroker/jdl/classad"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// Exit codes, as documented in the README.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNoMatch     = 3
	exitCredential  = 4
	exitPartial     = 5
	exitUncertain   = 6
	exitHindered    = 7
	exitTimeout     = 124
	exitInterrupted = 130
	exitHungUp      = 129
	exitTerminated  = 143
)

// An ExitCode is what the command's exit status says.
type ExitCode struct {
	Code  int
	Means string
}

// ExitCodes is the table for README, man pages and --help.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{exitOK, "Done."},
		{exitFailed, "Failed; of verbs that wait for jobs: none ended by success."},
		{exitUsage, "A mistake on the command line, in the configuration or in a job description. Nothing was done."},
		{exitNoMatch, "No resource matches; the explanation is printed."},
		{exitCredential, "Credentials are missing or were refused; grid auth doctor tells more."},
		{exitPartial, "Some of several failed; of verbs that wait for jobs: some ended otherwise than by success."},
		{exitUncertain, "The outcome is not known: a request was sent and no answer came. Do not send it again; grid status looks it up."},
		{exitHindered, "Of grid ping: a central scheduler is up and lets you in, and would begin none of your jobs now; it says why."},
		{exitTimeout, "The time that --timeout gives was over before all jobs had ended; they go on."},
		{exitNoJob, "Of grid run and grid env run: there was no job to get an exit code from, it could not be followed, or what it left could not be brought. Otherwise they end with the command's own."},
		{exitHungUp, "The terminal was closed; what was recorded stays."},
		{exitInterrupted, "Interrupted by the user; what was recorded stays."},
		{exitTerminated, "Ended by SIGTERM; what was recorded stays."},
	}
}

// exitError carries an exit code that the error's type does not tell.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// remedied adds to an error what helps, where that is one verb for whatever was asked.
func remedied(err error) error {
	if _, ok := errors.AsType[*jobs.RuinedError](err); ok {
		return fmt.Errorf("%w\ngrid store repair keeps what can be read of them, and takes the rest from a backup: see grid store repair --help", err)
	}
	if jobs.NoLocks(err) {
		return fmt.Errorf("%w\nthe file system of that directory has no locks: name one on another with --state-dir, GRID_STATE_DIR or state_dir in the settings", err)
	}
	if jobs.NoRoom(err) {
		return fmt.Errorf("%w\nmake room on that disk, or in your quota; what was recorded stays, and what runs goes on: grid list", err)
	}
	return err
}

// usageError is a mistake on the command line.
func usageError(err error) error { return &exitError{exitUsage, err} }

// exitCode is the code of an error. What fails because a signal came was
// interrupted, whatever it then says of servers and credentials.
func exitCode(ctx context.Context, err error) int {
	code := codeOf(ctx, err)
	if ctx.Err() != nil && (code == exitFailed || code == exitCredential) {
		return interruption(ctx)
	}
	return code
}

// codeOf is the one table from errors to exit codes.
func codeOf(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if _, ok := errors.AsType[*jobs.UnrecordedError](err); ok || jobs.IsUncertain(err) {
		return exitUncertain
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return interruption(ctx)
	}
	if _, ok := errors.AsType[*classad.Diagnostic](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*credential.Finding](err); ok {
		return exitCredential
	}
	if f := (*credential.Set)(nil).Explain("", err); f != nil && f.Refused() {
		return exitCredential
	}
	if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind == plugins.Credential {
		return exitCredential
	}
	return exitFailed
}
