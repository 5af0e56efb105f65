package slurm

import (
	"context"
	"slices"
	"strings"

	"gridbroker/plugins"
)

// each runs do once per site for the handles that belong to it; do returns
// one error for all of them.
func (b *Backend) each(op string, hs []plugins.Handle, do func(s *site, slurmIDs, ids []string) error) []error {
	errs := make([]error, len(hs))
	bySite := map[*site][]int{}
	for i, h := range hs {
		s, err := b.site(h.Endpoint)
		if err != nil {
			errs[i] = err
		} else if _, _, ok := splitHandle(h); ok {
			bySite[s] = append(bySite[s], i)
		} // a handle we never gave out names no job: nothing to do
	}
	for s, is := range bySite {
		var slurmIDs, ids []string
		for _, i := range is {
			slurmID, id, _ := splitHandle(hs[i])
			slurmIDs, ids = append(slurmIDs, slurmID), append(ids, id)
		}
		if err := do(s, slurmIDs, ids); err != nil {
			for _, i := range is {
				errs[i] = err
			}
		}
	}
	return errs
}

// Cancel implements plugins.Submitter. Only jobs that the queue shows as ours
// are named to scancel.
func (b *Backend) Cancel(ctx context.Context, hs []plugins.Handle) []error {
	return b.each("cancel", hs, func(s *site, slurmIDs, ids []string) error {
		queue, err := s.squeue(ctx)
		if err != nil {
			return err
		}
		var end, mark []string
		for i, slurmID := range slurmIDs {
			if r, ok := mine(queue, slurmID, ids[i]); ok && !stateOf(r.state, r.reason).Final() {
				end, mark = append(end, slurmID), append(mark, ids[i])
			}
		}
		if len(end) == 0 {
			return nil
		}
		if _, err := s.verb(ctx, "cancelled", mark); err != nil {
			return err
		}
		for part := range slices.Chunk(end, maxAsked) {
			if _, err := s.command(ctx, append([]string{"scancel", "--quiet"}, part...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Clean implements plugins.Cleaner: it ends the jobs and removes their
// directories.
func (b *Backend) Clean(ctx context.Context, hs []plugins.Handle) []error {
	errs := b.Cancel(ctx, hs)
	cleaned := b.each("clean", hs, func(s *site, _, ids []string) error {
		_, err := s.verb(ctx, "clean", ids)
		return err
	})
	for i := range errs {
		if errs[i] == nil {
			errs[i] = cleaned[i]
		}
	}
	return errs
}

// Ping implements plugins.Pinger: it asks for Slurm's version and the user's name.
func (b *Backend) Ping(ctx context.Context, endpoint string) (plugins.Pong, error) {
	s, err := b.site(endpoint)
	if err != nil {
		return plugins.Pong{}, err
	}
	start := s.opts.Now()
	version, err := s.command(ctx, "sinfo", "--version")
	pong := plugins.Pong{Interface: "slurm", Latency: s.opts.Now().Sub(start)}
	if err != nil {
		return pong, err
	}
	pong.Versions = []string{strings.TrimPrefix(strings.TrimSpace(version), "slurm ")}
	who, err := s.command(ctx, "id", "-un")
	if err != nil {
		return pong, err
	}
	pong.Identity = strings.TrimSpace(who)
	if _, err := s.command(ctx, "scontrol", "ping"); err != nil {
		return pong, err
	}
	pong.LetIn = true
	return pong, nil
}
