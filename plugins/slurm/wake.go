package slurm

import (
	"context"
	"slices"
	"strings"

	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Wake implements plugins.Waker. A Slurm in which nothing else happens looks at jobs that wait for their begin once a
// minute (sched_interval), and its backfill not at all. A new begin has it look at once; the owner may give one.
func (b *Backend) Wake(ctx context.Context, hs []plugins.Handle) []error {
	return remote.Each(hs, b.Split, func(s *site, slurmIDs, ids []string) error {
		queue, err := s.squeue(ctx, slurmIDs)
		if err == nil {
			queue, err = s.ours(ctx, queue, slurmIDs, ids)
		}
		if err != nil {
			return err
		}
		var asleep []string
		for i, slurmID := range slurmIDs {
			if r := queue[ids[i]]; r.state == "PENDING" && (r.reason == "BeginTime" || r.reason == "None") { // the others were looked at
				asleep = append(asleep, slurmID)
			}
		}
		for part := range slices.Chunk(asleep, maxAsked) {
			if _, err := s.Command(ctx, "scontrol", "update", "JobId="+strings.Join(part, ","), "StartTime=now"); err != nil && !begun(err) {
				return err
			}
		}
		return nil
	})
}
