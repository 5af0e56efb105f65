package slurm

import (
	"context"
	"errors"
	"slices"
	"strings"

	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Cancel implements plugins.Submitter. Only jobs that the queue shows as ours
// are named to scancel.
func (b *Backend) Cancel(ctx context.Context, hs []plugins.Handle) []error {
	return remote.Each(hs, b.Split, func(s *site, slurmIDs, ids []string) error {
		end, mark, err := s.living(ctx, slurmIDs, ids)
		if err != nil || len(end) == 0 {
			return err
		}
		if _, err := s.Verb(ctx, "cancelled", mark); err != nil {
			return err
		}
		return s.scancel(ctx, end)
	})
}

// Withdraw implements plugins.Withdrawer: Slurm leaves alone what has begun when it
// takes the command.
func (b *Backend) Withdraw(ctx context.Context, hs []plugins.Handle) []error {
	return remote.Each(hs, b.Split, func(s *site, slurmIDs, ids []string) error {
		end, _, err := s.living(ctx, slurmIDs, ids)
		if err != nil {
			return err
		}
		return s.scancel(ctx, end, "--state=PENDING")
	})
}

// living are those jobs that the queue shows as ours and that have not ended: Slurm's ids
// and our own.
func (s *site) living(ctx context.Context, slurmIDs, ids []string) (theirs, own []string, err error) {
	return s.those(ctx, slurmIDs, ids, func(st plugins.State) bool { return !st.Final() })
}

// those are the jobs that the queue shows as ours and in such a state: Slurm's ids and our own.
func (s *site) those(ctx context.Context, slurmIDs, ids []string, want func(plugins.State) bool) (theirs, own []string, err error) {
	queue, err := s.squeue(ctx, slurmIDs)
	if err == nil {
		queue, err = s.ours(ctx, queue, slurmIDs, ids)
	}
	if err != nil {
		return nil, nil, err
	}
	for i, slurmID := range slurmIDs {
		if r, ok := queue[ids[i]]; ok && want(stateOf(r.state, r.reason)) {
			theirs, own = append(theirs, slurmID), append(own, ids[i])
		}
	}
	return theirs, own, nil
}

// scancel ends jobs.
func (s *site) scancel(ctx context.Context, slurmIDs []string, flags ...string) error {
	for part := range slices.Chunk(slurmIDs, maxAsked) {
		if _, err := s.Command(ctx, slices.Concat([]string{"scancel", "--quiet"}, flags, part)...); err != nil {
			return err
		}
	}
	return nil
}

// Clean implements plugins.Cleaner: it ends the jobs and removes their
// directories.
func (b *Backend) Clean(ctx context.Context, hs []plugins.Handle) []error {
	errs := b.Cancel(ctx, hs)
	cleaned := remote.Each(hs, b.Split, func(s *site, _, ids []string) error {
		_, err := s.Verb(ctx, "clean", ids)
		return err
	})
	for i := range errs {
		if errs[i] == nil {
			errs[i] = cleaned[i]
		}
	}
	return errs
}

// noController is the error of "scontrol ping", which says nothing on standard error where no controller answers.
func noController(err error) error {
	x, exited := errors.AsType[*remote.ExitError](err)
	if e, ok := errors.AsType[*plugins.Error](err); ok && exited && x.Stderr == "" {
		e.Said = "no slurmctld answers"
	}
	return err
}

// Ping implements plugins.Pinger: it asks for Slurm's version and the user's name.
func (b *Backend) Ping(ctx context.Context, endpoint string) (plugins.Pong, error) {
	s, err := b.At(endpoint)
	if err != nil {
		return plugins.Pong{}, err
	}
	start := s.Options.Now()
	version, err := s.Command(ctx, "sinfo", "--version")
	pong := plugins.Pong{Interface: "slurm", Latency: s.Options.Now().Sub(start)}
	if err != nil {
		return pong, err
	}
	pong.Versions = []string{strings.TrimPrefix(strings.TrimSpace(version), "slurm ")}
	if pong.Identity, err = accountOf(ctx, s.Command); err != nil {
		return pong, err
	}
	if _, err := s.Command(ctx, "scontrol", "ping"); err != nil {
		return pong, noController(err)
	}
	pong.LetIn = true
	return pong, nil
}
