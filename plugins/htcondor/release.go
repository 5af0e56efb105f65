package htcondor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Hold implements plugins.Holder: the schedd leaves alone what is not idle when it takes the command.
func (b *Backend) Hold(ctx context.Context, hs []plugins.Handle) []error {
	return b.steer(ctx, hs, "JobStatus == 1", "condor_hold")
}

// Release implements plugins.Holder. What the schedd holds since the job has failed, or since its
// input is awaited, is left alone.
func (b *Backend) Release(ctx context.Context, hs []plugins.Handle) []error {
	byPerson := fmt.Sprintf("JobStatus == 5 && (HoldReasonCode == %d || HoldReasonCode == %d)", holdByUser, holdAtSubmit)
	return b.steer(ctx, hs, byPerson, "condor_release")
}

// steer gives a command to those jobs of ours for which a condition holds.
func (b *Backend) steer(ctx context.Context, hs []plugins.Handle, condition, command string) []error {
	return remote.Each(hs, b.Split, func(s *site, jobIDs, ids []string) error {
		for from := 0; from < len(ids); from += maxAsked {
			to := min(from+maxAsked, len(ids))
			which := "(" + condition + ") && " + ours(jobIDs[from:to], ids[from:to])
			if _, err := s.schedd(ctx, command, "-constraint", which); err != nil && !noneLeft(err) {
				return err
			}
		}
		return nil
	})
}

// noneLeft reports whether a command complains that there are no jobs such as it was to change.
func noneLeft(err error) bool {
	x, ok := errors.AsType[*remote.ExitError](err)
	return ok && strings.Contains(x.Stderr, "Couldn't find/")
}
