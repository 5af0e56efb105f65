package slurm

import (
	"cmp"
	"slices"

	"gridbroker/batch"
)

// inOpenQueues leaves waiting jobs of several queues those that let them start, the one of the
// greatest priority first; where none does the queues stay as they are.
func inOpenQueues(jobs []batch.Job, queues []batch.Queue) {
	of := make(map[string]*batch.Queue, len(queues))
	for i := range queues {
		of[queues[i].Name] = &queues[i]
	}
	for i := range jobs {
		j := &jobs[i]
		if !j.Started.IsZero() || len(j.Also) == 0 {
			continue
		}
		open := slices.DeleteFunc(append([]string{j.Queue}, j.Also...), func(name string) bool {
			q := of[name]
			return q == nil || q.Closed || q.MaxWallTime > 0 && j.Requested > q.MaxWallTime || q.MaxNodes > 0 && j.Nodes > q.MaxNodes || q.MaxProcs > 0 && j.Procs > q.MaxProcs
		})
		if len(open) > 0 {
			slices.SortStableFunc(open, func(a, b string) int { return cmp.Compare(of[b].Priority, of[a].Priority) })
			j.Queue, j.Also = open[0], open[1:]
		}
	}
}
