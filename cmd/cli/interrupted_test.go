package cli

import (
	"context"
	"errors"
	"testing"

	"gridbroker/plugins"
)

// What a signal ended was interrupted, also where it fails as a server that cannot be
// reached or a login that came to nothing; what is uncertain stays uncertain.
func TestInterruptedIsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	failures := map[error]int{errReported: exitFailed, &exitError{exitFailed, errReported}: exitFailed, &plugins.Error{Kind: plugins.Credential}: exitCredential,
		&plugins.Error{Kind: plugins.Uncertain}: exitUncertain, usageError(errors.New("no such flag")): exitUsage}
	for err, want := range failures {
		if got := exitCode(ctx, err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
	cancel(terminated{exitTerminated})
	for err, want := range failures {
		if want == exitFailed || want == exitCredential {
			want = exitTerminated
		}
		if got := exitCode(ctx, err); got != want {
			t.Errorf("%v after SIGTERM: %d, want %d", err, got, want)
		}
	}
	if got := exitCode(ctx, nil); got != exitOK {
		t.Errorf("what went well all the same: %d", got)
	}
}
