package slurm

import (
	"context"
	"errors"
	"slices"
	"strings"

	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Hold implements plugins.Holder. It is the hold of a user ("scontrol uhold"), which the
// user may end, also where he is an operator. A job that has begun is not named to Slurm, which
// would hold it when it has to be requeued.
func (b *Backend) Hold(ctx context.Context, hs []plugins.Handle) []error {
	return b.steer(ctx, hs, plugins.Queued, "uhold")
}

// Release implements plugins.Holder.
func (b *Backend) Release(ctx context.Context, hs []plugins.Handle) []error {
	return b.steer(ctx, hs, plugins.Held, "release")
}

// steer gives a command of scontrol to the jobs in a state.
func (b *Backend) steer(ctx context.Context, hs []plugins.Handle, in plugins.State, command string) []error {
	return remote.Each(hs, b.Split, func(s *site, slurmIDs, ids []string) error {
		theirs, _, err := s.those(ctx, slurmIDs, ids, func(st plugins.State) bool { return st == in })
		if err != nil {
			return err
		}
		for part := range slices.Chunk(theirs, maxAsked) {
			if _, err := s.Command(ctx, slices.Concat([]string{"scontrol", command}, part)...); err != nil && !begun(err) {
				return err
			}
		}
		return nil
	})
}

// begun reports whether all that scontrol complains of is that jobs wait no more. It does what
// it was told to the others (tried with 22.05 and 24.11).
func begun(err error) bool {
	x, ok := errors.AsType[*remote.ExitError](err)
	if !ok {
		return false
	}
	said := false
	for line := range strings.Lines(x.Stderr) {
		switch line = strings.TrimSpace(line); {
		case line == "", strings.HasPrefix(line, "slurm_suspend error"): // the same once more
		case strings.Contains(line, "Invalid job id"), strings.Contains(line, "no longer pending"), strings.Contains(line, "already"):
			said = true
		default:
			return false
		}
	}
	return said
}
