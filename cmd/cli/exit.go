package cli

import (
	"context"
	"errors"
	"strings"

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
	exitInterrupted = 130
)

// exitError carries an exit code that the error's type does not tell.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usageError is a mistake on the command line.
func usageError(err error) error { return &exitError{exitUsage, err} }

// exitCode is the one table from errors to exit codes.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return exitInterrupted
	}
	if _, ok := errors.AsType[*jobs.UnrecordedError](err); ok {
		return exitUncertain
	}
	if _, ok := errors.AsType[*classad.Diagnostic](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*credential.Finding](err); ok {
		return exitCredential
	}
	if f := (*credential.Set)(nil).Explain("", err); f != nil && strings.HasPrefix(f.ID, "refused.") {
		return exitCredential
	}
	if e, ok := errors.AsType[*plugins.Error](err); ok {
		switch e.Kind {
		case plugins.Credential:
			return exitCredential
		case plugins.Uncertain:
			return exitUncertain
		}
	}
	return exitFailed
}
